"""A factory hides weights in a closure and hands out a jitted mult and a plain updater in a frozen chex dataclass."""

from typing import Callable

import chex
import jax.numpy as jnp

WANT_COMPILES = 1


@chex.dataclass(frozen=True)
class Layer:
    mult: Callable
    update: Callable


def program(jit):
    def make_layer():
        weights = jnp.array(2.0)

        @jit
        def mult(x):
            return weights * x

        def update(new):
            nonlocal weights
            weights = new

        return Layer(mult=mult, update=update)

    layer = make_layer()
    x = jnp.array(10.0)
    seen = [float(layer.mult(x))]
    for new in (0.0, 2.0, 0.0, 2.0, -3.5):
        layer.update(jnp.array(new))
        seen.append(float(layer.mult(x)))
    return seen
