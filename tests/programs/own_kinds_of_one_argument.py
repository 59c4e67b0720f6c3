"""One argument is now an array, now a string, an object, a function or nothing."""

import jax.numpy as jnp


class Box:
    def __init__(self, v):
        self.v = v


def program(jit):
    @jit
    def value(x):
        if x is None:
            return "nothing"
        if isinstance(x, str):
            return x + "!"
        if isinstance(x, Box):
            return x.v * 2
        return x() if callable(x) else x * 3

    things = [
        1.0,
        "a",
        Box(2.0),
        None,
        lambda: 7.0,
        jnp.float32(4.0),
        "b",
        Box(3.0),
        5.0,
        Box(jnp.float32(6.0)),
    ]
    results = [value(thing) for thing in things + things[::-1]]
    return {"values": [r if isinstance(r, str) else float(r) for r in results]}
