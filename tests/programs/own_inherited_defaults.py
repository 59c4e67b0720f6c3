"""Defaults come from base classes; they are overridden on the subclass, on the instance, and taken away again."""

import jax.numpy as jnp


class Base:
    gain = 1.0
    offset = jnp.array(0.0)

    def forward(self, x):
        return self.gain * x + self.offset


class Middle(Base):
    pass


class Leaf(Middle):
    offset = jnp.array(10.0)


def program(jit):
    leaf, base = Leaf(), Base()
    f, g = jit(leaf.forward), jit(base.forward)
    x = jnp.array(3.0)

    def both():
        return [float(f(x)), float(g(x))]

    seen = [both()]
    Base.gain = 2.0
    seen.append(both())
    Middle.gain = 5.0
    seen.append(both())
    leaf.gain = -1.0
    seen.append(both())
    del leaf.gain
    del Middle.gain
    seen.append(both())
    del Leaf.offset
    Base.offset = jnp.array(0.5)
    return seen + [both()]
