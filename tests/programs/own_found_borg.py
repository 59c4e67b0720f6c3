"""Two objects share one __dict__."""

import jax.numpy as jnp


class Borg:
    _shared = {}

    def __init__(self):
        self.__dict__ = self._shared


def program(jit):
    a = Borg()
    a.lr = 1.0
    b = Borg()

    @jit
    def f(x):
        b.n = getattr(b, "n", 0) + 1
        return x * b.lr * a.n

    out = [f(jnp.ones(1)).tolist()]
    a.lr = 2.0
    out.append(f(jnp.ones(1)).tolist())
    c = Borg()
    c.lr = 5.0
    out.append(f(jnp.ones(1)).tolist())
    return out + [c.n, a.n]
