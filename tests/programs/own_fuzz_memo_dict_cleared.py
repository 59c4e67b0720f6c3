"""A memo decorator of the user's own, with its dict and counter: the dict is cleared, and a number in a key changes."""

import functools

import jax.numpy as jnp


def memo(function):
    cache = {}

    @functools.wraps(function)
    def wrapper(*args):
        wrapper.calls += 1
        if args not in cache:
            cache[args] = function(*args)
        return cache[args]

    wrapper.calls, wrapper.cache = 0, cache
    return wrapper


def program(jit):
    scale = 2.0

    @memo
    def table(n):
        return jnp.ones(n) * scale

    run = jit(lambda x: (x * table(2) + table(3)[0]).sum())
    seen = [float(run(1.0)), float(run(2.0)), table.calls]
    table.cache.clear()
    scale = 3.0
    seen += [float(run(1.0)), table.calls, len(table.cache)]
    table.cache[(7,)] = jnp.ones(1)
    del table.cache[(2,)]
    seen += [float(run(1.0)), table.calls, sorted(len(v) for v in table.cache.values())]
    return seen
