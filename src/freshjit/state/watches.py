"""What is put in place in Python or its libraries for the time of a capture, besides hooks on classes."""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["WhileNeeded"]


class WhileNeeded:
    """Something that is put in place as long as somebody, in whatever thread, needs it.

    Parameters:
        start, stop: put it in place and take it away. Each may run again where an interrupt has cut it short.
    """

    def __init__(self, start: Callable[[], None], stop: Callable[[], None]) -> None:
        self._start, self._stop = start, stop
        self._lock = threading.RLock()
        self._users: set[int] = set()

    def need(self, user: object) -> None:
        with self._lock:
            self._users.add(id(user))  # first: ``leave`` must know, whatever interrupts the rest
            self._start()

    def leave(self, user: object) -> None:
        with self._lock:
            self._users.discard(id(user))
            if not self._users:
                self._stop()
