"""Dates, times, time zones and paths that are equal and yet not the same follow each other."""

import datetime
import pathlib
import zoneinfo


class Holder:
    pass


class Shifted(datetime.tzinfo):
    hours = 1

    def utcoffset(self, when):
        return datetime.timedelta(hours=self.hours)

    def dst(self, when):
        return None

    def tzname(self, when):
        return "shifted"


def program(jit):
    clock, moment, zone = datetime.time, datetime.datetime, datetime.timezone
    later, own = zone(datetime.timedelta(hours=1)), Shifted()
    holder = Holder()

    @jit
    def show(x):
        value = holder.value
        return x * getattr(value, "hour", 0) + getattr(value, "fold", 0), str(value), repr(value)

    def shown(value):
        holder.value = value
        y, *rest = show(1.0)
        return [float(y), *rest]

    seen = [
        shown(value)
        for value in (
            clock(12),
            clock(12, fold=1),
            clock(12, tzinfo=zone.utc),
            clock(13, tzinfo=later),
            moment(2020, 1, 1, 12),
            moment(2020, 1, 1, 12, fold=1),
            moment(2020, 1, 1, 12, tzinfo=zone.utc),
            moment(2020, 1, 1, 13, tzinfo=later),
            moment(2020, 1, 1, 13, tzinfo=zone(datetime.timedelta(hours=1), "CET")),
            moment(2020, 1, 1, 12, tzinfo=zoneinfo.ZoneInfo("UTC")),
            zone(datetime.timedelta(0), "X"),
            zone(datetime.timedelta(0), "Y"),
            pathlib.PureWindowsPath("A"),
            pathlib.PureWindowsPath("a"),
        )
    ]
    holder.value = moment(2020, 1, 1, 12, tzinfo=own)

    @jit
    def offset(x):
        return x * holder.value.utcoffset().seconds

    seen.append(float(offset(1.0)))
    own.hours = 2
    return [*seen, float(offset(1.0))]
