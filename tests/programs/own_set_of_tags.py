"""Which terms a loss contains is a set of names, changed from outside and by the jitted function itself."""

import jax.numpy as jnp


class Loss:
    def __init__(self):
        self.active = {"mse"}
        self.used = set()
        self.allowed = frozenset({"mse", "l1", "bias"})

    def __call__(self, x):
        total = jnp.array(0.0)
        for name in sorted(self.active & self.allowed):
            self.used.add(name)
            total = total + getattr(self, name)(x)
        return total

    def mse(self, x):
        return jnp.mean(x**2)

    def l1(self, x):
        return 10 * jnp.mean(jnp.abs(x))

    def bias(self, x):
        self.active.discard("l1")
        return 100 * jnp.mean(x)


def program(jit):
    loss = Loss()
    f = jit(lambda x: loss(x))
    x = jnp.array([1.0, -3.0])
    seen = [float(f(x))]
    loss.active.add("l1")
    seen.append(float(f(x)))
    loss.active |= {"bias", "unknown"}
    seen += [float(f(x)), sorted(loss.active), float(f(x))]
    loss.allowed = frozenset()
    seen.append(float(f(x)))
    return seen, sorted(loss.used)
