"""A function defines a small class with a jitted method each time it is called, so the class is new every time."""

import jax.numpy as jnp


def program(jit):
    def simulate(rate, label):
        class Decay:
            name = label

            def __init__(self):
                self.level = jnp.array(100.0)

            @jit
            def step(self, dt):
                self.level = self.level * (1 - rate * dt)
                return self.level, self.name

        decay = Decay()
        rows = []
        for _ in range(2):
            level, name = decay.step(0.5)
            rows.append([float(level), name])
        return rows, Decay

    first, kind_a = simulate(jnp.array(0.5), "slow")
    second, kind_b = simulate(jnp.array(1.0), "fast")
    third, _ = simulate(jnp.array(0.5), "slow")
    return first, second, third, kind_a is kind_b
