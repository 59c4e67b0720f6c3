"""Optimiser state is a named tuple inside a named tuple, advanced with _replace inside the jitted call."""

from collections import namedtuple
from typing import NamedTuple

import jax
import jax.numpy as jnp

Moments = namedtuple("Moments", ["m", "v"], defaults=[0.0])


class OptState(NamedTuple):
    count: jax.Array
    moments: Moments
    name: str = "adam"

    def scaled(self, by):
        return by * self.moments.m


def program(jit):
    state = OptState(jnp.array(0), Moments(jnp.array(0.0), jnp.array(1.0)))

    @jit
    def step(g):
        nonlocal state
        moments = state.moments._replace(m=0.5 * state.moments.m + g)
        state = state._replace(count=state.count + 1, moments=moments)
        return state.scaled(state.moments.v), state.name

    seen = []
    for g in (1.0, 2.0):
        y, name = step(g)
        seen.append([float(y), name])
    state = OptState(state.count, Moments(jnp.array(10.0), jnp.array(-1.0)), "fresh")
    y, name = step(0.0)
    seen.append([float(y), name])
    return seen, int(state.count), type(state).__name__, type(state.moments).__name__, len(state)
