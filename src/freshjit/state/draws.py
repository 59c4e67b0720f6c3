"""Random generators of Python and NumPy: what they held before a call that is traced, and putting it back.

Numbers that a run draws belong to the program. If there comes no program of it, nothing has been drawn; and
if the function is run once more for the same call, it draws the same ones.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

__all__ = ["Draws", "has_moved", "of_numpy", "of_python", "state_of"]

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


def state_of(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, np.random.BitGenerator):
        return generator.state
    if isinstance(generator, np.random.RandomState):
        return generator.get_state()
    return generator.getstate()


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, np.random.BitGenerator):
        generator.state = state
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
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
