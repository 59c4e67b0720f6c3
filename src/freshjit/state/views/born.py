"""Things made during the run (a local list, a new object, a local variable) that a transform may change.

They are nobody's state yet, so no view stands for them. But inside ``jax.grad`` or ``jax.lax.scan`` they are
given values of that transform like any captured thing, and are to be found with the right values outside.
They are looked for from the function that is about to be run apart, and from what captured state holds by
now.

Only changes of arrays are carried out of the transform. Whatever else happens to a thing that nobody else
has seen (a list of names grows, a counter in Python) happens once, while tracing, as in JAX.
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import jax

from freshjit import _compat
from freshjit.state.hooks import GAP
from freshjit.state.libraries import is_library_class, is_library_function
from freshjit.state.values import is_plain

if TYPE_CHECKING:
    from freshjit.state.capture import Capture, Write

__all__ = ["put_slot", "register", "slot_values"]


class _Born:
    """A thing made during the run, as a mapping of its contents."""

    def __init__(self, capture: Capture, thing: Any, label: str) -> None:
        self.capture, self.thing, self.name = capture, thing, label

    # What there is to a kind of thing.

    def snapshot(self) -> dict[Any, Any]:
        raise NotImplementedError

    def put(self, key: Any, value: Any) -> None:
        raise NotImplementedError

    def label(self, key: Any) -> str:
        return f"{self.name}[{key!r}]"

    # The protocol.

    def writes(self, capture: Capture) -> Iterator[Write]:
        yield from ()  # results and writes describe new things as they are at the end

    def start(self) -> Any:
        return self.snapshot()  # found within a function run apart: it was made there

    def changes(self, snapshot: dict[Any, Any]) -> dict[Any, Any]:
        now = self.snapshot()
        return {
            key: value
            for key, value in now.items()
            if snapshot.get(key, GAP) is not value and self._is_carried(snapshot.get(key, GAP), value)
        }

    def _is_carried(self, old: Any, new: Any) -> bool:
        return (_is_arrays(old) and _is_arrays(new)) or _holds_foreign(self.capture, new)

    def restore(self, snapshot: dict[Any, Any]) -> None:
        for key in self.changes(snapshot):
            self.put(key, snapshot.get(key, GAP))

    def apply(self, changes: dict[Any, Any]) -> None:
        for key, value in changes.items():
            self.put(key, value)


class _BornDict(_Born):
    """A dict, or the attributes of an object."""

    def snapshot(self) -> dict[Any, Any]:
        return dict(dict.items(self.thing))

    def put(self, key: Any, value: Any) -> None:
        if value is GAP:
            dict.pop(self.thing, key, None)
        else:
            dict.__setitem__(self.thing, key, value)


class _BornAttributes(_BornDict):
    def label(self, key: Any) -> str:
        return f"{self.name}.{key}"


class _BornSlots(_Born):
    """The attributes that an object has in ``__slots__``."""

    def snapshot(self) -> dict[Any, Any]:
        return slot_values(self.thing)

    def put(self, key: Any, value: Any) -> None:
        if value is GAP:
            next(slot for slot in _slots_of(type(self.thing)) if slot.__name__ == key).__delete__(self.thing)
        else:
            put_slot(self.thing, key, value)

    def label(self, key: Any) -> str:
        return f"{self.name}.{key}"


class _BornList(_Born):
    """A list or deque."""

    def snapshot(self) -> dict[Any, Any]:
        return dict(enumerate(type(self.thing).__iter__(self.thing)))

    def changes(self, snapshot: dict[Any, Any]) -> dict[Any, Any]:
        now = self.snapshot()
        if len(now) == len(snapshot):
            return super().changes(snapshot)
        return {"all": list(now.values())} if _holds_foreign(self.capture, list(now.values())) else {}

    def restore(self, snapshot: dict[Any, Any]) -> None:
        changes = self.changes(snapshot)
        if "all" in changes:
            self.put("all", list(snapshot.values()))
        else:
            for key in changes:
                self.put(key, snapshot[key])

    def put(self, key: Any, value: Any) -> None:
        if key == "all":
            self.thing.clear()
            self.thing.extend(value)
        else:
            self.thing[key] = value

    def label(self, key: Any) -> str:
        return self.name if key == "all" else super().label(key)


class _BornCell(_Born):
    """A local variable that inner functions use."""

    def snapshot(self) -> dict[Any, Any]:
        try:
            return {"contents": self.thing.cell_contents}
        except ValueError:
            return {}

    def put(self, key: Any, value: Any) -> None:
        if value is GAP:
            del self.thing.cell_contents
        else:
            self.thing.cell_contents = value

    def label(self, key: Any) -> str:
        return self.name


def register(capture: Capture, function: Any, contents: list[Any]) -> None:
    """Enter what was made during this run, and ``function`` may change, among the capture's mutables.

    Parameters:
        contents: what captured things hold by now.
    """
    with capture.paused():
        _Search(capture).run(function, contents)


class _Search:
    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.seen: set[int] = set()
        self.known_cells = {id(state.cell) for state in capture.cells.values()}
        self.todo: list[tuple[Any, str]] = []

    def run(self, function: Any, contents: list[Any]) -> None:
        for held in contents:
            self.look_into_contents(held)
        self.todo.append((function, getattr(function, "__name__", "a function")))
        while self.todo:
            value, label = self.todo.pop()
            if is_plain(value) or isinstance(value, (_compat.Tracer, jax.Array, type, types.ModuleType)):
                continue
            if id(value) in self.seen:
                continue
            self.seen.add(id(value))
            captured = id(value) in self.capture.objects or id(value) in self.capture.entries
            if not captured and self.capture.original_of(value) is None:
                self.look_into(value, label)

    def look_into_contents(self, contents: Any) -> None:
        """A snapshot of a captured thing: its outer containers are the snapshot's own."""
        parts: list[tuple[Any, Any]] = []
        for part in cast("tuple[Any, ...]", contents) if isinstance(contents, tuple) else (contents,):
            if type(part) is dict:
                parts += cast("dict[Any, Any]", part).items()
            elif type(part) is list:
                parts += enumerate(cast("list[Any]", part))
            else:
                parts.append((None, part))
        self.todo += [(part, key if isinstance(key, str) else "a new object") for key, part in parts]

    def enter(self, thing: Any, kind: type[_Born], label: str) -> None:
        if id(thing) not in self.capture.born:
            born = self.capture.born[id(thing)] = kind(self.capture, thing, label)
            self.capture.mutable(born)

    def look_into(self, value: Any, label: str) -> None:
        if isinstance(value, types.FunctionType):
            self.look_into_function(value, label)
        elif isinstance(value, types.MethodType):
            self.todo += [(value.__self__, "self"), (value.__func__, label)]
        elif isinstance(value, functools.partial):
            self.todo += [(value.func, label), (value.args, label), (value.keywords, label)]
        elif isinstance(value, (list, collections.deque)):
            if type(value) in (list, collections.deque):
                self.enter(value, _BornList, label)
            self.todo += [(v, f"{label}[{i}]") for i, v in enumerate(_iterate(value))]
        elif isinstance(value, (tuple, set, frozenset)):
            self.todo += [(v, label) for v in _iterate(value)]
        elif isinstance(value, dict):
            self.enter(value, _BornDict, label)
            self.todo += [(v, f"{label}[{k!r}]" if is_plain(k) else label) for k, v in dict.items(value)]
        elif not is_library_class(type(value)):
            self.look_into_object(value, label)

    def look_into_function(self, function: types.FunctionType, label: str) -> None:
        ours = not is_library_function(function)
        names = function.__code__.co_freevars
        for name, cell in zip(names, function.__closure__ or (), strict=True):
            if id(cell) in self.known_cells:
                continue
            if ours:
                self.enter(cell, _BornCell, name)
            try:
                contents = cell.cell_contents
            except ValueError:
                continue
            if ours or isinstance(contents, _CALLABLES):
                self.todo.append((contents, name))
        self.todo.append((function.__defaults__, label))
        self.todo.append((function.__kwdefaults__, label))
        if function.__dict__:
            self.todo.append((function.__dict__, label))

    def look_into_object(self, value: Any, label: str) -> None:
        namespace = getattr(value, "__dict__", None)
        if type(namespace) is dict:
            self.enter(namespace, _BornAttributes, label)
            names = cast("dict[str, Any]", namespace)
            self.todo += [(v, f"{label}.{name}") for name, v in names.items()]
        if _slots_of(type(value)):
            self.enter(value, _BornSlots, label)
            self.todo += [(v, f"{label}.{name}") for name, v in slot_values(value).items()]


