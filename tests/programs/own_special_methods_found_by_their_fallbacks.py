"""Special methods given to a class later, where what Python asked for instead of them was seen."""

import copy
import dataclasses
import enum
import functools
import math
import operator

import jax.numpy as jnp
import numpy as np


def observed(jit, cls, use, changes, make=None):
    """What ``use`` gives for an object before, with, and after each of the methods."""
    thing = cls() if make is None else make(cls)
    function = jit(functools.partial(use, thing))

    def now():
        try:
            return float(function(jnp.float32(1)))
        except TypeError:
            return "TypeError"

    seen = [now(), now()]
    for name, method in changes.items():
        setattr(cls, name, method)
        seen += [now(), now()]
        delattr(cls, name)
        seen.append(now())
    return seen


def gives(value):
    return lambda self, *others: value


def with_methods(**methods):
    return type("Thing", (object,), methods)


PRODUCTS = {"__mul__": gives(7.0), "__imul__": gives(8.0), "__rmul__": gives(9.0)}
TEXTS = {"__str__": gives("a"), "__format__": gives("ab"), "__repr__": gives("abc")}


def left(thing, x):
    return thing * x


def right(thing, x):
    return x * thing


def in_place(thing, x):
    thing *= x
    return thing


def of_numpy(thing, x):
    return (thing * np.float32(2)) * x


def less(thing, x):
    return jnp.where(thing < x, 1.0, 2.0)


def list_times(thing, x):
    return x * len([1] * thing)


def times_list(thing, x):
    return x * len(thing * [1])


def by_function(thing, x):
    return x * len(operator.mul([1], thing))


def rounded(thing, x):
    return x * math.floor(thing) + 10 * math.ceil(thing)


def as_complex(thing, x):
    return x * complex(thing).real


def as_float(thing, x):
    return x * float(thing)


def unequal(thing, x):
    return x * (thing != 3) + 10 * operator.ne(thing, 3)


def sorts(thing, x):
    return x * (sorted([thing, 5])[0] == 5)


def percent(thing, x):
    return x * len("%s" % thing)


def converted(thing, x):
    return x * len(f"{thing!s}") + 10 * len(f"{thing}") + 100 * len(format(thing)) + 1000 * len(f"{thing!r}")


def of_a_method(thing, x):
    return x * len("{}".format(thing))


def pieces(thing, x):
    first, second = thing
    return x * first + 10 * [*thing][1] + 100 * (lambda *all: all[0])(*thing)


def copied(thing, x):
    return x * getattr(copy.copy(thing), "b", 1) + 10 * getattr(copy.deepcopy(thing), "b", 1)


def truth_of_new(thing, x):
    return x if type(thing)() else -x


def truths(thing, x):
    return x * (any([thing]) + 2 * (not thing) + 4 * operator.truth(thing) + 8 * bool(thing and True))


def looked_up(thing, x):
    return x * {3: 5.0}.get(thing, 1.0)


def equal(thing, x):
    return x * (3 == thing) + 10 * ([3] == [thing]) + 100 * [3, 4].count(thing)


def made(thing, x):
    return x * type(thing)().a


def deleted(thing, x):
    thing.b = x
    del thing.b
    return x * hasattr(thing, "b")


def assigned(thing, x):
    thing.v = x
    return thing.v * 2


def only_for_a_moment(thing, x):
    thing.v = x
    result = thing.v * 2
    del thing.v
    return result


def set_twofold(self, name, value):
    object.__setattr__(self, name, value * 2)


def with_nine(self):
    self.a = 9


def new_with_nine(cls):
    thing = object.__new__(cls)
    thing.a = 9
    return thing


def in_slots():
    class Slotted:
        __slots__ = ("v",)

    return Slotted


def of_data():
    @dataclasses.dataclass
    class Data:
        a: int = 1

    return Data


def of_a_metaclass():
    class Meta(type):
        pass

    class Thing(metaclass=Meta):
        a = 1

    return Thing


def of_an_enum():
    class Mode(enum.Enum):
        A = 1
        B = 2

    return Mode


def program(jit):
    found = {}

    def see(use, cls, changes, make=None):
        found[f"{len(found)} {use.__name__}"] = observed(jit, cls, use, changes, make)

    for use in (left, right, in_place):
        see(use, with_methods(__jax_array__=gives(jnp.float32(2))), PRODUCTS)
    see(less, with_methods(__jax_array__=gives(jnp.float32(2))), {"__lt__": gives(True)})
    see(of_numpy, with_methods(__array__=gives(np.full((), 2, np.float32))), PRODUCTS)
    for use in (list_times, times_list, by_function):
        see(use, with_methods(__index__=gives(3)), PRODUCTS)
    see(rounded, with_methods(__float__=gives(3.0)), {"__floor__": gives(9), "__ceil__": gives(8)})
    see(as_complex, with_methods(__float__=gives(3.0)), {"__complex__": gives(4 + 1j)})
    see(as_float, with_methods(__index__=gives(3)), {"__float__": gives(4.0)})
    see(unequal, with_methods(__eq__=gives(True)), {"__ne__": gives(True)})
    see(sorts, with_methods(__lt__=gives(True)), {"__gt__": gives(True)})
    for use in (percent, converted, of_a_method):
        see(use, with_methods(__repr__=gives("abcd")), {"__str__": gives("a"), "__format__": gives("ab")})
        see(use, with_methods(__str__=gives("abcd"), __repr__=gives("r")), {"__format__": gives("ab")})
    see(converted, type("Failed", (Exception,), {}), TEXTS, lambda cls: cls("z"))
    items = with_methods(__len__=gives(2), __getitem__=lambda self, i: (4, 5)[i])
    see(pieces, items, {"__iter__": lambda self: iter((1, 2))})
    states = {
        "__getstate__": lambda self: {"b": 3},
        "__setstate__": lambda self, state: self.__dict__.update(b=4),
        "__reduce__": lambda self: (int, ()),
        "__copy__": gives(5),
        "__deepcopy__": gives(6),
    }
    see(copied, with_methods(a=1), states)
    see(truth_of_new, with_methods(), {"__bool__": gives(False), "__len__": gives(0)})
    see(truths, with_methods(), {"__bool__": gives(False), "__len__": gives(0)})
    see(looked_up, with_methods(), {"__hash__": gives(3)})
    see(equal, with_methods(), {"__eq__": gives(True)})
    see(made, of_data(), {"__init__": with_nine, "__new__": new_with_nine})
    see(made, of_a_metaclass(), {"__init__": with_nine, "__new__": new_with_nine})
    found["the metaclass makes it"] = made_by_the_metaclass(jit)
    see(deleted, with_methods(), {"__delattr__": gives(None)})
    see(assigned, in_slots(), {"__setattr__": lambda self, name, value: in_slot(self, value * 3)})
    see(only_for_a_moment, with_methods(), {"__setattr__": set_twofold})
    for use, changes in (
        (truths, {"__bool__": gives(False)}),
        (equal, {"__eq__": gives(True)}),
        (converted, TEXTS),
        (looked_up, {"__hash__": gives(3)}),
    ):
        see(use, of_an_enum(), changes, lambda cls: cls.A)
    return found


def made_by_the_metaclass(jit):
    thing = of_a_metaclass()
    step = jit(lambda x: x * thing().a)
    seen = [float(step(1.0))]
    type(thing).__call__ = new_with_nine
    seen.append(float(step(1.0)))
    del type(thing).__call__
    return [*seen, float(step(1.0))]


def in_slot(thing, value):
    object.__setattr__(thing, "v", value)
