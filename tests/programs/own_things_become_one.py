"""Two things of one kind become one between calls; what is written into one is then read in the other."""

import array
import collections
import types

import jax.numpy as jnp
import numpy as np


class Obj:
    pass


class List(list):
    pass


class Dict(dict):
    pass


def put_item(thing, x):
    thing["k"] = x


def put_first(thing, x):
    thing[0] = x


KINDS = {
    "ordered": (lambda: collections.OrderedDict(k=1.0), put_item, lambda c: c["k"]),
    "default": (lambda: collections.defaultdict(int, k=1.0), put_item, lambda c: c["k"]),
    "counter": (lambda: collections.Counter(k=1.0), put_item, lambda c: c["k"]),
    "own dict": (lambda: Dict(k=1.0), put_item, lambda c: c["k"]),
    "namespace": (lambda: types.SimpleNamespace(k=1.0), lambda c, x: setattr(c, "k", x), lambda c: c.k),
    "own list": (lambda: List([1.0]), put_first, lambda c: c[0]),
    "list": (lambda: [1.0], put_first, lambda c: c[0]),
    "deque": (lambda: collections.deque([1.0]), put_first, lambda c: c[0]),
    "numpy": (lambda: np.ones(1, np.float32), put_first, lambda c: jnp.sum(c)),
}


def program(jit):
    seen = {}
    for name, (make, put, get) in KINDS.items():
        pair = Obj()
        pair.a, pair.b = make(), make()

        @jit
        def f(x, pair=pair, put=put, get=get):
            put(pair.a, x)
            return get(pair.b) * 1.0

        seen[name] = [float(f(5.0))]
        put(pair.a, 1.0)
        pair.b = pair.a
        seen[name].append(float(f(6.0)))
        pair.b = make()
        seen[name].append(float(f(7.0)))
    for name, make in {"bytearray": lambda: bytearray(b"a"), "array": lambda: array.array("i", [97])}.items():
        pair = Obj()
        pair.a, pair.b = make(), make()

        @jit
        def g(x, pair=pair):
            pair.a[0] = 5
            return x * pair.b[0]

        seen[name] = [float(g(1.0))]
        pair.a[0] = 97
        pair.b = pair.a
        seen[name].append(float(g(1.0)))
    return {**seen, **shared_attributes(jit), **shared_variables(jit), "key": function_as_key(jit)}


def shared_attributes(jit):
    class Named:
        n = 3.0

    seen = {}
    for name, cls, there in (("__dict__", Obj, True), ("__dict__, missing", Named, False)):
        a, b = cls(), cls()
        if there:
            a.n = b.n = 1.0

        @jit
        def f(x, a=a, b=b):
            a.n = x
            return b.n * 1.0

        seen[name] = [float(f(5.0))]
        if there:
            a.n = 1.0
        else:
            del a.n
        b.__dict__ = a.__dict__
        seen[name].append(float(f(6.0)))
    return seen


def shared_variables(jit):
    def pair():
        n = 1.0

        def add(x):
            nonlocal n
            n = n + x

        return add, lambda: n * 1.0

    def counted():
        def function():
            return 1

        function.n = 1.0
        return function

    two, calls = Obj(), Obj()
    two.add, two.get = pair()[0], pair()[1]
    calls.a, calls.b = counted(), counted()

    @jit
    def f(x):
        two.add(x)
        return two.get()

    @jit
    def g(x):
        calls.a.n = x
        return calls.b.n * 1.0

    cells, attributes = [float(f(1.0))], [float(g(5.0))]
    two.add, two.get = pair()
    cells += [float(f(1.0)), float(f(1.0))]
    calls.a.n = 1.0
    calls.b = calls.a
    return {"variable": cells, "attribute of a function": [*attributes, float(g(6.0))]}


def function_as_key(jit):
    def make():
        return lambda: 1

    held = Obj()
    held.a, held.b = make(), make()
    held.table = {held.a: 3.0}

    @jit
    def f(x):
        return x * (held.table.get(held.b) or 1.0)

    seen = [float(f(1.0))]
    held.b = held.a
    return [*seen, float(f(1.0))]
