"""A counter that moves while something else changes too (a flag, the keys of a dict) is learnt at once, not one program later."""

import jax.numpy as jnp

WANT_COMPILES = 4  # the first call; the counter as an input, in either mode; numbers sent to the device


class Schedule:
    def __init__(self):
        self.training = True
        self.steps = 1
        self.extra = {}


def program(jit):
    s = Schedule()

    @jit
    def step(x):
        y = x * 2 if s.training else x
        y = y + len(s.extra)
        s.steps += 1
        return y / s.steps

    seen = [float(step(jnp.array(6.0)))]
    s.training = False
    seen.append(float(step(jnp.array(6.0))))
    seen.append(float(step(jnp.array(6.0))))
    s.training = True
    for _ in range(3):
        seen.append(float(step(jnp.array(6.0))))
        s.training = not s.training
    return seen, s.steps
