"""Reductions by an operation of JAX's given as a function: pooled, differentiated, chosen by state."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


class Pool:
    def __init__(self):
        self.operation = lax.max
        self.start = -np.inf
        self.weight = np.array([1.0, 2.0, 3.0, 4.0], np.float32)

    def __call__(self, x):
        return lax.reduce_window(x * self.weight, self.start, self.operation, (2,), (2,), "VALID")


def program(jit):
    pool = Pool()

    @jit
    def pooled(x):
        return pool(x)

    @jit
    def slope(x):
        return jax.grad(lambda x: pool(x).sum())(x)

    @jit
    def whole(x, add=lax.add):
        by_name = lax.reduce(
            operands=x, init_values=np.float32(-np.inf), computation=lax.max, dimensions=(0,)
        )
        product = lax.reduce(x, np.float32(1.0), lambda a, b: lax.mul(a, b), (0,))
        return lax.reduce(x, 0.0, add, (0,)), by_name, product

    x = jnp.array([1.0, 3.0, 2.0, 1.5])
    seen = []
    for operation, start in ((lax.max, -np.inf), (lax.add, 0.0), (lax.min, np.inf)):
        pool.operation, pool.start = operation, start
        pool.weight[1] += 1.0
        seen.append([pooled(x).tolist(), slope(x).tolist(), [float(y) for y in whole(x)]])
    return {"seen": seen}
