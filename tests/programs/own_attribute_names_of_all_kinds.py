"""Attributes whose names no source code could write: keywords, and names that Python would normalise."""

import types


class Box:
    pass


def program(jit):
    box, space = Box(), types.SimpleNamespace()
    names = ("lambda", "µ", "two words", "x")
    for name in names:
        setattr(box, name, 1.0)
        setattr(space, name, 1.0)

    @jit
    def step(x):
        for name in names:
            setattr(box, name, getattr(box, name) * x)
            setattr(space, name, getattr(space, name) + x)
        return x

    step(2.0)
    first = [float(getattr(thing, name)) for thing in (box, space) for name in names]
    setattr(box, "µ", 10.0)
    step(3.0)
    return {
        "first": first,
        "then": [float(getattr(thing, name)) for thing in (box, space) for name in names],
        "names": [sorted(vars(box)), sorted(vars(space))],
    }
