"""Code asks whether things are one object: state that becomes one later, and arguments that are one."""

import collections

import jax
import jax.numpy as jnp
import numpy as np


class Obj:
    pass


@jax.tree_util.register_pytree_node_class
class Node:
    def __init__(self, w):
        self.w = w

    def tree_flatten(self):
        return (self.w,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        new = object.__new__(cls)
        new.w = children[0]
        return new


STATE = {
    "deque": lambda: collections.deque([1.0]),
    "tuple": lambda: (1.0, Obj()),
    "function": lambda: lambda: 1,
    "array": lambda: jnp.ones(1),
    "numpy": lambda: np.ones(1),
    "set": lambda: {1},
}
ARGUMENTS = {
    "list": lambda: [1.0],
    "dict": lambda: {"a": 1.0},
    "ordered": lambda: collections.OrderedDict(a=1.0),
    "node": lambda: Node(1.0),
    "node of an array": lambda: Node(jnp.ones(2)),
    "array": lambda: jnp.ones(()),
    "numpy": lambda: np.ones(2),
    "tuple": lambda: (jnp.ones(1), 2.0),
    "empty": lambda: [],
}


def program(jit):
    seen = {}
    for name, make in STATE.items():
        pair = Obj()
        pair.a, pair.b = make(), make()

        @jit
        def same(x, pair=pair):
            return x * (2 if pair.a is pair.b else 1)

        values = [float(same(1.0))]
        pair.b = pair.a
        values.append(float(same(1.0)))
        pair.b = make()
        seen[f"state: {name}"] = [*values, float(same(1.0))]
    for name, make in ARGUMENTS.items():
        seen[name] = of_arguments(jit, make)
    return {**seen, **captured(jit), "helper": found_late(jit), "lists": lists_in_nodes(jit)}


def of_arguments(jit, make):
    one = make()

    def same(a, b, x):
        return x * (2 if a is b else 1)

    @jit
    def same_inside(a, b, x):
        return x * (2 if a[0] is b[0] else 1)

    seen = []
    for first in (False, True):
        f = jit(lambda a, b, x: same(a, b, x))
        calls = [(one, one), (make(), make()), (one, make()), (one, one)]
        seen += [float(f(a, b, 1.0)) for a, b in calls[first:]]
    seen += [float(same_inside((one,), (make(),), 1.0)), float(same_inside((one,), (one,), 1.0))]
    return [*seen, float(same_inside([one], [one], 1.0))]


def captured(jit):
    seen = {}
    for name, make in (("captured", lambda: jnp.ones(2)), ("captured numpy", lambda: np.ones(2))):
        w = make()

        @jit
        def f(a, x, w=w):
            return x * (2 if a is w else 1)

        seen[name] = [float(f(a, 1.0)) for a in (w, make(), w)]
    return seen


def found_late(jit):
    tools = Obj()
    tools.same = lambda a, b: a is b

    @jit
    def f(a, b):
        return a * (2 if tools.same(a, b) else 1)

    w = jnp.ones(())
    return [float(f(w, w)), float(f(2 * w, w)), float(f(w, w)), float(f(1.0, 1.5)), float(f(w, w))]


def lists_in_nodes(jit):
    @jit
    def f(n, m):
        n.w.append(5.0)
        return sum(m.w) * 1.0

    a, b = [1.0], [1.0]
    seen = [float(f(Node([1.0]), Node([1.0]))), float(f(Node(a), Node(a))), float(f(Node(b), Node([1.0])))]
    return [*seen, [float(v) for v in a], [float(v) for v in b]]
