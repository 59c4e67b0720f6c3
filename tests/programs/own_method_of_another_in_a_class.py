"""A class attribute is a method bound to another object (its function wrapped, as decorators do)."""

import functools


def decorated(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args)

    return call


class Scale:
    def __init__(self, k):
        self.k = k

    @decorated
    def apply(self, x):
        return self.k * x


class Layer:
    apply = Scale(2.0).apply

    def __init__(self, shift):
        self.shift = shift

    def __call__(self, x):
        return self.apply(x) + self.shift


def program(jit):
    layer = Layer(0.5)
    step = jit(lambda x: layer(x))
    first = float(step(1.0))
    Layer.apply.__self__.k = 3.0
    second = float(step(1.0))
    Layer.apply = Scale(5.0).apply
    return {"first": first, "another scale": second, "another method": float(step(1.0))}
