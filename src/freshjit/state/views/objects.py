"""Views of objects and classes: the real thing, with its attributes read and written through the capture.

Traced code holds the real object, so ``isinstance``, ``type``, ``is`` and ``super`` behave as always.
The class hooks send attribute access here. What was read or written stands in the capture's
``ObjectState``; the object itself is not touched before the commit.
"""

from __future__ import annotations

import enum
import functools
import threading
import types
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jax

from freshjit import _compat
from freshjit.errors import UnsupportedStateError
from freshjit.state import hooks
from freshjit.state.guards import SourceLine, user_line
from freshjit.state.hooks import GAP, class_entry, is_data_descriptor
from freshjit.state.libraries import is_library_function
from freshjit.state.path import Path
from freshjit.state.record import Write
from freshjit.state.values import is_plain

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

_MISSING: Any = GAP
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
        self.attrs: dict[str, Any] = {}
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
        self.plain_access = _entry(cls, "__getattribute__") is object.__getattribute__ and (
            _entry(cls, "__getattr__") is _MISSING
        )

    def attribute(self, name: str) -> Path:
        """The path of an attribute that sits in the instance dictionary."""
        return self.path.attr(name) if self.plain_access else self.path.to("dictitem", name)

    def written(self) -> set[str]:
        """The names in the instance dictionary that traced code has given another value, or deleted."""
        adopt_all(self)
        changed = {n for n, v in self.attrs.items() if self.initial.get(n, _MISSING) is not v}
        return changed | self.deleted

    # -- Mutable --------------------------------------------------------------------------------

    def writes(self, capture: Capture) -> Iterator[Write]:
        if self.shares_dict:
            return
        adopt_all(self)
        cls = type(self.view)
        simple = _entry(cls, "__setattr__") is object.__setattr__
        gone = dict.fromkeys([*self.deleted, *(n for n in self.initial if n not in self.attrs)])
        for name in gone:
            if name not in self.attrs and self.real is not None and name in self.real:
                yield Write(self.path, "delattr", name, None, self.where.get(name))
        moved = self._moved()
        for name in moved:
            yield Write(self.path, "delattr", name, None, self.where.get(name))
        for name, value in self.attrs.items():
            if name in self.initial and self.initial[name] is value and name not in moved:
                continue
            raw = _entry(cls, name)
            plain = simple and (raw is _MISSING or not is_data_descriptor(raw)) and name.isidentifier()
            if plain:
                capture.guard(self.path.to("type"), "default", None)
            yield Write(self.path, "setattr" if plain else "setdict", name, value, self.where.get(name))
        for name, value in self.slots.items():
            if self.slots_initial.get(name, _MISSING) is value:
                continue
            if value is _MISSING:
                yield Write(self.path, "delattr", name, None, self.where.get(name))
            else:
                yield Write(self.path, "setslot", name, value, self.where.get(name))

    def _moved(self) -> list[str]:
        """The attributes that are there and have another place among the others now."""
        real = self.real or {}
        now = [name for name in self.attrs if name in real]
        if not self.complete:
            return [name for name in now if name in self.moved]
        kept = (name for name in real if name in self.attrs)
        return now[next((i for i, (a, b) in enumerate(zip(now, kept, strict=True)) if a != b), len(now)) :]

    def start(self) -> Any:
        return dict(self.initial), dict(self.slots_initial), set[str]()

    def snapshot(self) -> Any:
        adopt_all(self)
        return dict(self.attrs), dict(self.slots), set(self.deleted)

    def restore(self, snapshot: Any) -> None:
        attrs, slots, deleted = snapshot
        _replace(self.attrs, attrs, keep=self.initial)
        _replace(self.slots, slots, keep=self.slots_initial)
        self.deleted = set(deleted)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        adopt_all(self)
        changed: dict[Any, Any] = {}
        for kind, now, before, first in (
            ("attr", self.attrs, snapshot[0], self.initial),
            ("slot", self.slots, snapshot[1], self.slots_initial),
        ):
            for name, value in now.items():
                if before.get(name, first.get(name, _MISSING)) is not value:
                    changed[kind, name] = value
            for name in before:
                if name not in now:
                    changed[kind, name] = GAP
        return changed

    def apply(self, changes: dict[Any, Any]) -> None:
        for (kind, name), value in changes.items():
            target = self.attrs if kind == "attr" else self.slots
            if value is GAP and kind == "attr":
                target.pop(name, None)
                self.deleted.add(name)
            else:
                target[name] = value
                self.deleted.discard(name)

    def content(self, key: Any) -> Any:
        kind, name = key
        known = self.attrs if kind == "attr" else self.slots
        if known.get(name, GAP) is GAP:
            try:
                return getattr(self.view, name)  # not read so far: it is now, through the hooks
            except AttributeError:
                raise KeyError(name) from None
        return known[name]

    def place(self, key: Any) -> Path:
        kind, name = key
        return self.attribute(name) if kind == "attr" else self.path.attr(name)


