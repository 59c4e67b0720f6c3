"""A dictionary that the object holds is also passed as an argument, and changed inside."""

import jax.numpy as jnp


def program(jit):
    class P:
        pass

    p = P()
    p.w = jnp.ones(2)
    d = {"w": p.w}

    @jit
    def f(q, e, x):
        q.w = q.w + x
        e["w"] = e["w"] * 2
        return p.w + d["w"]

    out = [f(p, d, 1.0).tolist(), f(p, dict(d), 1.0).tolist()]
    q = P()
    q.w = jnp.zeros(2)
    out.append(f(q, d, 1.0).tolist())
    return out + [p.w.tolist(), d["w"].tolist(), q.w.tolist()]
