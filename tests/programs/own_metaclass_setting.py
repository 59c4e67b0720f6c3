"""A setting is a property of the metaclass, so that Config.precision works without an instance."""

import jax.numpy as jnp


class ConfigMeta(type):
    _precision = 2

    @property
    def precision(cls):
        return cls._precision

    @precision.setter
    def precision(cls, value):
        cls._precision = int(value)

    def __len__(cls):
        return len(cls.known)


class Config(metaclass=ConfigMeta):
    known = ["a", "b"]


def rounded(x):
    scale = 10.0**Config.precision
    return jnp.round(x * scale) / scale + 100 * len(Config)


def program(jit):
    f = jit(rounded)
    x = jnp.array(0.12345)
    seen = [float(f(x))]
    Config.precision = 3
    seen.append(float(f(x)))
    Config.known.append("c")
    seen.append(float(f(x)))
    ConfigMeta._precision = 1
    del Config._precision
    seen.append(float(f(x)))
    return seen
