"""A wrapper object forwards unknown attributes to the thing it wraps through __getattr__, and the wrapped thing is exchanged."""

import jax.numpy as jnp


class Engine:
    def __init__(self, power):
        self.power = jnp.array(power)
        self.name = "engine"


class Turbo(Engine):
    def boost(self):
        return 2.0


class Wrapper:
    def __init__(self, inner):
        self._inner = inner
        self.scale = 1.0

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def run(self, x):
        extra = self.boost() if hasattr(self, "boost") else 1.0
        return self.power * x * extra * self.scale, self.name


def program(jit):
    car = Wrapper(Engine(3.0))
    run = jit(car.run)

    def look(x):
        value, name = run(x)
        return [float(value), name]

    seen = [look(2.0)]
    car._inner.power = jnp.array(5.0)
    seen.append(look(2.0))
    car._inner = Turbo(7.0)
    seen.append(look(2.0))
    car.power = jnp.array(100.0)
    car._inner.name = "turbo"
    seen.append(look(2.0))
    del car.power
    return seen + [look(2.0)]
