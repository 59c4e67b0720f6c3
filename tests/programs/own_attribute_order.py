"""Attributes deleted and set again, unread, past ``__dict__`` or in a transform: what is there, in which order."""

import types

import jax


class Plain:
    pass


class Mapping(dict):
    pass


class Slotted:
    __slots__ = ("a", "b")


def written_then_deleted(thing, x):
    thing.b = x
    del thing.b


def popped_after_writing(thing, x):
    thing.b = 3.0
    vars(thing).pop("b")


def new_before_moved(thing, x):
    thing.d = 1.0
    del vars(thing)["b"]
    thing.b = 2.0
    vars(thing).update(a=5.0, e=6.0)


def moved_twice(thing, x):
    del thing.a
    thing.a = 1.0
    first = thing.b
    del thing.b, thing.a
    thing.b, thing.a = first, 2.0


def deleted_in_grad(thing, x):
    def loss(y):
        del thing.c
        vars(thing)["f"] = 4.0
        return y * thing.a

    jax.grad(loss)(x)


def listed_in_grad(thing, x):
    thing.c = 7.0

    def loss(y):
        thing.d = 1.0
        vars(thing).update(a=2.0, e=3.0)
        return y * len(vars(thing))

    jax.grad(loss)(x)
    thing.seen = ",".join(vars(thing))


def moved_in_grad(thing, x):
    thing.d = 1.0

    def loss(y):
        first = thing.a
        del thing.a
        thing.a = first * 2
        del thing.d
        thing.d = 3.0
        return y

    jax.grad(loss)(x)
    thing.e = 4.0


CHANGES = [
    written_then_deleted,
    popped_after_writing,
    new_before_moved,
    moved_twice,
    deleted_in_grad,
    listed_in_grad,
    moved_in_grad,
]


def program(jit):
    seen = {}
    for kind in (Plain, types.SimpleNamespace, Mapping):
        for change in CHANGES:
            thing = kind()
            step = jit(lambda x, change=change, thing=thing: (change(thing, x), x)[1])
            rows = seen[f"{change.__name__} {kind.__name__}"] = []
            for names in ("abc", "abc", "cba", "dcba"):
                vars(thing).clear()
                vars(thing).update(dict.fromkeys(names, 0.5))
                step(1.0)
                rows.append([[name, value] for name, value in vars(thing).items()])
    table = {"a": 1.0, "b": 2.0, "c": "text"}

    @jit
    def shuffled(x):
        def loss(y):
            table["a"] = table.pop("a") * 2
            table["d"] = 5.0
            table["b"] = table.pop("b")
            return y

        return jax.grad(loss)(x)

    for _ in range(2):
        shuffled(1.0)
        seen.setdefault("dict", []).append([[key, value] for key, value in table.items()])
        table["c"] = table.pop("c")
    thing = Slotted()
    step = jit(lambda x: (written_then_deleted(thing, x), x)[1])
    for before in (True, True, False):
        if before:
            thing.b = 2.0
        step(1.0)
        seen.setdefault("slots", []).append(hasattr(thing, "b"))
    return seen
