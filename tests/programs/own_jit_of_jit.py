"""A jitted function calls jitted methods that call jitted helpers, and jit is applied twice to one of them."""

import jax.numpy as jnp


def program(jit):
    scale = jnp.array(2.0)

    @jit
    def helper(x):
        return scale * x

    class Stage:
        def __init__(self):
            self.offset = jnp.array(1.0)
            self.uses = jnp.array(0)

        @jit
        def run(self, x):
            self.uses = self.uses + 1
            return helper(x) + self.offset

    stage = Stage()

    @jit
    @jit
    def outer(x):
        first = stage.run(x)
        stage.offset = stage.offset * 2
        return first + stage.run(x)

    x = jnp.array(3.0)
    seen = [float(outer(x))]
    scale = jnp.array(0.0)
    seen += [float(outer(x)), float(helper(x))]
    stage.offset = jnp.array(-1.0)
    seen += [float(stage.run(x)), float(outer(x))]
    return seen, int(stage.uses), float(stage.offset)
