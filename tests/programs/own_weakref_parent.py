"""Child nodes hold a weak reference to their parent and read the parent's scale; the parent is edited, then replaced."""

import weakref

import jax.numpy as jnp


class Node:
    def __init__(self, scale):
        self.scale = jnp.array(scale)
        self.children = []

    def adopt(self, child):
        child.parent = weakref.ref(self)
        self.children.append(child)
        return child


class Child:
    parent = None

    def __init__(self, value):
        self.value = jnp.array(value)

    def world(self, x):
        p = self.parent() if self.parent is not None else None
        return self.value * x if p is None else p.scale * self.value * x + len(p.children)


def program(jit):
    root, child = Node(2.0), Child(3.0)
    world = jit(child.world)
    x = jnp.array(1.0)
    seen = [float(world(x))]
    root.adopt(child)
    seen.append(float(world(x)))
    root.scale = jnp.array(10.0)
    seen.append(float(world(x)))
    root.adopt(Child(0.0))
    seen.append(float(world(x)))
    other = Node(-1.0)
    other.adopt(child)
    seen.append(float(world(x)))
    del other
    seen.append(float(world(x)))
    return seen
