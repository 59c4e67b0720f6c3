"""Threads that traced code starts: it is refused, since nothing that runs in them is seen.

A capture is of one thread: in another one the hooks pass everything straight to the real things, as they
must for those who have nothing to do with it. So work is refused where it is handed over, by ``Thread.start``
or an executor. What gets past that is found when a clone runs in a thread that is not its capture's.
"""

from __future__ import annotations

import concurrent.futures
import functools
import sys
import threading
import types
from typing import Any

from freshjit.errors import UnsupportedStateError
from freshjit.state.active import thread
from freshjit.state.guards import SourceLine, at
from freshjit.state.libraries import is_user_class
from freshjit.state.views.namespaces import Namespace
from freshjit.state.watches import WhileNeeded

__all__ = ["watched_threads"]

_Executor = concurrent.futures.ThreadPoolExecutor
_plain_start, _plain_submit = threading.Thread.start, _Executor.submit


def _is_traced(work: Any) -> bool:
    """Whether a callable is a clone, or leads to one."""
    while isinstance(work, (types.MethodType, functools.partial)):
        work = work.__func__ if isinstance(work, types.MethodType) else work.func
    return isinstance(getattr(work, "__globals__", None), Namespace)


def _line_of_traced_code() -> SourceLine | None:
    """The line on the stack that leads here, past the libraries that hand work on to each other."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if isinstance(frame.f_globals, Namespace):
            return SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return None


def _refuse(name: str) -> None:
    raise UnsupportedStateError(
        f"{name} was called inside a jitted function{at(_line_of_traced_code())}: what runs in another "
        "thread is not traced, and would run once, while this function is.\nCall the work directly, map it "
        "with jax.vmap, or start threads outside and pass their results in."
    )


@functools.wraps(_plain_start)
def _start(self: threading.Thread) -> None:
    if thread.capture is not None:
        cls = type(self)
        own = cls.run is not threading.Thread.run and is_user_class(cls)
        if own or _is_traced(vars(self).get("_target")):
            _refuse("Thread.start")
    _plain_start(self)


@functools.wraps(_plain_submit)
def _submit(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    if thread.capture is not None and (_is_traced(fn) or any(map(_is_traced, args))):
        _refuse(f"{type(self).__name__}.submit")
    return _plain_submit(self, fn, *args, **kwargs)


def _watch() -> None:
    threading.Thread.start = _start  # pyright: ignore[reportAttributeAccessIssue]
    _Executor.submit = _submit  # pyright: ignore[reportAttributeAccessIssue]


def _restore() -> None:
    threading.Thread.start = _plain_start
    _Executor.submit = _plain_submit


# As with the methods of paths: put in place for the time of a capture; in other threads they do as always.
watched_threads = WhileNeeded(_watch, _restore)
