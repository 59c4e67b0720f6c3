"""Views of containers: copies of the same type with views inside.

Being real lists and dicts, they behave exactly as such, in C code and in JAX's pytrees too. What the
traced code did to a copy is found by comparing it afterwards, and is done to the original at the
commit, in place: aliases stay aliases.
"""

from __future__ import annotations

import array
import collections
import gc
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from freshjit.errors import UnsupportedStateError
from freshjit.state.contents import (
    OrderedFrozenset,
    OrderedSet,
    base_of,
    fill_buffer,
    members,
    moved,
    refill_set,
)
from freshjit.state.guards import ANYTHING, user_line
from freshjit.state.hooks import GAP, can_hook, class_entry, slots_of
from freshjit.state.path import Path, shown
from freshjit.state.record import Last, Write
from freshjit.state.values import is_by_value, is_value_like, same_value
from freshjit.state.views import objects

if TYPE_CHECKING:
    from freshjit.state.capture import Capture


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
        pairs = list(_pairs(contents))
        self.initial = dict(pairs)
        self._pairs_before = pairs

    @property
    def is_dict(self) -> bool:
        return self.set_action == "setitem"

    def written(self) -> list[Any]:
        """The keys that have another value now, or are gone."""
        return [Last.plain(key) for key in self.changes(self.initial)]

    def writes(self, capture: Capture) -> Iterator[Write]:
        pairs = list(_pairs(self.contents))
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
        if not _same_things([part for pair in pairs for part in pair], before):
            raise UnsupportedStateError(
                f"{self.path} was written while two of its keys were equal: the hash of one, or what it is "
                "equal to, has changed since it was put in.\nLet it depend on what stays."
            )

    def start(self) -> Any:
        return self.initial

    def snapshot(self) -> Any:
        return dict(_pairs(self.contents))

    def restore(self, snapshot: Any) -> None:
        base = base_of(self.contents)
        base.clear(self.contents)
        for key, value in snapshot.items():
            base.__setitem__(self.contents, key, value)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        now = dict(_pairs(self.contents))
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
        if not _same_things(now, self.initial):
            yield Write(self.path, "replaceset", None, now)

    def start(self) -> Any:
        return self.initial

    def snapshot(self) -> Any:
        return members(self.view)

    def restore(self, snapshot: Any) -> None:
        refill_set(self.view, snapshot)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        return {} if _same_things(members(self.view), snapshot) else {"all": self.content("all")}

    def apply(self, changes: dict[Any, Any]) -> None:
        for value in changes.values():
            self.restore(members(value))

    def content(self, key: Any) -> Any:
        now = members(self.view)
        copied = set(now)  # as a whole: nothing that JAX would take apart
        return copied if _same_things(members(copied), now) else OrderedSet(now)

    def place(self, key: Any) -> Path:
        return self.path


