"""Lambdas are jitted in a loop and in a list comprehension; they differ only in the array they close over."""

import jax.numpy as jnp

WANT_COMPILES = 2


def program(jit):
    x = jnp.arange(3.0)
    total = []
    for k in range(5):
        scale = jnp.array(float(k))
        f = jit(lambda v: v * scale + 1)
        total.append(f(x).tolist())

    def shifted(by):
        return jit(lambda v: v - by)

    fs = [shifted(s) for s in jnp.array([1.0, 2.0, 3.0])]
    total += [f(x).tolist() for f in fs]
    total += [f(x).tolist() for f in reversed(fs)]
    return total