def _replace(target: dict[str, Any], old: dict[str, Any], keep: dict[str, Any]) -> None:
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


def _entry(cls: type, name: str) -> Any:
    try:
        return class_entry(cls, name)
    except KeyError:
        return _MISSING


# -- bypassed writes --------------------------------------------------------------------------------


def _adopt(state: ObjectState, name: str) -> None:
    """Notice a write that went around the hooks (C code, a library's ``object.__setattr__``)."""
    if not _is_bypassed(state, name):
        return
    assert state.real is not None
    now = state.real.get(name, _MISSING)
    if now is _MISSING:
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
    if real is None or before is None or real.get(name, _MISSING) is before.get(name, _MISSING):
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
    capture.objects[id(view)] = state
    capture.mutable(state)
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


def view_class(capture: Capture, value: type, path: Path) -> Any:
    capture.guard(path, "is", value)
    capture.remember(value, value, path)
    capture.hooks.add(value)
    capture.hooks.add(type(value))  # a metaclass of the user's has attributes and methods too
    return value


def adopt_argument(capture: Capture, rebuilt: Any, original: Any, path: Path) -> Any:
    """Make the capture know an argument that JAX has flattened and rebuilt with tracers.

    Containers are watched, so that changes made to them reach the caller's. Registered pytree nodes
    may have lost attributes that are no leaves: those are read from the caller's object.

    Returns what traced code is to hold: the same object for everything that is one object outside.
    """
    from freshjit.state.views import containers

    kind = type(rebuilt)
    if isinstance(rebuilt, _compat.Tracer):
        return capture.argument_leaf(rebuilt, original, path)
    if rebuilt is original or type(original) is not kind:
        return rebuilt
    if isinstance(rebuilt, tuple):
        return _adopt_tuple(capture, rebuilt, original, path)
    if kind not in containers.REBUILT and not hooks.can_hook(kind):
        return rebuilt
    known = capture.entries.get(id(original))
    if known is not None:
        capture.guard(path, "alias", known.path)
        return known.view
    capture.argument_containers.append(path)
    if kind not in containers.REBUILT:
        _adopt_node(capture, rebuilt, original, path)
        return rebuilt
    capture.remember(original, rebuilt, path)
    if kind in containers.OWN_KEYS:
        containers.put_in_order(capture, rebuilt, original, path)
    pairs = list(rebuilt.items()) if isinstance(rebuilt, dict) else enumerate(rebuilt)
    for key, item in pairs:
        rebuilt[key] = adopt_argument(capture, item, original[key], path.item(key))
    containers.watch_argument(capture, rebuilt, path)
    return rebuilt


def _adopt_tuple(capture: Capture, rebuilt: Any, original: Any, path: Path) -> Any:
    pairs = zip(tuple.__iter__(rebuilt), tuple.__iter__(original), strict=True)
    items = [adopt_argument(capture, item, was, path.item(i)) for i, (item, was) in enumerate(pairs)]
    if any(a is not b for a, b in zip(items, tuple.__iter__(rebuilt), strict=True)):
        rebuilt = tuple.__new__(type(rebuilt), items)
    if instance_dict(original):  # of a subclass of a named tuple
        return adopt_object(capture, original, rebuilt, path)
    return capture.argument_leaf(rebuilt, original, path)


