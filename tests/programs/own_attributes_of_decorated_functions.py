"""Attributes that live on what the user's own decorator made, on a callable object, on a partial, and are
counted, set and deleted through the jitted function and beside it."""

import functools

import jax.numpy as jnp


def counted(function):
    @functools.wraps(function)
    def counting(*args):
        counting.calls += 1
        counting.latest = args[-1]
        return function(*args) * counting.scale

    counting.calls, counting.scale = 0, 1.0
    return counting


def tagged(function):
    function.tags = ["made"]
    return function


class Gain:
    def __init__(self):
        self.k, self.calls = 2.0, 0

    def __call__(self, x):
        self.calls += 1
        return self.k * x + getattr(self, "bias", 0.0)


def program(jit):
    seen = []

    @jit
    @counted
    def square(x):
        return x * x

    seen += [square.calls, float(square(3.0)), int(square.calls), float(square.latest)]
    square.scale = 10.0
    seen += [float(square(3.0)), int(square.calls), square.scale]
    square.calls = 100
    seen += [float(square(3.0)), int(square.calls), sorted(vars(square))]

    @jit
    def reader(x):
        return square(x) + square.calls + (0 if "extra" not in vars(square) else 1000)

    seen += [float(reader(1.0)), float(reader(1.0)), int(square.calls)]
    square.extra = True
    seen += [float(reader(1.0)), int(square.calls), hasattr(square, "extra")]
    del square.extra
    seen += [float(reader(1.0)), hasattr(square, "extra")]

    @tagged
    @jit
    def shifted(x, by=1.0):
        return x + by + len(shifted.tags)

    seen += [float(shifted(1.0)), shifted.tags]
    shifted.tags.append("more")
    seen.append(float(shifted(1.0)))
    shifted.__defaults__ = (5.0,)
    seen += [float(shifted(1.0)), shifted.__defaults__, shifted.__code__.co_name]

    @counted
    @jit
    def under(x):
        return x * under.scale

    under.scale = 3.0
    seen += [float(under(2.0)), int(under.calls), float(under(2.0)), int(under.calls)]

    @functools.wraps(under)
    def outermost(x):
        return under(x) + 1.0

    seen += [outermost.__name__, outermost.scale, sorted(vars(outermost))]

    gain = Gain()
    apply = jit(gain)
    seen += [float(apply(1.0)), int(apply.calls), apply.k]
    apply.k = 5.0
    apply.bias = jnp.float32(0.5)
    seen += [float(apply(1.0)), gain.k, float(gain.bias), int(gain.calls)]
    del apply.bias
    seen += [float(apply(1.0)), hasattr(gain, "bias"), int(apply.calls)]

    double = jit(functools.partial(counted(lambda k, x: k * x), 2.0))
    double.note = "of a partial"
    seen += [float(double(4.0)), int(double.func.calls), double.args, double.note]
    return {"seen": seen}
