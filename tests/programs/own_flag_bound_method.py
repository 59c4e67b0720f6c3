"""A bound method is jitted once and a boolean attribute is flipped back and forth between calls."""

WANT_COMPILES = 2


class Scaler:
    def __init__(self, x, mul):
        self.x = x
        self.mul = mul

    def calc(self, y):
        if self.mul:
            return self.x * y
        return y


def program(jit):
    scaler = Scaler(3.0, True)
    calc = jit(scaler.calc)
    seen = []
    for mul in (True, False, True, False, False, True):
        scaler.mul = mul
        seen.append(float(calc(7.0)))
    scaler.calc_again = None  # an attribute nobody reads
    seen.append(float(calc(8.0)))
    return seen
