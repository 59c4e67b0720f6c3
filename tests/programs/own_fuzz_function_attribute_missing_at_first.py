"""A helper keeps its count and its cache in attributes of its own, which it makes when they are missing."""

import jax.numpy as jnp


def count(x):
    count.calls = getattr(count, "calls", 0) + 1
    return x * count.calls


def cached(x):
    if not hasattr(cached, "table"):
        cached.table = jnp.array([1.0, 2.0])
    return x + cached.table


def program(jit):
    for helper in (count, cached):
        vars(helper).clear()
    run = jit(lambda x: (count(x), cached(x)))
    tuned = jit(lambda x: x * getattr(cached, "rate", 1.0))
    seen = []

    def look():
        seen.append(
            [[v.tolist() for v in run(jnp.float32(1.0))], count.calls, tuned(jnp.float32(1.0)).tolist()]
        )

    for _ in range(4):
        look()
    count.calls, cached.table = 100, jnp.zeros(2)
    look()
    del count.calls, cached.table
    look()
    cached.rate = 5.0
    look()
    look()
    return seen
