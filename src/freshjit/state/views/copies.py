"""What was done to the copy of a container that traced code sees: found by comparing it with what it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from freshjit.errors import UnsupportedStateError
from freshjit.state.contents import (
    OrderedSet,
    base_of,
    fill_buffer,
    items_of,
    members,
    moved,
    pairs_of,
    refill_set,
    same_things,
)
from freshjit.state.hooks import GAP
from freshjit.state.path import Path
from freshjit.state.record import Last, Write
from freshjit.state.values import is_by_value, same_value
from freshjit.state.views.elements import element

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["BufferCopy", "MappingCopy", "SequenceCopy", "SetCopy"]


class SequenceCopy:
    """A list or deque."""

    def __init__(self, view: Any, path: Path) -> None:
        self.view, self.path = view, path
        self.initial = items_of(view)

    def writes(self, capture: Capture) -> Iterator[Write]:
        now, before = items_of(self.view), self.initial
        if len(now) == len(before):
            for i, (new, old) in enumerate(zip(now, before, strict=True)):
                if new is not old:
                    yield Write(self.path, "setitem", i, new)
        elif all(a is b for a, b in zip(before, now, strict=False)) and len(now) > len(before):
            for value in now[len(before) :]:
                yield Write(self.path, "append", None, value)
        else:
            yield Write(self.path, "replace", None, list(now))

    def start(self) -> Any:
        return self.initial

    def snapshot(self) -> Any:
        return items_of(self.view)

    def restore(self, snapshot: Any) -> None:
        base = base_of(self.view)
        base.clear(self.view)
        base.extend(self.view, snapshot)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        now = items_of(self.view)
        if same_things(now, snapshot):
            return {}
        if len(now) == len(snapshot):
            pairs = enumerate(zip(now, snapshot, strict=True))
            return {i: new for i, (new, old) in pairs if new is not old}
        return {"all": list(now)}

    def apply(self, changes: dict[Any, Any]) -> None:
        for key, value in changes.items():
            if key == "all":
                self.restore(value)
            else:
                base_of(self.view).__setitem__(self.view, key, value)

    def content(self, key: Any) -> Any:
        if key == "all":
            raise KeyError("another length")
        return items_of(self.view)[key]

    def place(self, key: Any) -> Path:
        return self.path if key == "all" else element(self.path, self.view, key)


class MappingCopy:
    """A dict of any standard kind, or the attributes of a SimpleNamespace."""

    def __init__(self, contents: dict[Any, Any], path: Path, actions: tuple[str, str]) -> None:
        self.contents, self.path = contents, path
        self.set_action, self.delete_action = actions
        pairs = list(pairs_of(contents))
        self.initial = dict(pairs)
        self._pairs_before = pairs

    @property
    def is_dict(self) -> bool:
        return self.set_action == "setitem"

    def written(self) -> list[Any]:
        """The keys that have another value now, or are gone."""
        return [Last.plain(key) for key in self.changes(self.initial)]

    def writes(self, capture: Capture) -> Iterator[Write]:
        pairs = list(pairs_of(self.contents))
        now = dict(pairs)
        if len(now) < len(pairs) or len(self.initial) < len(self._pairs_before):
            self._refuse_written(pairs)
            return
        kept = [k for k in self.initial if k in now]
        if not _same_keys([*kept, *(k for k in now if k not in self.initial)], list(now)):
            # The order has changed, or a key is an equal one now: all of it is rewritten.
            place = self.path if self.set_action == "setitem" else self.path.to("dict")
            yield Write(place, "replacedict", None, now)
            return
        for key in self.initial:
            if key not in now:
                yield Write(self.path, self.delete_action, key, None)
        for key, value in now.items():
            if self.initial.get(key, GAP) is not value:
                yield Write(self.path, self.set_action, key, value)

    def _refuse_written(self, pairs: list[tuple[Any, Any]]) -> None:
        """Some keys are equal by now, so that a write does not say which of them it is for."""
        before = [part for pair in self._pairs_before for part in pair]
        if not same_things([part for pair in pairs for part in pair], before):
            raise UnsupportedStateError(
                f"{self.path} was written while two of its keys were equal: the hash of one, or what it is "
                "equal to, has changed since it was put in.\nLet it depend on what stays."
            )

    def start(self) -> Any:
        return self.initial

    def snapshot(self) -> Any:
        return dict(pairs_of(self.contents))

    def restore(self, snapshot: Any) -> None:
        base = base_of(self.contents)
        base.clear(self.contents)
        for key, value in snapshot.items():
            base.__setitem__(self.contents, key, value)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        now = dict(pairs_of(self.contents))
        last = {id(key) for key in moved(now, snapshot)}
        found = {
            Last(key) if id(key) in last else key: value
            for key, value in now.items()
            if id(key) in last or snapshot.get(key, GAP) is not value
        }
        found.update({key: GAP for key in snapshot if key not in now})
        return found

    def apply(self, changes: dict[Any, Any]) -> None:
        base = base_of(self.contents)
        for change, value in changes.items():
            key = Last.plain(change)
            if (value is GAP or type(change) is Last) and dict.__contains__(self.contents, key):
                base.__delitem__(self.contents, key)
            if value is not GAP:
                base.__setitem__(self.contents, key, value)

    def content(self, key: Any) -> Any:
        return dict.__getitem__(self.contents, Last.plain(key))

    def place(self, key: Any) -> Path:
        key = Last.plain(key)
        if self.set_action != "setitem":
            return self.path.attr(key)
        return element(self.path, self.contents, key)


class SetCopy:
    """A set. What is in it, and in which order, is told by identity: 1 and True are equal."""

    def __init__(self, view: set[Any], path: Path) -> None:
        self.view, self.path = view, path
        self.initial = members(view)

    def writes(self, capture: Capture) -> Iterator[Write]:
        now = members(self.view)
        if not same_things(now, self.initial):
            yield Write(self.path, "replaceset", None, now)

    def start(self) -> Any:
        return self.initial

    def snapshot(self) -> Any:
        return members(self.view)

    def restore(self, snapshot: Any) -> None:
        refill_set(self.view, snapshot)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        return {} if same_things(members(self.view), snapshot) else {"all": self.content("all")}

    def apply(self, changes: dict[Any, Any]) -> None:
        for value in changes.values():
            self.restore(members(value))

    def content(self, key: Any) -> Any:
        now = members(self.view)
        copied = set(now)  # as a whole: nothing that JAX would take apart
        return copied if same_things(members(copied), now) else OrderedSet(now)

    def place(self, key: Any) -> Path:
        return self.path


class BufferCopy:
    """A bytearray or array.array."""

    def __init__(self, view: Any, path: Path) -> None:
        self.view, self.path = view, path
        self.initial = bytes(memoryview(view))

    def writes(self, capture: Capture) -> Iterator[Write]:
        if bytes(memoryview(self.view)) != self.initial:
            yield Write(self.path, "fillbuffer", None, bytes(memoryview(self.view)))

    def start(self) -> Any:
        return self.initial

    def snapshot(self) -> Any:
        return bytes(memoryview(self.view))

    def restore(self, snapshot: Any) -> None:
        fill_buffer(self.view, snapshot)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        now = bytes(memoryview(self.view))
        return {} if now == snapshot else {"all": now}

    def apply(self, changes: dict[Any, Any]) -> None:
        for value in changes.values():
            self.restore(value)

    def content(self, key: Any) -> Any:
        return self.snapshot()

    def place(self, key: Any) -> Path:
        return self.path


def _same_keys(a: list[Any], b: list[Any]) -> bool:
    return all(x is y or (is_by_value(x) and same_value(x, y)) for x, y in zip(a, b, strict=True))
