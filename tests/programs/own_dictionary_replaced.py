"""``obj.__dict__`` is replaced, stored and returned: who has the old one keeps it."""

import jax.numpy as jnp


class Part:
    def __init__(self):
        self.a = 1

    def reset(self):
        self.__dict__ = {"a": 0, "were": len(self.__dict__)}


def plain(value):
    return float(value) if hasattr(value, "dtype") else value


def program(jit):
    part, other, store = Part(), Part(), {}

    @jit
    def reset(x):
        old = part.__dict__
        old["k"] = x
        part.reset()
        old["ghost"] = 1
        store["old"] = old
        return len(old), hasattr(part, "ghost"), part.were, list(vars(part))

    @jit
    def replace(x):
        new = {"a": other.a + 1}
        other.__dict__ = new
        new["b"] = x
        other.c = 3
        return other.b, len(new), new is other.__dict__, list(vars(other))

    @jit
    def hand_out(x):
        store["own"] = vars(other)
        return other.__dict__

    seen = []
    for i in range(4):
        seen += [*reset(jnp.float32(2.0)), sorted(store["old"]), plain(part.a)]
        b, *rest = replace(jnp.float32(3.0))
        seen += [float(b), *rest, other.a, sorted(vars(other))]
        given = hand_out(jnp.float32(1.0))
        given["outside"] = i
        seen += [other.outside, given is other.__dict__, store["own"] is given]
        if i == 1:
            part.z = 1
            del part.were
        if i == 2:
            other.__dict__ = {"a": 10.0}
            part.k = "new"
    return seen
