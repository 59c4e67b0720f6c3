"""A collections.Counter tallies which branch the jitted function went through, and its counts are used in the result."""

from collections import Counter

import jax.numpy as jnp


def program(jit):
    hits = Counter()
    mode = "fast"

    @jit
    def work(x):
        hits[mode] += 1
        hits.update(["total"])
        return x * hits["total"] - hits["missing"]

    seen = []
    for mode in ("fast", "slow", "fast", "fast"):
        seen.append(float(work(jnp.array(10.0))))
    hits["missing"] = 5
    seen.append(float(work(jnp.array(10.0))))
    hits.subtract(total=3)
    seen.append(float(work(jnp.array(10.0))))
    return seen, {k: int(v) for k, v in hits.items()}, "missing" in hits
