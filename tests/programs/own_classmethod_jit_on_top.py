"""jit is written above @classmethod by mistake-or-habit, and the class attribute read by it changes."""

import jax.numpy as jnp


def program(jit):
    class Registry:
        scale = jnp.array(3.0)
        label = "r"

        @jit
        @classmethod
        def apply(cls, x):
            return cls.scale * x + len(cls.label)

    class Child(Registry):
        label = "child"

    x = jnp.array(2.0)
    seen = [float(Registry.apply(x)), float(Child.apply(x)), float(Child().apply(x))]
    Registry.scale = jnp.array(-3.0)
    seen += [float(Registry.apply(x)), float(Child.apply(x))]
    Child.label = ""
    return seen + [float(Child.apply(x)), float(Registry().apply(x))]
