"""A memoised helper is called with a counter that changes; eager code gets what the cache holds."""

import functools
import jax.numpy as jnp


@functools.lru_cache(maxsize=8)
def coeffs(order):
    CALLS.append(order)
    return tuple(BASE**i for i in range(order))


CALLS = []
BASE = 2.0


def program(jit):
    global BASE
    BASE = 2.0
    coeffs.cache_clear()
    CALLS.clear()

    class C:
        order = 3

    f = jit(lambda x: sum(c * x for c in coeffs(C.order)))
    out = [float(f(1.0)), float(f(1.0)), len(CALLS)]
    C.order = 4
    out.append(float(f(1.0)))
    BASE = 3.0
    out.append(float(f(1.0)))
    C.order = 3
    out.append(float(f(1.0)))
    coeffs.cache_clear()
    out.append(float(f(1.0)))
    return out + [len(CALLS)]
