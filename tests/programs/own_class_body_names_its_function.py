"""The body of a class inside a function names that function, and another one whose class names it back."""

import jax.numpy as jnp

offset = jnp.float32(0.5)


def build(x, depth=0):
    class Node:
        make = build
        shift = offset

        def grown(self):
            return self.make.__func__(x, depth + 1)

    return x + Node.shift if depth == 2 else Node().grown() * 2


def first(x):
    class Step:
        after = second

    return Step.after(x + 1)


def second(x):
    class Step:
        before = first
        shift = offset

    return x * Step.shift + len(Step.before.__name__)


def program(jit):
    global offset, second
    built, chained = jit(build), jit(first)
    seen = [float(built(1.0)), float(chained(1.0))]
    offset = jnp.float32(2.0)
    seen += [float(built(1.0)), float(chained(1.0))]
    kept, second = second, lambda x: x - offset
    seen.append(float(chained(1.0)))
    second = kept
    return {"seen": seen, "back": float(chained(1.0))}
