"""A method is replaced on the class, on one instance with types.MethodType, and then both are restored."""

import types

import jax.numpy as jnp


class Net:
    def __init__(self, w):
        self.w = jnp.array(w)

    def act(self, x):
        return x

    def forward(self, x):
        return self.act(self.w * x)


def program(jit):
    one, two = Net(2.0), Net(-3.0)
    run = jit(lambda net, x: net.forward(x))
    x = jnp.array(1.0)

    def both():
        return [float(run(one, x)), float(run(two, x))]

    seen = [both()]
    original = Net.act
    Net.act = lambda self, x: jnp.abs(x) + 1
    seen.append(both())
    one.act = types.MethodType(lambda self, x: x * self.w, one)
    seen.append(both())
    one.w = jnp.array(5.0)
    Net.act = original
    seen.append(both())
    del one.act
    two.forward = lambda x: x + 1000
    return seen + [both()]
