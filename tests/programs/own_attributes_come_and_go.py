"""Optional parts of a model appear and disappear as attributes, and the forward pass asks which are there."""

import jax.numpy as jnp


class Block:
    def __init__(self):
        self.w = jnp.array([1.0, 2.0])

    def forward(self, x):
        y = self.w * x
        if hasattr(self, "bias"):
            y = y + self.bias
        if getattr(self, "act", None) is not None:
            y = self.act(y)
        if hasattr(self, "probe"):
            del self.probe
            self.probed = True
        return y


def program(jit):
    block = Block()
    forward = jit(block.forward)
    x = jnp.array([1.0, -1.0])
    seen = [forward(x).tolist()]
    block.bias = jnp.array([5.0, 5.0])
    seen.append(forward(x).tolist())
    block.act = jnp.abs
    seen.append(forward(x).tolist())
    block.probe = "x"
    seen += [hasattr(block, "probed"), forward(x).tolist(), hasattr(block, "probe"), block.probed]
    del block.bias
    block.act = None
    seen.append(forward(-x).tolist())
    return seen + [sorted(vars(block))]
