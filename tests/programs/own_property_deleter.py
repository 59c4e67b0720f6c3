"""``del obj.prop``: the deleter of a property runs, on objects of the caller's and on new ones."""

import jax.numpy as jnp

empty = jnp.float32(-1.0)


class Cache:
    weight = 1.0

    def __init__(self, value):
        self._value = value
        self.deletions = 0

    @property
    def value(self):
        return self._value

    @value.deleter
    def value(self):
        self._value = empty * self.weight
        self.deletions = self.deletions + 1

    @property
    def fixed(self):
        return 1


def message(act, thing):
    try:
        act(thing)
    except AttributeError as error:
        return str(error)
    return None


def remove_fixed(thing):
    del thing.fixed


def program(jit):
    global empty
    cache = Cache(jnp.float32(2.0))

    @jit
    def captured(x):
        y = x * cache.value
        del cache.value
        return y

    @jit
    def new(x):
        made = Cache(x)
        del made.value
        return made.value, made.deletions

    @jit
    def refused(x):
        return x, message(remove_fixed, cache), message(remove_fixed, Cache(x))

    def look():
        y = captured(3.0)
        value, deletions = new(3.0)
        return [float(y), float(cache.value), cache.deletions, float(value), deletions]

    seen = [look(), look()]
    empty = jnp.float32(-5.0)
    seen += [look(), look()]
    Cache.weight = 2.0
    seen += [look(), refused(1.0)[1:]]
    Cache.value = Cache.value.deleter(lambda self: setattr(self, "_value", empty - 1))
    return {"seen": [*seen, look()]}
