"""Pytree nodes of JAX's own that are kept in attributes: sparse arrays, and partials of jax.tree_util."""

import jax
import jax.numpy as jnp
from jax.experimental import sparse


class Model:
    pass


def scaled(factor, x):
    return factor * x + OFFSET[0]


OFFSET = [1.0]


def program(jit):
    model = Model()
    model.matrix = sparse.BCOO.fromdense(jnp.eye(3))
    model.rule = jax.tree_util.Partial(scaled, jnp.float32(2.0))
    OFFSET[0] = jnp.float32(1.0)

    @jit
    def apply(x):
        return model.matrix @ x

    @jit
    def call(x):
        return model.rule(x)

    @jit
    def double():
        model.matrix = sparse.BCOO((2 * model.matrix.data, model.matrix.indices), shape=model.matrix.shape)
        return model.matrix.todense()

    seen = []
    for n in range(1, 4):
        seen += [apply(jnp.ones(3)), call(1.0)]
        model.matrix = sparse.BCOO.fromdense((n + 1) * jnp.eye(3))
        model.rule = jax.tree_util.Partial(scaled, jnp.float32(n + 5))
        OFFSET[0] = OFFSET[0] + 1
    model.matrix.data = 10 * model.matrix.data
    seen += [apply(jnp.ones(3)), double(), apply(jnp.ones(3)), double(), model.matrix.todense()]
    return {"seen": [y.tolist() for y in seen], "kind": type(model.matrix).__name__}
