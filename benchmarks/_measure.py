"""Timing two contenders against each other."""

import gc
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import jax
import numpy as np

__all__ = ["Comparison", "compare"]

Call = Callable[[], object]

#: How long one contender runs before the other has its turn: far above the clock's resolution, far below the
#: time in which a machine changes its speed.
BLOCK_SECONDS = 0.03


@dataclass(frozen=True)
class Comparison:
    """Seconds per call (medians), and the median of the ratios of the rounds."""

    ours: float
    theirs: float
    ratio: float


def compare(ours: Call, theirs: Call, *, rounds: int = 15) -> Comparison:
    """Time two contenders in turns.

    Both run in each round, the one that begins changing from round to round, and the ratio is taken within
    the round: what slows the machine down for a second slows both.
    """
    _check_same(ours, theirs)
    calls = _calls_per_block(ours, theirs)
    timed = [_round(ours, theirs, calls, swapped=bool(index % 2)) for index in range(rounds)]
    return Comparison(
        ours=statistics.median(ours for ours, _ in timed),
        theirs=statistics.median(theirs for _, theirs in timed),
        ratio=statistics.median(ours / theirs for ours, theirs in timed),
    )


def _check_same(ours: Call, theirs: Call) -> None:
    """Compile both, and make sure that it is the same thing that is timed."""
    for _ in range(3):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), ours(), theirs())


def _calls_per_block(ours: Call, theirs: Call) -> int:
    slowest = max(_seconds_per_call(call, 5) for call in (ours, theirs))
    return min(max(int(BLOCK_SECONDS / slowest), 5), 2000)


def _round(ours: Call, theirs: Call, calls: int, *, swapped: bool) -> tuple[float, float]:
    if swapped:
        theirs_seconds = _seconds_per_call(theirs, calls)
        return _seconds_per_call(ours, calls), theirs_seconds
    return _seconds_per_call(ours, calls), _seconds_per_call(theirs, calls)


def _seconds_per_call(call: Call, calls: int) -> float:
    """The mean of some calls in a row, the garbage collector off, as `timeit` does it."""
    out: object = None
    gc.collect()
    gc.disable()
    try:
        start = perf_counter()
        for _ in range(calls):
            out = call()
        jax.block_until_ready(out)
        return (perf_counter() - start) / calls
    finally:
        gc.enable()
