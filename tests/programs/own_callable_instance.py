"""jit is applied to instances with __call__; two instances share the class, and one gets a new __call__ by subclassing."""

import jax.numpy as jnp


class Kernel:
    def __init__(self, length):
        self.length = jnp.array(length)
        self.evaluations = 0

    def __call__(self, a, b):
        self.evaluations += 1
        return jnp.exp(-(((a - b) / self.length) ** 2))


class Scaled(Kernel):
    def __init__(self, inner, by):
        self.inner, self.by = inner, by

    def __call__(self, a, b):
        return self.by * self.inner(a, b)


def program(jit):
    short, long = Kernel(1.0), Kernel(10.0)
    fs, fl = jit(short), jit(long)
    both = jit(Scaled(short, jnp.array(3.0)))
    a, b = jnp.array(0.0), jnp.array(2.0)
    seen = [float(fs(a, b)), float(fl(a, b)), float(both(a, b))]
    short.length = jnp.array(2.0)
    seen += [float(fs(a, b)), float(fl(a, b)), float(both(a, b))]
    Kernel.__call__ = lambda self, a, b: a - b + self.length
    seen += [float(fs(a, b)), float(both(a, b))]
    return seen, int(short.evaluations), int(long.evaluations)
