"""Things that traced code has made itself, watched while a transform runs a function that can reach them.

A list that the jitted function made, or one of its own variables, is no state of the user's: there is
nothing to read, guard or commit. But if the body of ``jax.lax.scan`` appends to it or assigns it, the
value has to come out of the transform like any other. So before a function runs apart, what it can reach
and nobody knows yet is registered as mutable, with no writes of its own.
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from freshjit import _compat
from freshjit.state.hooks import GAP, can_hook, original_entries
from freshjit.state.path import Path
from freshjit.state.values import is_plain
from freshjit.state.views.containers import MappingCopy, SequenceCopy, SetCopy

if TYPE_CHECKING:
    from freshjit.state.capture import Capture, Mutable, Write

__all__ = ["forget", "watch"]


class _Made:
    """Has no writes: what was made during the run is described by recipes, if it outlives it."""

    def writes(self, capture: Capture) -> Iterator[Write]:
        return iter(())


class _Sequence(_Made, SequenceCopy):
    pass


class _Mapping(_Made, MappingCopy):
    pass


class _Set(_Made, SetCopy):
    pass


class _Cell(_Made):
    """One variable of a function that was made during the run."""

    def __init__(self, cell: types.CellType, label: str) -> None:
        self.cell, self.name = cell, label
        self.initial = self.snapshot()

    def start(self) -> Any:
        return self.initial

    def snapshot(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return GAP

    def restore(self, snapshot: Any) -> None:
        if snapshot is not GAP:
            self.cell.cell_contents = snapshot
        elif self.snapshot() is not GAP:
            del self.cell.cell_contents

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        now = self.snapshot()
        return {} if now is snapshot else {None: now}

    def apply(self, changes: dict[Any, Any]) -> None:
        for value in changes.values():
            self.restore(value)

    def label(self, key: Any) -> str:
        return self.name


class _Slots(_Made):
    """What the slots of an object hold."""

    def __init__(self, value: Any, members: dict[str, Any], path: Path) -> None:
        self.value, self.members, self.path = value, members, path
        self.initial = self.snapshot()

    def start(self) -> Any:
        return self.initial

    def snapshot(self) -> Any:
        found: dict[str, Any] = {}
        for name, member in self.members.items():
            try:
                found[name] = member.__get__(self.value)
            except AttributeError:
                continue
        return found

    def restore(self, snapshot: Any) -> None:
        for name in self.snapshot():
            if name not in snapshot:
                self.members[name].__delete__(self.value)
        self.apply(snapshot)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        now = self.snapshot()
        changed = {n: v for n, v in now.items() if snapshot.get(n, GAP) is not v}
        changed.update({n: GAP for n in snapshot if n not in now})
        return changed

    def apply(self, changes: dict[Any, Any]) -> None:
        for name, value in changes.items():
            if value is not GAP:
                self.members[name].__set__(self.value, value)
            elif name in self.snapshot():
                self.members[name].__delete__(self.value)

    def label(self, key: Any) -> str:
        return f"{self.path}.{key}"


def watch(capture: Capture, function: Any) -> None:
    """Register what ``function`` can reach and was made during this run."""
    todo: list[tuple[Any, str]] = [(function, getattr(function, "__name__", "a function"))]
    for thing in capture.mutables:
        todo += [(value, thing.label(key)) for key, value in thing.changes(thing.start()).items()]
    seen: set[int] = set()
    while todo:
        value, label = todo.pop()
        if id(value) in seen or is_plain(value) or isinstance(value, _compat.Tracer) or value is GAP:
            continue
        seen.add(id(value))
        if capture.original_of(value) is not None or id(value) in capture.objects:
            continue  # captured: what changed in it is among the changes above
        if id(value) not in capture.made:
            things = list(_watched(capture, value, label))
            capture.made[id(value)] = value, things
            for thing in things:
                capture.mutable(thing)
        todo += _inside(capture, value, label)


def forget(capture: Capture, before: dict[int, Any]) -> None:
    """Let go of what became known since: it was made inside, for a transform inside, and ends here."""
    for number, (_, things) in list(capture.made.items()):
        if any(id(thing) not in before for thing in things) or not things:
            del capture.made[number]
    capture.mutables[:] = [t for t in capture.mutables if id(t) in before or not isinstance(t, _Made)]


def _watched(capture: Capture, value: Any, label: str) -> Iterator[Mutable]:
    path, kind = Path.constant(value, label), type(value)
    if kind in (list, collections.deque):
        yield _Sequence(value, path)
    elif isinstance(value, dict):
        yield _Mapping(value, path, ("setitem", "delitem"))
    elif kind is set:
        yield _Set(value, path)
    elif kind is types.CellType:
        yield _Cell(value, label)
    elif can_hook(kind) and not isinstance(value, (type, tuple)):
        with capture.paused():
            namespace = getattr(value, "__dict__", None)
        if type(namespace) is dict:
            yield _Mapping(namespace, path, ("setattr", "delattr"))
        members = {
            name: raw
            for cls in kind.__mro__
            for name, raw in original_entries(cls).items()
            if isinstance(raw, types.MemberDescriptorType)
        }
        if members:
            yield _Slots(value, members, path)


def _inside(capture: Capture, value: Any, label: str) -> list[tuple[Any, str]]:
    """What can be reached from a value directly, with a name for each."""
    kind = type(value)
    if kind is types.FunctionType:
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        found: list[tuple[Any, str]] = [(cell, name) for name, cell in cells]
        found += [(v, f"a default of {label}") for v in value.__defaults__ or ()]
        wrapped = getattr(value, "__wrapped__", None)
        return [*found, (wrapped, label)]
    if kind is types.MethodType:
        return [(value.__func__, label), (value.__self__, label)]
    if kind is functools.partial:
        return [(value.func, label), *((v, label) for v in (*value.args, *value.keywords.values()))]
    if kind is types.CellType:
        try:
            return [(value.cell_contents, label)]
        except ValueError:
            return []
    if isinstance(value, dict):
        return [(v, f"{label}[{k!r}]") for k, v in dict.items(value)]
    if isinstance(value, (list, tuple, collections.deque)):
        return [(v, f"{label}[{i}]") for i, v in enumerate(value)]
    return [
        (v, f"{label}.{name}")
        for thing in _watched(capture, value, label)
        if isinstance(thing, (_Mapping, _Slots))
        for name, v in thing.snapshot().items()
    ]
