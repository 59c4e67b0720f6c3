"""isinstance and issubclass of abstract classes and protocols: registered, and attributes that appear."""

import abc
import collections.abc
import typing


class Registered(abc.ABC):
    pass


@typing.runtime_checkable
class Scaled(typing.Protocol):
    scale: float


@typing.runtime_checkable
class Runs(typing.Protocol):
    def run(self): ...


class Layer:
    pass


def program(jit):
    layer, other = Layer(), Layer()

    @jit
    def asked(x):
        new = Layer()
        x = x * (2 if isinstance(layer, Registered) else 1) * (3 if isinstance(layer, (int, Scaled)) else 1)
        x = x * (5 if issubclass(Layer, Registered) else 1) * (7 if isinstance(new, Registered | int) else 1)
        x = x * (11 if isinstance(layer, Runs) else 1) * (17 if isinstance(new, Scaled) else 1)
        return x * (13 if isinstance(layer, collections.abc.Iterable) else 1)

    @jit
    def within(x):
        before = isinstance(other, Scaled)
        other.scale = x
        meanwhile = isinstance(other, Scaled)
        del other.scale
        after = isinstance(other, Scaled)
        return x * (2 if before else 1) * (3 if meanwhile else 1) * (5 if after else 1)

    seen = [float(asked(1.0)), float(within(1.0)), float(within(1.0))]
    Registered.register(Layer)
    seen.append(float(asked(1.0)))
    layer.scale = 2.0
    seen.append(float(asked(1.0)))
    del layer.scale
    seen.append(float(asked(1.0)))
    Layer.run = lambda self: 1
    seen.append(float(asked(1.0)))
    del Layer.run
    seen.append(float(asked(1.0)))
    Layer.__iter__ = lambda self: iter(())
    seen.append(float(asked(1.0)))
    return {"seen": seen}
