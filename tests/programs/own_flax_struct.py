"""flax.struct dataclasses with static fields make up a train state which is captured and rebound inside the jitted step."""

from typing import Any, Callable

import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class TrainState:
    step: jax.Array
    params: Any
    apply_fn: Callable = struct.field(pytree_node=False)
    name: str = struct.field(pytree_node=False, default="net")

    def advance(self, grads):
        params = jax.tree_util.tree_map(lambda p, g: p - 0.5 * g, self.params, grads)
        return self.replace(step=self.step + 1, params=params)


def linear(params, x):
    return params["w"] * x


def program(jit):
    state = TrainState(jnp.array(0), {"w": jnp.array(1.0)}, linear)

    @jit
    def train(x):
        nonlocal state
        loss, grads = jax.value_and_grad(lambda p: state.apply_fn(p, x) ** 2)(state.params)
        state = state.advance(grads)
        return loss, state.name

    x = jnp.array(0.5)
    seen = []
    for k in range(4):
        loss, name = train(x)
        seen.append([float(loss), name])
        if k == 1:
            state = state.replace(apply_fn=lambda p, x: p["w"] + x, name="sum")
    return seen, int(state.step), float(state.params["w"])
