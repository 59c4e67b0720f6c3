"""jit is applied to functools.partial objects that hold arrays, a config object and keywords; some of these change."""

from functools import partial

import jax.numpy as jnp


class Config:
    def __init__(self, gain):
        self.gain = gain


def model(params, cfg, x, *, shift=0.0):
    return params["w"] * x * cfg.gain + shift


def program(jit):
    params, cfg = {"w": jnp.array(2.0)}, Config(1.0)
    frozen = partial(model, params, cfg, shift=jnp.array(1.0))
    f = jit(frozen)
    x = jnp.array(3.0)
    seen = [float(f(x))]
    params["w"] = jnp.array(5.0)
    seen.append(float(f(x)))
    cfg.gain = -1.0
    seen.append(float(f(x)))
    frozen.keywords["shift"] = jnp.array(100.0)
    seen.append(float(f(x)))
    for w in (1.0, 2.0):
        g = jit(partial(model, {"w": jnp.array(w)}, cfg))
        seen.append(float(g(x)))
    seen.append(float(f(x, shift=0.0)))
    return seen