def _adopt_node(capture: Capture, rebuilt: Any, original: Any, path: Path) -> None:
    capture.guard(path, "type", type(original))
    capture.remember(original, rebuilt, path)
    capture.hooks.add(type(rebuilt))
    state = ObjectState(original, rebuilt, path, capture.hooks.elsewhere)
    parts: list[tuple[str, Any]] = []
    for name, value in (instance_dict(rebuilt) or {}).items():
        if _holds_tracer(value):
            state.attrs[name] = state.initial[name] = value
            parts.append((name, value))
    for name, value in hooks.slot_values(rebuilt).items():
        if _holds_tracer(value):
            state.slots[name] = state.slots_initial[name] = value
            parts.append((name, value))
    capture.objects[id(rebuilt)] = state
    capture.mutable(state)
    for name, value in parts:
        seen = adopt_argument(capture, value, getattr(original, name, None), state.attribute(name))
        if seen is not value:  # what is one thing outside
            known, first = (
                (state.attrs, state.initial) if name in state.attrs else (state.slots, state.slots_initial)
            )
            known[name] = first[name] = seen


def _holds_tracer(value: Any) -> bool:
    return any(isinstance(leaf, _compat.Tracer) for leaf in jax.tree_util.tree_leaves(value))


# -- reading ----------------------------------------------------------------------------------------


def read(capture: Capture, state: ObjectState, name: str) -> Any:
    """``obj.name`` for a captured object, as Python would find it."""
    cls = type(state.view)
    custom = _entry(cls, "__getattribute__")
    try:
        if isinstance(custom, types.FunctionType) and not is_library_function(custom):
            owner = _owner(cls, "__getattribute__")
            getter = read_class_entry(capture, owner, "__getattribute__", custom, None, cls)
            return getter(state.view, name)
        return default_read(capture, state, name)
    except AttributeError:
        fallback = _entry(cls, "__getattr__")
        if not isinstance(fallback, types.FunctionType):
            if fallback is _MISSING:
                capture.guard(state.path.to("type"), "classless", "__getattr__")
            raise
        getter = read_class_entry(capture, _owner(cls, "__getattr__"), "__getattr__", fallback, None, cls)
        return getter(state.view, name)


def note_classless(capture: Capture, cls: type, name: str) -> None:
    """Traced code has found that the class (or its bases) has no such entry."""
    if hooks.can_hook(cls) and not capture.hooks.deleted(cls, name):
        capture.guard(class_path(capture, cls, None), "classless", name)


def has_attribute(capture: Capture, state: ObjectState, name: str) -> bool:
    """Whether the object has the attribute, of its own or from its class; no property runs."""
    cls = type(state.view)
    raw = _entry(cls, name)
    if isinstance(raw, property):
        return True
    if raw is not _MISSING:
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


def read_missing(capture: Capture, cls: type, name: str) -> Any:
    """``cls.name`` for a class without it, whose metaclass may have a ``__getattr__``."""
    meta = type(cls)
    note_classless(capture, cls, name)
    note_classless(capture, meta, name)
    fallback = _entry(meta, "__getattr__")
    if not isinstance(fallback, types.FunctionType):
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)
    getter = read_class_entry(capture, _owner(meta, "__getattr__"), "__getattr__", fallback, None, meta)
    return getter(cls, name)


def default_read(capture: Capture, state: ObjectState, name: str) -> Any:
    """What ``object.__getattribute__`` does, on the traced code's view of the object."""
    cls = type(state.view)
    raw = _entry(cls, name)
    if raw is not _MISSING and is_data_descriptor(raw):
        if isinstance(raw, types.MemberDescriptorType):
            return _read_slot(capture, state, name, raw)
        if name == "__dict__":
            return _whole_dict(capture, state)
        if isinstance(raw, types.GetSetDescriptorType) or _is_builtin(cls, name):
            held = object.__getattribute__(state.view, name)  # by C: the arguments of an error…
            is_state = not name.startswith("__") and (is_plain(held) or type(held) is tuple)
            is_state = is_state and state.view is state.original  # a copy's own is no state
            return capture.view(held, state.path.attr(name)) if is_state else held
        return read_class_entry(capture, _owner(cls, name), name, raw, state.view, cls)
    if state.real is not None:
        _adopt(state, name)
        if name in state.attrs:
            return state.attrs[name]
        if not state.complete and name not in state.deleted and name in state.real:
            value, path = state.real[name], state.attribute(name)
            growing = capture.only_appended_to(value, path, name)
            if growing is not GAP:
                return growing
            state.attrs[name] = state.initial[name] = capture.view(value, path)
            return state.attrs[name]
    if raw is not _MISSING:
        if _is_builtin(cls, name):
            return object.__getattribute__(state.view, name)
        if state.real is not None and name not in state.deleted and name not in state.real:
            capture.guard(state.path, "absent", name)
        return read_class_entry(capture, _owner(cls, name), name, raw, state.view, cls)
    if state.real is not None and name not in state.deleted and name not in state.real:
        capture.guard(state.path, "absent", name)
    if not capture.hooks.deleted(cls, name):
        capture.guard(state.path.to("type"), "classless", name)
    raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}", name=name, obj=state.view)


