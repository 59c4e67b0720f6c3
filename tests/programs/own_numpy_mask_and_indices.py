"""A boolean mask selects entries and an index table reorders them, which needs their values; both are edited in place."""

import jax.numpy as jnp
import numpy as np


class Selector:
    def __init__(self):
        self.mask = np.array([True, False, True, True])
        self.order = np.array([2, 0, 1, 3])

    def __call__(self, x):
        chosen = x[self.mask]
        return chosen, x[self.order], jnp.zeros(self.mask.sum()).size


def program(jit):
    select = Selector()
    run = jit(lambda x: select(x))
    x = jnp.array([1.0, 2.0, 3.0, 4.0])
    seen = []

    def look():
        chosen, ordered, n = run(x)
        seen.append([chosen.tolist(), ordered.tolist(), int(n)])

    look()
    select.mask[1] = True
    look()
    select.order[:2] = select.order[1::-1].copy()
    look()
    select.mask[:] = ~select.mask
    select.mask[0] = True
    look()
    select.mask = np.array([False, True, False, False])
    look()
    return seen
