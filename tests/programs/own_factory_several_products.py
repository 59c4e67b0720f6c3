"""One factory makes three layers of equal shape; each keeps its own weights, and all should share a compilation."""

import jax.numpy as jnp

WANT_COMPILES = 1


def program(jit):
    def dense(kernel, bias):
        @jit
        def forward(x):
            return x @ kernel + bias

        def nudge(by):
            nonlocal kernel, bias
            kernel, bias = kernel + by, bias - by

        forward_and_nudge = {"forward": forward, "nudge": nudge}
        return forward_and_nudge

    eye = jnp.eye(2)
    net = [dense(eye * k, jnp.full(2, float(k))) for k in (1, 2, 3)]
    x = jnp.array([1.0, -1.0])
    seen = []
    for turn in range(2):
        h = x
        for layer in net:
            h = layer["forward"](h)
        seen.append(h.tolist())
        net[turn]["nudge"](jnp.array(0.5))
    return seen + [net[1]["forward"](x).tolist()]
