"""Views of containers: copies of the same type with views inside.

Being real lists and dicts, they behave exactly as such, in C code and in JAX's pytrees too. What the
traced code did to a copy is found by comparing it afterwards, and is done to the original at the
commit, in place: aliases stay aliases.
"""

from __future__ import annotations

import collections
import copy
import threading
import types
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from freshjit.state.hooks import GAP
from freshjit.state.path import Path, shown
from freshjit.state.values import is_plain
from freshjit.state.views import objects

if TYPE_CHECKING:
    from freshjit.state.capture import Capture, Write


class SequenceCopy:
    """A list or deque."""

    def __init__(self, view: Any, path: Path) -> None:
        self.view, self.path = view, path
        self.initial = items_of(view)

    def writes(self, capture: Capture) -> Iterator[Write]:
        from freshjit.state.capture import Write

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
        _clear(self.view)
        self.view.extend(snapshot)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        now = items_of(self.view)
        if len(now) == len(snapshot) and all(a is b for a, b in zip(now, snapshot, strict=True)):
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
                self.view[key] = value

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
        self.initial = dict(_pairs(contents))

    def writes(self, capture: Capture) -> Iterator[Write]:
        from freshjit.state.capture import Write

        now = dict(_pairs(self.contents))
        before = [k for k in self.initial if k in now]
        if before != [k for k in now if k in self.initial]:
            yield Write(self.path, "replacedict", None, now)  # the order changed: all of it is rewritten
            return
        for key in self.initial:
            if key not in now:
                yield Write(self.path, self.delete_action, key, None)
        for key, value in now.items():
            if self.initial.get(key, GAP) is not value:
                yield Write(self.path, self.set_action, key, value)

    def start(self) -> Any:
        return self.initial

    def snapshot(self) -> Any:
        return dict(_pairs(self.contents))

    def restore(self, snapshot: Any) -> None:
        dict.clear(self.contents)
        for key, value in snapshot.items():
            type(self.contents).__setitem__(self.contents, key, value)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        now = dict(_pairs(self.contents))
        changed = {k: v for k, v in now.items() if snapshot.get(k, GAP) is not v}
        changed.update({k: GAP for k in snapshot if k not in now})
        return changed

    def apply(self, changes: dict[Any, Any]) -> None:
        for key, value in changes.items():
            if value is GAP:
                self.contents.pop(key, None)
            else:
                self.contents[key] = value

    def content(self, key: Any) -> Any:
        return dict.__getitem__(self.contents, key)

    def place(self, key: Any) -> Path:
        if self.set_action != "setitem":
            return self.path.attr(key)
        return element(self.path, self.contents, key)


class SetCopy:
    """A set."""

    def __init__(self, view: set[Any], path: Path) -> None:
        self.view, self.path = view, path
        self.initial = set(view)

    def writes(self, capture: Capture) -> Iterator[Write]:
        from freshjit.state.capture import Write

        if self.view != self.initial:
            yield Write(self.path, "replaceset", None, list(self.view))

    def start(self) -> Any:
        return self.initial

    def snapshot(self) -> Any:
        return set(self.view)

    def restore(self, snapshot: Any) -> None:
        self.view.clear()
        self.view.update(snapshot)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        return {} if self.view == snapshot else {"all": set(self.view)}

    def apply(self, changes: dict[Any, Any]) -> None:
        for value in changes.values():
            self.restore(value)

    def content(self, key: Any) -> Any:
        return self.snapshot()

    def place(self, key: Any) -> Path:
        return self.path


def _pairs(mapping: dict[Any, Any]) -> Any:
    """The items in the mapping's own order (an OrderedDict keeps one that dict's methods do not see)."""
    ordered = isinstance(mapping, collections.OrderedDict)
    return collections.OrderedDict.items(mapping) if ordered else dict.items(mapping)


def items_of(view: Any) -> list[Any]:
    return list(list.__iter__(view)) if isinstance(view, list) else list(view)


def _clear(view: Any) -> None:
    list.clear(view) if isinstance(view, list) else view.clear()


def view_list(capture: Capture, value: list[Any], path: Path) -> Any:
    capture.guard(path, "type", list)
    capture.guard(path, "len", len(value))
    view: list[Any] = []
    capture.remember(value, view, path)
    view.extend([capture.view(item, path.item(i)) for i, item in enumerate(value)])
    _watch(capture, value, view, path)
    return view


def view_deque(capture: Capture, value: collections.deque[Any], path: Path) -> Any:
    capture.guard(path, "type", type(value))
    capture.guard(path, "len", len(value))
    capture.guard(path.attr("maxlen"), "value", value.maxlen)
    view: collections.deque[Any] = collections.deque(maxlen=value.maxlen)
    capture.remember(value, view, path)
    view.extend([capture.view(item, path.item(i)) for i, item in enumerate(value)])
    _watch(capture, value, view, path)
    return view