def _same_things(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _same_keys(a: list[Any], b: list[Any]) -> bool:
    return all(x is y or (is_by_value(x) and same_value(x, y)) for x, y in zip(a, b, strict=True))


def _pairs(mapping: dict[Any, Any]) -> Any:
    """The items in the mapping's own order (an OrderedDict keeps one that dict's methods do not see)."""
    ordered = isinstance(mapping, collections.OrderedDict)
    return collections.OrderedDict.items(mapping) if ordered else dict.items(mapping)


def items_of(view: Any) -> list[Any]:
    return list(base_of(view).__iter__(view))


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
    for base in (tuple, list, dict, collections.deque):
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


def _view(capture: Capture, value: Any, path: Path) -> Any:
    return capture.view(value, path)


def view_tuple(
    capture: Capture, value: tuple[Any, ...], path: Path, see: Callable[[Capture, Any, Path], Any] = _view
) -> Any:
    """A tuple, or an instance of a subclass of one: a named tuple, say.

    Parameters:
        see: gives what is seen of each part.
    """
    kind: Any = type(value)
    capture.guard(path, "type", kind)
    capture.guard(*_length(path, value))
    old = tuple.__iter__(value)
    items = [see(capture, item, element(path, value, i)) for i, item in enumerate(tuple.__iter__(value))]
    view = value if _same_things(items, list(old)) else tuple.__new__(kind, items)
    return _remember(capture, value, view, path)


def view_slice(capture: Capture, value: slice, path: Path) -> Any:
    """A slice of something else than plain values."""
    capture.guard(path, "type", slice)
    old = value.start, value.stop, value.step
    parts = [
        capture.view(part, path.attr(name)) for name, part in zip(("start", "stop", "step"), old, strict=True)
    ]
    view = value if _same_things(parts, list(old)) else slice(*parts)
    return capture.remember(value, view, path)


def _remember(capture: Capture, value: Any, view: Any, path: Path) -> Any:
    """Note what stands for a container: of the user's own subclass, attributes and class count too."""
    kind = type(value)
    if not can_hook(kind):
        return capture.remember(value, view, path)
    if objects.instance_dict(value) is not None or slots_of(kind):
        return objects.adopt_object(capture, value, view, path)
    capture.hooks.add(kind)
    return capture.remember(value, view, path)


def _length(path: Path, value: Any) -> tuple[Path, Any, int]:
    """The guard on the length, for which no method of the user's own is asked."""
    base = base_of(value)
    place = path if class_entry(type(value), "__len__") is base.__len__ else _members(path, value)
    return place, "len", base.__len__(value)


def _members(path: Path, container: Any) -> Path:
    """The path of the elements of a set, or the keys of a dict, as a tuple."""
    return path.to("elements", base_of(container).__name__)


def view_dict(capture: Capture, value: dict[Any, Any], path: Path) -> Any:
    owner = capture.owner_of_dict.get(id(value))
    if owner is not None:  # it is the ``__dict__`` of an object that is known
        objects.whole_dict(capture, owner)
        return capture.view(value, path)
    view = new_dict(capture, value, path)
    fill_dict(capture, value, view, path)
    capture.mutable(MappingCopy(view, path, ("setitem", "delitem")))
    return view


def new_dict(capture: Capture, value: dict[Any, Any], path: Path) -> Any:
    """The view of a dict before it is filled."""
    kind = type(value)
    capture.guard(path, "type", kind)
    view: Any = kind.__new__(kind)
    if isinstance(value, collections.defaultdict):
        view.default_factory = capture.view(value.default_factory, path.attr("default_factory"))
        if value.default_factory in (int, float):
            capture.tallies.add(path)
    elif kind is collections.Counter:
        capture.tallies.add(path)
    return capture.remember(value, view, path)


def fill_dict(
    capture: Capture,
    value: dict[Any, Any],
    view: dict[Any, Any],
    path: Path,
    see: Callable[[Capture, Any, Path], Any] = _view,
) -> None:
    """Put the views of the items into the copy; ``see`` gives what is seen of each."""
    pairs = list(_pairs(value))
    keys = tuple(key for key, _ in pairs)
    base = base_of(value)
    _guard_members(capture, path if type(value) in OWN_KEYS else _members(path, value), keys)
    # JAX's pytrees put a dict together again with its keys sorted (a training step does, the first time).
    # Items are looked at in that order, so that the inputs come in the same order before and after, and what
    # has been compiled for the one serves the other.
    views: list[Any] = [None] * len(pairs)
    for i in _pytree_order(keys):
        key, item = pairs[i]
        views[i] = see(capture, item, _item(capture, value, path, key, i))
    for i, key in enumerate(keys):
        base.__setitem__(view, _view_member(capture, key, _member(path, value, i)), views[i])
    if _has_moved_keys(value, view):
        _put_where_they_were(value, view, views)


# Going over one of these gives its keys, whatever subclass of the user's there is.
OWN_KEYS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)


def _pytree_order(keys: tuple[Any, ...]) -> list[int]:
    """The positions of the keys, sorted by key if that calls no code of the user's."""
    positions = list(range(len(keys)))
    return sorted(positions, key=keys.__getitem__) if {*map(type, keys)} in ({str}, {int}) else positions


