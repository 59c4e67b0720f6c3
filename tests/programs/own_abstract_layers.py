"""An abstract base class calls abstract methods of its subclasses, whose fields change; layers are swapped for other kinds."""

from abc import ABC, abstractmethod

import jax.numpy as jnp


class Layer(ABC):
    scale = 1.0

    @abstractmethod
    def forward(self, x): ...

    @property
    @abstractmethod
    def title(self): ...

    def __call__(self, x):
        return self.scale * self.forward(x)


class Affine(Layer):
    title = "affine"

    def __init__(self, a, b):
        self.a, self.b = jnp.array(a), jnp.array(b)

    def forward(self, x):
        return self.a * x + self.b


class Power(Layer):
    def __init__(self, n):
        self.n = n

    @property
    def title(self):
        return f"power{self.n}"

    def forward(self, x):
        return x**self.n


def program(jit):
    model = {"layer": Affine(2.0, 1.0)}

    @jit
    def run(x):
        return model["layer"](x), model["layer"].title

    def look():
        y, title = run(jnp.array(3.0))
        return [float(y), title]

    seen = [look()]
    model["layer"].b = jnp.array(-1.0)
    seen.append(look())
    model["layer"] = Power(2)
    seen.append(look())
    model["layer"].n = 3
    Layer.scale = 0.5
    seen.append(look())
    model["layer"] = Affine(1.0, 1.0)
    return seen + [look()]
