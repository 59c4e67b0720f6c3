"""Which capture, if any, is running in this thread. Everything that hooks asks here first."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["thread"]


class _Thread(threading.local):
    capture: Capture | None = None


thread = _Thread()
