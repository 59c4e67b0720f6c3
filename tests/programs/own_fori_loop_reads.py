"""fori_loop runs a body that reads a captured table and a captured step, with bounds taken from self."""

import jax
import jax.numpy as jnp


class Integrator:
    def __init__(self):
        self.force = jnp.array([1.0, 2.0, 3.0, 4.0])
        self.dt = 0.5
        self.steps = 4

    def run(self, x):
        def body(i, carry):
            x, v = carry
            v = v + self.dt * self.force[i]
            return x + self.dt * v, v

        x, v = jax.lax.fori_loop(0, self.steps, body, (x, jnp.array(0.0)))
        self.final_speed = v
        return x


def program(jit):
    sim = Integrator()
    run = jit(sim.run)
    x = jnp.array(0.0)
    seen = [float(run(x)), float(sim.final_speed)]
    sim.force = sim.force * -1
    seen += [float(run(x)), float(sim.final_speed)]
    sim.steps = 2
    seen.append(float(run(x)))
    sim.dt = 1.0
    seen.append(float(run(x)))
    sim.force = jnp.array([5.0, 5.0])
    return seen + [float(run(x)), float(sim.final_speed)]
