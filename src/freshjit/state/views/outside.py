"""Reads of the world outside Python's objects: the clock, files, the system's random numbers.

There is no path to them that a later call could look at for nothing, so what they give while tracing is
part of the program. Traced code finds functions that say so, unless a library calls them for its own
purposes.
"""

from __future__ import annotations

import builtins
import functools
import os
import secrets
import time
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from freshjit.state.active import thread
from freshjit.state.guards import user_line
from freshjit.state.libraries import is_installed
from freshjit.state.views.modules import replace_in_captures

__all__ = ["install"]

_OUTSIDE = "Call it outside and pass the result as an argument, or keep it in an attribute."
_RANDOM = "Use jax.random with a key, or draw outside and pass the numbers as arguments."

_CLOCKS = (
    *("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime"),
    *("time_ns", "monotonic_ns", "perf_counter_ns", "process_time_ns", "thread_time_ns", "clock_gettime_ns"),
)
# Functions of a time; without one (so many arguments, or fewer) they ask the clock.
_TIMES = {"localtime": 0, "gmtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}
_FILES: tuple[tuple[Any, str, str], ...] = (
    *((os, "os", name) for name in ("listdir", "scandir", "walk", "stat", "getcwd", "getpid")),
    *((os.path, "os.path", name) for name in ("exists", "isfile", "isdir", "getsize", "getmtime")),
    *((np, "np", name) for name in ("load", "loadtxt", "genfromtxt", "fromfile")),
)
_RANDOM_NUMBERS: tuple[tuple[Any, str, str], ...] = (
    *((secrets, "secrets", n) for n in ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "choice")),
    (secrets, "secrets", "randbits"),
    (uuid, "uuid", "uuid1"),
    (uuid, "uuid", "uuid4"),
    (os, "os", "urandom"),
    (os, "os", "getrandom"),
)


def _for_a_library() -> bool:
    where = user_line()
    return where is not None and is_installed(where.file)


def _always(*args: Any, **kwargs: Any) -> bool:
    return True


def _with_up_to(count: int) -> Callable[..., bool]:
    return lambda *args, **kwargs: len(args) <= count


def _unseeded(seed: Any = None) -> bool:
    return seed is None


def _replace(
    original: Any, name: str, remedy: str = _OUTSIDE, concerned: Callable[..., bool] = _always
) -> None:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if thread.capture is not None and concerned(*args, **kwargs) and not _for_a_library():
            thread.capture.report_frozen(f"{name}() was called", remedy)
        return original(*args, **kwargs)

    replace_in_captures(original, call)


def install() -> None:
    """Let traced code find functions that say what they freeze."""
    for name in _CLOCKS:
        if hasattr(time, name):  # some are not on every system
            _replace(getattr(time, name), f"time.{name}")
    for name, count in _TIMES.items():
        _replace(getattr(time, name), f"time.{name}", concerned=_with_up_to(count))
    for module, label, name in _FILES:
        _replace(getattr(module, name), f"{label}.{name}")
    for module, label, name in _RANDOM_NUMBERS:
        if hasattr(module, name):
            _replace(getattr(module, name), f"{label}.{name}", _RANDOM)
    _replace(np.random.default_rng, "np.random.default_rng", _RANDOM, _unseeded)
    _replace(builtins.open, "open")
    _replace(builtins.input, "input")
