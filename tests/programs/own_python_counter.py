"""A plain Python counter is incremented at every call and never read by the computation; another one steers logging."""

import jax.numpy as jnp


class Trainer:
    def __init__(self):
        self.calls = 0
        self.period = 3
        self.logged = []
        self.w = jnp.array(1.0)

    def step(self, x):
        self.calls += 1
        self.w = self.w * 0.5 + x
        if self.calls % self.period == 0:
            self.logged.append(self.calls)
        return self.w


def program(jit):
    trainer = Trainer()
    step = jit(trainer.step)
    seen = [float(step(jnp.array(1.0))) for _ in range(7)]
    trainer.calls = 100
    trainer.period = 2
    seen += [float(step(jnp.array(1.0))) for _ in range(3)]
    return seen, int(trainer.calls), [int(n) for n in trainer.logged]
