"""The updater of a closure-held weight is itself jitted: it writes the nonlocal through dynamic_update_slice."""

from typing import Callable, NamedTuple

import jax
import jax.numpy as jnp

WANT_COMPILES = 2


class Layer(NamedTuple):
    mult: Callable
    update: Callable
    peek: Callable


def program(jit):
    def make_layer(start):
        weights = jnp.array([start])

        @jit
        def mult(x):
            return weights[0] * x

        @jit
        def update(new):
            nonlocal weights
            weights = jax.lax.dynamic_update_slice(weights, new, (0,))

        def peek():
            return weights

        return Layer(mult, update, peek)

    layer = make_layer(2.0)
    x = jnp.array(10.0)
    seen = [float(layer.mult(x))]
    for value in (0.0, 2.0, 0.0):
        layer.update(jnp.array([value]))
        seen.append([float(layer.mult(x)), layer.peek().tolist()])
    twin = make_layer(7.0)
    return seen + [float(twin.mult(x)), float(layer.mult(x))]
