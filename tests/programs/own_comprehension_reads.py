"""State is read only inside comprehensions, nested lambdas, sorted keys, map, filter, any and a walrus expression."""

import jax.numpy as jnp


class Ensemble:
    def __init__(self):
        self.members = {"a": (2.0, jnp.array(1.0)), "b": (1.0, jnp.array(10.0)), "c": (3.0, jnp.array(100.0))}
        self.limit = 2.5
        self.bias = jnp.array(0.0)

    def vote(self, x):
        names = sorted(self.members, key=lambda n: self.members[n][0])
        kept = [n for n in names if self.members[n][0] <= self.limit]
        table = {n: self.members[n][1] * x for n in kept}
        extra = list(map(lambda v: v + self.bias, table.values()))
        big = any(w > self.limit for w, _ in self.members.values())
        if (n := len(kept)) > 1:
            extra.append(jnp.array(0.5) * n)
        return sum(extra), "".join(kept), big, {c for c in kept} == set(filter(lambda n: n != "z", kept))


def program(jit):
    ens = Ensemble()
    vote = jit(ens.vote)

    def look():
        total, names, big, equal = vote(jnp.array(1.0))
        return [float(total), names, bool(big), bool(equal)]

    seen = [look()]
    ens.limit = 5.0
    seen.append(look())
    ens.members["b"] = (9.0, jnp.array(-1.0))
    seen.append(look())
    ens.bias = jnp.array(1000.0)
    seen.append(look())
    ens.members["d"] = (0.0, jnp.array(7.0))
    return seen + [look()]
