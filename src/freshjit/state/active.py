"""Which capture, if any, is running in this thread. Everything that hooks asks here first."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["present", "thread"]


class _Thread(threading.local):
    capture: Capture | None = None
    turns: int = 0
    """How many functions this thread traces, one because of the other."""


thread = _Thread()


def present() -> Callable[[], Capture | None] | None:
    """A weak reference to the capture that is running now, if any."""
    return None if thread.capture is None else weakref.ref(thread.capture)
