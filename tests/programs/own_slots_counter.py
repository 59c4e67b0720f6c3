"""A running mean lives in a class with __slots__ and no __dict__; one slot is empty until the first update."""

import jax.numpy as jnp


class RunningMean:
    __slots__ = ("mean", "count", "last", "decay")

    def __init__(self, decay):
        self.mean = jnp.zeros(2)
        self.count = jnp.array(0)
        self.decay = decay

    def update(self, x):
        if not hasattr(self, "last"):
            step = x
        else:
            step = x - self.last * self.decay
        self.mean = self.mean + step
        self.count = self.count + 1
        self.last = x
        return self.mean / self.count


def program(jit):
    stats = RunningMean(0.5)
    update = jit(stats.update)
    seen = [update(jnp.array([2.0, 4.0])).tolist() for _ in range(3)]
    del stats.last
    seen.append(update(jnp.array([1.0, 1.0])).tolist())
    stats.decay = 0.0
    stats.mean = jnp.ones(2)
    seen.append(update(jnp.array([1.0, 1.0])).tolist())
    return seen, int(stats.count), stats.last.tolist()
