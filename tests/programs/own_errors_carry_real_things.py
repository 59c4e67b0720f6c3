"""An error that leaves the function carries the caller's own things, which an error handler then changes."""

import jax.numpy as jnp
import numpy as np


class Invalid(Exception):
    def __init__(self, *args, **more):
        super().__init__(*args)
        self.__dict__.update(more)


class Model:
    def __init__(self):
        self.items, self.table = [1], {"k": 1}
        self.weights, self.grid = jnp.ones(2), np.arange(2)
        self.limit = 1


def helper(x):
    return x


def program(jit):
    model = Model()

    @jit
    def check(x):
        if len(model.items) > model.limit:
            made = [model.items, (model.table, {"w": model.weights})]
            try:
                raise KeyError(model)
            except KeyError as error:
                raise Invalid(model.items, model.grid, x, model.limit, owner=model, made=made) from error
        return x

    seen = []
    for i in range(6):
        x = jnp.float32(i)
        try:
            seen.append(float(check(x)))
        except Invalid as error:
            items, grid, given, limit = error.args
            seen += [items is model.items, grid is model.grid, given is x, limit, type(limit).__name__]
            seen += [error.owner is model, error.made[0] is items, error.made[1][0] is model.table]
            seen += [error.made[1][1]["w"] is model.weights, error.__cause__.args[0] is model]
            items.clear()
        model.items.append(i)
        model.limit = i // 2
    return seen
