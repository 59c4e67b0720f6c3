"""Results are returned as a plain object, a dataclass and a named tuple, all holding computed values and strings."""

from collections import namedtuple
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp

Stats = namedtuple("Stats", "mean label")


@dataclass
class Result:
    value: jax.Array
    notes: list = field(default_factory=list)


class Plain:
    def __init__(self, value, parent):
        self.value, self.parent = value, parent


def program(jit):
    offset = jnp.array(1.0)

    @jit
    def solve(x, label):
        y = x + offset
        result = Result(y, [label, None])
        return result, Stats(jnp.mean(y), label), Plain(y * 2, result)

    seen = []
    for label, off in (("a", 1.0), ("a", 5.0), ("b", 5.0)):
        offset = jnp.array(off)
        result, stats, plain = solve(jnp.array([1.0, 2.0]), label)
        seen.append(
            [
                result.value.tolist(),
                result.notes,
                float(stats.mean),
                stats.label,
                plain.value.tolist(),
                plain.parent is result,
                type(result).__name__,
                type(stats).__name__,
                type(plain).__name__,
            ]
        )
    return seen
