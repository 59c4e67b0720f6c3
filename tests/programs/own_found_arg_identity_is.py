"""Two arguments are one object."""

import jax.numpy as jnp


def program(jit):
    class T:
        def __init__(s):
            s.online = {"w": jnp.ones(1)}
            s.target = s.online

    t = T()

    @jit
    def f(p, x):
        return x * (2.0 if p is t.online else 1.0) + (1.0 if t.online is t.target else 0.0)

    out = [
        f(t.online, 1.0),
    ]
    t.target = dict(t.online)
    out.append(f(t.online, 1.0))
    out.append(f(t.target, 1.0))
    return [float(o) for o in out]
