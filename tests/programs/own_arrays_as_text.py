"""Texts of captured arrays (str, repr, f-strings) are those of the values, in the state and in results."""

import jax.numpy as jnp


class Model:
    def __init__(self):
        self.w = jnp.array([1.0, 2.0])
        self.notes = {}

    def step(self, x):
        self.notes[str(self.w)] = f"{self.w} / {self.w * 2}"
        return x, repr(self.w), "%s" % self.w  # noqa: UP031


def program(jit):
    model, seen = Model(), []
    step = jit(model.step)
    for _ in range(3):
        x, *texts = step(1.0)
        seen.append([float(x), texts, dict(model.notes)])
        model.w = model.w + 1.0
    return seen
