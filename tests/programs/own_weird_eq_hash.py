"""Objects that say they equal everything and all hash to one number must still be told apart."""

import jax.numpy as jnp


class Agreeable:
    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 7


class Hostile:
    def __init__(self, v):
        self.v = jnp.array(v)

    def __eq__(self, other):
        raise RuntimeError("do not compare me")

    __hash__ = None


def program(jit):
    class Holder:
        part = Agreeable(2.0)
        foe = Hostile(1.0)

    holder = Holder()

    @jit
    def f(x, who):
        return holder.part.k * x + holder.foe.v * who.k

    x = jnp.array(3.0)
    seen = [float(f(x, Agreeable(1.0))), float(f(x, Agreeable(10.0)))]
    holder.part = Agreeable(5.0)
    seen.append(float(f(x, Agreeable(1.0))))
    holder.foe = Hostile(-4.0)
    seen.append(float(f(x, holder.part)))
    holder.part.k = jnp.array(0.0)
    return seen + [float(f(x, holder.part))]
