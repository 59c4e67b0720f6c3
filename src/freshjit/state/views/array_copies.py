"""NumPy arrays seen as copies, guarded by their contents: those of kinds that JAX does not know.

Strings, dates and records, subclasses of ``np.ndarray``, and any array where a library would not take the
stand-in (``arrays.NumpyView``). An array of objects is a container: its copy holds views. What traced code
has done to a copy is done to the original at the commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from freshjit.errors import CapturedNumpyWriteError, UnsupportedStateError
from freshjit.state.contents import set_shape
from freshjit.state.guards import at, user_line
from freshjit.state.hooks import can_hook
from freshjit.state.path import Path
from freshjit.state.record import Write
from freshjit.state.views import objects
from freshjit.state.views.memory import CapturedArray, guard_layout, refuse_overlap, same_layout

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["view_objects", "view_plain", "view_record", "view_subclass"]


def view_plain(capture: Capture, value: np.ndarray[Any, Any], path: Path) -> Any:
    _refuse_objects_in_records(value, path)
    capture.guard(path, "type", np.ndarray)
    capture.guard(path, "content", np.array(value))
    return _watched(capture, PlainCopy(value, same_layout(value), path))


def _watched(capture: Capture, copy: PlainCopy) -> Any:
    guard_layout(capture, copy.original, copy.path)
    capture.mutable(copy)
    return capture.remember(copy.original, copy.view, copy.path)


def view_subclass(capture: Capture, value: np.ndarray[Any, Any], path: Path) -> Any:
    """A masked array, a matrix or one of the user's own: a copy of the same class, with its numbers."""
    if value is np.ma.masked:  # a mark, of which there is one
        capture.guard(path, "is", value)
        return capture.remember(value, value, path)
    _refuse_objects_in_records(value, path)
    if value.dtype == object:
        _refuse_objects(value, path)
    capture.guard(path, "type", type(value))
    if isinstance(value, np.ma.MaskedArray):
        capture.guard(path.attr("data"), "content", np.array(value.data))
        if value.mask is np.ma.nomask:
            capture.guard(path.attr("mask"), "value", np.ma.nomask)
        else:
            capture.guard(path.attr("mask"), "content", np.array(value.mask))
        for name in ("fill_value", "hardmask"):
            capture.guard(path.attr(name), "value", getattr(value, name))
        return _watched(capture, MaskedCopy(value, value.copy(), path))
    capture.guard(path, "content", np.array(value))
    copy = PlainCopy(value, value.copy(order="K"), path)
    if not can_hook(type(value)):
        return _watched(capture, copy)
    guard_layout(capture, value, path)
    capture.mutable(copy)
    return objects.adopt_object(capture, value, copy.view, path)  # attributes and methods like any object's


def view_objects(capture: Capture, value: np.ndarray[Any, Any], path: Path) -> Any:
    """An array of objects is a container: its elements are seen one by one."""
    capture.guard(path, "type", np.ndarray)
    capture.guard(path.attr("dtype"), "value", value.dtype)
    capture.guard(path.attr("shape"), "value", value.shape)
    view = same_layout(value)
    capture.remember(value, view, path)
    for index in np.ndindex(value.shape):
        view[index] = capture.view(value[index], path.item(_plain_index(index)))
    guard_layout(capture, value, path)
    capture.mutable(ObjectsCopy(value, view, path))
    return view


def _plain_index(index: tuple[int, ...]) -> Any:
    return index[0] if len(index) == 1 else index


def _refuse_objects_in_records(value: np.ndarray[Any, Any], path: Path) -> None:
    if value.dtype.hasobject and value.dtype != object:
        _refuse_objects(value, path)


def _refuse_objects(value: np.ndarray[Any, Any], path: Path) -> None:
    where = user_line()
    raise UnsupportedStateError(
        f"{path} ({type(value).__name__}) is an array of {value.dtype}"
        f"{at(where, 'read at')}: freshjit cannot see what the objects in it hold.\n"
        "Keep the objects in a list, a dict or a plain array of objects (dtype=object)."
    )


