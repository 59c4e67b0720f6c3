"""NumPy arrays read by a function that is called inside JAX's transforms, and then outside of them."""

import jax
import jax.numpy as jnp
import numpy as np


class Model:
    def __init__(self):
        self.table = np.array([1.0, 2.0])


def program(jit):
    model = Model()
    shift = np.array([0.5, 0.25])

    @jit
    def step(carry, x):
        return carry + (model.table * x).sum() + shift.sum(), carry

    seen = []
    for _ in range(2):
        carry, before = jax.lax.scan(lambda c, x: step(c, x), 0.0, jnp.arange(3.0))
        seen.append([float(carry), before.tolist()])
        seen.append(float(step(0.0, 1.0)[0]))
        model.table = np.array([3.0, 4.0])
        shift[0] = 2.0
        seen.append(float(jax.grad(lambda x: step(x, x)[0])(2.0)))
        seen.append(jax.vmap(lambda x: step(x, x)[0])(jnp.arange(2.0)).tolist())
        seen.append(float(jax.jit(lambda x: step(x, x)[0])(2.0)))
        shift[1] += 1.0
        seen.append(float(jax.lax.cond(True, lambda x: step(x, x)[0], lambda x: x, 2.0)))
        seen.append(float(step(0.0, 1.0)[0]))
    return {"seen": seen}
