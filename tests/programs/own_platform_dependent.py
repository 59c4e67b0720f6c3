"""Functions for each platform, which read and write state: the one for this platform counts."""

import jax.numpy as jnp
from jax import lax


class Model:
    def __init__(self):
        self.scale = jnp.float32(2.0)
        self.seen = jnp.float32(0.0)
        self.slow = 0


def program(jit):
    model = Model()

    def here(x):
        model.seen = model.seen + x
        return x * model.scale

    def elsewhere(x):
        model.seen = model.seen - 100.0
        return -x

    @jit
    def step(x):
        return lax.platform_dependent(x, cpu=here, cuda=elsewhere, tpu=elsewhere, default=elsewhere)

    @jit
    def plain(x):
        return lax.platform_dependent(x, cpu=lambda x: x + model.scale, default=lambda x: x)

    seen = []
    for scale in (3.0, 4.0):
        seen.append([float(step(1.0)), float(step(2.0)), float(model.seen)])
        seen.append([float(plain(1.0)), float(model.seen)])
        model.scale = jnp.float32(scale)
        seen.append([float(step(1.0)), float(plain(1.0)), float(model.seen)])
    return {"seen": seen}
