"""Named tuples as traced arguments: their class has methods and attributes, which change between calls."""

import collections
from typing import Any, NamedTuple

import jax.numpy as jnp

factor = jnp.float32(2.0)


class Moments(NamedTuple):
    mu: Any
    nu: Any

    def total(self):
        return (self.mu + self.nu) * factor


class Scaled(collections.namedtuple("Scaled", "mu nu")):
    __slots__ = ()
    scale = 2.0

    def total(self):
        return (self.mu - self.nu) * self.scale * factor


class Open(collections.namedtuple("Open", "mu nu")):
    scale = 3.0

    @property
    def product(self):
        return self.mu * self.nu * self.scale * factor

    def total(self):
        return self.product + self.scale


def program(jit):
    global factor
    step = jit(lambda state, x: x * state.total())
    nested = jit(lambda states: sum(state.total() for state in states["all"]))
    kinds = (Moments, Scaled, Open)
    states = [kind(jnp.float32(5.0), jnp.float32(2.0)) for kind in kinds]

    def look():
        return [float(step(state, 1.0)) for state in states] + [float(nested({"all": states}))]

    seen = [look(), look()]
    factor = jnp.float32(3.0)
    seen.append(look())
    Scaled.scale, Open.scale = 4.0, 5.0
    seen.append(look())
    Moments.total = lambda self: self.mu
    Open.product = property(lambda self: self.nu)
    return {"seen": [*seen, look()]}
