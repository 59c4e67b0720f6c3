"""An environment variable switches a branch."""

import os
import jax.numpy as jnp


def program(jit):
    @jit
    def f(x):
        if os.environ.get("MY_DEBUG_SCALE"):
            return x * float(os.environ["MY_DEBUG_SCALE"])
        return x

    os.environ.pop("MY_DEBUG_SCALE", None)
    out = [f(jnp.ones(2)).tolist()]
    os.environ["MY_DEBUG_SCALE"] = "3"
    out.append(f(jnp.ones(2)).tolist())
    os.environ["MY_DEBUG_SCALE"] = "4"
    out.append(f(jnp.ones(2)).tolist())
    del os.environ["MY_DEBUG_SCALE"]
    out.append(f(jnp.ones(2)).tolist())
    return out
