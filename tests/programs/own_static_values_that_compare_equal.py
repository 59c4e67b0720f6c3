"""A static argument goes through 1, True, 1.0, 0.0, -0.0 and nan, and then through all of them again."""

from functools import partial

import jax.numpy as jnp

WANT_COMPILES = 6


def program(jit):
    @partial(jit, static_argnames=("k",))
    def f(x, k):
        angle = jnp.arctan2(jnp.float32(k), jnp.float32(-1.0))
        offset = {"bool": 100.0, "int": 200.0, "float": 300.0}[type(k).__name__]
        return x * angle + offset

    x = jnp.array(1.0)
    values = [1, True, 1.0, 0.0, -0.0, float("nan")]
    first = [float(f(x, k=v)) for v in values]
    second = [float(f(x, k=v)) for v in values[:-1] + [float("nan")]]
    return first, second
