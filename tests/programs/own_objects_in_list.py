"""Particles are plain objects in a list and in a dict; some are edited, some replaced, one is in both places."""

import jax.numpy as jnp


class Particle:
    def __init__(self, mass, charge=1):
        self.mass = jnp.array(mass)
        self.charge = charge
        self.energy = jnp.array(0.0)


def program(jit):
    free = [Particle(1.0), Particle(2.0)]
    named = {"probe": free[1], "fixed": Particle(10.0, charge=-1)}

    @jit
    def kick(v):
        for p in free:
            p.energy = p.energy + 0.5 * p.mass * v**2
        for name in named:
            named[name].energy = named[name].energy * 2 * named[name].charge
        return sum(p.energy for p in [*free, *named.values()])

    v = jnp.array(2.0)
    seen = [float(kick(v)), float(kick(v))]
    free[0].mass = jnp.array(5.0)
    named["fixed"].charge = 1
    seen.append(float(kick(v)))
    free[1] = Particle(3.0)
    seen.append(float(kick(v)))
    free.append(named["fixed"])
    seen.append(float(kick(v)))
    return seen, [float(p.energy) for p in free], float(named["probe"].energy)
