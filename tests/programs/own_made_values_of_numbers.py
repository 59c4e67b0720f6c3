"""Slices, fractions, UUIDs, shapes, object arrays and weak references are made of what changes at each call."""

import fractions
import uuid
import weakref

import jax
import jax.numpy as jnp
import numpy as np


class Node:
    parent = child = None


class Store:
    def __init__(self):
        self.count = 0

    def step(self, x):
        self.count += 1
        self.slice, self.fraction = slice(0, self.count), fractions.Fraction(self.count, 7)
        self.uuid, self.form = uuid.UUID(int=self.count), jax.ShapeDtypeStruct((self.count,), jnp.float32)
        self.objects = np.array([None, None], dtype="O")
        self.objects[0], self.objects[1] = x, self
        self.first = self.second = np.zeros(2)
        self.root = Node()
        self.root.child = Node()
        self.root.child.parent, self.me = weakref.ref(self.root), weakref.ref(self)
        return slice(x, 2)


def program(jit):
    store = Store()
    step = jit(store.step)
    seen = []
    for value in (1.0, 2.0, 3.0, 4.0):
        made = step(jnp.float32(value))
        seen.append((float(made.start), made.stop, store.slice.stop, type(store.slice.stop).__name__))
        seen.append((str(store.fraction), type(store.fraction.numerator).__name__, str(store.uuid)))
        seen.append((str(store.form), type(store.form.shape[0]).__name__))
        seen.append((float(store.objects[0]), store.objects[1] is store, store.first is store.second))
        seen.append((store.root.child.parent() is store.root, store.me() is store))
    return seen
