"""A subclass of a named tuple has attributes beside its fields, as state and as an argument."""

from collections import namedtuple

import jax.numpy as jnp


class Pair(namedtuple("Pair", "a b")):
    def total(self):
        return self.a + self.b + self.shift


def program(jit):
    def double(x):
        return 2 * x

    plain, array, function = Pair(1.0, 2.0), Pair(jnp.ones(()), 2.0), Pair(double, 2.0)
    for pair in (plain, array, function):
        pair.shift = 1.0

    @jit
    def state(x):
        for pair in (plain, array, function):
            pair.last = x
        return x * plain.total() * array.total() * function.a(function.shift)

    @jit
    def argument(pair):
        pair.last = pair.a
        return pair.total()

    seen = []
    for pair in (None, plain, array, function):
        if pair is not None:
            pair.shift += 1.0
        seen += [float(state(1.0)), [float(p.last) for p in (plain, array, function)]]
        seen += [float(argument(plain)), float(plain.last), float(argument(array)), float(array.last)]
    return seen
