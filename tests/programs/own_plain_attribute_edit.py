"""A controller's gains sit three attributes deep and are edited one by one between compiled steps."""

import jax.numpy as jnp


class Gains:
    def __init__(self, p, i):
        self.p, self.i = jnp.array(p), jnp.array(i)


class Loop:
    def __init__(self, gains):
        self.gains = gains
        self.limit = 5.0


class Plant:
    def __init__(self):
        self.loop = Loop(Gains(1.0, 0.1))
        self.integral = jnp.array(0.0)

    def control(self, error):
        self.integral = self.integral + error
        g = self.loop.gains
        return jnp.clip(g.p * error + g.i * self.integral, -self.loop.limit, self.loop.limit)


def program(jit):
    plant = Plant()
    control = jit(plant.control)
    seen = [float(control(2.0))]
    plant.loop.gains.p = jnp.array(10.0)
    seen.append(float(control(2.0)))
    plant.loop.limit = 50.0
    seen.append(float(control(2.0)))
    plant.loop = Loop(Gains(0.0, 1.0))
    seen.append(float(control(2.0)))
    plant.integral = jnp.array(-1.0)
    return seen + [float(control(2.0)), float(plant.integral)]
