"""The jitted function returns a closure over a computed value and a partial, to be called by the user afterwards."""

from functools import partial

import jax.numpy as jnp


def interpolate(knots, at, x):
    return knots[0] + (knots[1] - knots[0]) * (x - at)


def program(jit):
    origin = jnp.array(0.0)

    @jit
    def fit(ys):
        centred = ys - jnp.mean(ys) + origin

        def predict(x):
            return jnp.sum(centred) + centred[0] * x

        return predict, partial(interpolate, centred, 1.0)

    seen = []
    for shift in (0.0, 10.0, -3.0):
        origin = jnp.array(shift)
        predict, between = fit(jnp.array([1.0, 3.0]))
        seen.append([float(predict(2.0)), float(between(jnp.array(1.5)))])
    return seen
