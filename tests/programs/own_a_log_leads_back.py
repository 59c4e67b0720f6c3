"""A dict of logs and counters that leads back to itself: some of it is only appended to."""

import jax.numpy as jnp


class Owner:
    pass


def program(jit):
    stats, tree, owner = {"n": 0, "log": []}, {"below": {"log": []}, "log": []}, Owner()
    stats["self"], stats["owner"], owner.stats = stats, owner, stats
    tree["below"]["above"] = tree

    @jit
    def step(x):
        stats["n"] += 1
        stats["log"].append(stats["n"])
        stats["owner"].stats["log"].append("o")
        stats["self"]["n"] += 10
        return stats["self"]["log"] is stats["log"], len(stats["log"]), x * stats["n"]

    @jit
    def walk(x):
        tree["log"].append(1)
        tree["below"]["log"].append(2)
        return len(tree["below"]["above"]["log"]), len(tree["below"]["above"]["below"]["log"]), x

    seen = []
    for i in range(5):
        *found, x = step(jnp.float32(2.0))
        seen += [*found, float(x), list(stats["log"]), stats["n"], list(stats)]
        a, b, _ = walk(jnp.float32(1.0))
        seen += [a, b, tree["log"], tree["below"]["log"]]
        if i == 1:
            stats["self"] = {"n": 0, "log": ["other"]}
            tree["below"]["above"] = {"log": [], "below": tree["below"]}
        if i == 2:
            stats["self"], tree["below"]["above"] = stats, tree
            stats["log"] = []
        if i == 3:
            owner.stats = {"log": []}
    return seen
