"""Instances of subclasses of float, str, date, Path… are values, and objects with attributes and a class as well."""

import datetime
import decimal
import fractions
import math
import pathlib


class Number(float):
    pass


class Whole(int):
    def __int__(self):
        return 99


class Text(str):
    def __str__(self):
        return "always the same"


class Raw(bytes):
    pass


class Day(datetime.date):
    pass


class Moment(datetime.datetime):
    pass


class Span(datetime.timedelta):
    pass


class Where(pathlib.PurePosixPath):
    pass


class Exact(decimal.Decimal):
    pass


class Ratio(fractions.Fraction):
    pass


class Pair(tuple):
    pass


CASES = [
    (Number(3), Number(4), float),
    (Number(0.0), Number(-0.0), lambda v: math.copysign(1.0, v)),
    (Whole(3), Whole(4), lambda v: v + 0),
    (Text("a"), Text("bb"), len),
    (Raw(b"a"), Raw(b"bb"), len),
    (Day(2020, 1, 1), Day(2020, 1, 2), lambda v: v.day),
    (Moment(2020, 1, 1), Moment(2020, 1, 2), lambda v: v.day),
    (Span(1), Span(2), lambda v: v.days),
    (Where("a"), Where("bb"), lambda v: len(v.name)),
    (Exact("1.0"), Exact("1.00"), lambda v: len(str(v))),
    (Ratio(1, 2), Ratio(3, 2), float),
    (Pair((1.0,)), Pair((2.0,)), lambda v: v[0]),
]


class Holder:
    pass


def program(jit):
    holder, seen = Holder(), []
    for first, second, use in CASES:
        kind = type(first)
        holder.value, first.scale, second.scale = first, 1.0, 4.0

        @jit
        def f(x, use=use, kind=kind):
            value = holder.value
            value.last = x
            return x * value.scale * use(value) + getattr(kind, "extra", 0.0)

        results = [float(f(2.0)), float(holder.value.last)]
        first.scale = 3.0
        results.append(float(f(1.0)))
        holder.value = second
        results += [float(f(1.0)), float(second.last)]
        kind.extra = 5.0
        results += [float(f(1.0)), holder.value is second]
        del kind.extra
        seen.append((kind.__name__, results))
    return seen
