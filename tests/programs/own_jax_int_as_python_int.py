"""Sizes and repetition counts are jax integers: range(self.n), jnp.zeros(self.n), self.n > 2, indexing a list."""

import jax.numpy as jnp


class Unroller:
    def __init__(self):
        self.n = jnp.array(3)
        self.pick = jnp.array(0)
        self.modes = ["sum", "stack"]

    def run(self, x):
        acc = jnp.zeros(self.n)
        for i in range(self.n):
            acc = acc.at[i].add(x * i)
        if self.n > 2:
            acc = acc + 100
        return jnp.sum(acc) if self.modes[self.pick] == "sum" else acc


def program(jit):
    u = Unroller()
    run = jit(u.run)
    x = jnp.array(1.0)
    seen = [run(x).tolist()]
    u.pick = jnp.array(1)
    seen.append(run(x).tolist())
    u.n = jnp.array(2)
    seen.append(run(x).tolist())
    u.n = u.n + 2
    seen.append(run(x).tolist())
    u.modes[1] = "sum"
    return seen + [run(x).tolist()]
