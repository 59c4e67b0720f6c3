"""Subclasses of ``property`` with methods of their own, and properties that are used by themselves."""

import jax.numpy as jnp

gain = jnp.float32(2.0)


class classproperty(property):  # noqa: N801
    def __get__(self, instance, owner=None):
        return self.fget(owner)


class checked(property):  # noqa: N801
    limit = 10.0

    def __set__(self, instance, value):
        super().__set__(instance, jnp.minimum(value, self.limit))

    def __delete__(self, instance):
        instance._level = self.limit


class kept(property):  # noqa: N801
    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        if "_kept" not in instance.__dict__:
            instance._kept = super().__get__(instance, owner)
        return instance._kept


class Tank:
    size = 3.0

    def __init__(self):
        self._level = 1.0

    @classproperty
    def double(cls):
        return cls.size * gain

    @checked
    def level(self):
        return self._level * gain

    @level.setter
    def level(self, value):
        self._level = value + gain

    @kept
    def once(self):
        return self.size * gain

    @property
    def plain(self):
        return self._level - gain

    @plain.setter
    def plain(self, value):
        self._level = value * gain


class Big(Tank):
    @property
    def plain(self):
        return 100 * Tank.plain.fget(self)

    @plain.setter
    def plain(self, value):
        super(Big, type(self)).plain.fset(self, value)


def program(jit):
    global gain
    tank, big = Tank(), Big()

    @jit
    def step(x):
        tank.level = x
        first = tank.level
        if x.ndim:
            del tank.level
        big.plain = x
        return tank.double + Tank.double, first, tank.level, tank.once, Tank().once, big.plain

    def look(x):
        values = [jnp.asarray(v).tolist() for v in step(x)]
        return [values, jnp.asarray(tank._level).tolist(), jnp.asarray(big._level).tolist()]

    seen = [look(jnp.float32(4.0)), look(jnp.float32(40.0)), look(jnp.ones(2))]
    gain = jnp.float32(3.0)
    seen.append(look(jnp.float32(4.0)))
    Tank.size = 5.0
    seen.append(look(jnp.float32(4.0)))
    checked.limit = 1.0
    seen.append(look(jnp.float32(4.0)))
    del tank._kept
    seen.append(look(jnp.float32(4.0)))
    same = jit(lambda x: (x, Tank.plain is vars(Tank)["plain"], isinstance(Tank.level, property)))
    return {"seen": seen, "same": same(1.0)[1:]}
