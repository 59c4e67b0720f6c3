"""A method carries @jit in the class body, x is an array, and two instances flip their flags out of step."""

import jax.numpy as jnp

WANT_COMPILES = 2


def program(jit):
    class Scaler:
        def __init__(self, x, mul):
            self.x = jnp.asarray(x)
            self.mul = mul

        @jit
        def calc(self, y):
            return self.x * y if self.mul else y

    y = jnp.array([1.0, 2.0])
    left, right = Scaler([2.0, 4.0], True), Scaler([10.0, 20.0], False)
    seen = []
    for _ in range(3):
        seen.append([left.calc(y).tolist(), right.calc(y).tolist()])
        left.mul, right.mul = right.mul, left.mul
    left.x = left.x + 1.0
    left.mul = True
    return seen + [left.calc(y).tolist()]
