"""Lists and deques that traced code only appends to: what they hold is not looked at.

``self.losses.append(loss)`` needs to know of the list that it is one, and nothing else. Seen as any other
container it would be read whole, and each call would find a longer one that no program was compiled for.
Whether a read is of this kind stands in the bytecode of the reading instruction: what it puts on the stack
is taken at once by a call of ``.append``, so nobody else gets to see what stands for the list.

Once something does look at the list, it is read whole like any other.

A dict that holds such lists is read whole but for these, as long as each instruction that reads it takes or
sets one item: ``self.stats["steps"] += 1`` looks at no ``self.stats["losses"]``.
"""

from __future__ import annotations

import collections
import functools
import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from freshjit.state import bytecode
from freshjit.state.hooks import GAP
from freshjit.state.path import Path
from freshjit.state.record import Write
from freshjit.state.values import is_plain
from freshjit.state.views import containers

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["AppendOnly", "GrowingCopy", "PartialCopy", "for_cell", "for_read", "only_appends"]

_APPENDING = frozenset(("append", "extend"))
_GROWING = (list, collections.deque)
_INDEXED = (dict, collections.OrderedDict, collections.defaultdict, list, tuple)
_MAPPINGS = (dict, collections.OrderedDict)
_DEEPEST = 8  # dicts within dicts, which may lead back to themselves


class GrowingCopy(containers.SequenceCopy):
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
        self.initial = containers.items_of(view)
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


class AppendOnly:
    """Stands for a list in ``self.log.append(x)``."""

    __slots__ = ("_copy",)

    def __init__(self, copy: GrowingCopy) -> None:
        self._copy = copy

    def append(self, value: Any) -> None:
        self._copy.view.append(value)

    def extend(self, values: Any) -> None:
        self._copy.view.extend(values)


class _Later:
    """Stands for a list in the copy of a dict, until somebody looks at the list.

    Attributes:
        view: what stands for it from then on.
    """

    __slots__ = ("original", "path", "view")

    def __init__(self, original: Any, path: Path) -> None:
        self.original, self.path, self.view = original, path, GAP


class PartialCopy(containers.MappingCopy):
    """A dict of which the lists in it have not been looked at: traced code has only ``_Items`` of it."""

    def __init__(self, capture: Capture, contents: dict[Any, Any], path: Path) -> None:
        super().__init__(contents, path, ("setitem", "delitem"))
        self._capture = capture
        self._later: dict[Any, _Later] = {}

    def begin(self) -> None:
        """The contents are there."""
        self.initial = self.snapshot()
        self._later = {k: v for k, v in self.initial.items() if type(v) is _Later}

    def later(self, key: Any) -> _Later | None:
        """What stands for a list at ``key`` that nobody has looked at, if there is one now."""
        found = self.contents.get(key)
        return found if type(found) is _Later else None

    def item(self, key: Any) -> Any:
        if self.later(key) is not None:
            self._look(key)
        return self.contents[key]

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
    return {k: v.view if type(v) is _Later and v.view is not GAP else v for k, v in items.items()}


