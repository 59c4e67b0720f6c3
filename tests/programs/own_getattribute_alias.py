"""A class with its own __getattribute__ maps old attribute names to new ones, and the map changes."""

import jax.numpy as jnp


class Legacy:
    aliases = {"lr": "learning_rate"}

    def __init__(self):
        self.learning_rate = jnp.array(0.5)
        self.momentum = jnp.array(0.9)

    def __getattribute__(self, name):
        aliases = object.__getattribute__(self, "aliases")
        return object.__getattribute__(self, aliases.get(name, name))

    def update(self, w, g):
        return w - self.lr * g


def program(jit):
    opt = Legacy()
    update = jit(opt.update)
    w, g = jnp.array(1.0), jnp.array(1.0)
    seen = [float(update(w, g))]
    opt.learning_rate = jnp.array(0.25)
    seen.append(float(update(w, g)))
    Legacy.aliases["lr"] = "momentum"
    seen.append(float(update(w, g)))
    opt.momentum = jnp.array(0.0)
    seen.append(float(update(w, g)))
    opt.aliases = {}
    opt.lr = jnp.array(3.0)
    return seen + [float(update(w, g))]
