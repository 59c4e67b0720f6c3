"""The jitted function imports what it needs in its body, including a user module that is replaced in sys.modules."""

import sys
import types

import jax.numpy as jnp


def publish(**content):
    module = types.ModuleType("own_program_plugin")
    vars(module).update(content)
    sys.modules["own_program_plugin"] = module
    return module


def program(jit):
    def run(x):
        import math
        from own_program_plugin import transform
        import own_program_plugin as plugin

        return transform(x) + plugin.BIAS + math.floor(2.5)

    go = jit(run)
    x = jnp.array(4.0)
    first = publish(transform=lambda v: v * 2, BIAS=jnp.array(0.0))
    seen = [float(go(x))]
    first.BIAS = jnp.array(10.0)
    seen.append(float(go(x)))
    first.transform = jnp.sqrt
    seen.append(float(go(x)))
    publish(transform=lambda v: v * 3, BIAS=jnp.array(-1.0))
    return seen + [float(go(x))]