def _item(capture: Capture, value: dict[Any, Any], path: Path, key: Any, index: int) -> Path:
    """The path of an item of a dict: by its position if the key is an object.

    Then reading it calls no code of the key's, and every dict with such keys is served by one program.
    """
    by_key = element(path, value, key)
    if is_by_value(key):
        return by_key
    place = path.to("values", base_of(value).__name__).to("item", index, str(by_key))
    capture.keyed[place] = by_key
    return place


# -- what is hashed: elements of a set, keys of a dict --------------------------------------------------


def _guard_members(capture: Capture, place: Path, members: Sequence[Any]) -> None:
    """The guard on what is in a set, or on the keys of a dict, but for objects: these have their own."""
    wanted = tuple(map(_as_guarded, members))
    if members and all(member is ANYTHING for member in wanted):
        capture.guard(place, "len", len(wanted))
    else:
        capture.guard(place, "keys", wanted)


def _as_guarded(value: Any) -> Any:
    if _needs_no_view(value):
        return value
    if isinstance(value, tuple):
        return tuple.__new__(type(value), map(_as_guarded, tuple.__iter__(value)))
    return ANYTHING


def _needs_no_view(value: Any) -> bool:
    return is_by_value(value) or (isinstance(value, type) and not can_hook(value))


def _view_member(capture: Capture, value: Any, path: Path) -> Any:
    """An element or a key. What is guarded together with the others is the same at every call."""
    if _needs_no_view(value):
        return value
    if isinstance(value, tuple) and id(value) not in capture.entries:
        return view_tuple(capture, value, path, _view_member)
    return _view_hashed(capture, value, path)


def _member(path: Path, container: Any, index: int) -> Path:
    return _members(path, container).to("item", index, f"list({path})[{index}]")


def _view_hashed(capture: Capture, value: Any, path: Path) -> Any:
    """An object among them: a weak reference must be found there as it is."""
    if not isinstance(value, weakref.ref):
        return capture.view(value, path)
    capture.guard(path, "is", value)
    target: Any = value()
    if target is not None and capture.view(target, path.to("call", ())) is not target:
        capture.report_frozen(
            f"{path} refers to a {type(target).__name__}, which traced code reaches past freshjit",
            "Keep the thing itself where it can be found, or refer to an object that holds it.",
        )
    return capture.remember(value, value, path)


def _has_moved_keys(value: dict[Any, Any], view: dict[Any, Any]) -> bool:
    """Whether there are keys whose hash, or what they are equal to, has changed since they were put in.

    Python does not find these, or finds others; the copy would have them where they are looked for.
    """
    if base_of(value) is not dict:  # an OrderedDict does not even go over such keys
        return False
    if dict.__len__(view) != dict.__len__(value):
        return True
    keys = (
        key for key in dict.__iter__(value) if type(class_entry(type(key), "__hash__")) is types.FunctionType
    )
    return not all(dict.__contains__(value, key) for key in keys)


def _put_where_they_were(value: dict[Any, Any], view: dict[Any, Any], views: list[Any]) -> None:
    """Put items into the copy under the hashes that their keys had when they were put in.

    Sets and dicts that are made of one another ask no key for its hash.
    """
    dict.clear(view)
    rest = dict.copy(value)
    keys, single = set(rest), list[set[Any]]()
    while rest:
        rest.popitem()
        fewer = set(rest)
        single.append(keys - fewer)
        keys = fewer
    for key, item in zip(reversed(single), views, strict=True):
        dict.update(view, dict.fromkeys(key, item))