class _Items:
    """Stands for the dict in ``self.stats["steps"] += 1``."""

    __slots__ = ("_copy",)

    def __init__(self, copy: PartialCopy) -> None:
        self._copy = copy

    def __getitem__(self, key: Any) -> Any:
        return self._copy.item(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._copy.contents[key] = value


class _Indexed:
    """Stands for the container in ``self.history["loss"].append(x)``."""

    __slots__ = ("_capture", "_depth", "_path", "_value")

    def __init__(self, capture: Capture, value: Any, path: Path, depth: int) -> None:
        self._capture, self._value, self._path, self._depth = capture, value, path, depth

    def __getitem__(self, key: Any) -> Any:
        capture, value, path = self._capture, self._value, self._path
        partly = capture.partly.get(id(value))
        if partly is not None:
            later = partly.later(key)
            view = GAP if later is None else _stand_in(capture, later.original, later.path, self._depth - 1)
            return partly.item(key) if view is GAP else view
        found = GAP
        if type(key) in (int, str) and id(value) not in capture.entries:
            found = value.get(key, GAP) if isinstance(value, dict) else _nth(value, key)
        if found is not GAP:
            capture.guard(path, "type", type(value))
            view = _stand_in(capture, found, containers.element(path, value, key), self._depth - 1)
            if view is not GAP:
                return view
        return capture.view(value, path)[key]


def _nth(value: list[Any] | tuple[Any, ...], index: Any) -> Any:
    return value[index] if type(index) is int and -len(value) <= index < len(value) else GAP


def for_read(capture: Capture, value: Any, path: Path, name: str) -> Any:
    """What the instruction gets that now reads ``name`` and found ``value``, if it only appends to it.

    GAP if it may do anything else.
    """
    if type(value) not in _GROWING and type(value) not in _INDEXED:
        return GAP
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while str(frame.f_globals.get("__name__", "")).partition(".")[0] == "freshjit":
        if frame.f_back is None:
            return GAP
        frame = frame.f_back
    offset = bytecode.running(frame)
    read = _appending_read(frame.f_code, offset)
    if read is not None and read.name == name:
        return _stand_in(capture, value, path, read.depth)
    takes_an_item = bytecode.containers_of_one_item(frame.f_code).get(offset) == name
    return _items(capture, value, path) if takes_an_item else GAP


def for_cell(capture: Capture, value: Any, path: Path, name: str, code: types.CodeType) -> Any:
    """What a closure variable of this function is to hold, if it is only used to append to; else GAP."""
    return _stand_in(capture, value, path, 0) if only_appends(code, name) else GAP


def _items(capture: Capture, value: Any, path: Path) -> Any:
    """What stands for a dict of which one item is taken or set, if there are lists in it; else GAP."""
    if capture.seeing.whole or not _holds_lists(value):
        return GAP
    copy = capture.partly.get(id(value))
    if copy is None:
        if id(value) in capture.entries or id(value) in capture.owner_of_dict:
            return GAP
        copy = _view_partly(capture, value, path)
    elif copy.path is not path:
        capture.guard(path, "alias", copy.path)
    return _Items(copy)


def _holds_lists(value: Any, depth: int = 0) -> bool:
    """Whether it is a dict with lists in it, or in dicts in it, and all keys are plain."""
    if type(value) not in _MAPPINGS or depth > _DEEPEST or not all(map(is_plain, value)):
        return False
    return any(type(item) in _GROWING or _holds_lists(item, depth + 1) for item in value.values())


def _view_partly(capture: Capture, value: dict[Any, Any], path: Path) -> PartialCopy:
    def see(capture: Capture, item: Any, place: Path) -> Any:
        if id(item) in capture.entries or not (type(item) in _GROWING or _holds_lists(item)):
            return capture.view(item, place)
        return _Later(item, place)

    capture.guard(path, "type", type(value))
    view = type(value)()
    capture.remember(value, view, path)
    copy = capture.partly[id(value)] = PartialCopy(capture, view, path)
    containers.fill_dict(capture, value, view, path, see)
    copy.begin()
    if id(value) not in capture.partly:  # something in it leads back to it, and shows all of it
        copy.look_at_all()
    capture.mutable(copy)
    return copy


def _stand_in(capture: Capture, value: Any, path: Path, depth: int) -> Any:
    partly = capture.partly.get(id(value))
    if partly is not None and partly.path is not path:
        capture.guard(path, "alias", partly.path)
    if capture.seeing.whole or (id(value) in capture.entries and partly is None):
        return GAP
    if depth:
        return _Indexed(capture, value, path, depth) if type(value) in _INDEXED else GAP
    if type(value) not in _GROWING:
        return GAP
    copy = capture.growing_copy(value, path)
    if copy is None:
        capture.guard(path, "type", type(value))
        copy = capture.growing[id(value)] = GrowingCopy(path)
        capture.keep(value)
        capture.mutable(copy)
    return AppendOnly(copy)


@functools.lru_cache(maxsize=4096)
def only_appends(code: types.CodeType, name: str) -> bool:
    """Whether a function and those inside it use a closure variable for nothing but to append to it."""
    for offset in bytecode.uses_of_variable(code, name):
        read = _appending_read(code, offset)
        if read is None or (read.name, read.depth) != (name, 0):
            return False
    return all(only_appends(c, name) for c in bytecode.code_inside(code) if name in c.co_freevars)


def _appending_read(code: types.CodeType, offset: int) -> bytecode.MethodOf | None:
    """What an instruction reads, if the code does so only to append to it, perhaps after some indices."""
    read = bytecode.methods_of(code).get(offset)
    return read if read is not None and read.method in _APPENDING else None
