"""The loss counts its evaluations and remembers the largest target on self while value_and_grad runs over it."""

import jax
import jax.numpy as jnp


class Model:
    def __init__(self):
        self.params = {"w": jnp.array([1.0, 1.0]), "b": jnp.array(0.0)}
        self.evaluations = jnp.array(0)
        self.largest = None

    def loss(self, params, x, y):
        pred = jnp.sum(params["w"] * x) + params["b"]
        self.evaluations = self.evaluations + 1
        self.largest = y if self.largest is None else jnp.maximum(y, self.largest)
        return (pred - y) ** 2, {"pred": pred, "n": self.evaluations}

    def train(self, x, y):
        (value, aux), grads = jax.value_and_grad(self.loss, has_aux=True)(self.params, x, y)
        for name in self.params:
            self.params[name] = self.params[name] - 0.1 * grads[name]
        return value, aux["n"]


def program(jit):
    model = Model()
    train = jit(model.train)
    x = jnp.array([1.0, 2.0])
    seen = []
    for k in range(4):
        value, n = train(x, jnp.array(5.0 - k))
        seen.append([float(value), int(n), float(model.largest)])
        if k == 2:
            model.evaluations = jnp.array(100)
            model.params["b"] = jnp.array(-5.0)
            model.largest = None
    return seen, model.params["w"].tolist()
