"""The hash over the fields cannot be computed because one field is an array; comparing two such objects is ambiguous too."""

from functools import partial

import jax.numpy as jnp

WANT_COMPILES = 2


class Gate:
    def __init__(self, x, mul):
        self.x = x
        self.mul = mul

    def __hash__(self):
        return hash((self.x, self.mul))

    def __eq__(self, other):
        return self.x == other.x and self.mul == other.mul


def program(jit):
    Gate.calc = partial(jit, static_argnums=(0,))(lambda self, y: self.x * y if self.mul else y)
    gates = [Gate(jnp.array([1.0, 2.0]), True), Gate(jnp.array([3.0, 4.0]), False)]
    y = jnp.array([10.0, 100.0])
    seen = []
    for _ in range(3):
        for g in gates:
            seen.append(g.calc(y).tolist())
            g.mul = not g.mul
    gates[0].x = gates[1].x
    gates[0].mul = True
    return seen + [gates[0].calc(y).tolist()]
