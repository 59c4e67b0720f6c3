"""A custom_vjp function made by a method closes over a clip level and a scale that are tuned during training."""

import jax
import jax.numpy as jnp


class Clipped:
    def __init__(self):
        self.level = jnp.array(1.0)
        self.scale = jnp.array(2.0)

    def __call__(self, x):
        @jax.custom_vjp
        def identity_clipped(v, level):
            return v

        def forward(v, level):
            return v, level

        def backward(level, g):
            return jnp.clip(g, -level, level), jnp.zeros_like(level)

        identity_clipped.defvjp(forward, backward)
        return self.scale * identity_clipped(x, self.level)


def program(jit):
    clip = Clipped()

    @jit
    def run(x):
        return jax.value_and_grad(lambda v: jnp.sum(clip(v) ** 2))(x)

    x = jnp.array([0.1, 3.0])
    seen = []
    for level, scale in ((1.0, 2.0), (0.5, 2.0), (100.0, 2.0), (100.0, 1.0)):
        clip.level, clip.scale = jnp.array(level), jnp.array(scale)
        value, g = run(x)
        seen.append([float(value), g.tolist()])
    return seen
