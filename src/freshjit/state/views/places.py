"""Places: the arrays under an object, each as a location whose contents can be replaced for a while.

What a transform is to differentiate or to map (``wrt="self.params"``, ``state_axes``) is found here
among the views of a capture, and what a ``State`` holds is read and written here. All of it goes through
the views, so it sees what traced code has written so far and is recorded like any other reading.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from freshjit import _compat
from freshjit.errors import StateMismatchError, UnsupportedStateError
from freshjit.state import naming
from freshjit.state.hooks import can_hook, slots_of
from freshjit.state.libraries import is_library_function
from freshjit.state.path import Path
from freshjit.state.record import Mutable
from freshjit.state.values import is_iterator, is_plain
from freshjit.state.views import copies, elements, objects
from freshjit.state.views.namespaces import Namespace
from freshjit.state.views.numbers import NumberView

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["Leaf", "entered", "put", "select", "under"]


@dataclass(eq=False, slots=True)
class Leaf:
    """One array of the state.

    Attributes:
        path: where it is, from the name by which it was asked for: ``self.layers[0].w``.
        thing, key: the location that holds it, or the tuple that holds it.
        steps: from there into nested tuples.
        value: what is there now.
    """

    path: Path
    thing: Mutable
    key: Any
    steps: tuple[Any, ...]
    value: Any

    @property
    def label(self) -> str:
        return str(self.path)


@dataclass(eq=False, slots=True)
class Selected:
    """Something to look for arrays in: its name, its view, and what holds it."""

    label: str
    value: Any
    thing: Any = None
    key: Any = None
    steps: tuple[Any, ...] = ()


# -- naming: what the user asked for ------------------------------------------------------------------


def select(
    capture: Capture, wanted: Any, function: Any = None, arguments: Mapping[str, Any] | None = None
) -> list[Leaf]:
    """The arrays under ``wanted``.

    Parameters:
        wanted: a path as a string, a function without parameters that returns the things, an object, or
            a list of such.
        function: the view of the function whose ``self``, variables and globals a path starts from.
        arguments: the views of its arguments, by name.
    """
    items: Sequence[Any] = wanted if type(wanted) in (list, tuple) else [wanted]
    names = _names_of_objects([o for o in items if not isinstance(o, str) and not _is_getter(o)])
    selected: list[Selected] = []
    for item in items:
        if isinstance(item, str):
            selected.append(_by_path(capture, item, function, arguments or {}))
        elif _is_getter(item):
            selected += _by_getter(capture, item)
        else:
            selected.append(_by_object(capture, item, names[id(item)]))
    walk = _Walk(capture)
    for one in selected:
        walk.visit(one.value, Path.constant(None, one.label), one.thing, one.key, one.steps)
    return walk.leaves


def _is_getter(value: Any) -> bool:
    return isinstance(value, (types.FunctionType, types.MethodType))


def _by_object(capture: Capture, thing: Any, label: str) -> Selected:
    entry = capture.original_of(thing) or capture.entries.get(id(thing))
    if entry is not None:
        return Selected(label, entry.view, *_place_at(capture, entry.path))
    if _is_array(thing) or is_plain(thing):
        raise StateMismatchError(
            f"{'an array' if _is_array(thing) else repr(thing)} was given where a path or an object is "
            "wanted: many places can hold the same one.\nName the place: 'self.w', or lambda: self.w."
        )
    return Selected(label, capture.view(thing, Path.constant(thing, label)))


def _names_of_objects(things: Sequence[Any]) -> dict[int, str]:
    """Objects are called by their class, numbered where that is needed to tell them apart."""
    kinds = collections.Counter(type(o).__name__ for o in things)
    seen: collections.Counter[str] = collections.Counter()
    names: dict[int, str] = {}
    for thing in things:
        kind = type(thing).__name__
        names[id(thing)] = kind if kinds[kind] == 1 else f"{kind}[{seen[kind]}]"
        seen[kind] += 1
    return names


class _Name:
    """Stands for a variable while a getter is run for the names in it: ``lambda: self.layers[0]``."""

    def __init__(self, label: str) -> None:
        self._label = label

    def __getattr__(self, name: str) -> _Name:
        return _Name(f"{self._label}.{name}")

    def __getitem__(self, key: Any) -> _Name:
        return _Name(f"{self._label}[{key!r}]")

    __iter__ = None
    __call__ = None
    __bool__ = None


class _Names(dict[str, Any]):
    """Globals in which every name is a ``_Name``."""

    def __missing__(self, name: str) -> Any:
        return _Name(name)


def _paths_in(getter: Any) -> list[str] | None:
    """The paths that a getter names, if that is all it does."""
    args = ()
    if isinstance(getter, types.MethodType):
        args, getter = (_Name("self"),), getter.__func__
    if not isinstance(getter, types.FunctionType):
        return None
    cells = tuple(types.CellType(_Name(name)) for name in getter.__code__.co_freevars)
    try:
        found = types.FunctionType(getter.__code__, _Names(__builtins__={}), "names", None, cells)(*args)
    except (TypeError, NameError, AttributeError):
        return None
    found = list(found) if type(found) in (list, tuple) else [found]
    if not all(type(f) is _Name for f in found):
        return None
    return [object.__getattribute__(f, "_label") for f in found]


def _by_getter(capture: Capture, getter: Any) -> list[Selected]:
    view = capture.enter(getter)
    paths = _paths_in(getter)
    if paths is not None:
        return [_by_path(capture, path, view, {}) for path in paths]
    found = view()
    things: list[Any] = list(found) if type(found) in (list, tuple) else [found]
    selected: list[Selected] = []
    for thing in things:
        entry = capture.original_of(thing)
        if entry is None:
            raise UnsupportedStateError(
                f"{getter.__name__} returned a {type(thing).__name__} that is not part of any state.\n"
                "Return objects, containers or arrays that can be reached by a path, such as self.layers[0]."
            )
        selected.append(Selected(_plain_label(entry.path), thing, *_place_at(capture, entry.path)))
    return selected


def _plain_label(path: Path) -> str:
    return naming.without_prefix(str(path))


def _place_at(capture: Capture, path: Path) -> tuple[Mutable | None, Any]:
    """The location at ``path``: what holds it, and under which key."""
    path = capture.keyed.get(path, path)
    for thing in capture.mutables:
        if getattr(thing, "path", None) is not path.parent:
            continue
        if isinstance(thing, objects.ObjectState):
            return thing, ("slot" if path.key in thing.slots else "attr", path.key)
        if path.step == "contents":
            return thing, None
        return thing, path.index
    return None, None


def _by_path(capture: Capture, path: str, function: Any, arguments: Mapping[str, Any]) -> Selected:
    wanted = _parsed(path)
    found = _root(capture, wanted.root, function, arguments)
    if found is None:
        raise StateMismatchError(
            f"{path!r} does not start from anything that {_called(function)} knows: {wanted.root!r} is "
            "neither its self, nor an argument, a variable around it or a global.\nPaths are written as in "
            "the function itself, for instance 'self.params' or 'model.layers[0]'."
        )
    this = Selected(wanted.root, found.value, found.thing, found.key)
    for kind, key in wanted.steps:
        try:
            value = getattr(this.value, key) if kind == "attr" else this.value[key]
        except (AttributeError, LookupError, TypeError) as error:
            raise StateMismatchError(
                f"there is nothing at {path!r}: {type(error).__name__}: {error}.\nPaths are written as in "
                "the function itself, for instance 'self.params' or 'model.layers[0]'."
            ) from error
        fields: tuple[str, ...] = getattr(type(this.value), "_fields", ())
        if kind == "attr" and isinstance(this.value, tuple) and key in fields:
            kind, key = "item", fields.index(key)
        thing, own = _location(capture, this.value, kind, key)
        if thing is not None:
            this = Selected(path, value, thing, own)
        elif kind == "item" and this.thing is not None:
            this = Selected(path, value, this.thing, this.key, (*this.steps, key))
        else:
            entry = capture.original_of(value)
            place = (None, None) if entry is None else _place_at(capture, entry.path)
            this = Selected(path, value, *place)
    this.label = path
    return this


def _called(function: Any) -> str:
    return getattr(function, "__name__", "the function")


def _parsed(path: str) -> naming.Place:
    """``self.layers[0].w`` as its root and steps."""
    place = naming.parsed(path)
    if place is None or any(kind == "type" for kind, _ in place.steps):
        raise StateMismatchError(
            f"{path!r} is not a path.\nA path is a name followed by attributes and items with constant keys, "
            "for instance 'self.params', 'model.layers[0].w' or \"weights['out']\"."
        )
    return place


def _root(capture: Capture, name: str, function: Any, arguments: Mapping[str, Any]) -> Selected | None:
    """What a name means to a function (seen by its view): self, an argument, a variable or a global."""
    if name in arguments:
        return Selected(name, arguments[name])
    while True:
        if isinstance(function, types.MethodType):
            if name == "self":
                return Selected(name, function.__self__)
            function = function.__func__
        elif hasattr(function, "func") and hasattr(function, "keywords"):
            function = function.func
        elif isinstance(function, types.FunctionType):
            if not is_library_function(function):
                break
            function = getattr(function, "__wrapped__", None)  # one of our transforms
        elif function is not None and name == "self":
            return Selected(name, function)
        elif function is not None and not isinstance(function, type) and can_hook(type(function)):
            function = type(function).__call__
        else:
            return None
    for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if free == name:
            state = next((s for s in capture.cells.values() if s.cell is cell), None)
            return Selected(name, cell.cell_contents, state, None)
    wrapped = getattr(function, "__wrapped__", None)
    namespace = function.__globals__
    if isinstance(namespace, Namespace) and name in namespace:
        return Selected(name, namespace[name], namespace, name)
    return None if wrapped is None else _root(capture, name, wrapped, arguments)


def under(capture: Capture, value: Any, path: Path) -> list[Leaf]:
    """The arrays under a view, as if it were at ``path``."""
    walk = _Walk(capture)
    walk.visit(value, path, None, None, ())
    return walk.leaves


# -- walking ------------------------------------------------------------------------------------------


def _location(capture: Capture, owner: Any, kind: str, key: Any) -> tuple[Any, Any]:
    """The location that ``owner.key`` or ``owner[key]`` is, if ``owner`` is captured and can change."""
    state = capture.objects.get(id(owner))
    if kind == "attr" and state is not None:
        if key in state.slots:
            return state, ("slot", key)
        if key in state.attrs:
            return state, ("attr", key)
        return None, None
    thing = _things(capture).get(id(owner))
    return (None, None) if thing is None else (thing, key)


def _things(capture: Capture) -> dict[int, Mutable]:
    """Captured containers, by the id of what traced code holds."""
    found: dict[int, Mutable] = {}
    for thing in capture.mutables:
        view = getattr(thing, "contents", getattr(thing, "view", None))
        if view is not None and not isinstance(thing, objects.ObjectState):
            found[id(view)] = thing
    return found


class _Walk:
    """Finds every array under a thing, each location once."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.leaves: list[Leaf] = []
        self._seen: set[int] = set()
        self._things = _things(capture)

    def visit(self, value: Any, path: Path, thing: Any, key: Any, steps: tuple[Any, ...]) -> None:
        if _is_array(value):
            if thing is None:
                raise StateMismatchError(
                    f"{path} is an array that no attribute, item or variable holds.\n"
                    "An argument is differentiated by argnums; of a property, name the attribute behind it."
                )
            self.leaves.append(Leaf(path, thing, key, steps, value))
            return
        number = type(value) in (int, float, complex, NumberView)
        if number or is_plain(value) or isinstance(value, (type, types.ModuleType, np.generic)):
            if number and steps == () and thing is not None:
                self.leaves.append(Leaf(path, thing, key, steps, value))
            return
        if isinstance(value, tuple):
            for i, item in enumerate(tuple.__iter__(value)):
                self.visit(item, elements.element(path, value, i), thing, key, (*steps, i))
            return
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        for place, part, owner, part_key in self._parts(value, path):
            if _may_hold_arrays(part):
                self.visit(part, place, owner, part_key, ())

    def _parts(self, value: Any, path: Path) -> Iterator[tuple[Path, Any, Any, Any]]:
        capture = self.capture
        if id(value) not in self._things and id(value) not in capture.objects:
            self._adopt(value, path)
        state = capture.objects.get(id(value))
        if state is not None:
            yield from self._attributes(state, path)
        thing: Any = self._things.get(id(value))
        if thing is None:
            return
        by_name = isinstance(thing, copies.MappingCopy) and thing.set_action != "setitem"
        mapping = isinstance(thing, copies.MappingCopy)
        items: list[tuple[Any, Any]] = list(dict.items(thing.contents) if mapping else enumerate(value))
        for key, part in items:
            place = path.attr(key) if by_name else elements.element(path, value, key)
            yield place, part, thing, key

    def _adopt(self, value: Any, path: Path) -> None:
        """Give locations to the contents of something that was made during this run."""
        if isinstance(value, dict):
            self._things[id(value)] = copies.MappingCopy(value, path, ("setitem", "delitem"))
        elif isinstance(value, (list, collections.deque)):
            self._things[id(value)] = copies.SequenceCopy(value, path)
        elif hasattr(value, "__dict__"):
            self._things[id(value)] = copies.MappingCopy(value.__dict__, path, ("setattr", "delattr"))

    def _attributes(self, state: objects.ObjectState, path: Path) -> Iterator[tuple[Path, Any, Any, Any]]:
        capture = self.capture
        names: dict[tuple[str, str], None] = {}
        if state.real is not None:
            objects.adopt_all(state)
            capture.guard(state.path.to("dict"), "keys", tuple(state.real))
            for name in (*state.real, *state.attrs):
                if name not in state.deleted and _may_hold_arrays(
                    state.attrs.get(name, state.real.get(name))
                ):
                    names["attr", name] = None
        for name in slots_of(type(state.view)):
            names["slot", name] = None
        for kind, name in names:
            try:
                part = objects.default_read(capture, state, name)
            except AttributeError:
                continue  # a slot that has not been set
            yield path.attr(name), part, state, (kind, name)


