"""A policy object stores dtypes, classes and functions from jnp as plain attributes and uses them as such."""

import jax.numpy as jnp
import numpy as np


class Policy:
    def __init__(self):
        self.compute = jnp.float32
        self.store = np.dtype("float32")
        self.maker = dict
        self.reduce = jnp.sum

    def run(self, x):
        y = self.reduce(x.astype(self.compute) * 1.001953125)
        out = self.maker(y=y.astype(self.store))
        return out, str(jnp.dtype(self.compute)), type(out).__name__


class Tagged(dict):
    pass


def program(jit):
    policy = Policy()

    @jit
    def run(x):
        out, compute, kind = policy.run(x)
        return out["y"], compute, kind

    x = jnp.array([1.0, 3.0])
    seen = []

    def look():
        y, compute, kind = run(x)
        seen.append([float(y), str(y.dtype), compute, kind])

    look()
    policy.compute = jnp.bfloat16
    look()
    policy.store = np.dtype("int32")
    look()
    policy.reduce = jnp.max
    look()
    policy.maker = Tagged
    policy.compute = np.float32
    look()
    return seen
