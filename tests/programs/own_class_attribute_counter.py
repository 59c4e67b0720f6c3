"""A jitted method counts its calls and accumulates a total on the class, seen by every instance."""

import jax.numpy as jnp


def program(jit):
    class Meter:
        total = jnp.array(0.0)
        calls = 0
        seen_by = []

        def __init__(self, factor):
            self.factor = jnp.array(factor)

        @jit
        def read(self, x):
            type(self).total = type(self).total + self.factor * x
            Meter.calls += 1
            self.seen_by.append("r")
            return Meter.total

    a, b = Meter(1.0), Meter(10.0)
    seen = [float(a.read(1.0)), float(b.read(1.0)), float(a.read(2.0))]
    Meter.total = jnp.array(0.0)
    seen.append(float(b.read(1.0)))
    return seen, int(Meter.calls), len(Meter.seen_by), "total" in vars(a)
