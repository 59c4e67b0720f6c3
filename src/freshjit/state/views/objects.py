"""Views of objects: the real thing, with its attributes read and written through the capture.

Traced code holds the real object, so ``isinstance``, ``type``, ``is`` and ``super`` behave as always.
The class hooks send attribute access here. What was read or written stands in the capture's
``ObjectState``; the object itself is not touched before the commit.
"""

from __future__ import annotations

import enum
import threading
import types
import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from freshjit.errors import UnsupportedStateError
from freshjit.state.contents import moved
from freshjit.state.guards import SourceLine, user_line
from freshjit.state.hooks import GAP, comes_first, find_entry, is_data_descriptor
from freshjit.state.libraries import is_library_function
from freshjit.state.path import Path
from freshjit.state.record import Last, Write
from freshjit.state.values import is_plain
from freshjit.state.views.classes import (
    ClassState,
    class_path,
    delete_class_entry,
    guard_classless,
    note_classless,
    note_lacking,
    owner_of,
    read_class_entry,
    read_slot,
    slot_now,
    takes_writes,
    write_class_entry,
)
from freshjit.state.views.exceptions import ORIGINS, ExceptionState, is_as_before

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

_thread_local: Any = threading.local


class ObjectState:
    """What one captured object looks like to the traced code.

    Attributes:
        original: the real object.
        view: what traced code holds: the same object, or a shadow for subclasses of containers.
        attrs: the instance dictionary as traced code sees it, as far as it was read or written.
        initial: what was there first, for each name that was read.
        elsewhere: attributes that other threads have written meanwhile (see ``Hooks``).
        moved: attributes that were deleted and set again: they come last now.
    """

    __slots__ = (
        "attrs",
        "complete",
        "deleted",
        "elsewhere",
        "initial",
        "moved",
        "original",
        "path",
        "plain_access",
        "real",
        "shares_dict",
        "slots",
        "slots_initial",
        "snapshot_of_real",
        "view",
        "where",
    )

    def __init__(self, original: Any, view: Any, path: Path, elsewhere: set[tuple[int, str]]) -> None:
        self.original, self.view, self.path = original, view, path
        self.elsewhere = elsewhere
        self.attrs: MutableMapping[str, Any] = {}
        self.initial: dict[str, Any] = {}
        self.slots: dict[str, Any] = {}
        self.slots_initial: dict[str, Any] = {}
        self.deleted: set[str] = set()
        self.moved: set[str] = set()
        self.complete = False
        self.where: dict[str, SourceLine | None] = {}
        self.shares_dict = False
        self.real: dict[str, Any] | None = instance_dict(original)
        self.snapshot_of_real = None if self.real is None else dict(self.real)
        cls = type(original)
        self.plain_access = find_entry(cls, "__getattribute__") is object.__getattribute__ and (
            find_entry(cls, "__getattr__") is GAP
        )

    def share(self, attrs: Any) -> None:
        """Its dictionary is another captured thing, which is seen as ``attrs`` and is written by itself."""
        self.attrs, self.initial = attrs, dict(attrs.items())
        self.complete = self.shares_dict = True

    def attribute(self, name: str) -> Path:
        """The path of an attribute that sits in the instance dictionary."""
        return self.path.attr(name) if self.plain_access else self.path.to("dictitem", name)

    def written(self) -> set[str]:
        """The names in the instance dictionary that traced code has given another value, or deleted."""
        adopt_all(self)
        changed = {n for n, v in self.attrs.items() if self.initial.get(n, GAP) is not v}
        return changed.union(self._gone())

    def _gone(self) -> dict[str, None]:
        """The names that traced code has deleted, be it from ``__dict__``, which then has all there were."""
        known = (self.snapshot_of_real or ()) if self.complete else ()
        return dict.fromkeys(n for n in (*self.deleted, *self.initial, *known) if n not in self.attrs)

    def set(self, name: str, value: Any) -> None:
        """``obj.name = value``, in the instance dictionary."""
        _adopt(self, name)
        self.attrs[name] = value
        if name in self.deleted:
            self.deleted.discard(name)
            self.moved.add(name)
        self.where[name] = user_line()

    def delete(self, capture: Capture, name: str) -> None:
        """``del obj.name``, from the instance dictionary."""
        if self.real is not None:
            _adopt(self, name)
        outside = self.real is not None and name in self.real
        if self.real is not None and not self.complete and name not in self.initial:
            # Also if it was written before it was read: what is there now has to be deleted, or cannot be.
            capture.guard(self.path, "present" if outside else "absent", name)
        if name not in self.attrs and (not outside or self.complete or name in self.deleted):
            raise AttributeError(name, name=name, obj=self.view)
        self.attrs.pop(name, None)
        self.deleted.add(name)
        self.where[name] = user_line()

    # -- Mutable --------------------------------------------------------------------------------

    def writes(self, capture: Capture) -> Iterator[Write]:
        if self.shares_dict:
            return
        adopt_all(self)
        cls = type(self.view)
        simple = find_entry(cls, "__setattr__") is object.__setattr__
        for name in self._gone():
            if self.real is not None and name in self.real:
                yield Write(self.path, "delattr", name, None, self.where.get(name))
        again = self._moved()
        for name in again:
            yield Write(self.path, "delattr", name, None, self.where.get(name))
        for name, value in self.attrs.items():
            if name in self.initial and self.initial[name] is value and name not in again:
                continue
            raw = find_entry(cls, name)
            plain = simple and (raw is GAP or not is_data_descriptor(raw)) and name.isidentifier()
            if plain:
                capture.guard(self.path.to("type"), "default", None)
            yield Write(self.path, "setattr" if plain else "setdict", name, value, self.where.get(name))
        for name, value in self.slots.items():
            if self.slots_initial.get(name, GAP) is value:
                continue
            if value is GAP:
                yield Write(self.path, "delattr", name, None, self.where.get(name))
            else:
                yield Write(self.path, "setslot", name, value, self.where.get(name))

    def _moved(self) -> list[str]:
        """The attributes that are there and have another place among the others now."""
        real = self.real or {}
        if not self.complete:
            return [name for name in self.attrs if name in real and name in self.moved]
        return moved(self.attrs, real)

    def start(self) -> Any:
        return dict(self.initial), dict(self.slots_initial), set[str](), set[str](), False

    def snapshot(self) -> Any:
        adopt_all(self)
        return dict(self.attrs), dict(self.slots), set(self._gone()), set(self.moved), self.complete

    def restore(self, snapshot: Any) -> None:
        attrs, slots, deleted, moved_before, self.complete = snapshot
        self.deleted, self.moved = set(deleted), set(moved_before)
        _replace(self.slots, slots, keep=self.slots_initial)
        _replace(self.attrs, attrs, keep=self.initial)

    def _order(
        self, attrs: Mapping[str, Any], deleted: set[str], again: set[str], complete: bool
    ) -> list[str]:
        """All names in the order that the dictionary has, or will have when it is complete."""
        if complete:
            return list(attrs)
        there = dict.fromkeys(n for n in self.real or () if n not in deleted and n not in again)
        return list(there | dict(attrs))

    def put_in_order(self) -> None:
        """Bring the attributes, read in any order so far, into that of the object's own dictionary."""
        names = self._order(self.attrs, self.deleted, self.moved, self.complete)
        ordered = {name: self.attrs[name] for name in names if name in self.attrs}
        self.attrs.clear()
        self.attrs.update(ordered)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        adopt_all(self)
        changed: dict[Any, Any] = {}
        attrs, _, deleted, moved_before, complete = snapshot
        order_before = self._order(attrs, deleted, moved_before, complete)
        last = set(moved(self._order(self.attrs, self.deleted, self.moved, self.complete), order_before))
        for kind, now, before, first in (
            ("attr", self.attrs, snapshot[0], self.initial),
            ("slot", self.slots, snapshot[1], self.slots_initial),
        ):
            for name, value in now.items():
                if kind == "attr" and name in last:
                    changed[Last((kind, name))] = value
                elif before.get(name, first.get(name, GAP)) is not value:
                    changed[kind, name] = value
            for name in before:
                if name not in now:
                    changed[kind, name] = GAP
        changed.update({("attr", n): GAP for n in self._gone() if n not in deleted})
        return changed

    def apply(self, changes: dict[Any, Any]) -> None:
        for change, value in changes.items():
            kind, name = Last.plain(change)
            target = self.attrs if kind == "attr" else self.slots
            if value is GAP and kind == "attr":
                target.pop(name, None)
                self.deleted.add(name)
            else:
                if type(change) is Last:
                    target.pop(name, None)
                    self.moved.add(name)
                elif kind == "attr" and name in self.deleted:
                    self.moved.add(name)
                target[name] = value
                self.deleted.discard(name)

    def content(self, key: Any) -> Any:
        kind, name = Last.plain(key)
        known = self.attrs if kind == "attr" else self.slots
        if known.get(name, GAP) is GAP:
            try:
                return getattr(self.view, name)  # not read so far: it is now, through the hooks
            except AttributeError:
                raise KeyError(name) from None
        return known[name]

    def place(self, key: Any) -> Path:
        kind, name = Last.plain(key)
        return self.attribute(name) if kind == "attr" else self.path.attr(name)


