"""A bound flax.linen module is called from a jitted function."""

import flax.linen as nn
import jax
import jax.numpy as jnp


def program(jit):
    d = nn.Dense(2)
    v = d.init(jax.random.key(0), jnp.ones((1, 2)))
    b = d.bind(v)
    f = jit(lambda x: b(x))
    x = jnp.ones((1, 2))
    out = [f(x).tolist()]
    b = d.bind(jax.tree.map(jnp.zeros_like, v))
    out.append(f(x).tolist())
    return out
