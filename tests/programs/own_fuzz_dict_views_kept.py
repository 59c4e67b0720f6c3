"""Views of a dictionary are kept (keys(), values(), items()), and the dictionary changes afterwards."""

import jax.numpy as jnp


class Model:
    def __init__(self):
        self.params = {"a": 1.0, "b": jnp.array(2.0)}
        self.values, self.names = self.params.values(), self.params.keys()


def program(jit):
    model = Model()
    items = model.params.items()

    @jit
    def run(x):
        scaled = {name: value * x for name, value in items}
        return x + sum(model.values), scaled, list(model.names), "c" in model.names

    seen = []

    def look():
        total, scaled, names, has = run(jnp.array(1.0))
        seen.append([float(total), {k: float(v) for k, v in scaled.items()}, names, has])

    look()
    model.params["a"] = 5.0
    look()
    model.params["b"] = jnp.array(4.0)
    look()
    model.params["c"] = 7.0
    look()
    del model.params["a"]
    look()
    model.values = {"other": 3}.values()
    look()
    return seen
