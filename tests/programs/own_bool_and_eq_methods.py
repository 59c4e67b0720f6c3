"""Truth and equality of user objects are defined by their fields and steer the jitted function."""

import jax.numpy as jnp


class Budget:
    def __init__(self, left):
        self.left = left

    def __bool__(self):
        return self.left > 0

    def __eq__(self, other):
        return isinstance(other, Budget) and self.left == other.left

    def __hash__(self):
        return hash(self.left)

    def __format__(self, spec):
        return f"<{self.left}>"


class Version:
    def __init__(self, *parts):
        self.parts = parts

    def __ge__(self, other):
        return self.parts >= other.parts


def program(jit):
    here, there, version = Budget(2), Budget(0), Version(1, 0)

    @jit
    def spend(x):
        if here:
            here.left -= 1
            x = x * 10
        if here == there:
            x = x + 1
        if version >= Version(2):
            x = -x
        return x, f"{here}"

    seen = []
    for k in range(6):
        if k == 3:
            there.left = 5
        if k == 4:
            here = Budget(6)
        if k == 5:
            version = Version(2, 1)
        y, text = spend(jnp.array(1.0))
        seen.append([float(y), text])
    return seen, int(here.left)
