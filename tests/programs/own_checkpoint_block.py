"""Blocks are rematerialised with jax.checkpoint around lambdas that read layer state, inside value_and_grad."""

import jax
import jax.numpy as jnp


class Block:
    def __init__(self, w):
        self.w = jnp.array(w)
        self.act = jnp.sin

    def __call__(self, x):
        return self.act(self.w * x)


class Net:
    def __init__(self):
        self.blocks = [Block(1.0), Block(0.5)]
        self.remat = True

    def loss(self, x):
        for block in self.blocks:
            f = jax.checkpoint(lambda v, block=block: block(v)) if self.remat else block
            x = f(x)
        return jnp.sum(x)

    def run(self, x):
        return jax.value_and_grad(self.loss)(x)


def program(jit):
    net = Net()
    run = jit(net.run)
    x = jnp.array([1.0, 2.0])
    seen = []

    def look():
        value, g = run(x)
        seen.append([float(value), g.tolist()])

    look()
    net.blocks[0].w = jnp.array(-2.0)
    look()
    net.blocks[1].act = jnp.cos
    look()
    net.remat = False
    look()
    net.blocks.append(Block(3.0))
    net.remat = True
    look()
    return seen
