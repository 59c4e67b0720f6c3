"""The jitted function itself increments a NumPy histogram and appends to a NumPy-backed buffer at a Python position."""

import jax.numpy as jnp
import numpy as np


class Histogram:
    def __init__(self):
        self.bins = np.zeros(3, np.int32)
        self.next = 0

    def visit(self, x):
        self.bins[self.next] += 1
        self.next = (self.next + 1) % len(self.bins)
        return x * self.bins.sum()


def program(jit):
    hist = Histogram()
    alias = hist.bins
    visit = jit(hist.visit)
    seen = [float(visit(jnp.array(2.0))) for _ in range(4)]
    alias[2] = 40
    seen.append(float(visit(jnp.array(2.0))))
    return seen, alias.tolist(), hist.bins is alias, int(hist.next)
