"""Views of Python's own buffers of numbers, and of their memory."""

from __future__ import annotations

import array
from typing import TYPE_CHECKING, Any

import numpy as np

from freshjit.errors import UnsupportedStateError
from freshjit.state.guards import user_line
from freshjit.state.path import Path
from freshjit.state.views.copies import BufferCopy
from freshjit.state.views.elements import remember

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["view_buffer", "view_memory"]


def view_buffer(capture: Capture, value: Any, path: Path) -> Any:
    """Numbers in a mutable buffer of Python's: a copy, guarded by its bytes."""
    kind: Any = type(value)
    capture.guard(path, "type", kind)
    contents = bytes(memoryview(value))
    if isinstance(value, array.array):
        view = array.array.__new__(kind, value.typecode, contents)
        capture.guard(path.attr("typecode"), "value", value.typecode)
    else:
        view = bytearray.__new__(kind)
        bytearray.__init__(view, contents)
    capture.guard(path, "buffer", contents)
    remember(capture, value, view, path)
    capture.mutable(BufferCopy(view, path))
    return view


def view_memory(capture: Capture, value: memoryview, path: Path) -> Any:
    """A ``memoryview``: the same part of the view of the thing whose memory it shows."""
    owner = value.obj
    if not isinstance(owner, (bytes, bytearray, array.array)) or not value.c_contiguous:
        raise UnsupportedStateError(
            f"{path} is a memoryview of a {type(owner).__name__}, which freshjit cannot follow (read at "
            f"{user_line()}).\nUse the thing itself, or pass the numbers as an argument."
        )
    capture.guard(path, "is", value)
    start = _address(value) - _address(owner)
    flat = memoryview(capture.view(owner, path.attr("obj"))).cast("B")[start : start + value.nbytes]
    kind: Any = value.format
    view = flat.cast(kind, value.shape or ()) if value.ndim > 1 else flat if kind == "B" else flat.cast(kind)
    return capture.remember(value, view.toreadonly() if value.readonly else view, path)


def _address(memory: Any) -> int:
    return np.frombuffer(memory, np.uint8).__array_interface__["data"][0] if len(memory) else 0
