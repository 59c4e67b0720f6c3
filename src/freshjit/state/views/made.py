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
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from freshjit import _compat
from freshjit.state.hooks import GAP, can_hook, differences, slot_values, slots_of
from freshjit.state.path import Path, shown
from freshjit.state.record import Mutable, Write
from freshjit.state.values import is_plain
from freshjit.state.views import array_copies, arrays
from freshjit.state.views.arrays import STAND_INS
from freshjit.state.views.copies import MappingCopy, SequenceCopy

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["Made", "forget", "is_whole", "put_arrays_back", "put_back", "put_slot", "snapshots", "watch"]


class Made:
    """Has no writes: what was made during the run is described by recipes, if it outlives it.

    Only changes of arrays, or to values of a transform, are carried out of it. Whatever else happens to
    a thing that nobody else has seen (a list of names grows, a counter in Python) happens while tracing,
    as in JAX.
    """

    capture: Capture
    initial: Any

    def writes(self, capture: Capture) -> Iterator[Write]:
        return iter(())

    def start(self) -> Any:
        return self.initial

    def snapshot(self) -> Any:
        raise NotImplementedError

    def content(self, key: Any) -> Any:
        return self.snapshot()[key]

    def apply(self, changes: dict[Any, Any]) -> None:
        raise NotImplementedError

    def all_changes(self, snapshot: Any) -> dict[Any, Any]:
        return differences(self.snapshot(), snapshot)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        found = self.all_changes(snapshot)
        before = snapshot if isinstance(snapshot, dict) else {}
        return {k: v for k, v in found.items() if self._carried(before.get(k, GAP), v)}

    def _carried(self, old: Any, new: Any) -> bool:
        return (_is_arrays(old) and _is_arrays(new)) or _holds_foreign(self.capture, new)

    def restore(self, snapshot: Any) -> None:
        self.apply({key: snapshot.get(key, GAP) for key in self.changes(snapshot)})

    def put_back(self, snapshot: Any) -> None:
        """Make everything what it was, for a function that is run a second time."""
        self.apply({key: snapshot.get(key, GAP) for key in self.all_changes(snapshot)})


class _Sequence(Made, SequenceCopy):
    """A list or deque: one of another length is carried as a whole."""

    def __init__(self, capture: Capture, value: Any, path: Path) -> None:
        SequenceCopy.__init__(self, value, path)
        self.capture = capture

    def start(self) -> Any:
        return dict(enumerate(self.initial))

    def snapshot(self) -> Any:
        return dict(enumerate(SequenceCopy.snapshot(self)))

    def all_changes(self, snapshot: Any) -> dict[Any, Any]:
        return SequenceCopy.changes(self, list(snapshot.values()))

    def apply(self, changes: dict[Any, Any]) -> None:
        for key, value in changes.items():
            if key == "all":
                SequenceCopy.restore(self, value)
            else:
                self.view[key] = value

    def restore(self, snapshot: Any) -> None:
        if "all" in self.changes(snapshot):
            self.apply({"all": list(snapshot.values())})
        else:
            Made.restore(self, snapshot)

    def put_back(self, snapshot: Any) -> None:
        SequenceCopy.restore(self, list(snapshot.values()))


class _Mapping(Made, MappingCopy):
    """A dict, or the attributes of an object."""

    def __init__(self, capture: Capture, value: Any, path: Path, actions: tuple[str, str]) -> None:
        MappingCopy.__init__(self, value, path, actions)
        self.capture = capture

    def snapshot(self) -> Any:
        return MappingCopy.snapshot(self)

    def apply(self, changes: dict[Any, Any]) -> None:
        MappingCopy.apply(self, changes)


class _Cell(Made):
    """One variable of a function that was made during the run."""

    def __init__(self, capture: Capture, cell: types.CellType, label: str) -> None:
        self.capture, self.cell, self.name = capture, cell, label
        self.initial = self.snapshot()

    def snapshot(self) -> Any:
        try:
            return {None: self.cell.cell_contents}
        except ValueError:
            return {}

    def apply(self, changes: dict[Any, Any]) -> None:
        for value in changes.values():
            if value is not GAP:
                self.cell.cell_contents = value
            elif self.snapshot():
                del self.cell.cell_contents

    def place(self, key: Any) -> Path:
        return Path.constant(None, self.name)


class _Slots(Made):
    """What the slots of an object hold."""

    def __init__(self, capture: Capture, value: Any, path: Path) -> None:
        self.capture, self.value, self.path = capture, value, path
        self.initial = self.snapshot()

    def snapshot(self) -> Any:
        return slot_values(self.value)

    def apply(self, changes: dict[Any, Any]) -> None:
        members = slots_of(type(self.value))
        for name, value in changes.items():
            if value is not GAP:
                members[name].__set__(self.value, value)
            elif name in self.snapshot():
                members[name].__delete__(self.value)

    def place(self, key: Any) -> Path:
        return self.path.attr(key)


