"""Classes are made in the call: plain ones, subclasses, named tuples, dataclasses, enumerations, exceptions."""

import collections
import dataclasses
import enum
import gc
import typing


class Base:
    scale = 2.0

    def apply(self, x):
        return x * self.scale


class Holder:
    error = None

    def make(self, x):
        class Box(Base):
            def apply(self, x):
                return super().apply(x) + 1

            @property
            def double(self):
                return 2 * self.value

        class Pair(typing.NamedTuple):
            first: typing.Any
            second: typing.Any = 1

        Point = collections.namedtuple("Point", "p q")

        @dataclasses.dataclass(frozen=True)
        class Result:
            loss: typing.Any

        class Mode(enum.Enum):
            A = 1

        class Failure(Exception):
            pass

        box = Box()
        box.value = box.apply(x)
        self.error = Failure("stored")
        return box, Pair(x), Point(x, x), Result(x), Mode.A, Box, Pair(1, 2)


def program(jit):
    holder = Holder()
    make = jit(holder.make)
    seen = []
    for value, scale in ((1.0, 2.0), (2.0, 2.0), (3.0, 5.0), (4.0, 2.0)):
        Base.scale = scale
        box, pair, point, result, mode, cls, fixed = make(value)
        gc.collect()
        seen.append((float(box.value), float(box.double), float(box.apply(1.0)), type(box) is cls))
        seen.append(
            (float(pair.first), pair.second, float(point.q), float(result.loss), mode.name, tuple(fixed))
        )
        seen.append((type(holder.error).__name__, holder.error.args, cls.__name__))
    Base.scale = 2.0
    return seen
