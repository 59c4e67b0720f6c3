"""Parameters are created on the first call from the input's shape, as haiku-like code does, then used and reset."""

import jax
import jax.numpy as jnp


class Dense:
    def __init__(self, units):
        self.units = units
        self.built = False

    def build(self, x):
        self.w = jnp.full((x.shape[-1], self.units), 0.5)
        self.b = jnp.zeros(self.units)
        self.built = True

    def __call__(self, x):
        if not self.built:
            self.build(x)
        return x @ self.w + self.b


class Model:
    def __init__(self):
        self.layers = [Dense(3), Dense(1)]

    def __call__(self, x):
        for layer in self.layers:
            x = jax.nn.relu(layer(x))
        return x


def program(jit):
    model = Model()
    run = jit(lambda x: model(x))
    x = jnp.array([[1.0, 2.0]])
    seen = [run(x).tolist(), [list(m.w.shape) for m in model.layers], run(x).tolist()]
    model.layers[1].b = jnp.array([10.0])
    seen.append(run(x).tolist())
    model.layers[0] = Dense(3)
    seen.append(run(2 * x).tolist())
    model.layers = [Dense(2)]
    return seen + [run(x).tolist(), model.layers[0].built, sorted(vars(model.layers[0]))]
