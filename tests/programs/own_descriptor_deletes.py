"""A descriptor of the user's with ``__delete__``, on objects of the caller's and on new ones; and one without."""

import jax.numpy as jnp

fallback = jnp.float32(0.25)


class Resettable:
    cost = 1.0

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else instance.__dict__.get(self.name, fallback)

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value

    def __delete__(self, instance):
        del instance.__dict__[self.name]
        instance.paid = instance.paid + self.cost


class OnlySet:
    def __set__(self, instance, value):
        instance.other = value


class Model:
    rate = Resettable()
    other_rate = OnlySet()

    def __init__(self, rate):
        self.paid = 0.0
        self.rate = rate


def delete(thing, name):
    try:
        delattr(thing, name)
    except (AttributeError, KeyError) as error:
        return type(error).__name__
    return "deleted"


def program(jit):
    global fallback
    model = Model(jnp.float32(2.0))

    @jit
    def captured(x):
        before = model.rate
        what = delete(model, "rate")
        return x * before + model.rate, what, delete(model, "other_rate")

    @jit
    def new(x):
        made = Model(x)
        del made.rate
        return made.rate + made.paid

    def look():
        y, *what = captured(3.0)
        return [float(y), what, float(model.paid), sorted(vars(model)), float(new(1.0))]

    seen = [look(), look()]
    model.rate = jnp.float32(4.0)
    seen.append(look())
    fallback = jnp.float32(0.75)
    seen.append(look())
    model.rate, Resettable.cost = jnp.float32(4.0), 10.0
    seen.append(look())
    model.rate = jnp.float32(4.0)
    Resettable.__delete__ = lambda self, instance: setattr(instance, "paid", -1.0)
    return {"seen": [*seen, look()]}
