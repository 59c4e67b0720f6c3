"""A function made inside a jitted one is an ordinary function: its globals are the module's, for reading and writing."""

import jax.numpy as jnp

RATE = 2.0
CALLS = 0


class Box:
    pass


def program(jit):
    global RATE
    box = Box()

    @jit
    def choose(x):
        def act(u):
            global CALLS
            CALLS += 1
            return u * RATE

        box.act = act
        return act(x)

    @jit
    def use(x):
        return box.act(x)

    seen = [float(choose(jnp.float32(1.0)))]
    RATE = 3.0
    seen += [float(box.act(1.0)), float(use(jnp.float32(1.0)))]
    RATE = 5.0
    seen += [float(box.act(1.0)), float(use(jnp.float32(1.0)))]
    return {
        "seen": seen,
        "calls": CALLS,
        "globals": box.act.__globals__ is globals(),
        "module": box.act.__module__ == __name__,
        "name": box.act.__qualname__.rpartition(".")[2],
    }
