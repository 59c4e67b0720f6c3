"""copy and deepcopy of captured objects inside: what they copy is read live, each time."""

import collections
import copy
import dataclasses
import pickle

import jax.numpy as jnp
import numpy as np


class Plain:
    def __init__(self, w, k):
        self.w, self.k, self.parts, self.buf = w, k, [w, {"k": k}], np.zeros(2, np.float32)


class Slots:
    __slots__ = ("buf", "k", "parts", "w")
    __init__ = Plain.__init__


class Both(Slots):
    pass


@dataclasses.dataclass
class Data:
    w: object
    k: int
    parts: list = None
    buf: object = None

    def __post_init__(self):
        self.parts = [self.w, {"k": self.k}]
        self.buf = np.zeros(2, np.float32)


class Stateful(Plain):
    def __getstate__(self):
        return dict(self.__dict__)


class Items(list):
    def __init__(self, w, k):
        super().__init__([w])
        self.w, self.k, self.parts, self.buf = w, k, [w, {"k": k}], np.zeros(2, np.float32)


class Named(collections.UserDict):
    def __init__(self, w, k):
        super().__init__(w=w)
        self.w, self.k, self.parts, self.buf = w, k, [w, {"k": k}], np.zeros(2, np.float32)


def program(jit):
    seen = {}
    for kind in (Plain, Slots, Both, Data, Stateful, Items, Named):
        models = [kind(jnp.ones(2), 1)]

        @jit
        def replaces(x):
            models[0] = copy.copy(models[0])
            models[0].k += 1
            models[0].w = models[0].w + x
            models[0].parts[1]["k"] += 1
            return models[0].w

        @jit
        def looks(x):
            deep = copy.deepcopy(models[0])
            deep.w = deep.w * 2
            deep.parts[1]["k"] = -1
            return deep.w, deep.k, deep.parts[0], models[0].parts[1]["k"], jnp.asarray(deep.buf) + x

        out = seen[kind.__name__] = []
        for step in range(4):
            first = models[0]
            out.append(replaces(jnp.float32(1.0)).tolist())
            out.append(
                [models[0].k, models[0].parts[1]["k"], models[0] is first, models[0].parts is first.parts]
            )
            out.append([np.asarray(v).tolist() for v in looks(jnp.float32(0.0))])
            models[0].buf[0] = step
            models[0].parts[0] = jnp.full(2, 10.0 * step)
    return seen
