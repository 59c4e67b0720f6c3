"""Plain user objects are passed as ordinary arguments of a jitted function, which also updates them."""

import jax.numpy as jnp

WANT_COMPILES = 2


class Body:
    def __init__(self, x, v):
        self.x, self.v = jnp.array(x), jnp.array(v)
        self.fixed = False


def program(jit):
    @jit
    def move(body, world, dt):
        if not body.fixed:
            body.v = body.v + world["gravity"] * dt
            body.x = body.x + body.v * dt
        return body.x * 2

    world = {"gravity": jnp.array(-10.0)}
    bodies = [Body(0.0, 5.0), Body(100.0, 0.0), Body(7.0, 7.0)]
    bodies[2].fixed = True
    seen = []
    for _ in range(2):
        seen.append([float(move(b, world, jnp.array(0.5))) for b in bodies])
    bodies[0].fixed, bodies[2].fixed = True, False
    seen.append([float(move(b, world, jnp.array(0.5))) for b in bodies])
    return seen, [[float(b.x), float(b.v)] for b in bodies]
