"""A user decorator with its own state wraps a closure that wraps another; each level can be changed separately."""

import functools

import jax.numpy as jnp


def scaled(by):
    def decorate(f):
        @functools.wraps(f)
        def inner(*args):
            return inner.by * f(*args)

        inner.by = by
        return inner

    return decorate


def program(jit):
    slope = jnp.array(2.0)

    @scaled(10.0)
    def line(x):
        return slope * x

    @scaled(jnp.array(1.0))
    def twice(x):
        return line(line(x))

    run = jit(twice)
    x = jnp.array(1.0)
    seen = [float(run(x))]
    slope = jnp.array(3.0)
    seen.append(float(run(x)))
    line.by = 1.0
    seen.append(float(run(x)))
    twice.by = jnp.array(-1.0)
    seen.append(float(run(x)))
    return seen
