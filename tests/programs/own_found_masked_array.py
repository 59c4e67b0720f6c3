"""A masked array is captured and edited."""

import numpy as np
import jax.numpy as jnp


def program(jit):
    m = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])

    @jit
    def f(x):
        return x * m.filled(0.0)

    out = [f(jnp.ones(3)).tolist()]
    m.mask[1] = False
    m.mask = [1, 0, 0]
    out.append(f(jnp.ones(3)).tolist())
    m[2] = 9.0
    out.append(f(jnp.ones(3)).tolist())
    return out
