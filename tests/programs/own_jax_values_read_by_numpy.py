"""A method turns captured jax arrays into NumPy and Python numbers: np.asarray(table), float(w), .item(), .tolist()."""

import math

import jax.numpy as jnp
import numpy as np


class Lookup:
    def __init__(self):
        self.table = jnp.array([0.0, 1.0, 4.0, 9.0])
        self.w = jnp.array(2.0)
        self.shape = jnp.array([2, 2])
        self.offset = jnp.array(0.0)

    def __call__(self, x):
        knots = np.sort(np.asarray(self.table))[::-1]
        scale = math.sqrt(float(self.w) * 2)
        grid = x.reshape(tuple(self.shape.tolist()))
        return jnp.sum(jnp.asarray(knots.copy()) * x) * scale + grid[0, 0] + self.offset, self.w.item()


def program(jit):
    look = Lookup()
    run = jit(lambda x: look(x))
    x = jnp.array([1.0, 2.0, 3.0, 4.0])
    seen = []

    def note():
        y, w = run(x)
        seen.append([float(y), float(w)])

    note()
    look.table = look.table.at[0].set(100.0)
    note()
    look.w = jnp.array(8.0)
    note()
    look.shape = jnp.array([4, 1])
    note()
    look.offset = jnp.array(-50.0)
    note()
    return seen
