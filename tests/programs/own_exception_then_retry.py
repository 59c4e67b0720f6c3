"""A validation error is raised part-way through the jitted call, the user repairs the state and tries again."""

import jax.numpy as jnp


class Solver:
    def __init__(self):
        self.method = "unknown"
        self.iterations = jnp.array(0)
        self.weights = {"w": jnp.array(2.0)}

    def solve(self, x):
        y = jnp.sin(x) * 0 + x
        if self.method not in ("direct", "scaled"):
            raise ValueError(f"no method {self.method!r}")
        scale = self.weights["w" if self.method == "direct" else "s"]
        self.iterations = self.iterations + 1
        return y * scale


def program(jit):
    solver = Solver()
    solve = jit(solver.solve)
    seen = []

    def attempt():
        try:
            seen.append(float(solve(jnp.array(3.0))))
        except (ValueError, KeyError) as e:
            seen.append([type(e).__name__, str(e.args[0])])

    attempt()
    solver.method = "direct"
    attempt()
    solver.method = "scaled"
    attempt()
    solver.weights["s"] = jnp.array(-1.0)
    attempt()
    solver.method = "oops"
    attempt()
    solver.method = "direct"
    attempt()
    return seen, int(solver.iterations)
