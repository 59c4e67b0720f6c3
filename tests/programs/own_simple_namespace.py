"""A SimpleNamespace of SimpleNamespaces serves as a scratch configuration that everybody edits."""

from types import SimpleNamespace

import jax.numpy as jnp


def program(jit):
    ns = SimpleNamespace(
        model=SimpleNamespace(w=jnp.array([1.0, 1.0]), act="relu"),
        log=[],
    )

    @jit
    def forward(x):
        y = ns.model.w * x
        if ns.model.act == "relu":
            y = jnp.maximum(y, 0)
        ns.log.append(jnp.sum(y))
        ns.model.seen = True
        if hasattr(ns, "offset"):
            y = y + ns.offset
        return y

    x = jnp.array([-1.0, 2.0])
    seen = [forward(x).tolist()]
    ns.model.act = "none"
    seen.append(forward(x).tolist())
    ns.offset = jnp.array(10.0)
    seen.append(forward(x).tolist())
    ns.model = SimpleNamespace(w=jnp.array([5.0, 5.0]), act="relu")
    seen.append(forward(x).tolist())
    return seen, [float(v) for v in ns.log], ns.model.seen
