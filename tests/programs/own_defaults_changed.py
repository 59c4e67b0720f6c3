"""Defaults and keyword defaults of a helper and of the jitted function itself are edited after the first call."""

import jax.numpy as jnp


def blend(a, b=jnp.array(1.0), *, ratio=0.5, log=[]):
    log.append("x")
    return a * ratio + b * (1 - ratio) + len(log)


def program(jit):
    def outer(x, power=2):
        return blend(x) ** power

    f = jit(outer)
    x = jnp.array(3.0)
    seen = [float(f(x)), float(f(x))]
    blend.__kwdefaults__["ratio"] = 1.0
    seen.append(float(f(x)))
    blend.__defaults__ = (jnp.array(-1.0),)
    blend.__kwdefaults__ = {"ratio": 0.0, "log": ["fresh"]}
    seen.append(float(f(x)))
    outer.__defaults__ = (3,)
    seen.append(float(f(x)))
    return seen, len(blend.__kwdefaults__["log"])
