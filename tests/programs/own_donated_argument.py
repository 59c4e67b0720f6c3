"""The step donates its state argument while a captured rate and a captured count change around it."""

from functools import partial

import jax.numpy as jnp


def program(jit):
    rate = jnp.array(0.5)
    calls = jnp.array(0)

    @partial(jit, donate_argnums=(0,))
    def step(state, x):
        nonlocal calls
        calls = calls + 1
        return {"w": state["w"] - rate * x, "m": state["m"] * rate + calls}

    state = {"w": jnp.zeros(2), "m": jnp.ones(2)}
    x = jnp.array([1.0, 2.0])
    seen = []
    for k in range(4):
        state = step(state, x)
        seen.append([state["w"].tolist(), state["m"].tolist()])
        if k == 1:
            rate = rate * 4
    return seen, int(calls), x.tolist()
