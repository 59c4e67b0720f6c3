"""State is read and written with getattr, setattr, operator.attrgetter and itemgetter, and names built at run time."""

from operator import attrgetter, itemgetter, methodcaller

import jax.numpy as jnp


class Part:
    def __init__(self, gain):
        self.gain = jnp.array(gain)

    def amplify(self, x):
        return self.gain * x


class Machine:
    def __init__(self):
        self.part_0, self.part_1 = Part(2.0), Part(3.0)
        self.table = {"x": jnp.array(1.0), "y": jnp.array(4.0)}
        self.active = 2

    def run(self, x):
        for i in range(self.active):
            part = getattr(self, f"part_{i}")
            x = methodcaller("amplify", x)(part)
            setattr(part, "gain", part.gain + 1)
        a, b = itemgetter("x", "y")(self.table)
        return x + a * b + attrgetter("part_0.gain")(self)


def program(jit):
    m = Machine()
    run = jit(m.run)
    x = jnp.array(1.0)
    seen = [float(run(x)), float(run(x))]
    m.active = 1
    seen.append(float(run(x)))
    m.part_0 = Part(10.0)
    m.table["y"] = jnp.array(-4.0)
    seen.append(float(run(x)))
    return seen, float(m.part_0.gain), float(m.part_1.gain)