class PlainCopy(CapturedArray):
    """A captured NumPy array seen as a plain copy: of a kind that JAX does not know, or where a library
    would not take the stand-in."""

    @property
    def used(self) -> bool:
        return True  # for all we know

    def __init__(self, original: Any, view: Any, path: Path) -> None:
        self.original, self.view, self.path = original, view, path
        self.before = view.copy()

    def writes(self, capture: Capture) -> Iterator[Write]:
        if self.view.dtype != self.before.dtype or self.view.size != self.before.size:
            raise CapturedNumpyWriteError(
                f"the NumPy array {self.path} was given another dtype or size in place.\n"
                f"Make a new array and assign it: {self.path} = ..."
            )
        changed = self.changed()
        if changed or self.view.shape != self.before.shape:
            refuse_overlap(capture, self)
        if self.view.shape != self.before.shape:
            yield Write(self.path, "reshape", None, self.view.shape)
        if changed:
            yield from self.contents()

    def changed(self) -> bool:
        return self.view.tobytes() != self.before.tobytes()

    def contents(self) -> Iterator[Write]:
        yield Write(self.path, "fill", None, np.array(self.view))

    def concrete(self) -> Any:
        """The array in the hands of traced code."""
        return self.view

    def start(self) -> Any:
        return self.before

    def snapshot(self) -> Any:
        return self.view.copy()

    def restore(self, snapshot: Any) -> None:
        if self.view.shape != snapshot.shape:
            set_shape(self.view, snapshot.shape)
        self.view[...] = snapshot

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        return {}

    def apply(self, changes: dict[Any, Any]) -> None:
        pass

    def content(self, key: Any) -> Any:
        return self.snapshot()

    def place(self, key: Any) -> Path:
        return self.path


class MaskedCopy(PlainCopy):
    """A masked array: its data and its mask."""

    def changed(self) -> bool:
        now, before = self.view, self.before
        masks = np.ma.getmaskarray(now).tobytes() != np.ma.getmaskarray(before).tobytes()
        return masks or now.data.tobytes() != before.data.tobytes()

    def contents(self) -> Iterator[Write]:
        mask: Any = self.view.mask
        parts = np.array(self.view.data), None if mask is np.ma.nomask else np.array(mask)
        yield Write(self.path, "fillmasked", None, parts)

    def restore(self, snapshot: Any) -> None:
        self.view.data[...] = snapshot.data
        self.view.mask = snapshot.mask


class ObjectsCopy(PlainCopy):
    """An array of objects: each element by itself."""

    def changed(self) -> bool:
        return bool(self.changes(self.before))

    def contents(self) -> Iterator[Write]:
        for index, value in self.changes(self.before).items():
            yield Write(self.path, "setitem", index, value)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        pairs = zip(np.ndindex(self.view.shape), self.view.flat, snapshot.flat, strict=True)
        return {_plain_index(index): new for index, new, old in pairs if new is not old}

    def apply(self, changes: dict[Any, Any]) -> None:
        for index, value in changes.items():
            self.view[index] = value

    def content(self, key: Any) -> Any:
        return self.view[key]

    def place(self, key: Any) -> Path:
        return self.path.item(key)


class RecordCopy(PlainCopy):
    """One record of an array by itself (``np.void``), which can be changed in place."""

    def contents(self) -> Iterator[Write]:
        yield Write(self.path, "fillrecord", None, self.view.copy())

    def restore(self, snapshot: Any) -> None:
        for name in snapshot.dtype.names:
            self.view[name] = snapshot[name]


def view_record(capture: Capture, value: np.void, path: Path) -> Any:
    capture.guard(path, "value", value.copy())
    copy = RecordCopy(value, value.copy(), path)
    capture.mutable(copy)
    return capture.remember(value, copy.view, path)
