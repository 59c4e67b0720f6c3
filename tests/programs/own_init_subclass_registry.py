"""Subclasses register themselves in __init_subclass__; the jitted function looks classes up by name and builds them."""

import jax.numpy as jnp


class Shape:
    registry = {}
    unit = jnp.array(1.0)

    def __init_subclass__(cls, name=None, **kw):
        super().__init_subclass__(**kw)
        Shape.registry[name or cls.__name__.lower()] = cls

    def __init__(self, size):
        self.size = size


class Square(Shape):
    def area(self):
        return (self.size * self.unit) ** 2


class Circle(Shape, name="disc"):
    pi = 3.0

    def area(self):
        return self.pi * (self.size * self.unit) ** 2


def program(jit):
    wanted = ["square", "disc"]

    @jit
    def total(x):
        return sum(Shape.registry[name](x).area() for name in wanted)

    x = jnp.array(2.0)
    seen = [float(total(x))]
    Circle.pi = 3.25
    seen.append(float(total(x)))

    class Better(Square, name="square"):
        def area(self):
            return -super().area()

    seen.append(float(total(x)))
    wanted.append("square")
    Better.unit = jnp.array(10.0)
    seen.append(float(total(x)))
    return seen, sorted(Shape.registry)
