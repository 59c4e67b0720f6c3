"""Random generators of Python and NumPy: what they held before a call that is traced, and putting it back.

What they hold is their stream of bits and, of NumPy's, how many others their seed has brought forth.

Numbers that a run draws belong to the program. If there comes no program of it, nothing has been drawn; and
if the function is run once more for the same call, it draws the same ones.
"""

from __future__ import annotations

import random
from typing import Any, cast

import numpy as np

__all__ = ["SOURCES", "Draws", "has_moved", "names_asking", "of_numpy", "of_python", "state_of"]

# Those that the functions of the modules belong to.
of_python: Any = vars(random)["_inst"]
of_numpy: Any = vars(np.random.mtrand)["_rand"]


class Draws:
    """The generators that a call may have moved."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, Any]] = []

    def watch(self, generator: Any) -> Any:
        """Note what a generator holds, which is the answer, as what to put back."""
        state = state_of(generator)
        self._before.append((generator, state))
        return state

    def put_back(self) -> None:
        """Let the generators hold what they did before the call."""
        # Two may share their source of bits, and the first one was seen before it moved.
        while self._before:
            generator, before = self._before[-1]
            if has_moved(generator, before):
                _set_state(generator, before)
            self._before.pop()  # now that it is done: Ctrl-C may come, and this be called again


SOURCES = (
    np.random.Generator,
    np.random.BitGenerator,
    np.random.RandomState,
    np.random.SeedSequence,
    random.Random,
)

_ASKING = (
    "__getstate__",
    "__reduce__",
    "__reduce_ex__",
    "bit_generator",
    "deepcopy",
    "get_state",
    "getstate",
)
_ASKING_OF_SOURCES = ("jumped", "n_children_spawned", "seed_seq", "state")


def names_asking(generator: Any) -> frozenset[str]:
    """What code has names of that depends on what a generator holds without moving it."""
    if isinstance(generator, (np.random.BitGenerator, np.random.SeedSequence)):
        return frozenset(_ASKING + _ASKING_OF_SOURCES)
    return frozenset(_ASKING)


def state_of(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return state_of(generator.bit_generator)
    if isinstance(generator, np.random.BitGenerator):
        seed = generator.seed_seq
        return generator.state, state_of(seed) if isinstance(seed, np.random.SeedSequence) else None
    if isinstance(generator, np.random.RandomState):
        return generator.get_state()
    if isinstance(generator, np.random.SeedSequence):
        return generator.__reduce__()[2]
    return generator.getstate()


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        _set_state(generator.bit_generator, state)
    elif isinstance(generator, np.random.BitGenerator):
        generator.state, of_seed = state
        if of_seed is not None:
            _set_state(generator.seed_seq, of_seed)
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    elif isinstance(generator, np.random.SeedSequence):
        cast(Any, generator).__setstate__(state)
    else:
        generator.setstate(state)


def has_moved(generator: Any, before: Any) -> bool:
    return not _same(state_of(generator), before)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return all(_same(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(np.array_equal(a, b))
