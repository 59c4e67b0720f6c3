"""Layers are tuples inside a tuple on self and are replaced as a whole inside the jitted update."""

import jax.numpy as jnp


class Net:
    def __init__(self):
        self.layers = ((jnp.array(1.0), jnp.array(0.0)), (jnp.array(2.0), jnp.array(1.0)))
        self.order = (0, 1)

    def forward(self, x):
        for i in self.order:
            w, b = self.layers[i]
            x = w * x + b
        return x

    def decay(self, rate):
        self.layers = tuple((w * rate, b) for w, b in self.layers)
        return self.forward(1.0)


def program(jit):
    net = Net()
    forward, decay = jit(net.forward), jit(net.decay)
    seen = [float(forward(3.0)), float(decay(0.5)), float(forward(3.0))]
    net.order = (1, 0)
    seen.append(float(forward(3.0)))
    net.order = (1, 1, 1)
    seen.append(float(decay(2.0)))
    net.layers = net.layers[:1] + ((jnp.array(0.0), jnp.array(9.0)),)
    return seen + [float(forward(3.0)), [[float(w), float(b)] for w, b in net.layers]]
