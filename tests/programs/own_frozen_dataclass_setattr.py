"""A frozen dataclass is changed through object.__setattr__, both by a jitted method and from outside."""

from dataclasses import FrozenInstanceError, dataclass

import jax.numpy as jnp


@dataclass(frozen=True)
class Tally:
    total: object
    weight: object
    label: str = "a"

    def add(self, x):
        object.__setattr__(self, "total", self.total + self.weight * x)
        return self.total

    def rename(self, label):
        object.__setattr__(self, "label", label)


def program(jit):
    tally = Tally(jnp.array(0.0), jnp.array(2.0))
    add = jit(tally.add)
    seen = [float(add(3.0)), float(add(4.0))]
    object.__setattr__(tally, "weight", jnp.array(10.0))
    seen.append(float(add(1.0)))
    tally.rename("b")
    seen.append(float(add(1.0)))
    try:
        tally.total = 0.0
    except FrozenInstanceError:
        seen.append("frozen")
    return seen, tally.label, float(tally.total)
