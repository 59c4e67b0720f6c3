"""Double-underscore attributes are mangled per class, so a base and a subclass keep separate state under one name."""

import jax.numpy as jnp


class Base:
    __level = jnp.array(1.0)

    def raise_base(self, x):
        self.__level = self.__level + x
        return self.__level


class Derived(Base):
    def __init__(self):
        self.__level = jnp.array(10.0)

    def raise_both(self, x):
        base = self.raise_base(x)
        self.__level = self.__level * 2
        return base + self.__level


def program(jit):
    d = Derived()
    both, only = jit(d.raise_both), jit(d.raise_base)
    x = jnp.array(0.5)
    seen = [float(both(x)), float(only(x)), float(both(x))]
    d._Base__level = jnp.array(100.0)
    seen.append(float(both(x)))
    d._Derived__level = jnp.array(0.0)
    seen.append(float(both(x)))
    return seen, sorted(vars(d)), float(Base._Base__level)