class _Array(Made):
    """A NumPy array, whose contents are nothing to a transform."""

    def __init__(self, capture: Capture, array: np.ndarray[Any, Any]) -> None:
        self.capture, self.array = capture, array
        self.initial = self.snapshot()

    def snapshot(self) -> Any:
        return {...: self.array.copy()}

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        return {}

    def restore(self, snapshot: Any) -> None: ...

    def put_back(self, snapshot: Any) -> None:
        if self.array.flags.writeable:
            self.array[...] = snapshot[...]

    def place(self, key: Any) -> Path:
        return Path.constant(None, "an array")


def put_slot(value: Any, name: str, new: Any) -> None:
    slots_of(type(value))[name].__set__(value, new)


def is_whole(value: Any) -> bool:
    """Whether a value has no parts of its own: a plain one, or what stands for an array or number."""
    return is_plain(value) or type(value) in STAND_INS


def _is_arrays(value: Any) -> bool:
    if value is GAP or is_whole(value):
        return False
    leaves = jax.tree_util.tree_leaves(value)
    return bool(leaves) and all(isinstance(leaf, (jax.Array, _compat.Tracer)) for leaf in leaves)


def _holds_foreign(capture: Capture, value: Any) -> bool:
    """Whether values of a transform can be found in there, which mean nothing outside of it."""
    seen: set[int] = set()
    todo = [value]
    while todo:
        value = todo.pop()
        if isinstance(value, _compat.Tracer):
            if capture.recorder is None or not capture.recorder.owns(value):
                return True
        elif value is not GAP and not is_whole(value) and id(value) not in seen:
            seen.add(id(value))
            if capture.original_of(value) is None:
                todo += [part for part, _ in _inside(capture, value, "")]
    return False


def watch(capture: Capture, function: Any) -> None:
    """Register what ``function`` can reach and was made during this run."""
    todo: list[tuple[Any, str]] = [(function, getattr(function, "__name__", "a function"))]
    for thing in capture.mutables:
        todo += [(value, str(thing.place(key))) for key, value in thing.changes(thing.start()).items()]
    seen: set[int] = set()
    while todo:
        value, label = todo.pop()
        if id(value) in seen or value is GAP or is_whole(value) or isinstance(value, _compat.Tracer):
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


def snapshots(capture: Capture, functions: Iterable[Any]) -> dict[int, Any]:
    """What happens to be changed while tracing holds now: what this run has made, and NumPy arrays."""
    for function in functions:
        watch(capture, function)
    return {id(thing): thing.snapshot() for thing in capture.mutables if isinstance(thing, _IN_PYTHON)}


def put_back(capture: Capture, before: dict[int, Any]) -> None:
    """Make everything what it was at ``snapshots``, for functions that are run a second time.

    What is done in Python, such as a list of names that grows, or numbers written into a NumPy array, is
    to happen once.
    """
    for thing in capture.mutables:
        if isinstance(thing, Made) and id(thing) in before:
            thing.put_back(before[id(thing)])
    put_arrays_back(capture, before)


def put_arrays_back(capture: Capture, before: dict[int, Any]) -> None:
    """The same for captured NumPy arrays alone, those included that were not known then."""
    for thing in capture.mutables:
        if isinstance(thing, _NUMPY):
            thing.restore(before[id(thing)] if id(thing) in before else thing.start())


_NUMPY = (arrays.Source, array_copies.PlainCopy)
_IN_PYTHON = (Made, *_NUMPY)


def forget(capture: Capture, before: dict[int, Any]) -> None:
    """Let go of what became known since: it was made inside, for a transform inside, and ends here."""
    for number, (_, things) in list(capture.made.items()):
        if any(id(thing) not in before for thing in things) or not things:
            del capture.made[number]
    capture.mutables[:] = [t for t in capture.mutables if id(t) in before or not isinstance(t, Made)]


def _watched(capture: Capture, value: Any, label: str) -> Iterator[Mutable]:
    path, kind = Path.constant(value, label), type(value)
    if kind in (list, collections.deque):
        yield _Sequence(capture, value, path)
    elif isinstance(value, dict):
        yield _Mapping(capture, value, path, ("setitem", "delitem"))
    elif kind is types.CellType:
        yield _Cell(capture, value, label)
    elif isinstance(value, np.ndarray):
        yield _Array(capture, value)
    elif can_hook(kind) and not isinstance(value, type):
        with capture.paused():
            namespace = getattr(value, "__dict__", None)
        if type(namespace) is dict:
            yield _Mapping(capture, namespace, path, ("setattr", "delattr"))
        if slots_of(kind):
            yield _Slots(capture, value, path)


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
        return [(v, f"{label}[{shown(k)}]") for k, v in dict.items(value)]
    parts: list[tuple[Any, str]] = []
    if isinstance(value, (list, tuple, collections.deque)):
        parts = [(v, f"{label}[{i}]") for i, v in enumerate(value)]
        if not isinstance(value, tuple) or kind is tuple:
            return parts
    return parts + [
        (v, f"{label}.{name}")
        for thing in _watched(capture, value, label)
        if isinstance(thing, (_Mapping, _Slots))
        for name, v in thing.snapshot().items()
    ]
