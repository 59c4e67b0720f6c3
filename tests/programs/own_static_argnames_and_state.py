"""Some arguments are static by name, some by position, and the object they configure changes in between."""

from functools import partial

import jax.numpy as jnp


class Table:
    def __init__(self):
        self.rows = {"a": jnp.array([1.0, 2.0]), "b": jnp.array([10.0, 20.0])}


def program(jit):
    table = Table()

    @partial(jit, static_argnames=("name", "flip"))
    def row(x, name, flip=False):
        r = table.rows[name]
        return (r[::-1] if flip else r) * x

    @partial(jit, static_argnums=(1, 2))
    def tile(x, times, shape=(1,)):
        return jnp.broadcast_to(x, (times,) + shape) + table.rows["a"][0]

    x = jnp.array(2.0)
    seen = [row(x, "a").tolist(), row(x, name="b", flip=True).tolist(), tile(x, 2).tolist()]
    table.rows["a"] = jnp.array([5.0, 6.0])
    seen += [row(x, "a").tolist(), row(x, "a", True).tolist(), tile(x, 1, (2, 1)).tolist()]
    table.rows = {"a": jnp.array([0.0, 1.0, 2.0]), "c": jnp.array([9.0])}
    seen += [row(x, "a", flip=True).tolist(), row(x, "c").tolist(), tile(x, 2).tolist()]
    try:
        row(x, "b")
    except KeyError as e:
        seen.append(str(e))
    return seen
