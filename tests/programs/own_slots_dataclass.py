"""Two dataclasses with slots=True, one deriving from the other, hold state that the jitted method replaces."""

from dataclasses import dataclass, fields

import jax
import jax.numpy as jnp


@dataclass(slots=True)
class Body:
    mass: float
    speed: jax.Array


@dataclass(slots=True)
class Rocket(Body):
    fuel: jax.Array
    stage: str = "first"

    def burn(self, amount):
        used = jnp.minimum(self.fuel, amount)
        self.fuel = self.fuel - used
        self.speed = self.speed + used * (10.0 if self.stage == "first" else 100.0) / self.mass
        return self.speed


def program(jit):
    rocket = Rocket(2.0, jnp.array(0.0), jnp.array(5.0))
    burn = jit(rocket.burn)
    seen = [float(burn(2.0)), float(burn(2.0)), float(burn(2.0))]
    rocket.fuel, rocket.stage = jnp.array(1.0), "second"
    seen.append(float(burn(2.0)))
    rocket.mass = 0.5
    rocket.fuel = jnp.array(1.0)
    seen.append(float(burn(2.0)))
    return seen, [f.name for f in fields(rocket)], float(rocket.fuel), hasattr(rocket, "__dict__")