def view_set(capture: Capture, value: set[Any] | frozenset[Any], path: Path) -> Any:
    """A set or frozenset, or an instance of a subclass of one."""
    kind: Any = type(value)
    elements = members(value)
    capture.guard(path, "type", kind)
    if isinstance(value, frozenset):
        views = _view_elements(capture, value, elements, path)
        view = value if _same_things(views, elements) else _frozenset_of(capture, kind, views, path)
        return _remember(capture, value, view, path)
    view = _copy_of_set(value, elements)
    _remember(capture, value, view, path)
    views = _view_elements(capture, value, elements, path)
    if not _same_things(views, members(view)):
        set.clear(view)
        set.update(view, views)
        if isinstance(view, OrderedSet):
            view.put_in_order(views)
        _check_order(capture, view, views, path)
    capture.mutable(SetCopy(view, path))
    return view


def _view_elements(capture: Capture, value: Any, elements: list[Any], path: Path) -> list[Any]:
    """The views of the elements, in order."""
    _guard_members(capture, path if type(value) in (set, frozenset) else _members(path, value), elements)
    return [_view_member(capture, part, _member(path, value, i)) for i, part in enumerate(elements)]


def _copy_of_set(value: set[Any], elements: list[Any]) -> Any:
    """A copy in the same order, which calls no ``__hash__`` of the user's; of the same class, if that can be.

    A copy of a set that once held more may have another order; and a view that is not the thing itself (a
    clone of a function) has another hash.
    """
    kind = type(value)
    view = kind.__new__(kind)
    if kind is set and not all(map(_is_seen_as_itself, elements)):
        return OrderedSet(elements)
    for fill in _WAYS_TO_FILL:
        set.clear(view)
        fill(view, value, elements)
        same_order = _same_things(members(view), elements)
        if same_order and set.__sizeof__(view) == set.__sizeof__(value):
            return view  # what is added comes to the same place, too
    set.clear(view)
    set.update(view, value)
    return view if _same_things(members(view), elements) or kind is not set else OrderedSet(elements)


def _fill_one_by_one(view: set[Any], value: set[Any], elements: list[Any]) -> None:
    if all(is_by_value(e) or type(e).__hash__ is object.__hash__ for e in elements):
        set.update(view, iter(elements))


# A table is larger or smaller, and its elements in another order, according to how it was filled.
_WAYS_TO_FILL: tuple[Callable[[set[Any], set[Any], list[Any]], None], ...] = (
    lambda view, value, elements: set.update(view, value),
    _fill_one_by_one,
    lambda view, value, elements: set.update(view, value, dict.fromkeys(value)),
)


def _is_seen_as_itself(value: Any) -> bool:
    if isinstance(value, (tuple, frozenset)):
        return all(map(_is_seen_as_itself, base_of(value).__iter__(value)))
    if is_by_value(value) or isinstance(value, (type, weakref.ref, np.generic)) or is_value_like(value):
        return True
    return can_hook(type(value)) and type(value).__hash__ is not None


def _frozenset_of(capture: Capture, kind: Any, views: list[Any], path: Path) -> Any:
    if kind is frozenset:
        return OrderedFrozenset(views)
    view = frozenset.__new__(kind, views)
    _check_order(capture, view, views, path)
    return view


def _check_order(capture: Capture, view: Any, wanted: list[Any], path: Path) -> None:
    if not _same_things(members(view), wanted):
        capture.report_frozen(
            f"{path} is a set that was seen in another order than its own",
            "If the order matters, keep the elements in a list.",
        )


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


def view_buffer(capture: Capture, value: Any, path: Path) -> Any:
    """Numbers in a mutable buffer of Python's: a copy, guarded by its bytes."""
    kind: Any = type(value)
    capture.guard(path, "type", kind)
    contents = bytes(memoryview(value))
    if isinstance(value, array.array):
        view = array.array.__new__(kind, value.typecode, contents)
        capture.guard(path.attr("typecode"), "value", value.typecode)
    else:
        view = bytearray.__new__(kind)
        bytearray.__init__(view, contents)
    capture.guard(path, "buffer", contents)
    _remember(capture, value, view, path)
    capture.mutable(BufferCopy(view, path))
    return view


