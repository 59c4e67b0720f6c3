"""int and float called, compared, passed on and inherited from, around a number that changes."""

import collections

import jax.numpy as jnp


def program(jit):
    class State:
        n = 3

    state = State()

    @jit
    def step(x):
        class Own(int):
            pass

        convert, kind = (float if state.n > 3 else int), int
        match state.n:
            case int(found):
                pass
        tally = collections.defaultdict(int)
        tally["n"] += state.n
        return {
            "called": [float(state.n) / 2, int(state.n / 2), convert(state.n), kind(state.n)],
            "compared": [kind is int, int is type(state.n), type(int(state.n)) is int, issubclass(bool, int)],
            "asked": [
                isinstance(float(state.n), float | int),
                isinstance(state.n, (int, float)),
                int.__name__,
            ],
            "methods": [int.from_bytes(b"ab", "big"), float.fromhex("0x1p3"), float(state.n).is_integer()],
            "passed on": [*map(float, [state.n, 2]), *sorted([3, 1.5], key=float), {int: 1}[int]],
            "others": [int("7"), int("11", 2), float("2.5"), int(x.shape[0]), Own(4) + state.n, found],
            "counted": tally["n"],
        }

    x = jnp.ones(2)
    seen = []
    for n in (3, 4, 5):
        state.n = n
        seen.append(step(x))
    return seen
