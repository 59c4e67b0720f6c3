"""Functions that jax.vjp, jax.linearize and the like return: handed out of jit, kept in state, passed on."""

import jax
import jax.numpy as jnp


class Settings:
    def __init__(self):
        self.rate, self.weights, self.back, self.value = 2.0, jnp.arange(3.0), None, None


settings = Settings()


def loss(x):
    return jnp.sin(x) * settings.rate * settings.weights.sum()


def program(jit):
    pull_back = jit(lambda x: jax.vjp(loss, x))
    push_forward = jit(lambda x: jax.linearize(loss, x))
    transposed = jit(lambda x: jax.linear_transpose(lambda y: y * x * settings.rate, 1.0))
    partial = jit(lambda x: jax.tree_util.Partial(jnp.add, x * settings.rate))
    in_containers = jit(lambda x: {"all": [jax.vjp(lambda a: {"a": a * settings.weights}, x)[1]]})
    apply = jit(lambda back, cotangent: back(cotangent))
    apply_kept = jit(lambda x: settings.back(x))

    @jit
    def keep(x):
        settings.value, settings.back = jax.vjp(loss, x)

    seen = []
    for rate in (2.0, 3.0, 4.0):
        settings.rate = rate
        settings.weights = settings.weights + 1
        for x in (1.0, 2.0):
            keep(x)
            seen += [
                float(pull_back(x)[0]),
                float(pull_back(x)[1](1.0)[0]),
                float(push_forward(x)[1](3.0)),
                float(transposed(x)(1.0)[0]),
                float(partial(x)(5.0)),
                float(in_containers(x)["all"][0]({"a": jnp.ones(3)})[0]),
                float(apply(pull_back(x)[1], 2.0)[0]),
                float(settings.value),
                float(settings.back(2.0)[0]),
                float(apply_kept(2.0)[0]),
            ]
    return seen
