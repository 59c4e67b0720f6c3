"""Python keeps in a class what it needs to copy instances: copying goes on to work in the next capture."""

import copy
import dataclasses


@dataclasses.dataclass
class Part:
    w: float
    tags: list = dataclasses.field(default_factory=list)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


def program(jit):
    part, slotted = Part(2.0), Slotted(1.0, [2.0])

    @jit
    def step(x):
        shallow, deep, other = copy.copy(part), copy.deepcopy(part), copy.deepcopy(slotted)
        deep.tags.append(1)
        other.b.append(x)
        return x * shallow.w, len(deep.tags), len(part.tags), x * other.a, len(slotted.b)

    seen = []
    for w in (2.0, 3.0, 4.0):
        part.w, slotted.a = w, w + 1
        seen.append([float(y) for y in step(1.0)])
        part.tags = [0] * int(w)
        seen.append([float(y) for y in step(1.0)])
    return seen
