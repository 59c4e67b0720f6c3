"""vmap runs over a bound method and a closure that read unbatched state, with in_axes, nesting and grad of vmap."""

import jax
import jax.numpy as jnp


class Metric:
    def __init__(self):
        self.centre = jnp.array([0.0, 0.0])
        self.order = 2

    def distance(self, p):
        return jnp.sum(jnp.abs(p - self.centre) ** self.order)

    def table(self, ps, qs):
        scale = self.centre[0] + 1
        rows = jax.vmap(lambda p: jax.vmap(lambda q: scale * self.distance(p - q))(qs))(ps)
        return rows, jax.vmap(self.distance)(ps)


def program(jit):
    m = Metric()
    table = jit(m.table)
    slope = jit(jax.grad(lambda ps: jnp.sum(jax.vmap(m.distance)(ps))))
    ps, qs = jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([[0.0, 1.0]])
    seen = []

    def look():
        a, b = table(ps, qs)
        seen.append([a.tolist(), b.tolist(), slope(ps).tolist()])

    look()
    m.centre = jnp.array([1.0, -1.0])
    look()
    m.order = 1
    look()
    return seen
