"""Arithmetic on changing numbers raises errors that the function catches, at first or only later."""

import math


class Meter:
    def __init__(self):
        self.count, self.level, self.power = 3, 3.0, 500.0

    def divide(self, x):
        self.count -= 1
        try:
            return x * (1 / self.count)
        except ZeroDivisionError:
            return x * 50

    def checked(self, x):
        self.count -= 1
        try:
            1 / self.count  # noqa: B018
        except ZeroDivisionError as error:
            return x * len(str(error))
        return x

    def root(self, x):
        self.level -= 1
        try:
            return x * math.sqrt(self.level)
        except ValueError:
            return x * 10

    def grow(self, x):
        self.power += 100
        try:
            return x * math.log(math.exp(self.power))
        except OverflowError:
            return x * 10

    def shift(self, x):
        self.count -= 1
        try:
            return x * (1 << self.count)
        except ValueError:
            return x * 7


def program(jit):
    meter = Meter()
    seen = []
    for method in (meter.divide, meter.checked, meter.root, meter.grow, meter.shift):
        meter.count, meter.level, meter.power = 3, 3.0, 500.0
        step = jit(method)
        seen.append([round(float(step(1.0)), 4) for _ in range(6)])
        meter.count, meter.level = 5, 9.0
        seen.append([round(float(step(1.0)), 4), meter.count, meter.level])
    return seen