def _watch(capture: Capture, value: Any, view: Any, path: Path) -> None:
    growing = capture.growing_copy(value, path)
    if growing is None:
        capture.mutable(SequenceCopy(view, path))
    else:
        growing.look(view)


def element(path: Path, container: Any, key: Any) -> Path:
    """The path of an element, which no method of the user's own takes part in reading."""
    for base in (tuple, list, dict):
        if isinstance(container, base):
            label = label_of_key(container, str(path), key)
            if type(container) is base:
                return path.to("item", key, label)
            return path.to("rawitem", (base.__name__, key), label)
    return path.item(key)


def label_of_key(container: Any, label: str, key: Any) -> str:
    """How an element is written: ``x[0]``, ``x['w']``, of a named tuple ``x.mu``."""
    fields = getattr(type(container), "_fields", None) if isinstance(container, tuple) else None
    return f"{label}.{fields[key]}" if isinstance(fields, tuple) else f"{label}[{shown(key)}]"


def view_tuple(capture: Capture, value: tuple[Any, ...], path: Path) -> Any:
    capture.guard(path, "type", type(value))
    capture.guard(path, "len", len(value))
    items = [capture.view(item, element(path, value, i)) for i, item in enumerate(tuple.__iter__(value))]
    if all(a is b for a, b in zip(items, tuple.__iter__(value), strict=True)):
        return capture.remember(value, value, path)
    kind: Any = type(value)
    return capture.remember(value, tuple.__new__(kind, items), path)


def view_dict(capture: Capture, value: dict[Any, Any], path: Path) -> Any:
    kind = type(value)
    capture.guard(path, "type", kind)
    view: Any = kind.__new__(kind)
    if isinstance(value, collections.defaultdict):
        view.default_factory = capture.view(value.default_factory, path.attr("default_factory"))
    capture.remember(value, view, path)
    _fill_dict(capture, value, view, path)
    capture.mutable(MappingCopy(view, path, ("setitem", "delitem")))
    return view


def _fill_dict(capture: Capture, value: dict[Any, Any], view: dict[Any, Any], path: Path) -> None:
    keys = tuple(key for key, _ in _pairs(value))
    capture.guard(path, "keys", keys)
    base = "dict" if type(value) is not collections.OrderedDict else "OrderedDict"
    store: Any = dict.__setitem__ if base == "dict" else collections.OrderedDict.__setitem__
    # JAX's pytrees put a dict together again with its keys sorted (a training step does, the first time).
    # Items are looked at in that order, so that the inputs come in the same order before and after, and what
    # has been compiled for the one serves the other.
    pairs = list(_pairs(value))
    views: list[Any] = [None] * len(pairs)
    for i in _pytree_order(keys):
        key, item = pairs[i]
        views[i] = capture.view(item, element(path, value, key))
    for i, key in enumerate(keys):
        store(view, _view_key(capture, key, path, i), views[i])


def _pytree_order(keys: tuple[Any, ...]) -> list[int]:
    """The positions of the keys, sorted by key if that calls no code of the user's."""
    positions = list(range(len(keys)))
    return sorted(positions, key=keys.__getitem__) if {*map(type, keys)} in ({str}, {int}) else positions


def _view_key(capture: Capture, key: Any, path: Path, index: int) -> Any:
    """Plain keys are taken as they are; a function among them must be the clone it is elsewhere."""
    if is_plain(key) or isinstance(key, (type, weakref.ref)):
        return key
    return capture.view(key, path.to("nth", index))


def view_set(capture: Capture, value: set[Any] | frozenset[Any], path: Path) -> Any:
    capture.guard(path, "type", type(value))
    if all(is_plain(v) or isinstance(v, (tuple, frozenset, type)) for v in value):
        capture.guard(path, "elements", frozenset(value))
        elements = list(value)
    else:
        capture.guard(path, "len", len(value))
        elements = [capture.view(v, path.to("nth", i)) for i, v in enumerate(value)]
    if isinstance(value, frozenset):
        return capture.remember(value, frozenset(elements), path)
    view = set(elements)
    capture.remember(value, view, path)
    capture.mutable(SetCopy(view, path))
    return view


def view_namespace(capture: Capture, value: types.SimpleNamespace, path: Path) -> Any:
    capture.guard(path, "type", types.SimpleNamespace)
    view = types.SimpleNamespace()
    capture.remember(value, view, path)
    contents = value.__dict__
    capture.guard(path.to("dict"), "keys", tuple(contents))
    for name, item in list(contents.items()):
        view.__dict__[name] = capture.view(item, path.attr(name))
    capture.mutable(MappingCopy(view.__dict__, path, ("setattr", "delattr")))
    return view