def _is_builtin(cls: type, name: str) -> bool:
    """Whether the entry is one of Python's own (``object.__eq__``, ``list.append``)."""
    owner = _owner(cls, name)
    return not owner.__flags__ & (1 << 9) or (owner.__module__ == "typing")


def _owner(cls: type, name: str) -> type:
    for base in cls.__mro__:
        if name in hooks.original_entries(base):
            return base
    raise KeyError(name)


def _read_slot(capture: Capture, state: ObjectState, name: str, raw: Any) -> Any:
    if name not in state.slots:
        path = state.path.attr(name)
        try:
            value = raw.__get__(state.original)
        except AttributeError:
            capture.guard(state.path, "unset", name)
            state.slots[name] = state.slots_initial[name] = _MISSING
        else:
            growing = capture.only_appended_to(value, path, name)
            if growing is not GAP:
                return growing
            state.slots[name] = state.slots_initial[name] = capture.view(value, path)
    value = state.slots[name]
    if value is _MISSING:
        raise AttributeError(name, name=name, obj=state.view)
    return value


def _whole_dict(capture: Capture, state: ObjectState) -> dict[str, Any]:
    """``vars(obj)``: all attributes are read; the dictionary handed out is the view's own."""
    if state.real is None:
        raise AttributeError("__dict__", name="__dict__", obj=state.view)
    if not state.complete:
        adopt_all(state)
        capture.guard(state.path.to("dict"), "keys", tuple(state.real))
        ordered: dict[str, Any] = {}
        for name, value in list(state.real.items()):
            if name in state.deleted or name in state.moved:
                continue
            if name not in state.attrs:
                state.attrs[name] = state.initial[name] = capture.view(value, state.attribute(name))
            ordered[name] = state.attrs[name]
        ordered.update(state.attrs)
        state.attrs.clear()
        state.attrs.update(ordered)
        state.complete = True
    return state.attrs


# -- class entries ----------------------------------------------------------------------------------


def class_path(capture: Capture, cls: type, instance: Any) -> Path:
    """A path to a class: where it was read, the type of a captured object, or the class by itself."""
    entry = capture.entries.get(id(cls))
    if entry is not None:
        return entry.path
    state = capture.objects.get(id(instance)) if instance is not None else None
    if state is not None and type(instance) is cls:
        path = state.path.to("type")
    else:
        path = Path.constant(cls, cls.__name__, keep=capture.has_made(cls))
        capture.guard(path, "is", cls)
    capture.remember(cls, cls, path)
    return path


def _entry_path(capture: Capture, owner: type, name: str, raw: Any, instance: Any, cls: type | None) -> Path:
    start = cls if cls is not None else owner
    direct = _entry(start, name) is raw
    base = start if direct else owner
    if base is not start:
        entry = capture.entries.get(id(base))
        if entry is None:
            mro = class_path(capture, start, instance).attr("__mro__")
            position = start.__mro__.index(base)
            path = mro.to("item", position, base.__name__)
            capture.guard(path, "is", base)
            capture.remember(base, base, path)
            capture.hooks.add(base)
    path = class_path(capture, base, instance)
    plain = isinstance(raw, types.FunctionType) or not hasattr(type(raw), "__get__")
    if direct and plain and name not in hooks.ATTRIBUTE_HOOKS:
        found = path.to("attr", name, _entry_label(path, name))
    else:
        found = path.to("classattr", name, _entry_label(path, name))
    return found


