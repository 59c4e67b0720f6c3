"""A jitted function writes module globals: a step counter, a cache that did not exist, and one it deletes."""

import jax.numpy as jnp

steps = jnp.array(0)
temporary = 1.0


def advance(x):
    global steps, cache, temporary
    steps = steps + 1
    if "temporary" in globals():
        x = x + temporary
        del temporary
    try:
        y = cache + x
    except NameError:
        y = x
    cache = y
    return y * steps


def program(jit):
    global temporary, cache
    go = jit(advance)
    seen = [float(go(jnp.array(1.0))), float(go(jnp.array(1.0))), "temporary" in globals()]
    temporary = 50.0
    seen += [float(go(jnp.array(1.0))), "temporary" in globals(), float(cache)]
    del cache
    seen.append(float(go(jnp.array(2.0))))
    return seen, int(steps), float(cache)