def view_memory(capture: Capture, value: memoryview, path: Path) -> Any:
    """A ``memoryview``: the same part of the view of the thing whose memory it shows."""
    owner = value.obj
    if not isinstance(owner, (bytes, bytearray, array.array)) or not value.c_contiguous:
        raise UnsupportedStateError(
            f"{path} is a memoryview of a {type(owner).__name__}, which freshjit cannot follow (read at "
            f"{user_line()}).\nUse the thing itself, or pass the numbers as an argument."
        )
    capture.guard(path, "is", value)
    start = _address(value) - _address(owner)
    flat = memoryview(capture.view(owner, path.attr("obj"))).cast("B")[start : start + value.nbytes]
    kind: Any = value.format
    view = flat.cast(kind, value.shape or ()) if value.ndim > 1 else flat if kind == "B" else flat.cast(kind)
    return capture.remember(value, view.toreadonly() if value.readonly else view, path)


def _address(memory: Any) -> int:
    return np.frombuffer(memory, np.uint8).__array_interface__["data"][0] if len(memory) else 0


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
    """A read-only view of a mapping: of what traced code sees of that one."""
    capture.guard(path, "type", types.MappingProxyType)
    (mapping,) = gc.get_referents(value)
    view = types.MappingProxyType(capture.view(mapping, path.to("mapping")))
    return capture.remember(value, view, path)


DICT_VIEWS = {
    type(getattr(kind(), name)()): name
    for kind in (dict, collections.OrderedDict)
    for name in ("keys", "values", "items")
}


def view_dict_view(capture: Capture, value: Any, path: Path) -> Any:
    """What ``d.keys()``, ``d.values()`` or ``d.items()`` gave outside: it shows the dict as it is now."""
    capture.guard(path, "type", type(value))
    mapping = capture.view(value.mapping, path.attr("mapping"))
    return capture.remember(value, getattr(mapping, DICT_VIEWS[type(value)])(), path)


def view_subclass(capture: Capture, value: Any, path: Path) -> Any:
    """An instance of the user's own subclass of a container that can change: a shadow of the same class."""
    kind: Any = type(value)
    capture.guard(path, "type", kind)
    view = kind.__new__(kind)
    if isinstance(value, collections.deque):
        capture.guard(path.attr("maxlen"), "value", value.maxlen)
        collections.deque.__init__(view, (), value.maxlen)
    objects.adopt_object(capture, value, view, path)
    if isinstance(value, dict):
        if isinstance(value, collections.defaultdict):
            view.default_factory = capture.view(value.default_factory, path.attr("default_factory"))
        fill_dict(capture, value, view, path)
        capture.mutable(MappingCopy(view, path, ("setitem", "delitem")))
        if objects.instance_dict(value) is value:
            capture.guard(path.to("dict"), "alias", path)
            capture.objects[id(view)].share(objects.OwnItems(view))
        return view
    capture.guard(*_length(path, value))
    items = enumerate(items_of(value))
    base_of(view).extend(view, [capture.view(item, element(path, value, i)) for i, item in items])
    capture.mutable(SequenceCopy(view, path))
    return view


# The containers that JAX takes apart and rebuilds.
REBUILT = (list, dict, collections.deque, collections.OrderedDict, collections.defaultdict)


def watch_argument(capture: Capture, value: Any, path: Path) -> None:
    """Watch a container among the traced arguments (JAX has rebuilt it: it is the view already)."""
    if isinstance(value, dict):
        capture.mutable(MappingCopy(value, path, ("setitem", "delitem")))
    else:
        capture.mutable(SequenceCopy(value, path))


def put_in_order(capture: Capture, rebuilt: dict[Any, Any], original: dict[Any, Any], path: Path) -> None:
    """Give a dict among the traced arguments, which JAX has rebuilt with sorted keys, the caller's order."""
    if len(original) > 1:
        capture.guard(path, "keys", tuple(original))
        items = {key: rebuilt[key] for key in original}
        base_of(rebuilt).clear(rebuilt)
        base_of(rebuilt).update(rebuilt, items)
