"""Static methods are jitted in either order of decorators and read module state and the class by name."""

import jax.numpy as jnp

FLOOR = jnp.array(0.0)


def program(jit):
    global FLOOR

    class Ops:
        ceiling = jnp.array(5.0)

        @staticmethod
        @jit
        def clip(x):
            return jnp.clip(x, FLOOR, Ops.ceiling)

        @jit
        @staticmethod
        def span(x):
            return (Ops.ceiling - FLOOR) * x

        def use(self, x):
            return self.clip(x) + self.span(x)

    ops = Ops()
    x = jnp.array([-1.0, 9.0])
    seen = [Ops.clip(x).tolist(), ops.clip(x).tolist(), Ops.span(x).tolist(), jit(ops.use)(x).tolist()]
    FLOOR = jnp.array(-10.0)
    seen += [ops.clip(x).tolist(), ops.span(x).tolist()]
    Ops.ceiling = jnp.array(0.0)
    seen += [Ops.clip(x).tolist(), ops.use(x).tolist()]
    Ops.clip = staticmethod(lambda v: v)
    return seen + [jit(ops.use)(x).tolist()]
