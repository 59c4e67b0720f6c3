"""Plug-ins are found by name with globals(), and parameters are written into globals() as a dictionary."""

import jax.numpy as jnp

op_double = lambda v: 2 * v
SELECT = "double"
W_0 = jnp.array(1.0)


def op_square(v):
    return v * v


def apply(x):
    op = globals()["op_" + SELECT]
    weights = [v for k, v in sorted(globals().items()) if k.startswith("W_")]
    return op(x) * sum(weights)


def program(jit):
    global SELECT
    f = jit(apply)
    x = jnp.array(3.0)
    seen = [float(f(x))]
    SELECT = "square"
    seen.append(float(f(x)))
    globals()["W_1"] = jnp.array(10.0)
    seen.append(float(f(x)))
    globals()["W_0"] = jnp.array(-10.0)
    seen.append(float(f(x)))
    del globals()["W_1"]
    return seen + [float(f(x))]
