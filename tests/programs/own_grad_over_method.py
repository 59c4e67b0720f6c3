"""Gradients of bound methods and lambdas are taken inside the jitted call, while the object's target keeps moving."""

import jax
import jax.numpy as jnp


class Regression:
    def __init__(self):
        self.target = jnp.array([1.0, 2.0])
        self.penalty = 0.0
        self.w = jnp.zeros(2)

    def loss(self, w):
        return jnp.sum((w - self.target) ** 2) + self.penalty * jnp.sum(jnp.abs(w))

    def step(self, lr):
        self.w = self.w - lr * jax.grad(self.loss)(self.w)
        return self.w, jax.hessian(lambda w: self.loss(w) * self.target[0])(self.w)[0, 0]


def program(jit):
    model = Regression()
    step = jit(model.step)
    grad_only = jit(jax.grad(model.loss))
    seen = []
    for k in range(4):
        w, h = step(0.25)
        seen.append([w.tolist(), float(h), grad_only(jnp.ones(2)).tolist()])
        if k == 1:
            model.target = jnp.array([-1.0, 0.0])
        if k == 2:
            model.penalty = 1.0
    return seen
