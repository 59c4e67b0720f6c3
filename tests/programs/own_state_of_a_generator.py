"""The state of a random generator is asked for, not drawn from; and what Python's own functions are called."""

import random

import jax.numpy as jnp


def program(jit):
    generator = random.Random(3)

    @jit
    def state(x):
        version, numbers, after = generator.getstate()
        return x * version, len(numbers), after

    @jit
    def names(x):
        return [print.__name__, getattr.__qualname__, hash.__name__, len.__name__], x

    seen = []
    for _ in range(2):
        x, length, after = state(jnp.float32(2.0))
        seen += [float(x), length, after, names(jnp.float32(1.0))[0]]
    return seen
