"""Objects that nothing can watch are guarded by what they hold: events, errors, cells, C's own numbers."""

import ctypes
import random
import threading
import types
import typing

T = typing.TypeVar("T")


class Held:
    pass


class Dice(random.Random):
    sides = 6


class Box(typing.Generic[T]):
    size = 1.0


def read(held, x):
    y = x * (10 if held.stop.is_set() else 1)
    y = y + held.error.args[0] * 100 + held.error.weight
    y = y + held.cell.cell_contents * 1000 + held.number.value * 10000
    return y + held.dice.sides + held.kind.size + held.length()


def edits(held, items):
    yield held.stop.set
    yield lambda: setattr(held.error, "args", (2.0,))
    yield lambda: setattr(held.error, "weight", 5.0)
    yield lambda: setattr(held.cell, "cell_contents", 3.0)
    yield lambda: setattr(held.number, "value", 4.0)
    yield lambda: setattr(held.dice, "sides", 20)
    yield lambda: setattr(Box, "size", 2.0)
    yield lambda: items.append(0)
    yield held.stop.clear


def program(jit):
    held, items = Held(), [1]
    held.stop, held.error, held.cell = threading.Event(), ValueError(1.0), types.CellType(1.0)
    held.error.weight = 0.0
    held.number, held.dice, held.kind, held.length = ctypes.c_double(1.0), Dice(0), Box[int], items.__len__
    Box.size = 1.0
    step = jit(lambda x: read(held, x))
    seen = [step(1.0)]
    for edit in edits(held, items):
        edit()
        seen += [step(1.0), step(1.0)]
    return {"seen": [float(y) for y in seen]}
