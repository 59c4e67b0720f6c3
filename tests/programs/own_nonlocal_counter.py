"""A step function counts itself and remembers the last two inputs in nonlocal variables written under jit."""

import jax.numpy as jnp


def program(jit):
    calls = 0
    previous = None
    before = (jnp.array(0.0), jnp.array(0.0))

    @jit
    def smooth(x):
        nonlocal calls, previous, before
        calls += 1
        y = x if previous is None else 0.5 * (x + previous)
        before = (before[1], x)
        previous = x
        return y + before[0]

    out = [float(smooth(jnp.array(v))) for v in (1.0, 3.0, 8.0)]
    previous = None
    out.append(float(smooth(jnp.array(2.0))))
    return out, int(calls), float(previous), [float(v) for v in before]