_CALLABLES = (types.FunctionType, types.MethodType, functools.partial)


def _iterate(value: Any) -> Iterator[Any]:
    """The elements, whatever the user's subclass says iterating over it means."""
    base: Any = next(b for b in (list, collections.deque, tuple, set, frozenset) if isinstance(value, b))
    return base.__iter__(value)


def _slots_of(cls: type) -> list[Any]:
    """The descriptors of all ``__slots__`` of a class; the fields of types written in C are none of them."""
    owners = [c for c in cls.__mro__ if "__slots__" in c.__dict__]
    entries = [getattr(entry, "raw", entry) for c in owners for entry in c.__dict__.values()]
    return [e for e in entries if isinstance(e, types.MemberDescriptorType)]


def slot_values(value: Any) -> dict[str, Any]:
    """What an object has in its ``__slots__``."""
    found: dict[str, Any] = {}
    for slot in _slots_of(type(value)):
        try:
            found[slot.__name__] = slot.__get__(value)
        except AttributeError:
            continue
    return found


def put_slot(value: Any, name: str, new: Any) -> None:
    next(slot for slot in _slots_of(type(value)) if slot.__name__ == name).__set__(value, new)


def _is_arrays(value: Any) -> bool:
    if is_plain(value):
        return False
    leaves = jax.tree_util.tree_leaves(value)
    return bool(leaves) and all(isinstance(leaf, (jax.Array, _compat.Tracer)) for leaf in leaves)


def _holds_foreign(capture: Capture, value: Any) -> bool:
    """Whether values of a transform can be found in there, which mean nothing outside of it."""
    recorder, owns = capture.recorder, None
    if recorder is not None:
        owns = cast("Callable[[Any], bool]", recorder.owns)
    seen: set[int] = set()
    todo = [value]
    while todo:
        value = todo.pop()
        if isinstance(value, _compat.Tracer):
            if owns is None or not owns(value):
                return True
        elif not is_plain(value) and id(value) not in seen:
            seen.add(id(value))
            if isinstance(value, dict):
                todo += dict.values(value)
            elif isinstance(value, (list, tuple, collections.deque)):
                todo += _iterate(value)
            elif capture.original_of(value) is None and not is_library_class(type(value)):
                with capture.paused():
                    namespace = getattr(value, "__dict__", None)
                    todo += slot_values(value).values()
                if type(namespace) is dict:
                    todo += cast("dict[str, Any]", namespace).values()
    return False
