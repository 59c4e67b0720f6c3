"""Objects inside tuples, classes and weak references are read and written as elements of sets and as keys of dicts."""

import weakref
from collections import namedtuple

Entry = namedtuple("Entry", "name part")


class Part:
    def __init__(self, scale):
        self.scale = scale


def program(jit):
    class Kind:
        scale = 2.0

    tupled, named, nested, far = Part(2.0), Part(3.0), Part(5.0), Part(7.0)
    things = [
        {("a", tupled)},
        {Entry("b", named)},
        frozenset({("c", frozenset({nested}))}),
        {Kind},
        {weakref.ref(far)},
    ]
    table = {("a", tupled): 1.0, Kind: 2.0, weakref.ref(far): 3.0, frozenset({1, 2}): 4.0}

    def parts():
        yield from (part for _, part in things[0])
        yield from (entry.part for entry in things[1])
        yield from (part for _, inner in things[2] for part in inner)
        yield from things[3]
        yield from (reference() for reference in things[4])

    @jit
    def through_sets(x):
        for part in parts():
            part.last = x
            x = x * part.scale
        return x, Entry("b", named) in things[1], Entry("z", named) in things[1]

    @jit
    def through_keys(x):
        for key, value in table.items():
            part = key[1] if isinstance(key, tuple) else key() if isinstance(key, weakref.ref) else key
            if not isinstance(part, frozenset):
                part.last = x
                x = x * part.scale * value
        return x * table[frozenset({2, 1})] * table[weakref.ref(far)]

    seen = []
    for change in (None, tupled, named, nested, Kind, far):
        if change is not None:
            change.scale = change.scale + 1.0
        x, *found = through_sets(1.0)
        seen += [float(x), *found, [float(p.last) for p in (tupled, named, nested, Kind, far)]]
        seen += [float(through_keys(1.0)), [float(p.last) for p in (tupled, Kind, far)]]
    return seen
