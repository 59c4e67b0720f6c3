"""A recursive local function walks a nested expression whose leaves and depth change."""

import jax.numpy as jnp

DEPTH = 2


def program(jit):
    global DEPTH
    expr = ("+", ("*", "x", 2.0), ("-", "x", jnp.array(1.0)))

    @jit
    def evaluate(x):
        def visit(node):
            if isinstance(node, tuple):
                op, a, b = node
                a, b = visit(a), visit(b)
                return {"+": a + b, "*": a * b, "-": a - b}[op]
            return x if node == "x" else node

        return visit(expr)

    @jit
    def power(x, depth=None):
        depth = DEPTH if depth is None else depth
        return x if depth <= 0 else x * power_plain(x, depth - 1)

    def power_plain(x, depth):
        return x if depth <= 0 else x * power_plain(x, depth - 1)

    x = jnp.array(3.0)
    seen = [float(evaluate(x)), float(power(x))]
    expr = ("*", expr, expr)
    DEPTH = 3
    seen += [float(evaluate(x)), float(power(x))]
    expr = ("-", "x", jnp.array(100.0))
    DEPTH = 0
    return seen + [float(evaluate(x)), float(power(x))]