def _entry_label(path: Path, name: str) -> str:
    if path.step == "type" and path.parent is not None:
        return f"{path.parent.label}.{name}"
    return f"{path.label}.{name}"


def read_class_entry(
    capture: Capture, owner: type, name: str, raw: Any, instance: Any, cls: type | None
) -> Any:
    """What a class entry gives when read through ``instance`` (or the class), binding included."""
    assigned = capture.assigned_to_class(owner, name)
    if assigned is not None:  # by this run: there is no such entry outside yet
        (raw,) = assigned
        if raw is not GAP:
            return hooks.bind(raw, instance, cls)
    if raw is GAP:
        base, raw = hooks.next_entry(owner, name, instance, cls)
        return read_class_entry(capture, base, name, raw, instance, cls)
    implicit = name.startswith("__") and name.endswith("__")  # cls(...) does not ask the class itself
    if issubclass(type(instance), type) and not implicit and not is_data_descriptor(raw):
        # Found on the metaclass, which Python asks last: the class itself must not have the name.
        capture.guard(class_path(capture, instance, None), "classless", name)
    path = _entry_path(capture, owner, name, raw, instance, cls)
    kind = type(raw)
    if kind is types.FunctionType:
        function = capture.view(raw, path)
        return function if instance is None else types.MethodType(function, instance)
    if kind is staticmethod:
        return _bind_inner(capture, raw, path, None, cls)
    if kind is classmethod:
        return _bind_inner(capture, raw, path, cls if cls is not None else type(instance), cls)
    if kind is property or (isinstance(raw, property)):
        if instance is None:
            return raw
        if raw.fget is None:
            raise AttributeError(f"property {name!r} has no getter")
        return capture.view(raw.fget, path.attr("fget"))(instance)
    if kind is functools.singledispatchmethod:
        dispatcher = capture.view(raw.dispatcher, path.attr("dispatcher"))
        return lambda *args, **kwargs: dispatcher.dispatch(type(args[0])).__get__(instance, cls)(
            *args, **kwargs
        )
    if kind is functools.cached_property:
        return raw if instance is None else _cached_property(capture, raw, path, name, instance)
    if kind in (types.MemberDescriptorType, types.GetSetDescriptorType):
        return raw.__get__(instance, cls)
    if instance is not None and _binds_like_function(raw):
        return types.MethodType(capture.view(raw, path), instance)
    view = capture.view(raw, path)
    get = getattr(type(view), "__get__", None)
    if get is None or isinstance(view, (types.FunctionType, types.MethodType)):
        return view
    return get(view, instance, cls)


def whole_class(capture: Capture, cls: type) -> types.MappingProxyType[str, Any]:
    """``vars(cls)``: all entries of the class are read."""
    note_names(capture, cls)
    contents: dict[str, Any] = {}
    for name, raw in hooks.original_entries(cls).items():
        own = name.startswith("__") and name.endswith("__")  # Python's: methods, documentation, slots…
        seen = own or capture.assigned_to_class(cls, name) is not None
        path = None if seen else _entry_path(capture, cls, name, raw, None, cls)
        contents[name] = raw if path is None else capture.view(raw, path)
    return types.MappingProxyType(contents)


def note_names(capture: Capture, cls: type) -> None:
    """Traced code has asked which entries a class has."""
    if hooks.can_hook(cls):
        capture.hooks.add(cls)
        capture.guard(class_path(capture, cls, None).attr("__dict__"), "keys", capture.hooks.names(cls))


def _bind_inner(capture: Capture, raw: Any, path: Path, bound: Any, cls: type | None) -> Any:
    function = capture.view(raw.__func__, path.attr("__func__"))
    if bound is None:
        return function
    if isinstance(function, (types.FunctionType, types.MethodType)):
        return types.MethodType(function, bound)
    get = getattr(type(function), "__get__", None)
    return functools.partial(function, bound) if get is None else get(function, bound, cls)


