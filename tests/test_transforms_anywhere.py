"""JAX's transforms carry state however traced code came by them: a name, an attribute, a partial."""

import functools

import jax
import jax.numpy as jnp
import pytest
from jax import checkpoint, grad, value_and_grad
from jax.lax import cond, fori_loop, scan

from freshjit import jit


class Model:
    def __init__(self):
        self.last = jnp.float32(0)
        self.grad = jax.grad
        self.tools = {"scan": jax.lax.scan, "grads": [jax.value_and_grad]}
        self.partial = functools.partial(jax.value_and_grad, has_aux=False)

    kept_by_the_class = staticmethod(jax.grad)

    def loss(self, x):
        self.last = x * 2
        return x**2

    def body(self, carry, x):
        self.last = self.last + x
        return carry, x


def with_default(model, x, transform=jax.grad):
    return transform(model.loss)(x)


def choose(model, x):
    def yes():
        model.last = 2 * x

    def no():
        model.last = x

    cond(x > 0, yes, no)


WAYS = {
    "imported by name": lambda m, x: grad(m.loss)(x),
    "imported by name, with the value": lambda m, x: value_and_grad(m.loss)(x),
    "checkpoint": lambda m, x: grad(checkpoint(m.loss))(x),
    "attribute": lambda m, x: m.grad(m.loss)(x),
    "class attribute": lambda m, x: m.kept_by_the_class(m.loss)(x),
    "item": lambda m, x: m.tools["grads"][0](m.loss)(x),
    "partial": lambda m, x: m.partial(m.loss)(x),
    "default": with_default,
    "scan imported by name": lambda m, x: scan(m.body, 0.0, jnp.array([x, x])),
    "scan in a dict": lambda m, x: m.tools["scan"](m.body, 0.0, jnp.array([x, x])),
    "loop": lambda m, x: fori_loop(0, 2, lambda i, c: m.body(c, x)[0], 0.0),
    "branches": choose,
}


@pytest.mark.parametrize("way", WAYS)
def test_state_written_inside_is_carried_out(way):
    model = Model()
    f = jit(WAYS[way])
    for _ in range(2):
        model.last = jnp.float32(0)
        f(model, 3.0)
        assert float(model.last) == 6.0


def test_transform_replaced_by_another_function_takes_effect():
    model = Model()
    f = jit(lambda x: model.grad(model.loss)(x))
    assert float(f(3.0)) == 6.0
    model.grad = lambda loss: loss
    assert float(f(3.0)) == 9.0
