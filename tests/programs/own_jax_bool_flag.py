"""A flag is a jax boolean scalar, so `if self.training` needs its value; it is set from a comparison and flipped."""

import jax.numpy as jnp

WANT_COMPILES = 2


class Layer:
    def __init__(self):
        self.training = jnp.array(True)
        self.w = jnp.array([1.0, 2.0])

    def __call__(self, x):
        y = self.w * x
        if self.training:
            y = y * 0.5
        return y


def program(jit):
    layer = Layer()
    forward = jit(lambda x: layer(x))
    x = jnp.array([2.0, 2.0])
    flags = [jnp.array(True), jnp.array(False)]
    seen = []
    for k in (0, 1, 0, 1, 1, 0):
        layer.training = flags[k]
        seen.append(forward(x).tolist())
        layer.w = layer.w + 1
    layer.training = jnp.array(False)  # equal to one seen before, but a new array
    return seen + [forward(x).tolist()]
