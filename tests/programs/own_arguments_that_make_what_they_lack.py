"""Dicts and defaultdicts as arguments, with other keys at each call, and what is in them compared by identity."""

import collections

import jax.numpy as jnp

asked = []


def new():
    asked.append(len(asked))
    return {}


def program(jit):
    asked.clear()

    @jit
    def same(x, state):
        kept = {}
        for name, pair in state.items():
            kept[name] = x if "first" in pair and pair["first"] is pair["second"] else -x
        return kept

    @jit
    def put(x, state):
        if "a" in state:
            state["a"]["n"] = x
        return x

    one, two = jnp.ones(2), jnp.ones(2)
    shown = []
    for make in (dict, lambda items: collections.defaultdict(new, items)):
        for items in (
            {"a": make({"first": one, "second": one})},
            {"a": make({"first": one, "second": two})},
            {},
            {"b": make({"first": two, "second": two})},
            {"a": make({})},
            {},
        ):
            state = make(items)
            shown.append({name: float(value) for name, value in same(3.0, state).items()})
            shown.append({name: sorted(pair) for name, pair in state.items()})
            put(5.0, state)
            shown.append({name: sorted(pair) for name, pair in state.items()})
    return [*shown, len(asked)]
