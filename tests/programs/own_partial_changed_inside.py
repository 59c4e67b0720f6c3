"""A partial whose keywords and attributes are changed inside the jitted function, and outside."""

import functools


def add(x, a=0.0, b=0.0):
    return x + a + b


def program(jit):
    shifted = functools.partial(add, b=2.0)
    shifted.calls = 0

    @jit
    def step(x):
        shifted.keywords["a"] = x
        shifted.calls += 1
        shifted.latest = x
        return shifted(x)

    seen = [float(step(1.0)), float(shifted.keywords["a"]), int(shifted.calls)]
    shifted.keywords["b"] = 5.0
    shifted.calls = 10
    seen += [float(step(2.0)), float(shifted.keywords["a"]), int(shifted.calls), float(shifted.latest)]
    return {"seen": seen, "keywords": sorted(shifted.keywords)}
