"""An expression written as text is evaluated with a global and a local name."""

import jax.numpy as jnp

K = 2.0


def program(jit):
    global K
    K = 2.0
    expr = "x*K+c"
    c = 1.0
    f = jit(lambda x: eval(expr, {"K": K, "c": c, "x": x}))
    out = [float(f(1.0))]
    K = 5.0
    out.append(float(f(1.0)))
    expr = "x-K"
    out.append(float(f(1.0)))
    g = jit(lambda x: eval("x*K"))
    out.append(float(g(1.0)))
    K = 7.0
    out.append(float(g(1.0)))
    return out
