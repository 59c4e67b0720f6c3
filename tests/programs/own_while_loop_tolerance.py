"""A fixed-point iteration with while_loop reads its tolerance and its map from self in both functions."""

import jax
import jax.numpy as jnp


class FixedPoint:
    def __init__(self):
        self.tolerance = jnp.array(1e-2)
        self.factor = jnp.array(0.5)
        self.max_steps = 50

    def solve(self, start):
        def unfinished(state):
            x, old, n = state
            return (jnp.abs(x - old) > self.tolerance) & (n < self.max_steps)

        def improve(state):
            x, _, n = state
            return self.factor * x + 1.0, x, n + 1

        x, _, n = jax.lax.while_loop(unfinished, improve, (start, start + 1e6, 0))
        self.last_steps = n
        return x


def program(jit):
    fp = FixedPoint()
    solve = jit(fp.solve)
    start = jnp.array(100.0)
    seen = [float(solve(start)), int(fp.last_steps)]
    fp.tolerance = jnp.array(10.0)
    seen += [float(solve(start)), int(fp.last_steps)]
    fp.factor = jnp.array(0.1)
    seen += [float(solve(start)), int(fp.last_steps)]
    fp.max_steps = 1
    return seen + [float(solve(start)), int(fp.last_steps)]
