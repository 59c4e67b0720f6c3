"""Class methods are jitted below and above @classmethod, reached through the class, a subclass and an instance."""

import jax.numpy as jnp


def program(jit):
    class Unit:
        factor = jnp.array(2.0)
        used = jnp.array(0)

        @classmethod
        @jit
        def convert(cls, x):
            cls.used = cls.used + 1
            return cls.factor * x

        def _back(cls, x):
            return x / cls.factor

        back = classmethod(jit(_back))

        @classmethod
        def both(cls, x):
            return cls.convert(x) + cls.back(x)

    class Special(Unit):
        factor = jnp.array(10.0)

    x = jnp.array(4.0)
    seen = [float(Unit.convert(x)), float(Special.convert(x)), float(Special().back(x))]
    Unit.factor = jnp.array(4.0)
    seen += [float(Unit.convert(x)), float(Unit.back(x)), float(Special.both(x))]
    del Special.factor
    seen += [float(Special.convert(x)), float(jit(Unit.both)(x))]
    return seen, int(Unit.used), int(Special.used), "used" in vars(Special)
