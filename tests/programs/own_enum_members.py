"""Members of an enumeration have attributes and mutable values, however the class hands them out."""

import enum

import jax.numpy as jnp


class Mode(enum.Enum):
    FAST = 1
    EXACT = [1.0, 2.0]  # noqa: RUF012 - a mutable value is the point

    def doubled(self):
        return 2 * self.scale


class Parts(enum.Flag):
    HEAD = 1
    TAIL = 2


def program(jit):
    Mode.FAST.scale, Mode.EXACT.scale, Parts.HEAD.weight = 1.0, 2.0, 3.0
    del Mode.EXACT.value[2:]
    Mode.EXACT.value[0] = 1.0

    @jit
    def scaled(x):
        Mode.FAST.last = 2 * x
        every = sum(mode.scale for mode in Mode)
        return x * Mode.FAST.scale + 10 * every + 100 * Mode["FAST"].doubled() + 1000 * Mode(1).scale

    @jit
    def grow(x):
        Mode.EXACT.value.append(x)
        return len(Mode.EXACT.value) + Mode.EXACT.value[0]

    @jit
    def chosen(x, mode):
        factor = {Mode.FAST: 2.0, Mode.EXACT: 3.0}[mode]
        return (
            x * factor + (mode is Mode.FAST) + len(mode.name) + Parts.HEAD.weight * (Parts.HEAD in Parts(3))
        )

    seen = []
    for scale in (1.0, 5.0):
        Mode.FAST.scale = scale
        Parts.HEAD.weight = scale
        seen += [scaled(jnp.float32(1.0)), Mode.FAST.last, grow(jnp.float32(7.0))]
        seen += [chosen(1.0, Mode.FAST), chosen(1.0, Mode.EXACT)]
        Mode.EXACT.value[0] = 50.0
        Mode.EXACT.scale = 9.0
        seen += [scaled(jnp.float32(1.0)), grow(jnp.float32(7.0))]
        Mode.EXACT.scale = 2.0
    return {"seen": [float(y) for y in seen], "value": [float(v) for v in Mode.EXACT.value]}
