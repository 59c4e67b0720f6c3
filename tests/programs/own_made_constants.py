"""Values that cannot change are made in the call, returned and stored: specs, UUIDs, patterns, own strings."""

import gc
import re
import uuid

import jax

P = jax.sharding.PartitionSpec


class Tag(str):
    pass


class Pair(tuple):
    pass


class Plan:
    def __init__(self):
        self.specs = self.tag = None

    def make(self, x):
        tag, pair = Tag("t"), Pair((x, 1))
        tag.scale = pair.scale = x
        self.specs, self.tag = {"w": P("x")}, Tag("stored")
        return P("x"), (P("x"), 1), uuid.UUID(int=3), re.compile("own+"), tag, pair

    def only(self, x):
        return P("y")


def program(jit):
    plan = Plan()
    make, only = jit(plan.make), jit(plan.only)
    seen = []
    for value in (1.0, 2.0):
        spec, in_tuple, number, pattern, tag, pair = make(value)
        gc.collect()
        seen.append((str(spec), str(in_tuple), str(number), pattern.pattern, str(tag), type(tag).__name__))
        seen.append((float(tag.scale), float(pair[0]), type(pair).__name__, float(pair.scale)))
        seen.append((str(plan.specs), str(plan.tag), type(plan.tag).__name__, str(only(value))))
    return seen