def _binds_like_function(raw: Any) -> bool:
    """Wrappers of functions (ours, jax.jit's) become bound methods when read through an instance."""
    from freshjit.state import views

    return getattr(type(raw), "__freshjit_method__", False) or (
        type(raw) in views._EXACT  # pyright: ignore[reportPrivateUsage]
        and hasattr(raw, "__wrapped__")
        and hasattr(type(raw), "__get__")
    )


def _cached_property(capture: Capture, raw: Any, path: Path, name: str, instance: Any) -> Any:
    """``functools.cached_property``: its cache entry is an attribute like any other."""
    attribute = raw.attrname or name
    state = capture.objects.get(id(instance))
    namespace = instance.__dict__ if state is None else None
    if state is None:
        assert namespace is not None
        if attribute in namespace:
            return namespace[attribute]
    value = capture.view(raw.func, path.attr("func"))(instance)
    if state is None:
        namespace[attribute] = value  # pyright: ignore[reportOptionalSubscript]
    else:
        _set(state, attribute, value)
    return value


def write_class_entry(capture: Capture, owner: type, name: str, raw: Any, instance: Any, value: Any) -> None:
    """``instance.name = value`` where the class entry is a property, a slot or another data descriptor."""
    cls = type(instance)
    state = capture.objects.get(id(instance))
    assigned = capture.assigned_to_class(owner, name)
    if assigned is not None:
        (raw,) = assigned
        if is_data_descriptor(raw):
            type(raw).__set__(raw, instance, value)
        elif state is None:
            instance.__dict__[name] = value
        else:
            _set(state, name, value)
        return
    if isinstance(raw, types.MemberDescriptorType):
        if state is None:
            raw.__set__(instance, value)
        else:
            state.slots[name] = value
            state.where[name] = user_line()
        return
    path = _entry_path(capture, owner, name, raw, instance, cls)
    if isinstance(raw, property):
        if raw.fset is None:
            raise AttributeError(f"property {name!r} of {cls.__name__!r} object has no setter")
        capture.view(raw.fset, path.attr("fset"))(instance, value)
        return
    view = capture.view(raw, path)
    type(view).__set__(view, instance, value)


# -- writing ----------------------------------------------------------------------------------------


def write(capture: Capture, state: ObjectState, name: str, value: Any) -> None:
    """``obj.name = value`` for a captured object."""
    cls = type(state.view)
    custom = _entry(cls, "__setattr__")
    if isinstance(custom, types.FunctionType) and not is_library_function(custom):
        owner = _owner(cls, "__setattr__")
        read_class_entry(capture, owner, "__setattr__", custom, None, cls)(state.view, name, value)
        return
    if isinstance(custom, types.FunctionType) or _is_another(custom, "__setattr__"):
        custom(state.view, name, value)
        return
    default_write(capture, state, name, value)


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
        whole = _whole_dict(capture, state)
        new = dict(value)
        whole.clear()
        whole.update(new)
        return
    raw = _entry(cls, name)
    if raw is not _MISSING and is_data_descriptor(raw):
        write_class_entry(capture, _owner(cls, name), name, raw, state.view, value)
        return
    if state.real is None:
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}", name=name, obj=state.view)
    _set(state, name, value)


def _set(state: ObjectState, name: str, value: Any) -> None:
    _adopt(state, name)
    state.attrs[name] = value
    if name in state.deleted:
        state.deleted.discard(name)
        state.moved.add(name)
    state.where[name] = user_line()


def delete(capture: Capture, state: ObjectState, name: str) -> None:
    """``del obj.name`` for a captured object."""
    cls = type(state.view)
    custom = _entry(cls, "__delattr__")
    if isinstance(custom, types.FunctionType):
        owner = _owner(cls, "__delattr__")
        read_class_entry(capture, owner, "__delattr__", custom, None, cls)(state.view, name)
        return
    if _is_another(custom, "__delattr__"):
        custom(state.view, name)
        return
    default_delete(capture, state, name)


