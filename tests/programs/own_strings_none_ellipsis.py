"""Optional settings are strings, None, Ellipsis, bytes and a complex number, used to pick what to do."""

import jax.numpy as jnp


class Spec:
    reduce = "sum"
    axis = None
    where = ...
    tag = b"a"
    phase = 1 + 0j


def program(jit):
    spec = Spec()

    @jit
    def run(x):
        picked = x if spec.where is ... else x[spec.where]
        y = getattr(jnp, spec.reduce)(picked, axis=spec.axis)
        return y * spec.phase.real + len(spec.tag), spec.axis, spec.reduce

    x = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    seen = []

    def look():
        y, axis, name = run(x)
        seen.append([y.tolist(), None if axis is None else int(axis), name])

    look()
    spec.axis = 0
    look()
    spec.reduce = "max"
    look()
    spec.where = slice(0, 1)
    look()
    spec.phase = -2 + 1j
    look()
    spec.axis, spec.where, spec.tag = None, ..., b"abc"
    look()
    return seen
