"""The getter of a property is jitted, so reading an attribute runs compiled code; subclasses override its inputs."""

import jax.numpy as jnp


def program(jit):
    class Ring:
        def __init__(self, masses):
            self.masses = masses
            self.unit = "kg"

        @property
        @jit
        def energy(self):
            total = jnp.sum(jnp.stack(self.masses) ** 2)
            return total * 1000 if self.unit == "g" else total

        def _centre(self):
            return jnp.mean(jnp.stack(self.masses)) + self.energy * 0

        centre = property(jit(_centre))

    ring = Ring([jnp.array(1.0), jnp.array(2.0)])
    seen = [float(ring.energy), float(ring.centre)]
    ring.masses[0] = jnp.array(5.0)
    seen += [float(ring.energy), float(ring.centre)]
    ring.unit = "g"
    seen.append(float(ring.energy))
    ring.masses.append(jnp.array(3.0))
    ring.unit = "kg"
    seen += [float(ring.energy), float(ring.centre)]
    return seen
