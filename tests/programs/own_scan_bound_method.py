"""lax.scan is given a bound method whose object is edited; lax.map and associative_scan run beside it."""

import jax
import jax.numpy as jnp


class Filter:
    def __init__(self):
        self.alpha = jnp.array(0.5)
        self.scale = 1.0

    def body(self, carry, x):
        carry = self.alpha * carry + (1 - self.alpha) * x
        return carry, carry * self.scale

    def run(self, xs):
        last, ys = jax.lax.scan(self.body, jnp.array(0.0), xs)
        scaled = jax.lax.map(lambda v: v * self.alpha, xs)
        largest = jax.lax.associative_scan(lambda a, b: jnp.maximum(a, b) * self.scale, xs)
        return last, ys, scaled, largest


def program(jit):
    f = Filter()
    run = jit(f.run)
    xs = jnp.array([4.0, 8.0])
    seen = []

    def look():
        last, ys, scaled, largest = run(xs)
        seen.append([float(last), ys.tolist(), scaled.tolist(), largest.tolist()])

    look()
    f.alpha = jnp.array(0.25)
    look()
    f.scale = 10.0
    look()
    f.alpha = jnp.array(0.75)
    look()
    return seen
