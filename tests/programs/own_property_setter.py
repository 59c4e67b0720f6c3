"""A thermostat checks and converts values in a property setter, and the jitted method both reads and assigns the property."""

import jax.numpy as jnp


class Thermostat:
    def __init__(self):
        self._kelvin = jnp.array(300.0)
        self._changes = 0
        self.unit = "C"

    @property
    def temperature(self):
        return self._kelvin - 273.15 if self.unit == "C" else self._kelvin

    @temperature.setter
    def temperature(self, value):
        self._kelvin = jnp.maximum(value + (273.15 if self.unit == "C" else 0.0), 0.0)
        self._changes += 1

    @temperature.deleter
    def temperature(self):
        self._kelvin = jnp.array(0.0)

    def heat(self, by):
        self.temperature = self.temperature + by
        return self.temperature


def program(jit):
    t = Thermostat()
    heat = jit(t.heat)
    seen = [float(heat(1.0))]
    t.temperature = jnp.array(10.0)
    seen.append(float(heat(1.0)))
    t.unit = "K"
    seen.append(float(heat(1.0)))
    del t.temperature
    seen.append(float(heat(2.5)))
    return seen, int(t._changes), float(t._kelvin)