class OwnItems(MutableMapping[str, Any]):
    """The attributes of a dict that is its own ``__dict__``: its items, past the methods of its class."""

    def __init__(self, items: dict[str, Any]) -> None:
        self._items = items

    def __getitem__(self, name: str) -> Any:
        return dict.__getitem__(self._items, name)

    def __setitem__(self, name: str, value: Any) -> None:
        dict.__setitem__(self._items, name, value)

    def __delitem__(self, name: str) -> None:
        dict.__delitem__(self._items, name)

    def __iter__(self) -> Iterator[str]:
        return dict.__iter__(self._items)

    def __len__(self) -> int:
        return dict.__len__(self._items)


def _replace(target: MutableMapping[str, Any], old: dict[str, Any], keep: dict[str, Any]) -> None:
    """Back to ``old``, except that what has been read since stays known as read."""
    read_since = {n: keep[n] for n in target if n in keep and n not in old}
    target.clear()
    target.update(old)
    target.update(read_since)


def instance_dict(value: Any) -> dict[str, Any] | None:
    try:
        # A thread-local has a dictionary for each thread, which only its own base class hands out.
        access = (
            _thread_local.__getattribute__
            if issubclass(type(value), _thread_local)  # not isinstance, which may run the class's own code
            else object.__getattribute__
        )
        namespace = access(value, "__dict__")
    except AttributeError:
        return None
    return namespace if isinstance(namespace, dict) else None


