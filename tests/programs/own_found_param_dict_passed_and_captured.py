"""The same object is an argument and captured."""

import jax.numpy as jnp


def program(jit):
    class N:
        def __init__(s):
            s.params = {"w": jnp.ones(2), "b": jnp.zeros(2)}

        def fwd(s, x):
            return x * s.params["w"] + s.params["b"]

        def step(s, params, x):
            params["w"] = params["w"] - 0.1 * x
            return s.fwd(x)

    n = N()
    f = jit(n.step)
    out = [f(n.params, jnp.ones(2)).tolist() for _ in range(3)]
    return out + [n.params["w"].tolist()]
