"""self is declared static, the class has no __hash__ of its own, and both an array and a flag on it change."""

from functools import partial

import jax.numpy as jnp

WANT_COMPILES = 2


def program(jit):
    class Gate:
        def __init__(self, x, mul):
            self.x, self.mul = x, mul

        @partial(jit, static_argnums=0)
        def calc(self, y):
            if self.mul:
                return self.x * y
            else:
                return y

    gate = Gate(jnp.array(5.0), False)
    y = jnp.array(4.0)
    trail = []
    for step in range(6):
        trail.append(float(gate.calc(y)))
        gate.mul = not gate.mul
        if step == 3:
            gate.x = jnp.array(-1.0)
    trail.append(float(Gate(jnp.array(9.0), True).calc(y)))
    return trail
