"""Types of arrays, meshes, devices and the like, stored and returned: the same values, not copies of them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, PartitionSpec


class Model:
    shape = None


def program(jit):
    model = Model()
    seen_before = {}

    @jit
    def describe(x):
        model.shape = jax.typeof(x)
        model.path = jax.tree_util.tree_flatten_with_path({"w": [x]})[0][0][0]
        model.mesh = AbstractMesh((1,), ("i",))
        model.device = jax.devices()[0]
        model.limits = jnp.finfo(x.dtype)
        model.spec = PartitionSpec("i")
        seen_before[model.shape] = model.device
        return x * 2, model.shape.update(shape=(7,)), jax.tree_util.tree_structure([x])

    results = []
    for size in (2, 2, 3):
        x = jnp.ones(size)
        doubled, longer, tree = describe(x)
        results.append(
            [
                doubled.tolist(),
                longer == jax.typeof(jnp.ones(7)),
                tree == jax.tree_util.tree_structure([0]),
                model.shape == jax.typeof(x),
                model.path == (jax.tree_util.DictKey("w"), jax.tree_util.SequenceKey(0)),
                model.mesh == AbstractMesh((1,), ("i",)),
                model.device is jax.devices()[0],
                model.limits is jnp.finfo(np.float32),
                model.spec == PartitionSpec("i"),
                jax.typeof(x) in seen_before,
                len(seen_before),
            ]
        )
    return {"results": results}
