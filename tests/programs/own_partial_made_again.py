"""A training loop jits functools.partial(model, params) anew in every round, with other arrays but the same structure."""

from functools import partial

import jax.numpy as jnp

WANT_COMPILES = 1


def model(params, x, *, scale):
    hidden = jnp.tanh(params["w"] * x)
    return hidden * scale + params["b"]


def program(jit):
    params = {"w": jnp.array(0.5), "b": jnp.array(0.0)}
    scale = jnp.array(1.0)
    x = jnp.array([1.0, 2.0])
    seen = []
    for _ in range(6):
        predict = jit(partial(model, params, scale=scale))
        seen.append(predict(x).tolist())
        params = {"w": params["w"] + 0.25, "b": params["b"] - 1.0}
        scale = scale * 2
    return seen
