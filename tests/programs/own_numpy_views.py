"""The jitted function reads views (a column, a transpose, a reversed slice) of a matrix that is edited through its owner."""

import jax.numpy as jnp
import numpy as np


def program(jit):
    owner = np.arange(6, dtype=np.float32).reshape(2, 3)
    column, turned, backwards = owner[:, 1], owner.T, owner[::-1]

    @jit
    def read(x):
        return x @ jnp.asarray(column), jnp.sum(turned * turned) - backwards[0, 0]

    x = jnp.array([1.0, 10.0])
    seen = []

    def look():
        a, b = read(x)
        seen.append([float(a), float(b)])

    look()
    owner[0, 1] = -4.0
    look()
    turned[2] = 0.0
    look()
    backwards[...] = backwards + 1.0
    look()
    column = owner[:, 2]
    look()
    owner = owner * 100  # a new array: the views keep the old one
    look()
    return seen, owner.sum()
