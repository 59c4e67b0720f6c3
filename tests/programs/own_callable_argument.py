"""Functions, lambdas, bound methods and callable objects are passed as ordinary arguments."""

from functools import partial

import jax.numpy as jnp


class Poly:
    def __init__(self, *coefs):
        self.coefs = list(coefs)

    def __call__(self, x):
        return sum(c * x**i for i, c in enumerate(self.coefs))

    def slope(self, x):
        return sum(i * c * x ** (i - 1) for i, c in enumerate(self.coefs) if i)


def program(jit):
    @jit
    def newton(f, df, x):
        return x - f(x) / df(x)

    poly = Poly(-2.0, 0.0, 1.0)
    x = jnp.array(1.0)
    seen = [float(newton(poly, poly.slope, x))]
    poly.coefs[0] = -3.0
    seen.append(float(newton(poly, poly.slope, x)))
    for a in (4.0, 9.0):
        target = jnp.array(a)
        seen.append(float(newton(lambda v: v * v - target, lambda v: 2 * v, x)))
    seen.append(float(newton(jnp.sin, jnp.cos, x)))
    seen.append(float(newton(partial(lambda k, v: v - k, jnp.array(8.0)), jnp.ones_like, x)))
    return seen
