"""Copies of containers of which only a part is known: what was appended to a list, or some items of a dict.

They are for what is only appended to (``appending.py``), and become copies like any others once more is
looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from freshjit.state.contents import items_of
from freshjit.state.hooks import GAP
from freshjit.state.path import Path
from freshjit.state.record import Write
from freshjit.state.views import copies

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["GrowingCopy", "Later", "PartialCopy"]


class GrowingCopy(copies.SequenceCopy):
    """What is appended to a list or deque whose contents are unknown, until somebody looks at it.

    Its snapshots say whether it had been looked at then: ``(looked at, items)``. Until then the items are
    only those that were appended.
    """

    def __init__(self, path: Path) -> None:
        super().__init__([], path)
        self.known = False

    def look(self, view: Any) -> None:
        """From now on ``view``, which shows what the real one holds, is what traced code sees."""
        appended, self.view, self.known = self.view, view, True
        self.initial = items_of(view)
        view.extend(appended)

    def writes(self, capture: Capture) -> Iterator[Write]:
        if self.known:
            yield from super().writes(capture)
        else:
            for value in self.view:
                yield Write(self.path, "append", None, value)

    def start(self) -> Any:
        return False, []

    def snapshot(self) -> Any:
        return self.known, super().snapshot()

    def restore(self, snapshot: Any) -> None:
        super().restore(self._items(snapshot))

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        found = super().changes(self._items(snapshot))
        return {"all": (self.known, found["all"])} if "all" in found else found

    def content(self, key: Any) -> Any:
        if not self.known:
            raise KeyError("another length")
        return super().content(key)

    def _items(self, snapshot: Any) -> list[Any]:
        known, items = snapshot
        return items if known or not self.known else [*self.initial, *items]


class Later:
    """Stands for a list in the copy of a dict, until somebody looks at the list.

    Attributes:
        view: what stands for it from then on.
    """

    __slots__ = ("original", "path", "view")

    def __init__(self, original: Any, path: Path) -> None:
        self.original, self.path, self.view = original, path, GAP


class PartialCopy(copies.MappingCopy):
    """A dict of which the lists in it have not been looked at; traced code has what stands for it."""

    def __init__(self, capture: Capture, contents: dict[Any, Any], path: Path) -> None:
        super().__init__(contents, path, ("setitem", "delitem"))
        self._capture = capture
        self._later: dict[Any, Later] = {}

    def begin(self) -> None:
        """The contents are there."""
        self.initial = self.snapshot()
        self._later = {k: v for k, v in self.initial.items() if type(v) is Later}

    def later(self, key: Any) -> Later | None:
        """What stands for a list at ``key`` that nobody has looked at, if there is one now."""
        found = self.contents.get(key)
        return found if type(found) is Later else None

    def look_at(self, key: Any) -> None:
        """From now on traced code sees what is at a key."""
        if self.later(key) is not None:
            self._look(key)

    def look_at_all(self) -> None:
        while self._later:
            self._look(next(iter(self._later)))

    def _look(self, key: Any) -> None:
        later = self._later.pop(key)
        later.view = self._capture.view(later.original, later.path)
        for items in (self.contents, self.initial):
            if items.get(key) is later:
                items[key] = later.view

    def restore(self, snapshot: Any) -> None:
        super().restore(_as_seen(snapshot))

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        return super().changes(_as_seen(snapshot))


def _as_seen(items: dict[Any, Any]) -> dict[Any, Any]:
    """A snapshot as it would be now, when more has been looked at."""
    return {k: v.view if type(v) is Later and v.view is not GAP else v for k, v in items.items()}
