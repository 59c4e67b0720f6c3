"""A context variable is read inside and set outside."""

import contextvars
import jax.numpy as jnp

MODE = contextvars.ContextVar("mode", default="train")


def program(jit):
    @jit
    def f(x):
        return x * 0.5 if MODE.get() == "train" else x

    out = [f(jnp.ones(2)).tolist()]
    tok = MODE.set("eval")
    out.append(f(jnp.ones(2)).tolist())
    MODE.reset(tok)
    out.append(f(jnp.ones(2)).tolist())
    return out
