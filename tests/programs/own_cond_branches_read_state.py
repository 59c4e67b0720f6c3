"""cond and switch choose between lambdas, closures and methods that read attributes, a dict and a closure variable."""

import jax
import jax.numpy as jnp


class Controller:
    def __init__(self):
        self.gains = {"up": jnp.array(2.0), "down": jnp.array(-1.0)}
        self.limit = 3.0

    def clip(self, x):
        return jnp.minimum(x, self.limit)

    def run(self, x, mode):
        y = jax.lax.cond(x > 0, lambda v: v * self.gains["up"], lambda v: v * self.gains["down"], x)
        return jax.lax.switch(mode, [lambda v: v, lambda v: self.clip(v), lambda v: v * self.limit], y)


def program(jit):
    c = Controller()
    run = jit(c.run)

    def look():
        return [float(run(jnp.float32(x), jnp.int32(m))) for x in (4.0, -4.0) for m in (0, 1, 2)]

    seen = [look()]
    c.gains["up"] = jnp.array(0.5)
    seen.append(look())
    c.limit = 1.0
    seen.append(look())
    c.gains = {"up": jnp.array(0.0), "down": jnp.array(1.0)}
    return seen + [look()]
