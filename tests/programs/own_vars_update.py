"""State is written in bulk through vars(self) and self.__dict__, inside the jitted method and by a load function."""

import jax.numpy as jnp


class Model:
    def __init__(self):
        self.w = jnp.array(1.0)
        self.b = jnp.array(0.0)
        self.step = jnp.array(0)

    def train(self, x):
        grads = {"w": x, "b": jnp.ones_like(x)}
        vars(self).update({k: vars(self)[k] - 0.1 * g for k, g in grads.items()})
        self.__dict__["step"] = self.__dict__["step"] + 1
        return self.w * x + self.b

    def load(self, saved):
        self.__dict__.update(saved)


def program(jit):
    m = Model()
    train = jit(m.train)
    x = jnp.array(2.0)
    seen = [float(train(x))]
    saved = dict(vars(m))
    seen += [float(train(x)), float(train(x))]
    m.load(saved)
    seen.append(float(train(x)))
    vars(m)["b"] = jnp.array(100.0)
    seen.append(float(train(x)))
    return seen, int(m.step), float(m.w), sorted(vars(m))
