"""Scopes are entered with `with self.scope(name)` inside jit: one is a generator context manager, one a class."""

import contextlib

import jax.numpy as jnp


class Depth:
    def __init__(self, owner):
        self.owner = owner

    def __enter__(self):
        self.owner.depth += 1
        return self.owner.depth

    def __exit__(self, kind, error, tb):
        self.owner.depth -= 1
        return kind is ZeroDivisionError


class Builder:
    def __init__(self):
        self.path, self.depth = [], 0
        self.params = {}
        self.entered = []

    @contextlib.contextmanager
    def scope(self, name):
        self.path.append(name)
        try:
            yield "/".join(self.path)
        finally:
            self.path.pop()

    def dense(self, x):
        with self.scope("dense") as full:
            self.entered.append(full)
            w = self.params.setdefault(full, jnp.array(1.0 + len(self.params)))
        with Depth(self) as level:
            x = x * w * level
        with Depth(self):
            1 / 0
        return x

    def net(self, x):
        with self.scope("net"):
            x = self.dense(x)
            with self.scope("head"), Depth(self):
                x = self.dense(x)
        return x


def program(jit):
    b = Builder()
    net = jit(b.net)
    seen = [float(net(jnp.array(3.0))), b.depth, list(b.path)]
    b.params["net/dense"] = jnp.array(-1.0)
    seen += [float(net(jnp.array(3.0))), int(b.depth)]
    b.path.append("outer")
    seen += [float(net(jnp.array(3.0))), list(b.path)]
    return seen, sorted(b.params), b.entered
