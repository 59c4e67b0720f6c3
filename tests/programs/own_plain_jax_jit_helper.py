"""A jitted method calls helpers decorated with plain jax.jit, which read an object and a closure of their own."""

import jax
import jax.numpy as jnp

EXPECTED = [14.0, 44.0, 40.0, -60.0]  # eager Python would be stale here: plain jax.jit froze what it read


class Settings:
    boost = jnp.array(2.0)
    plus_one = True


def make_helper():
    k = jnp.array(1.0)

    @jax.jit
    def helper(x):
        return k * x

    def set_k(value):
        nonlocal k
        k = value

    return helper, set_k


@jax.jit
def boosted(x):
    y = Settings.boost * x
    return y + 1 if Settings.plus_one else y


def program(jit):
    helper, set_k = make_helper()
    run = jit(lambda x: boosted(helper(x)) * 2)
    x = jnp.array(3.0)
    seen = [float(run(x))]
    Settings.boost = jnp.array(7.0)
    seen.append(float(run(x)))
    Settings.plus_one = False
    set_k(jnp.array(20.0 / 21.0))
    seen.append(float(run(x)))
    set_k(jnp.array(-10.0 / 7.0))
    return seen + [float(run(x))]
