"""Objects told apart by ``id`` and ``hash``: each is itself at every call; the numbers of a key are its bits."""

import jax
import numpy as np


class Layer:
    def __init__(self, scale):
        self.scale = scale


def program(jit):
    layers = [Layer(1.0), Layer(2.0)]
    factors = {id(layer): 10.0 * layer.scale for layer in layers}
    by_hash = {hash(layer): layer.scale for layer in layers}

    @jit
    def scaled(layer, x):
        return x * factors[id(layer)] + by_hash[hash(layer)] + (id(layer) == id(layers[0]))

    class Keyed:
        key = jax.random.key(0)

    @jit
    def bits():
        data = jax.random.key_data(Keyed.key)
        return np.asarray(data).tolist(), int(data[1])

    seen = [float(scaled(layer, 1.0)) for layer in layers * 2]
    drawn = [bits()]
    Keyed.key = jax.random.key(7)
    return {"seen": seen, "drawn": [*drawn, bits()]}
