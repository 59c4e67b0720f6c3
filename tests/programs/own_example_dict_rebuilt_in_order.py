"""jax.tree.map gives back a parameter dict with its keys sorted: another order for Python, the same computation for XLA."""

import jax
import jax.numpy as jnp

WANT_COMPILES = 1


class Model:
    def __init__(self):
        self.params = {
            "w": jnp.array([1.0, 2.0]),
            "b": jnp.array(0.5),
            "inner": {"z": jnp.array(1.0), "a": jnp.array(2.0)},
        }


def program(jit):
    model = Model()

    def loss(params, x):
        return (jnp.sum(params["w"] * x) + params["b"]) * params["inner"]["a"] * params["inner"]["z"]

    @jit
    def step(x):
        order = [*model.params, *model.params["inner"]]
        value, gradient = jax.value_and_grad(loss)(model.params, x)
        model.params = jax.tree.map(lambda p, g: p - 0.1 * g, model.params, gradient)
        return value, order

    seen = []
    x = jnp.array([1.0, -1.0])
    for _ in range(4):
        value, order = step(x)
        seen.append([float(value), order])
    return seen
