"""The stages of a pipeline are an OrderedDict whose order is what matters; entries move to the end and the front."""

from collections import OrderedDict

import jax.numpy as jnp


class Pipeline:
    def __init__(self):
        self.stages = OrderedDict(double=lambda v: 2 * v, shift=lambda v: v + 1)
        self.names = ""

    def run(self, x):
        self.names = ">".join(self.stages)
        for stage in self.stages.values():
            x = stage(x)
        return x

    def promote(self, x):
        first = next(iter(self.stages))
        self.stages.move_to_end(first)
        return self.run(x)


def program(jit):
    p = Pipeline()
    run, promote = jit(p.run), jit(p.promote)
    x = jnp.array(3.0)
    seen = [float(run(x)), p.names]
    p.stages.move_to_end("double")
    seen += [float(run(x)), p.names]
    p.stages["square"] = jnp.square
    seen += [float(run(x)), p.names, float(promote(x)), p.names, float(promote(x)), p.names]
    p.stages.popitem(last=False)
    return seen + [float(run(x)), p.names]
