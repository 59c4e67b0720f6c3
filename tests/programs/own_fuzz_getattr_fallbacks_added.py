"""Attributes are missing at first; then the class, its metaclass or a base gets them, or a __getattr__."""

import jax.numpy as jnp

LEVEL = 2.0


class Meta(type):
    def __getattr__(cls, name):
        if name == "rate":
            return LEVEL
        raise AttributeError(name)


class Config(metaclass=Meta):
    pass


class Plain:
    pass


def program(jit):
    global LEVEL
    LEVEL = 2.0
    plain, x = Plain(), jnp.float32(1.0)

    def tried(x):
        try:
            return x * Config.other
        except AttributeError:
            return x

    functions = [jit(lambda x: x * Config.rate), jit(lambda x: x * getattr(plain, "w", 2.0)), jit(tried)]
    seen = []

    def look():
        seen.append([float(f(x)) for f in functions])

    look()
    LEVEL = 3.0
    Plain.__getattr__ = lambda self, name: 9.0
    Config.other = 6.0
    look()
    Config.rate = 5.0
    del Plain.__getattr__
    del Config.other
    look()
    Meta.rate = 7.0
    look()
    del Config.rate
    Meta.other = 8.0
    look()
    return seen