# -- bypassed writes --------------------------------------------------------------------------------


def _adopt(state: ObjectState, name: str) -> None:
    """Notice a write that went around the hooks (C code, a library's ``object.__setattr__``)."""
    if not _is_bypassed(state, name):
        return
    assert state.real is not None
    now = state.real.get(name, GAP)
    if now is GAP:
        state.attrs.pop(name, None)
        state.deleted.add(name)
    else:
        state.attrs[name] = now
        state.where.setdefault(name, user_line())
    _undo_bypass(state, name)


def _undo_bypass(state: ObjectState, name: str) -> None:
    assert state.real is not None
    assert state.snapshot_of_real is not None
    if name in state.snapshot_of_real:
        state.real[name] = state.snapshot_of_real[name]
    else:
        state.real.pop(name, None)


def _is_bypassed(state: ObjectState, name: str) -> bool:
    """Whether this thread has written the attribute around the hooks."""
    real, before = state.real, state.snapshot_of_real
    if real is None or before is None or real.get(name, GAP) is before.get(name, GAP):
        return False
    return (id(state.original), name) not in state.elsewhere


def _bypassed(state: ObjectState) -> list[str]:
    names = dict.fromkeys([*(state.real or ()), *(state.snapshot_of_real or ())])
    return [name for name in names if _is_bypassed(state, name)]


def adopt_all(state: ObjectState) -> None:
    for name in _bypassed(state):
        _adopt(state, name)


def roll_back(capture: Capture) -> None:
    """Put back every real thing that traced code managed to change directly."""
    for state in capture.objects.values():
        for name in _bypassed(state):
            _undo_bypass(state, name)
    for thing in capture.mutables:
        if isinstance(thing, ClassState):
            thing.take_over()
        elif isinstance(thing, ExceptionState):
            thing.put_back()


# -- views ------------------------------------------------------------------------------------------


