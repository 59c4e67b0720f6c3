"""Tables keyed by objects, alone and in tuples: items come and go, the order changes, equal keys take the place."""

import collections
import functools

import jax.numpy as jnp


class Layer:
    def __init__(self, name, scale=1.0):
        self.name, self.scale = name, scale


class Named(Layer):
    """Equal if the names are."""

    def __eq__(self, other):
        return isinstance(other, Named) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


class Edge(collections.namedtuple("Edge", ["start", "weight"])):
    pass


class Net:
    def __init__(self, kind):
        self.a, self.b, self.c = (kind(n, s) for n, s in (("a", 1.0), ("b", 10.0), ("c", 100.0)))
        self.table = {self.a: jnp.float32(1), self.b: jnp.float32(2), "bias": jnp.float32(3)}
        self.pairs = {(self.a, 1): 2.0, Edge(self.b, 1): 3.0, frozenset([self.c]): 4.0}
        self.members = {self.a}
        self.part = slice(self.a, 2)
        self.found = self.b

    def total(self, x):
        return sum(x * v * getattr(k, "scale", 0.5) for k, v in self.table.items())

    def look_up(self, x):
        known = self.found in self.table, self.found in self.members
        return x * self.table.get(self.found, 0.0), known, next(iter(self.table)) is self.a

    def look_up_pairs(self, x):
        got = [self.pairs.get(k, -1.0) for k in ((self.a, 1), Edge(self.found, 1), (self.found, 1.0))]
        return [x * v for v in got], self.pairs.get(frozenset([self.c]), 0.0)

    def train(self, x):
        self.table[self.found] = self.table.get(self.found, 0.0) + x
        self.pairs[self.found, 1] = x

    def drop(self, x):
        self.table.pop(self.found, None)
        self.members.discard(self.found)

    def of_slice(self, x):
        return x * self.part.start.scale * self.part.stop, self.part.start is self.found


def program(jit):
    seen = []
    methods = ("total", "look_up", "look_up_pairs", "of_slice", "train", "look_up", "total")
    run = {name: jit(getattr(Net, name)) for name in (*methods, "drop")}

    def plain(value):
        if isinstance(value, (tuple, list)):
            return list(map(plain, value))
        return float(value)

    def name(key):
        if isinstance(key, (tuple, frozenset)):
            return "+".join(map(name, key))
        return getattr(key, "name", str(key))

    def observe(net, *names):
        for each in names or methods:
            out = run[each](net, 2.0)
            seen.append((each, None if out is None else plain(out)))
        seen.append([(name(k), float(v)) for k, v in net.table.items()])
        seen.append([(type(k).__name__, name(k), float(v)) for k, v in net.pairs.items()])

    for kind in (Layer, Named):
        net, other = Net(kind), Net(kind)
        observe(net)
        observe(other)
        net.found = net.c  # no key so far
        observe(net)
        net.table = dict(reversed(list(net.table.items())))
        observe(net)
        net.found = kind("b", 7.0)  # equal to a key, or not
        observe(net, "look_up", "look_up_pairs", "of_slice")
        observe(net, "train", "look_up", "drop", "total")
        net.table = {kind("a", 5.0): jnp.float32(9), net.b: jnp.float32(8), "bias": jnp.float32(7)}
        net.found = net.a
        observe(net)
        net.b.scale = 20.0
        net.b.name = "renamed"
        observe(net, "total")
        net.members = {net.a, net.c}
        net.found = net.c
        observe(net, "look_up", "drop", "look_up")
        net.part = slice(net.c, 3)
        observe(net, "of_slice")
        net.table = collections.OrderedDict({net.c: jnp.float32(1), net.a: jnp.float32(2)})
        observe(net)
        net.table.move_to_end(net.c)
        observe(net)
        net.table = collections.defaultdict(functools.partial(jnp.float32, 3), {net.c: jnp.float32(1)})
        net.found = net.a
        observe(net, "look_up", "train", "look_up", "total")
    return seen
