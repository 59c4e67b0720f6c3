"""A nested tuple on self holds numbers that compare equal but are not alike; one of them is swapped at a time."""

import jax.numpy as jnp


def program(jit):
    class Spec:
        def __init__(self):
            self.shape = (2, (1, 0.0), "valid")

    def describe(v):
        if isinstance(v, tuple):
            return "(" + " ".join(describe(w) for w in v) + ")"
        return f"{type(v).__name__}:{v!r}"

    spec = Spec()

    @jit
    def apply(x):
        gain, edge = spec.shape[1]
        return x * gain, jnp.arctan2(edge, -1.0 * jnp.abs(x)), describe(spec.shape)

    seen = []
    nan = float("nan")
    for inner in ((1, 0.0), (True, 0.0), (1.0, 0.0), (1.0, -0.0), (1, 0.0), (1, nan), (1, nan)):
        spec.shape = (2, inner, "valid")
        y, angle, text = apply(jnp.array(3.0))
        seen.append([float(y), float(angle), text])
    return seen