def view_object(capture: Capture, value: Any, path: Path) -> Any:
    capture.guard(path, "type", type(value))
    return adopt_object(capture, value, value, path)


def adopt_object(capture: Capture, original: Any, view: Any, path: Path) -> Any:
    """Make the capture know an object: from now on its attributes are read and written through it."""
    capture.remember(original, view, path)
    capture.hooks.add(type(view))  # first: what other threads write from now on is known to be theirs
    state = ObjectState(original, view, path, capture.hooks.elsewhere)
    other = None if state.real is None else capture.owner_of_dict.setdefault(id(state.real), state)
    if other is not None and other is not state:  # self.__dict__ = shared
        capture.guard(path.to("dict"), "alias", other.path.to("dict"))
        state.attrs, state.initial, state.deleted = other.attrs, other.initial, other.deleted
        state.shares_dict = True
    elif state.real is not None and state.real is not original and id(state.real) in capture.entries:
        state.share(capture.view(state.real, path.to("dict")))  # self.__dict__ = a dict that is known
    capture.objects[id(view)] = state
    capture.mutable(state)
    if issubclass(type(view), BaseException):
        capture.mutable(ExceptionState(view, path))
    return view


def known_member(capture: Capture, member: enum.Enum) -> ObjectState | None:
    """The books on a member that traced code has got from its class; None for a combination of flags."""
    cls, name = type(member), member._name_
    if cls.__members__.get(name) is not member:
        return None
    path = class_path(capture, cls, None).item(name)
    capture.guard(path, "is", member)
    adopt_object(capture, member, member, path)
    return capture.objects[id(member)]


def view_property(capture: Capture, value: property, path: Path) -> Any:
    """A property that is used by itself: ``Base.rate.fset(self, 2)``; or of a subclass with its own methods.

    The same of views of its functions, which Python's methods of ``property`` then call.
    """
    kind: Any = type(value)
    capture.guard(path, "type", kind)
    parts = [property.__dict__[name].__get__(value) for name in _PROPERTY_PARTS]
    views = [capture.view(part, path.attr(name)) for name, part in zip(_PROPERTY_PARTS, parts, strict=True)]
    view = property.__new__(kind)
    property.__init__(view, *views)
    if kind is property:
        return capture.remember(value, view, path)
    return adopt_object(capture, value, view, path)


_PROPERTY_PARTS = ("fget", "fset", "fdel")


def view_weak_proxy(capture: Capture, value: Any, path: Path) -> Any:
    """A ``weakref.proxy``: the attributes are those of the object that it stands for."""
    capture.guard(path, "type", type(value))
    try:
        with capture.paused():
            target = value.__reduce_ex__.__self__  # the proxy hands out the methods of its object
    except ReferenceError:
        raise UnsupportedStateError(
            f"{path} is a weakref.proxy whose object is gone (read at {user_line()}): what it stood for "
            "cannot be compared.\nKeep a weakref.ref, which says whether there still is an object."
        ) from None
    place = path.to("attr", "__reduce_ex__", str(path)).to("attr", "__self__", str(path))
    view = capture.view(target, place)
    capture.keep(view)
    return capture.remember(value, value if view is target else weakref.proxy(view), path)


# -- reading ----------------------------------------------------------------------------------------


def read(capture: Capture, state: ObjectState, name: str) -> Any:
    """``obj.name`` for a captured object, as Python would find it."""
    cls = type(state.view)
    custom = find_entry(cls, "__getattribute__")
    try:
        if isinstance(custom, types.FunctionType) and not is_library_function(custom):
            owner = owner_of(cls, "__getattribute__")
            getter = read_class_entry(capture, owner, "__getattribute__", custom, None, cls)
            return getter(state.view, name)
        return default_read(capture, state, name)
    except AttributeError:
        fallback = find_entry(cls, "__getattr__")
        if not isinstance(fallback, types.FunctionType):
            if fallback is GAP:
                guard_classless(capture, cls, state.path.to("type"), "__getattr__")
            raise
        getter = read_class_entry(capture, owner_of(cls, "__getattr__"), "__getattr__", fallback, None, cls)
        return getter(state.view, name)


