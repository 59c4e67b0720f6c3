"""Statistics per name live in a defaultdict, and reading a missing name under jit creates it."""

from collections import defaultdict

import jax.numpy as jnp


class Stats:
    def __init__(self):
        self.sums = defaultdict(lambda: jnp.array(0.0))
        self.groups = defaultdict(list)

    def add(self, name, x):
        self.sums[name] = self.sums[name] + x
        self.groups[name[0]].append(x)
        return self.sums[name]


def program(jit):
    stats = Stats()

    @jit
    def log(a, b):
        first = stats.add("loss", a)
        second = stats.add("lag", b)
        return first - second + stats.sums["never"]

    seen = [float(log(3.0, 1.0)), float(log(2.0, 2.0))]
    stats.sums["never"] = jnp.array(100.0)
    seen.append(float(log(1.0, 1.0)))
    stats.sums.default_factory = lambda: jnp.array(-1.0)
    del stats.sums["lag"]
    seen.append(float(log(0.0, 0.0)))
    return seen, {k: float(v) for k, v in stats.sums.items()}, [float(v) for v in stats.groups["l"]]
