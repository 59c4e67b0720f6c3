"""A memoised helper is called with keyword arguments and keeps what it has cached."""

import functools
import jax.numpy as jnp


def program(jit):
    n = 0
    k = 2.0

    @functools.cache
    def tab(m, scale=1.0):
        nonlocal n
        n += 1
        return [jnp.ones(m) * k * scale, n]

    @jit
    def f(x):
        t = tab(2, scale=1.0)
        t2 = tab(2, scale=1.0)
        return x * t[0] + t2[1]

    out = [f(1.0).tolist(), f(1.0).tolist()]
    k = 3.0
    out.append(f(1.0).tolist())
    tab.cache_clear()
    out.append(f(1.0).tolist())
    return out + [n, tab(2, scale=1.0)[1]]
