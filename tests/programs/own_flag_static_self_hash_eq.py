"""self is static and hashes over its fields, which are then edited in place although the hash was taken."""

from functools import partial

WANT_COMPILES = 2


def program(jit):
    class Gate:
        def __init__(self, x, mul):
            self.x = x
            self.mul = mul

        def __hash__(self):
            return hash((self.x, self.mul))

        def __eq__(self, other):
            return type(self) is type(other) and (self.x, self.mul) == (other.x, other.mul)

        @partial(jit, static_argnums=0)
        def calc(self, y):
            return self.x * y if self.mul else y

    one, other = Gate(2, True), Gate(2, False)
    seen = [float(one.calc(10.0)), float(other.calc(10.0))]
    one.mul, other.mul = False, True
    seen += [float(one.calc(10.0)), float(other.calc(10.0))]
    one.mul = True
    seen += [float(one.calc(10.0)), one == other]
    return seen
