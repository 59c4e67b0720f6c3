"""A dict and the attributes of objects, apart at first, are one thing later; a dict becomes its own attributes."""

import jax.numpy as jnp


class Part:
    pass


class Items(dict):
    pass


def program(jit):
    part, other, table = Part(), Part(), {"n": 0}
    part.n = other.n = 0
    items = Items(n=0)
    items.n = 0

    @jit
    def count(x):
        table["n"] += 1
        part.n += 1
        other.n += 1
        return table["n"], part.n, other.n, x

    @jit
    def add(x):
        table["new"] = 1
        return getattr(part, "new", "none"), x

    @jit
    def both(x):
        items["n"] += 1
        items.n += 1
        return items["n"], items.n, x

    seen = []
    for i in range(6):
        seen += [*count(jnp.float32(1.0))[:3], add(jnp.float32(1.0))[0], *both(jnp.float32(1.0))[:2]]
        seen += [table["n"], part.n, other.n, items["n"], items.n]
        table.pop("new")
        if i == 0:
            part.__dict__ = table
            items.__dict__ = items
        if i == 1:
            other.__dict__ = part.__dict__
        if i == 2:
            part.__dict__ = {"n": 5}
            items.__dict__ = {"n": 5}
        if i == 3:
            table = part.__dict__
            items.__dict__ = items
    return seen
