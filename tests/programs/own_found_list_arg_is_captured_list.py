"""The same container is an argument and captured."""

import jax.numpy as jnp


def program(jit):
    buf = [jnp.zeros(())]

    @jit
    def push(b, x):
        b.append(x)
        return sum(buf) + len(buf)

    out = [float(push(buf, jnp.array(v))) for v in (1.0, 2.0)]
    return out + [len(buf), float(push([jnp.array(1.0)], jnp.array(9.0))), len(buf)]
