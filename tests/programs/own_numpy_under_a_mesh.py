"""NumPy arrays read under a mesh and without one, changed in between."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, PartitionSpec


class Model:
    def __init__(self):
        self.table = np.ones(3)
        self.scale = jnp.float32(2.0)


def program(jit):
    mesh = jax.make_mesh((1,), ("x",), axis_types=(AxisType.Explicit,))
    model = Model()

    @jit
    def step(x):
        return x * model.scale + model.table

    seen = [step(jnp.ones(3)).tolist()]
    for change in (2.0, 3.0):
        with jax.set_mesh(mesh):
            split = jax.device_put(jnp.ones(3), PartitionSpec("x"))
            seen.append([step(jnp.ones(3)).tolist(), step(split).tolist()])
            model.table[0] = change
            seen.append([step(split).tolist(), step(jnp.ones(3)).tolist()])
        seen.append(step(jnp.ones(3)).tolist())
        model.table[1] = change
        seen.append(step(jnp.ones(3)).tolist())
    return {"seen": seen}
