"""A class is asked for an attribute that it does not have yet; somebody adds it later, or to its base."""

import jax.numpy as jnp


class Defaults:
    pass


class Config(Defaults):
    pass


class Model:
    @classmethod
    def scaled(cls, x):
        return x * getattr(cls, "scale", 1.0)

    def named(self, x):
        return x * (2.0 if hasattr(type(self), "debug") else 1.0)


def program(jit):
    @jit
    def rate(x):
        return x * (10.0 if hasattr(Config, "debug") else 1.0) * getattr(Config, "rate", 0.5)

    @jit
    def creates(x):
        if not hasattr(Config, "made"):
            Config.made = x
        made = Config.made
        if getattr(Config, "made", None) is None:
            return x
        del Config.made
        return made * (2.0 if hasattr(Config, "made") else 3.0)

    scaled, named, x = jit(Model.scaled), jit(Model().named), jnp.float32(1.0)
    functions = (rate, creates, scaled, named)
    seen = [[float(f(x)) for f in functions]]
    Config.debug = Model.debug = True
    seen.append([float(f(x)) for f in functions])
    Defaults.rate = Model.scale = 4.0
    seen.append([float(f(x)) for f in functions])
    del Config.debug
    Config.made = jnp.float32(7.0)
    seen.append([float(f(x)) for f in functions])
    seen.append([float(f(x)) for f in functions])
    return seen
