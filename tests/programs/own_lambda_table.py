"""Activation functions are lambdas in a dictionary, chosen by a name on self, redefined one at a time."""

import jax.numpy as jnp

ACTIVATIONS = {"id": lambda v: v, "relu": lambda v: jnp.maximum(v, 0.0)}


class Cell:
    act = "id"

    def __init__(self):
        self.w = jnp.array([2.0, -2.0])

    def __call__(self, x):
        return ACTIVATIONS[self.act](self.w * x)


def program(jit):
    cell = Cell()
    run = jit(lambda x: cell(x))
    x = jnp.array([1.0, 1.0])
    seen = [run(x).tolist()]
    cell.act = "relu"
    seen.append(run(x).tolist())
    leak = jnp.array(0.5)
    ACTIVATIONS["relu"] = lambda v: jnp.where(v > 0, v, leak * v)
    seen.append(run(x).tolist())
    leak = jnp.array(0.25)
    seen.append(run(x).tolist())
    ACTIVATIONS[cell.act] = ACTIVATIONS["id"]
    seen.append(run(x).tolist())
    cell.act = "new"
    ACTIVATIONS["new"] = jnp.negative
    return seen + [run(x).tolist()]
