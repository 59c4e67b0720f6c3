"""The switch of a method takes the values True, 1, 0, False and None, which look alike but are not the same thing."""

import jax.numpy as jnp


def program(jit):
    class Gate:
        def __init__(self):
            self.x = jnp.array(6.0)
            self.mul = True

        def calc(self, y):
            kind = "unset" if self.mul is None else type(self.mul).__name__
            return (self.x * y if self.mul else y), kind, y + (2 if self.mul is True else 0)

    gate = Gate()
    calc = jit(gate.calc)
    seen = []
    for mul in (True, 1, 0, False, None, True, 1):
        gate.mul = mul
        out, kind, extra = calc(jnp.array(2.0))
        seen.append([float(out), kind, float(extra)])
    return seen
