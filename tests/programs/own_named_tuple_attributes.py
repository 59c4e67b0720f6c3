"""Instances of a subclass of a named tuple have attributes, kept by no transform of JAX's."""

import collections

import jax
import jax.numpy as jnp


class Pair(collections.namedtuple("Pair", "a b")):
    pass


def noted(a, b, note):
    pair = Pair(jnp.float32(a), jnp.float32(b))
    pair.note = note
    return pair


def look(pair):
    return [type(pair).__name__, sorted(vars(pair)), getattr(pair, "note", None)]


def through(transform, pair, x):
    seen = []

    def inside(given):
        seen.append(look(given))
        return given[0] * given[1]

    if transform == "grad":
        result = jax.grad(inside)(pair)
    elif transform == "vmap":
        pairs = jax.tree_util.tree_map(lambda leaf: jnp.stack([leaf, x]), pair)
        pairs.note = "stacked"
        result = jax.vmap(lambda given: (inside(given), given)[1])(pairs)
    elif transform == "scan":
        result, _ = jax.lax.scan(lambda given, _: (given, inside(given)), pair, None, length=2)
    else:
        result = jax.tree_util.tree_map(lambda leaf: leaf * x, pair)
    return [*seen[:1], look(result), look(pair)]


def program(jit):
    pair, kept = noted(1.0, 2.0, "first"), []
    seen = {}
    for transform in ("grad", "vmap", "scan", "map"):
        new = jit(lambda x, transform=transform: (through(transform, noted(x, x, "made"), x), x)[0])
        old = jit(lambda x, transform=transform: (through(transform, pair, x), x)[0])
        pair.note = "first"
        seen[transform] = [new(1.0), old(1.0)]
        pair.note = "second"
        seen[transform].append(old(1.0))

    @jit
    def weighed(pair, x):
        y = pair.a * getattr(pair, "weight", 7.0)
        pair.last = x
        return y

    bare = Pair(jnp.float32(1.0), jnp.float32(2.0))
    weights = [float(weighed(bare, 1.0))]
    bare.weight = jnp.float32(3.0)
    weights += [float(weighed(bare, 2.0)), float(bare.last)]
    del bare.weight
    weights += [float(weighed(bare, 4.0)), float(bare.last), list(vars(bare))]

    @jit
    def keeps(x):
        def loss(y):
            made = noted(2.0, 3.0, "kept")
            kept.append(made)
            return y * made.a

        return jax.grad(loss)(x)

    keeps(1.0)
    return {"seen": seen, "weights": weights, "kept": look(kept[0]), "a": float(kept[0].a)}
