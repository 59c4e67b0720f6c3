"""Captured NumPy arrays are changed in place by slices, augmented assignment, out= and fill between jitted calls."""

import jax.numpy as jnp
import numpy as np


class Field:
    def __init__(self):
        self.heights = np.zeros(4, np.float32)
        self.slope = np.ones((2, 2), np.float32)

    def total(self, x):
        return jnp.sum(self.heights * x) + jnp.trace(jnp.asarray(self.slope))


def program(jit):
    field = Field()
    total = jit(field.total)
    x = jnp.arange(4.0)
    seen = [float(total(x))]
    field.heights[1:3] = 5.0
    seen.append(float(total(x)))
    field.heights += 1
    seen.append(float(total(x)))
    np.multiply(field.heights, 2.0, out=field.heights)
    seen.append(float(total(x)))
    np.fill_diagonal(field.slope, 7.0)
    seen.append(float(total(x)))
    field.heights.fill(0)
    np.copyto(field.slope, np.eye(2))
    seen.append(float(total(x)))
    field.heights[::2] = [3.0, 1.0]
    return seen + [float(total(x))]
