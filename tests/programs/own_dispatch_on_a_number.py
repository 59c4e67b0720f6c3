"""For functools.singledispatch, as a function and as a method, a number that changes is a number."""

import functools


def program(jit):
    @functools.singledispatch
    def weight(value):
        return 1.0

    @weight.register
    def _(value: str):
        return 2.0

    class Model:
        def __init__(self):
            self.key = 1

        @functools.singledispatchmethod
        def factor(self, value):
            return 10.0

        @factor.register
        def _(self, value: float):
            return 20.0

        def step(self, x):
            return x * weight(self.key), x * self.factor(self.key)

    model, seen = Model(), []
    step = jit(model.step)

    def look():
        seen.append([float(y) for y in step(1.0)])

    for key in (1, 2, 3, 0.5, 1.5, "a", 4):
        model.key = key
        look()
    weight.register(int)(lambda value: 7.0 + value)
    look()
    model.key = 5
    look()
    weight.register(float)(lambda value: 9.0)
    for key in (0.25, 0.75, True):
        model.key = key
        look()
    return seen
