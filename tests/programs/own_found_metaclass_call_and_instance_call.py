"""Classes are made through a metaclass that has __call__."""

import jax.numpy as jnp


class Meta(type):
    made = 0

    def __call__(cls, *a, **k):
        o = super().__call__(*a, **k)
        Meta.made += 1
        o.ready = True
        return o


class Act(metaclass=Meta):
    def __init__(s, k):
        s.k = k

    def __call__(s, x):
        return x * s.k


def program(jit):
    Meta.made = 0

    class C:
        k = 2.0

    f = jit(lambda x: Act(C.k)(x))
    out = [float(f(1.0))]
    C.k = 5.0
    out.append(float(f(1.0)))
    return out + [Meta.made > 0]
