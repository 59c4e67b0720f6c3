"""Functions that shard_map made outside: used before, inside loops and gradients, and writing state."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec


class Model:
    def __init__(self):
        self.scale = jnp.float32(2.0)
        self.calls = 0


def program(jit):
    mesh = Mesh(np.array(jax.devices()[:1]), ("i",))
    model = Model()
    spec = PartitionSpec("i")

    @functools.partial(jax.shard_map, mesh=mesh, in_specs=spec, out_specs=spec)
    def scaled(x):
        model.calls += 1
        return x * model.scale

    @jit
    def step(x):
        return scaled(x) + 1

    @jit
    def slope(x):
        return jax.grad(lambda x: (scaled(x) ** 2).sum())(x)

    @jit
    def looped(x):
        return jax.lax.fori_loop(0, 3, lambda i, x: shifted(x), x)

    shifted = jax.shard_map(lambda x: x + model.scale, mesh=mesh, in_specs=spec, out_specs=spec)
    x = jnp.arange(2.0)
    seen = []
    for scale in (3.0, 4.0):
        seen.append([step(x).tolist(), slope(x).tolist(), looped(x).tolist(), model.calls])
        seen.append(shifted(x).tolist())
        seen.append([step(x).tolist(), slope(x).tolist(), looped(x).tolist(), model.calls])
        model.scale = jnp.float32(scale)
        shifted = jax.shard_map(lambda x: x - model.scale, mesh=mesh, in_specs=spec, out_specs=spec)
    return {"seen": seen}