class BufferCopy:
    """A bytearray or array.array."""

    def __init__(self, view: Any, path: Path) -> None:
        self.view, self.path = view, path
        self.initial = list(view)

    def writes(self, capture: Capture) -> Iterator[Write]:
        from freshjit.state.capture import Write

        if list(self.view) != self.initial:
            yield Write(self.path, "fillbuffer", None, list(self.view))

    def start(self) -> Any:
        return self.initial

    def snapshot(self) -> Any:
        return list(self.view)

    def restore(self, snapshot: Any) -> None:
        del self.view[:]
        self.view.extend(snapshot)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        return {} if list(self.view) == snapshot else {"all": list(self.view)}

    def apply(self, changes: dict[Any, Any]) -> None:
        for value in changes.values():
            self.restore(value)

    def content(self, key: Any) -> Any:
        return self.snapshot()

    def place(self, key: Any) -> Path:
        return self.path


def view_buffer(capture: Capture, value: Any, path: Path) -> Any:
    """Numbers in a mutable buffer of Python's: a copy, guarded by its bytes."""
    capture.guard(path, "type", type(value))
    capture.guard(path, "buffer", bytes(value))
    view = copy.copy(value)
    capture.remember(value, view, path)
    capture.mutable(BufferCopy(view, path))
    return view


def view_thread_local(capture: Capture, value: Any, path: Path) -> Any:
    """A plain ``threading.local``: the attributes that this thread has set."""
    capture.guard(path, "type", threading.local)
    view = threading.local()
    capture.remember(value, view, path)
    capture.guard(path.to("dict"), "keys", tuple(value.__dict__))
    for name, item in list(value.__dict__.items()):
        view.__dict__[name] = capture.view(item, path.attr(name))
    capture.mutable(MappingCopy(view.__dict__, path, ("setdict", "delattr")))
    return view


def view_mapping_proxy(capture: Capture, value: types.MappingProxyType[Any, Any], path: Path) -> Any:
    capture.guard(path, "type", types.MappingProxyType)
    capture.guard(path, "keys", tuple(value))
    view = types.MappingProxyType({k: capture.view(v, path.item(k)) for k, v in value.items()})
    return capture.remember(value, view, path)


DICT_VIEWS = {type({}.keys()): "keys", type({}.values()): "values", type({}.items()): "items"}


def view_dict_view(capture: Capture, value: Any, path: Path) -> Any:
    """What ``d.keys()``, ``d.values()`` or ``d.items()`` gave outside: it shows the dict as it is now."""
    capture.guard(path, "type", type(value))
    mapping = capture.view(value.mapping, path.attr("mapping"))
    return capture.remember(value, getattr(mapping, DICT_VIEWS[type(value)])(), path)


def view_subclass(capture: Capture, value: Any, path: Path) -> Any:
    """An instance of the user's own subclass of a container: a shadow of the same class."""
    kind: Any = type(value)
    capture.guard(path, "type", kind)
    if isinstance(value, tuple):
        items = [capture.view(item, element(path, value, i)) for i, item in enumerate(tuple.__iter__(value))]
        view = tuple.__new__(kind, items)
        _copy_attributes_of_tuple(value, view)
        capture.remember(value, view, path)
        capture.hooks.add(kind)
        return view
    if isinstance(value, (set, frozenset)):
        capture.guard(path, "elements", frozenset(value))
        return capture.remember(value, value, path)
    view = kind.__new__(kind)
    objects.adopt_object(capture, value, view, path)
    if isinstance(value, dict):
        if isinstance(value, collections.defaultdict):
            view.default_factory = capture.view(value.default_factory, path.attr("default_factory"))
        _fill_dict(capture, value, view, path)
        capture.mutable(MappingCopy(view, path, ("setitem", "delitem")))
    elif isinstance(value, list):
        capture.guard(path, "len", len(value))
        items = list(enumerate(list.__iter__(value)))
        list.extend(view, [capture.view(item, element(path, value, i)) for i, item in items])
        capture.mutable(SequenceCopy(view, path))
    else:
        view.extend([capture.view(item, path.item(i)) for i, item in enumerate(value)])
        capture.mutable(SequenceCopy(view, path))
    return view


def _copy_attributes_of_tuple(value: Any, view: Any) -> None:
    if hasattr(value, "__dict__"):
        view.__dict__.update(value.__dict__)


# The containers that JAX takes apart and rebuilds.
REBUILT = (list, dict, collections.deque, collections.OrderedDict, collections.defaultdict)


def watch_argument(capture: Capture, value: Any, path: Path) -> None:
    """Watch a container among the traced arguments (JAX has rebuilt it: it is the view already)."""
    if isinstance(value, dict):
        capture.mutable(MappingCopy(value, path, ("setitem", "delitem")))
    else:
        capture.mutable(SequenceCopy(value, path))
