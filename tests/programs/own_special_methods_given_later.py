"""A class gets special methods after the calls that used Python's defaults, and loses them again."""

import copy
import functools


def observed(jit, cls, use, changes, make=None):
    """What ``use`` gives for an object before, with, and after each of the methods."""
    thing = cls() if make is None else make(cls)
    function = jit(functools.partial(use, thing))
    seen = [float(function(1.0)), float(function(1.0))]
    for name, method in changes.items():
        setattr(cls, name, method)
        seen += [float(function(1.0)), float(function(1.0))]
        delattr(cls, name)
        seen.append(float(function(1.0)))
    return seen


def plain():
    class Thing:
        weight = 2.0

    return Thing


def derived():
    class Base:
        def scale(self):
            return 3.0

    class Thing(Base):
        __slots__ = ("size",)

    return Thing


def sized():
    class Thing:
        def __len__(self):
            return 3

        def __iter__(self):
            return iter((1, 2, 3))

        def __getitem__(self, i):
            return (4, 5, 6)[i]

        def __add__(self, other):
            return 7.0

        def __radd__(self, other):
            return 8.0

        def __repr__(self):
            return "thing"

        def __index__(self):
            return 5

    return Thing


def only_items():
    class Thing:
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return (4, 5, 6)[i]

    return Thing


def of_numbers():
    class Thing(int):
        pass

    return Thing


def truth(thing, x):
    return x if thing else -x


def equality(thing, x):
    return x if thing == "it" else -x


def inequality(thing, x):
    return x if thing != "it" else -x


def membership(thing, x):
    return x if "it" in [thing, 1] else -x


def order(thing, x):
    return x if Big() > thing else -x


def text(thing, x):
    return x * len(str(thing).partition(" at ")[0])


def formatted(thing, x):
    return x * len(f"{thing}".partition(" at ")[0])


def shown(thing, x):
    return x * len(f"{thing!r}".partition(" at ")[0])


def hashed(thing, x):
    return x if hash(thing) == 7 else -x


def distinct(thing, x):
    return x * len({thing, 7, copy.copy(thing)})


def called(thing, x):
    return x if callable(thing) else -x


def made(thing, x):
    return x * getattr(type(thing)(), "made", 1.0)


def copied(thing, x):
    return x * getattr(copy.copy(thing), "made", 1.0)


def has_truth(thing, x):
    return x * (
        2 * hasattr(thing, "__bool__")
        + hasattr(type(thing), "__bool__")
        + 4 * hasattr(type(thing)(), "__bool__")
    )


def contains(thing, x):
    return x if 3 in thing else -x


def contains_not(thing, x):
    return x if 9 not in thing else -x


def iterated(thing, x):
    return x * sum(thing)


def looped(thing, x):
    for i in thing:
        x = x + i
    return x


def backwards(thing, x):
    return x * list(reversed(thing))[0]


def added(thing, x):
    thing += 1
    return x * thing


def integer(thing, x):
    return x * int(thing)


class Left:
    pass


def added_from_the_left(thing, x):
    return x * (Left() + thing)


class Big:
    pass


class Sized:
    def __init__(self):
        self.made = 5.0


def new(cls, *args):
    thing = object.__new__(cls)
    thing.made = 6.0
    return thing


def set_made(self):
    self.made = 4.0


def program(jit):
    no = {"__bool__": lambda self: False, "__len__": lambda self: 0}
    sevens = {"__hash__": lambda self: 7}
    found = {}
    for kind in (plain, derived):
        seen = found[kind.__name__] = {}
        seen["truth"] = observed(jit, kind(), truth, no)
        seen["equality"] = observed(jit, kind(), equality, {"__eq__": lambda self, other: True})
        either = {"__eq__": lambda self, other: True, "__ne__": lambda self, other: False}
        seen["inequality"] = observed(jit, kind(), inequality, either)
        seen["membership"] = observed(jit, kind(), membership, {"__eq__": lambda self, other: True})
        texts = {
            "__str__": lambda self: "ab",
            "__repr__": lambda self: "abc",
            "__format__": lambda self, s: "a",
        }
        seen["text"] = observed(jit, kind(), text, texts)
        seen["formatted"] = observed(jit, kind(), formatted, texts)
        seen["shown"] = observed(jit, kind(), shown, texts)
        seen["hashed"] = observed(jit, kind(), hashed, sevens)
        seen["distinct"] = observed(jit, kind(), distinct, {"__eq__": lambda self, other: True, **sevens})
        seen["called"] = observed(jit, kind(), called, {"__call__": lambda self: 1})
        seen["has truth"] = observed(jit, kind(), has_truth, no)
    seen = found["made"] = {}
    seen["init"] = observed(jit, plain(), made, {"__init__": set_made, "__new__": new})
    seen["copy"] = observed(jit, plain(), copied, {"__copy__": lambda self: Sized()})
    seen = found["fallbacks"] = {}
    seen["truth"] = observed(jit, sized(), truth, {"__bool__": lambda self: False})
    seen["contains"] = observed(jit, sized(), contains, {"__contains__": lambda self, x: False})
    seen["contains not"] = observed(jit, sized(), contains_not, {"__contains__": lambda self, x: True})
    seen["backwards"] = observed(jit, sized(), backwards, {"__reversed__": lambda self: iter((9, 1))})
    seen["in place"] = observed(jit, sized(), added, {"__iadd__": lambda self, other: 9.0})
    seen["text"] = observed(jit, sized(), text, {"__str__": lambda self: "ab"})
    seen["integer"] = observed(jit, sized(), integer, {"__int__": lambda self: 9})
    ones = {"__iter__": lambda self: iter((1, 1, 1)), "__contains__": lambda self, x: True}
    seen["iterated"] = observed(jit, only_items(), iterated, ones)
    seen["looped"] = observed(jit, only_items(), looped, ones)
    seen["contains items"] = observed(jit, only_items(), contains, ones)
    seen["number"] = observed(jit, of_numbers(), truth, {"__bool__": lambda self: False}, lambda cls: cls(3))
    seen["number equal"] = observed(
        jit, of_numbers(), equality, {"__eq__": lambda self, other: True}, lambda cls: cls(3)
    )
    left = jit(lambda x: added_from_the_left(thing, x))
    thing = sized()()
    seen["reflected"] = [float(left(1.0))]
    Left.__add__ = lambda self, other: 4.0
    seen["reflected"].append(float(left(1.0)))
    bigger = jit(lambda x: order(other, x))
    cls = plain()
    cls.__lt__ = lambda self, other: True
    other = cls()
    seen["order"] = [float(bigger(1.0))]
    Big.__gt__ = lambda self, other: False
    seen["order"].append(float(bigger(1.0)))
    return found