def _is_array(value: Any) -> bool:
    if isinstance(value, np.ndarray):  # a NumpyView says so too
        return value.dtype.kind in "biufc"
    return isinstance(value, (jax.Array, _compat.Tracer))


def _may_hold_arrays(value: Any) -> bool:
    """Whether it is worth looking into: code, text, modules and the like never are."""
    if _is_array(value) or isinstance(value, (list, dict, tuple, collections.deque)):
        return True
    if is_plain(value) or type(value) is NumberView:
        return False
    if isinstance(value, (type, types.ModuleType, types.FunctionType, types.MethodType)):
        return False
    return can_hook(type(value)) and not is_iterator(type(value))


# -- replacing ----------------------------------------------------------------------------------------


def put(
    leaves: Sequence[Leaf], values: Sequence[Any]
) -> dict[tuple[int, Any], tuple[Mutable, Any, Any, Any]]:
    """Put the values at the leaves; gives for each location the thing, the key, what it held and holds."""
    changed: dict[tuple[int, Any], tuple[Mutable, Any, Any, Any]] = {}
    for leaf, value in zip(leaves, values, strict=True):
        mark = (id(leaf.thing), leaf.key)
        old = leaf.thing.content(leaf.key)
        first = changed[mark][2] if mark in changed else old
        new = _with(old, leaf.steps, value)
        leaf.thing.apply({leaf.key: new})
        changed[mark] = (leaf.thing, leaf.key, first, new)
    return changed


def _with(whole: Any, steps: tuple[Any, ...], value: Any) -> Any:
    """``whole`` (nested tuples) with ``value`` in the place that ``steps`` lead to."""
    if not steps:
        return value
    items = list(tuple.__iter__(whole))
    items[steps[0]] = _with(items[steps[0]], steps[1:], value)
    return tuple.__new__(type(whole), items)


@contextmanager
def entered(leaves: Sequence[Leaf], values: Sequence[Any]) -> Generator[None, None, None]:
    """State with these values at the leaves; what is not overwritten meanwhile is put back."""
    changed = put(leaves, values)
    try:
        yield
    finally:
        for thing, key, old, new in changed.values():
            try:
                now = thing.content(key)
            except KeyError:
                continue
            if now is new:
                thing.apply({key: old})