def has_of_its_own(capture: Capture, state: ObjectState, name: str) -> bool:
    """Whether an attribute is found in the instance dictionary for certain; its value is not looked at."""
    if state.real is None or not state.plain_access or find_entry(type(state.view), name) is not GAP:
        return False
    _adopt(state, name)
    if name in state.attrs:
        return True
    if state.complete or name in state.deleted or name not in state.real:
        return False
    capture.guard(state.attribute(name), "there", None)
    return True


def has_attribute(capture: Capture, state: ObjectState, name: str) -> bool:
    """Whether the object has the attribute, of its own or from its class; no property runs."""
    cls = type(state.view)
    raw = find_entry(cls, name)
    if isinstance(raw, property):
        return True
    if raw is not GAP:
        return getattr(state.view, name, None) is not None  # read, so that it is noticed if it goes away
    if state.real is None:
        return False
    _adopt(state, name)
    if name in state.attrs:
        return True
    if name in state.real and name not in state.deleted:
        capture.guard(state.path, "present", name)
        return True
    capture.guard(state.path, "absent", name)
    note_classless(capture, cls, name)
    return False


def default_read(capture: Capture, state: ObjectState, name: str) -> Any:
    """What ``object.__getattribute__`` does, on the traced code's view of the object."""
    cls = type(state.view)
    raw = find_entry(cls, name)
    if raw is not GAP and comes_first(raw):
        if isinstance(raw, types.MemberDescriptorType):
            return read_slot(capture, state, name, raw)
        if name == "__dict__":
            return whole_dict(capture, state)
        if isinstance(raw, types.GetSetDescriptorType) or _is_builtin(cls, name):
            held = object.__getattribute__(state.view, name)  # by C: the arguments of an error…
            if name in ORIGINS and is_as_before(capture, state.view, name):
                return capture.view(held, state.path.attr(name))
            is_state = not name.startswith("__") and (is_plain(held) or type(held) is tuple)
            is_state = is_state and state.view is state.original  # a copy's own is no state
            return capture.view(held, state.path.attr(name)) if is_state else held
        return read_class_entry(capture, owner_of(cls, name), name, raw, state.view, cls)
    if state.real is not None:
        _adopt(state, name)
        if name in state.attrs:
            return state.attrs[name]
        if not state.complete and name not in state.deleted and name in state.real:
            value, path = state.real[name], state.attribute(name)
            growing = capture.only_appended_to(value, path, name, put_back=True)
            if growing is not GAP:
                return growing
            state.attrs[name] = state.initial[name] = capture.view(value, path)
            return state.attrs[name]
    if raw is not GAP:
        if _is_builtin(cls, name):
            return object.__getattribute__(state.view, name)
        if state.real is not None and name not in state.deleted and name not in state.real:
            capture.guard(state.path, "absent", name)
        return read_class_entry(capture, owner_of(cls, name), name, raw, state.view, cls)
    if state.real is not None and name not in state.deleted and name not in state.real:
        capture.guard(state.path, "absent", name)
    if not capture.hooks.deleted(cls, name):
        guard_classless(capture, cls, state.path.to("type"), name)
    raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}", name=name, obj=state.view)


def _is_builtin(cls: type, name: str) -> bool:
    """Whether the entry is one of Python's own (``object.__eq__``, ``list.append``)."""
    owner = owner_of(cls, name)
    return not owner.__flags__ & (1 << 9) or (owner.__module__ == "typing")


def whole_dict(capture: Capture, state: ObjectState) -> Any:
    """``vars(obj)``: all attributes are read; the dictionary handed out is the view's own."""
    if state.real is None:
        raise AttributeError("__dict__", name="__dict__", obj=state.view)
    if not state.complete:
        adopt_all(state)
        capture.guard(state.path.to("dict"), "keys", tuple(state.real))
        for name, value in list(state.real.items()):
            if name not in state.attrs and name not in state.deleted:
                hidden = comes_first(find_entry(type(state.view), name))
                path = state.path.to("dictitem", name) if hidden else state.attribute(name)
                state.attrs[name] = state.initial[name] = capture.view(value, path)
        state.put_in_order()
        state.complete = True
        capture.remember(state.real, state.attrs, state.path.to("dict"))
    return state.view if isinstance(state.attrs, OwnItems) else state.attrs


# -- writing ----------------------------------------------------------------------------------------


