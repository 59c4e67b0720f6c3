"""jit is called inside a function that runs for every batch, so the jitted closure is created anew each time."""

import jax.numpy as jnp

WANT_COMPILES = 1


def program(jit):
    def evaluate(params, batch):
        offset = params["b"]

        @jit
        def loss(x):
            return jnp.mean((params["w"] * x + offset) ** 2)

        return float(loss(batch))

    params = {"w": jnp.array(1.0), "b": jnp.array(0.0)}
    batch = jnp.array([1.0, 2.0, 3.0])
    losses = []
    for i in range(8):
        losses.append(evaluate(params, batch))
        params = {"w": params["w"] * 0.5, "b": params["b"] + 1.0}
    return losses
