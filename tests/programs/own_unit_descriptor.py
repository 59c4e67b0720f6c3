"""Physical quantities are custom descriptors that store the value under a mangled name and scale it on reading."""

import jax.numpy as jnp


class Quantity:
    def __init__(self, factor):
        self.factor = factor

    def __set_name__(self, owner, name):
        self.slot = "_q_" + name

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        return getattr(obj, self.slot) * self.factor

    def __set__(self, obj, value):
        setattr(obj, self.slot, value / self.factor)


class Beam:
    length = Quantity(1000.0)
    load = Quantity(1.0)

    def __init__(self, length, load):
        self.length, self.load = jnp.array(length), jnp.array(load)

    def moment(self, ratio):
        peak = self.length * self.load * ratio
        self.load = self.load + 1.0
        return peak


def program(jit):
    beam = Beam(2.0, 3.0)
    moment = jit(beam.moment)
    seen = [float(moment(0.5)), float(moment(0.5))]
    beam.length = jnp.array(8.0)
    seen.append(float(moment(0.5)))
    Beam.__dict__["length"].factor = 10.0
    seen.append(float(moment(0.5)))
    beam._q_load = jnp.array(0.0)
    return seen + [float(moment(0.5)), float(beam.load)]
