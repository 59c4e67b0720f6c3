"""An argument contains an object that is captured as well."""

import jax.numpy as jnp


def program(jit):
    @jit
    def f(a, b):
        a["v"] = a["v"] + 1
        return b["v"] * 10

    d = {"v": jnp.array(1.0)}
    e = {"v": jnp.array(1.0)}
    return [float(f(d, d)), float(f(d, e)), float(f(e, d)), float(f(e, e)), float(d["v"]), float(e["v"])]