def write(capture: Capture, state: ObjectState, name: str, value: Any) -> None:
    """``obj.name = value`` for a captured object."""
    cls = type(state.view)
    custom = find_entry(cls, "__setattr__")
    value = capture.assigned(value, _unseen(state, name) if custom is object.__setattr__ else GAP)
    if value is GAP:
        return
    if isinstance(custom, types.FunctionType) and not is_library_function(custom):
        owner = owner_of(cls, "__setattr__")
        read_class_entry(capture, owner, "__setattr__", custom, None, cls)(state.view, name, value)
        return
    if isinstance(custom, types.FunctionType) or _is_another(custom, "__setattr__"):
        custom(state.view, name, value)
        return
    if custom is object.__setattr__:
        capture.guard(state.path.to("type"), "default", None)
    default_write(capture, state, name, value)


def _unseen(state: ObjectState, name: str) -> Any:
    """What the real object has there, if traced code has neither looked at it nor assigned it; else GAP."""
    raw = find_entry(type(state.view), name)
    if isinstance(raw, types.MemberDescriptorType):
        return GAP if name in state.slots else slot_now(state, raw)
    if state.real is None or (raw is not GAP and is_data_descriptor(raw)):
        return GAP
    _adopt(state, name)
    is_seen = state.complete or name in state.attrs or name in state.deleted
    return GAP if is_seen else state.real.get(name, GAP)


def _is_another(method: Any, name: str) -> bool:
    """Whether a class has some other method of C in that place: ``__setattr__ = dict.__setitem__``."""
    return getattr(method, "__name__", name) != name


def default_write(capture: Capture, state: ObjectState, name: str, value: Any) -> None:
    """What ``object.__setattr__`` does, on the traced code's view of the object."""
    cls = type(state.view)
    if name == "__class__":
        raise UnsupportedStateError(
            f"{state.path}.__class__ was assigned inside a jitted function (at {user_line()}).\n"
            "Change the class of an object outside."
        )
    if name == "__dict__":
        _replace_dict(capture, state, value)
        return
    raw = find_entry(cls, name)
    if raw is not GAP and takes_writes(capture, raw):
        write_class_entry(capture, owner_of(cls, name), name, raw, state.view, value)
        return
    if state.real is None:
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}", name=name, obj=state.view)
    state.set(name, value)


def _replace_dict(capture: Capture, state: ObjectState, new: Any) -> None:
    """``obj.__dict__ = new``: whoever has the old dictionary keeps it, and the new one is the object's."""
    if not isinstance(new, dict):
        raise TypeError(f"__dict__ must be set to a dictionary, not a '{type(new).__name__}'")
    others = capture.objects.values()
    if state.shares_dict or capture.original_of(new) or any(other.attrs is new for other in others):
        raise UnsupportedStateError(
            f"{state.path}.__dict__ was given a dictionary that is something else's, too, inside a jitted "
            f"function (at {user_line()}).\nGive it a copy, or do it outside."
        )
    old = whole_dict(capture, state)
    del capture.views[id(old)]
    capture.keep(old)
    state.attrs = new
    capture.remember(state.real, new, state.path.to("dict"))


def delete(capture: Capture, state: ObjectState, name: str) -> None:
    """``del obj.name`` for a captured object."""
    cls = type(state.view)
    custom = find_entry(cls, "__delattr__")
    if isinstance(custom, types.FunctionType):
        owner = owner_of(cls, "__delattr__")
        read_class_entry(capture, owner, "__delattr__", custom, None, cls)(state.view, name)
        return
    if _is_another(custom, "__delattr__"):
        custom(state.view, name)
        return
    note_lacking(capture, state.view, "__delattr__")
    default_delete(capture, state, name)


def default_delete(capture: Capture, state: ObjectState, name: str) -> None:
    """What ``object.__delattr__`` does, on the traced code's view of the object."""
    cls = type(state.view)
    raw = find_entry(cls, name)
    if name == "__dict__":
        default_write(capture, state, name, {})
        return
    if raw is not GAP and takes_writes(capture, raw):
        delete_class_entry(capture, owner_of(cls, name), name, raw, state.view)
        return
    try:
        state.delete(capture, name)
    except AttributeError:
        if raw is GAP:
            note_classless(capture, cls, name)
        raise
