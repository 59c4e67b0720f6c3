"""Tracebacks show the user's own lines: frames of freshjit are left out, as JAX leaves out its own.

JAX's setting decides: ``JAX_TRACEBACK_FILTERING=off`` shows all frames.
"""

from __future__ import annotations

import functools
import os
import traceback
import types
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import jax

from freshjit.state.active import thread

__all__ = ["boundary", "hide_own_frames"]

P = ParamSpec("P")
R = TypeVar("R")

_FOLDER = os.path.dirname(__file__) + os.sep
_GENERATED = "<freshjit program>"


def hide_own_frames(error: BaseException) -> None:
    """Take the frames of freshjit out of an error's traceback, and of those of the errors that led to it.

    It is called where an error leaves freshjit, by the frame itself, which then re-raises with a bare
    ``raise``: this adds no entry for that frame. Inside a capture the frames stay: it is not over.
    """
    if thread.capture is not None or _all_are_wanted():
        return
    todo, seen = [error], set[int]()
    while todo:
        this = todo.pop()
        if id(this) not in seen:
            seen.add(id(this))
            this.__traceback__ = _without_own(this.__traceback__)
            todo += [e for e in (this.__cause__, this.__context__) if e is not None]


def boundary(function: Callable[P, R]) -> Callable[P, R]:
    """A function of freshjit's that users call, and whose errors show none of its frames."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_own_frames(error)
            raise

    return call


def _all_are_wanted() -> bool:
    return jax.config.jax_traceback_filtering == "off"  # pyright: ignore[reportAttributeAccessIssue]


def _without_own(whole: types.TracebackType | None) -> types.TracebackType | None:
    kept = None
    for frame, line in reversed(list(traceback.walk_tb(whole))):
        if not _is_own(frame):
            kept = types.TracebackType(kept, frame, frame.f_lasti, line)
    return kept


def _is_own(frame: types.FrameType) -> bool:
    name = frame.f_code.co_filename
    return name.startswith(_FOLDER) or name == _GENERATED
