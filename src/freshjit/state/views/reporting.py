"""What code reports to: loggers and streams. A report is made while tracing, as that of ``print`` is."""

from __future__ import annotations

import functools
import io
import logging
from typing import TYPE_CHECKING, Any

from freshjit.errors import UnsupportedStateError
from freshjit.state.active import thread
from freshjit.state.guards import user_line
from freshjit.state.path import Path
from freshjit.state.views.replacements import replace_in_captures

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["install", "view_handler", "view_logger", "view_stream"]


def view_logger(capture: Capture, logger: logging.Logger, path: Path) -> Any:
    """A logger works for real; whether it takes a level at all is what code may go by."""
    capture.guard(path, "is", logger)
    capture.guard(path.attr("disabled"), "value", logger.disabled)
    capture.guard(path.attr("manager").attr("disable"), "value", logger.manager.disable)
    capture.guard(path.attr("getEffectiveLevel").to("call", ()), "value", logger.getEffectiveLevel())
    return capture.remember(logger, logger, path)


def view_handler(capture: Capture, handler: Any, path: Path) -> Any:
    """A handler, filter or formatter: it works for real as well."""
    capture.guard(path, "is", handler)
    return capture.remember(handler, handler, path)


def view_stream(capture: Capture, stream: io.IOBase, path: Path) -> Any:
    """A file or stream can be written to; what would be read from it is not the same at the next call."""
    capture.guard(path, "type", type(stream))
    return capture.remember(stream, _StreamView(stream, path), path)


_WRITING = frozenset(("write", "writelines", "flush", "isatty", "writable"))
_FIXED = frozenset(("name", "mode", "encoding", "errors", "newlines", "line_buffering"))


class _StreamView:
    def __init__(self, stream: io.IOBase, path: Path) -> None:
        self._stream, self._path = stream, path

    def __getattr__(self, name: str) -> Any:
        if name in _WRITING or (name in _FIXED and hasattr(self._stream, name)):
            return getattr(self._stream, name)
        raise self._refusal(name)

    def __iter__(self) -> Any:
        raise self._refusal("__iter__")

    def __next__(self) -> Any:
        raise self._refusal("__next__")

    def __enter__(self) -> Any:
        raise self._refusal("__enter__")

    def __exit__(self, *_: Any) -> None: ...

    def _refusal(self, name: str) -> UnsupportedStateError:
        kind = type(self._stream).__name__
        return UnsupportedStateError(
            f"{self._path} is a {kind}, and {kind}.{name} is used (at {user_line()}): a file or stream can "
            "only be written to, which is done while tracing.\n"
            "Read it outside and pass what it holds as an argument."
        )


def install() -> None:
    """Let traced code find these in place of Python's own."""

    @functools.wraps(logging.getLogger)
    def get_logger(name: str | None = None) -> Any:
        logger = logging.getLogger(name)
        if thread.capture is None:
            return logger
        place = Path.constant(logging.getLogger, "logging.getLogger")
        return thread.capture.view(logger, place.to("call", (name,), f"logging.getLogger({name!r})"))

    replace_in_captures(logging.getLogger, get_logger)