def default_delete(capture: Capture, state: ObjectState, name: str) -> None:
    """What ``object.__delattr__`` does, on the traced code's view of the object."""
    cls = type(state.view)
    raw = _entry(cls, name)
    if isinstance(raw, types.MemberDescriptorType):
        _read_slot(capture, state, name, raw)
        state.slots[name] = _MISSING
        return
    if raw is not _MISSING and is_data_descriptor(raw):
        if isinstance(raw, property) and raw.fdel is not None:
            path = _entry_path(capture, _owner(cls, name), name, raw, state.view, cls)
            capture.view(raw.fdel, path.attr("fdel"))(state.view)
            return
        raise AttributeError(f"cannot delete {name!r}")
    if state.real is not None:
        _adopt(state, name)
    if name not in state.attrs:
        if state.real is None or state.complete or name in state.deleted or name not in state.real:
            capture.guard(state.path, "absent", name)
            raise AttributeError(name, name=name, obj=state.view)
        capture.guard(state.path, "present", name)
    state.attrs.pop(name, None)
    state.deleted.add(name)
    state.where[name] = user_line()


# -- writes to classes ------------------------------------------------------------------------------


class ClassState:
    """What traced code has assigned to one class. A snapshot holds the changed entries alone."""

    def __init__(self, capture: Capture, cls: type) -> None:
        self.capture, self.cls = capture, cls

    def take_over(self, certain: bool = False) -> None:
        """Undo what traced code has put on the class past the hooks, and show it to traced code alone.

        Who has done it can be another thread. If that is possible, the entry is left as it is, and the
        capture is void.

        Parameters:
            certain: it was this thread.
        """
        hooked = self.capture.hooks
        for name, value in hooked.displaced(self.cls).items():
            if certain or self.capture.may_have_put_on_class(name, value):
                hooked.put_back(self.cls, name)
                hooked.assign(self.cls, name, value)
            else:
                self.capture.disturbed = f"{self.cls.__qualname__}.{name}"

    def _now(self) -> dict[str, Any]:
        self.take_over()
        return dict(self.capture.hooks.changes(self.cls))

    def writes(self, capture: Capture) -> Iterator[Write]:
        for name, value in self._now().items():
            path = class_path(capture, self.cls, None)
            if value is GAP:
                yield Write(path, "delclass", name, None)
            else:
                yield Write(path, "setclass", name, value)

    def start(self) -> dict[str, Any]:
        return _ClassContents(self.cls)

    def snapshot(self) -> dict[str, Any]:
        contents = _ClassContents(self.cls)
        contents.update(self._now())
        return contents

    def restore(self, snapshot: dict[str, Any]) -> None:
        for name in self._now():
            if name not in snapshot:
                self.capture.hooks.undo(self.cls, name)
        self.apply(snapshot)

    def changes(self, snapshot: dict[str, Any]) -> dict[Any, Any]:
        now = self._now()
        changed = {n: v for n, v in now.items() if n not in snapshot or snapshot[n] is not v}
        changed.update({n: GAP for n in snapshot if n not in now})
        return changed

    def apply(self, changes: dict[Any, Any]) -> None:
        for name, value in changes.items():
            self.capture.hooks.assign(self.cls, name, value)

    def content(self, key: Any) -> Any:
        return self.snapshot()[key]

    def place(self, key: Any) -> Path:
        return class_path(self.capture, self.cls, None).to("attr", key, f"{self.cls.__qualname__}.{key}")


class _ClassContents(dict[str, Any]):
    """Changed entries of a class; an unchanged one is looked up when it is asked for."""

    def __init__(self, cls: type) -> None:
        super().__init__()
        self.cls = cls

    def __missing__(self, name: str) -> Any:
        try:
            return getattr(self.cls, name)
        except AttributeError:
            raise KeyError(name) from None


def write_class(capture: Capture, cls: type, name: str, value: Any) -> None:
    """``cls.name = value``."""
    if cls not in capture.hooks or not hooks.is_wrapped(cls, name, value):
        setattr(cls, name, value)  # made by this run, or nothing that traced code reads through a hook
    elif _entry(type(cls), "__setattr__") is type.__setattr__ and _entry(type(cls), name) is _MISSING:
        capture.hooks.assign(cls, name, value)
    else:  # the metaclass has a say
        setattr(cls, name, value)
        ClassState(capture, cls).take_over(certain=True)


def delete_from_class(capture: Capture, cls: type, name: str) -> None:
    """``delattr(cls, name)``."""
    delattr(cls, name)
    if cls in capture.hooks:
        ClassState(capture, cls).take_over(certain=True)
