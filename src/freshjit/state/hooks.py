"""Class hooks: while a capture runs, reads and writes on the objects it knows go through it.

A hooked class gets three things, all removed when the last capture that needs them ends:

* ``__getattribute__``, ``__setattr__`` and ``__delattr__`` that ask for a capture *in this thread*
  that knows *this object*, and otherwise do what the class did before; and ``__reduce_ex__``, with
  which ``copy`` and ``pickle`` would take the attributes past these;
* its own entries (methods, properties, plain class attributes) wrapped in descriptors, so that
  ``Config.LR``, ``super().step``, ``type(self).count`` and special methods called by the
  interpreter (``obj(x)``, ``obj[i]``) are seen as well;
* nothing else: no attribute of any instance is touched.
"""

from __future__ import annotations

import copyreg
import enum
import threading
import types
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from freshjit.state.active import thread
from freshjit.state.libraries import is_library_class, is_user_class

__all__ = [
    "ClassEntry",
    "Hooks",
    "can_hook",
    "class_entry",
    "original_entries",
    "slot_values",
    "slots_of",
    "unwrap",
]

_ATTRIBUTE_HOOKS = ("__getattribute__", "__setattr__", "__delattr__", "__reduce_ex__")

# Entries that the interpreter or the type machinery reads without asking the descriptor, or that
# must stay what they are for the class to keep working.
_LEFT_ALONE = frozenset(
    (
        *_ATTRIBUTE_HOOKS,
        "__getattr__",
        "__del__",
        "__init_subclass__",
        "__subclasshook__",
        "__set_name__",
        "__class_getitem__",
        "__instancecheck__",
        "__subclasscheck__",
        "__prepare__",
        "__mro_entries__",
        "__getstate__",
        "__setstate__",
        "__reduce__",
        "__reduce_ex__",
        "__getnewargs__",
        "__getnewargs_ex__",
        "__annotate__",
        "__annotate_func__",
        "__sizeof__",
        "__dir__",
        "__class_getitem__",
    )
)
# What the machinery of enumerations looks at, or calls to find a member.
_USED_BY_ENUM = frozenset(
    ("__new__", "__new_member__", "__init__", "__hash__", "__eq__", "__repr__", "__str__", "__format__")
)
_FUNCTION_LIKE = (types.FunctionType, classmethod, staticmethod)


class ClassEntry:
    """Stands for one entry of a hooked class's namespace."""

    __slots__ = ("name", "owner", "raw")

    def __init__(self, owner: type, name: str, raw: Any) -> None:
        self.owner, self.name, self.raw = owner, name, raw

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        capture = thread.capture
        if capture is None:
            return bind(self.raw, instance, owner)
        return capture.read_class_entry(self.owner, self.name, self.raw, instance, owner)


class _DataEntry(ClassEntry):
    """The same for entries that also take part in writing (properties, slots, other descriptors)."""

    __slots__ = ()

    def __set__(self, instance: Any, value: Any) -> None:
        capture = thread.capture
        if capture is None:
            type(self.raw).__set__(self.raw, instance, value)
        else:
            capture.write_class_entry(self.owner, self.name, self.raw, instance, value)

    def __delete__(self, instance: Any) -> None:
        type(self.raw).__delete__(self.raw, instance)


def bind(raw: Any, instance: Any, owner: type | None) -> Any:
    """What the descriptor protocol makes of a class entry."""
    get = getattr(type(raw), "__get__", None)
    return raw if get is None else get(raw, instance, owner)


def unwrap(entry: Any) -> Any:
    return entry.raw if isinstance(entry, ClassEntry) else entry


def is_data_descriptor(raw: Any) -> bool:
    kind = type(raw)
    return hasattr(kind, "__set__") or hasattr(kind, "__delete__")


def class_entry(cls: type, name: str) -> Any:
    """The raw entry that Python would find for ``name`` in the MRO of ``cls``; KeyError if none."""
    for base in cls.__mro__:
        namespace = type.__dict__["__dict__"].__get__(base)
        if name in namespace:
            hooked = _hooked.get(base)
            if hooked is not None and name in _ATTRIBUTE_HOOKS:
                if name in hooked.originals:
                    return hooked.originals[name]
                continue
            return unwrap(namespace[name])
    raise KeyError(name)


def original_entries(cls: type) -> dict[str, Any]:
    """The namespace of one class as its author wrote it."""
    namespace = {name: unwrap(raw) for name, raw in type.__dict__["__dict__"].__get__(cls).items()}
    hooked = _hooked.get(cls)
    if hooked is not None:
        for name in _ATTRIBUTE_HOOKS:
            namespace.pop(name, None)
        namespace.update({n: hooked.originals[n] for n in _ATTRIBUTE_HOOKS if n in hooked.originals})
    return namespace


def slots_of(cls: type) -> dict[str, Any]:
    """The descriptors of the ``__slots__`` of a class and its bases, the class's own first."""
    found: dict[str, Any] = {}
    for base in cls.__mro__:
        for name, raw in original_entries(base).items():
            if isinstance(raw, types.MemberDescriptorType):
                found.setdefault(name, raw)
    return found


def slot_values(value: Any) -> dict[str, Any]:
    """What an object has in its ``__slots__``, read past the hooks."""
    found: dict[str, Any] = {}
    for name, member in slots_of(type(value)).items():
        try:
            found[name] = member.__get__(value)
        except AttributeError:
            continue
    return found


_HEAP_TYPE, _IMMUTABLE_TYPE = 1 << 9, 1 << 8


def can_hook(cls: type) -> bool:
    """Whether the class was made by Python code and can be changed for a while."""
    flags = cls.__flags__
    return bool(flags & _HEAP_TYPE) and not flags & _IMMUTABLE_TYPE and not is_library_class(cls)


def _hooked_getattribute(cls: type, original: Callable[..., Any]) -> Callable[..., Any]:
    is_metaclass = issubclass(cls, type)

    def __getattribute__(self: Any, name: str) -> Any:
        capture = thread.capture
        if capture is None:
            return original(self, name)
        known = capture.objects.get(id(self))
        if known is None:
            if not is_metaclass:
                return original(self, name)
            try:
                return original(self, name)
            except AttributeError:
                return capture.read_missing(self, name)
        if name == "__class__":  # isinstance asks for it, in our own code too
            return object.__getattribute__(self, name)
        return capture.read_attribute(known, name)

    return __getattribute__


def _hooked_setattr(cls: type, original: Callable[..., Any]) -> Callable[..., Any]:
    def __setattr__(self: Any, name: str, value: Any) -> None:
        capture = thread.capture
        if capture is None:
            return original(self, name, value)
        known = capture.objects.get(id(self))
        if known is None:
            return original(self, name, value)
        return capture.write_attribute(known, name, value)

    return __setattr__


def _hooked_delattr(cls: type, original: Callable[..., Any]) -> Callable[..., Any]:
    def __delattr__(self: Any, name: str) -> None:
        capture = thread.capture
        if capture is None:
            return original(self, name)
        known = capture.objects.get(id(self))
        if known is None:
            return original(self, name)
        return capture.delete_attribute(known, name)

    return __delattr__


def _hooked_reduce_ex(cls: type, original: Callable[..., Any]) -> Callable[..., Any]:
    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        reduced = original(self, protocol)
        capture = thread.capture
        known = None if capture is None else capture.objects.get(id(self))
        kind = type(self)
        if capture is None or known is None or not isinstance(reduced, tuple) or protocol < 2:
            return reduced
        default = class_entry(kind, "__getstate__") is _default_getstate
        if not default or class_entry(kind, "__reduce__") is not object.__reduce__:
            return reduced
        return (*reduced[:2], _state(self), *reduced[3:])

    return __reduce_ex__


_default_getstate = object.__dict__["__getstate__"]


def _state(instance: Any) -> Any:
    """What ``object.__getstate__`` gives, read through the hooks."""
    attributes = dict(getattr(instance, "__dict__", {})) or None
    slots = {
        name: getattr(instance, name)
        for name in copyreg._slotnames(type(instance))  # pyright: ignore
        if hasattr(instance, name)
    }
    return (attributes, slots) if slots else attributes


_MAKERS = {
    "__getattribute__": _hooked_getattribute,
    "__setattr__": _hooked_setattr,
    "__delattr__": _hooked_delattr,
    "__reduce_ex__": _hooked_reduce_ex,
}


class _HookedClass:
    """What was done to one class, and how to undo it, should it be done in part only."""

    def __init__(self, cls: type) -> None:
        self.users: set[int] = set()  # ids of Hooks
        self.originals: dict[str, Any] = {}
        self.installed: dict[str, Any] = {}
        self.names = dict.fromkeys(cls.__dict__)
        self._complete = False

    def install(self, cls: type) -> None:
        if self._complete:
            return
        namespace = {**cls.__dict__, **self.originals}  # should an interrupt have cut this short before
        watch_entries = is_user_class(cls)
        for name, raw in namespace.items():
            if watch_entries and _is_wrapped(cls, name, raw):
                entry = (_DataEntry if is_data_descriptor(raw) else ClassEntry)(cls, name, raw)
                self._install(cls, name, entry, namespace)
        for name, make in _MAKERS.items():
            self._install(cls, name, make(cls, class_entry(cls, name)), namespace)
        self._complete = True

    def _install(self, cls: type, name: str, entry: Any, namespace: dict[str, Any]) -> None:
        if name not in self.installed:
            if name in namespace:
                self.originals[name] = namespace[name]
            self.installed[name] = entry
        type.__setattr__(cls, name, self.installed[name])

    def remove(self, cls: type) -> None:
        namespace = cls.__dict__
        for name, entry in self.installed.items():
            if namespace.get(name) is not entry:
                continue  # the user's code has replaced it meanwhile: theirs stays
            if name in self.originals:
                type.__setattr__(cls, name, self.originals[name])
            else:
                type.__delattr__(cls, name)


def _is_wrapped(cls: type, name: str, raw: Any) -> bool:
    if name in _LEFT_ALONE:
        return False
    if isinstance(cls, enum.EnumType):
        if name.startswith("_"):
            return isinstance(raw, types.FunctionType) and name not in _USED_BY_ENUM and name.endswith("__")
        return isinstance(raw, (*_FUNCTION_LIKE, property))
    if name.startswith("__") and name.endswith("__"):
        return isinstance(raw, _FUNCTION_LIKE)
    return True


_lock = threading.RLock()
_hooked: WeakKeyDictionary[type, _HookedClass] = WeakKeyDictionary()


class Hooks:
    """The classes that one capture has hooked; ``remove`` lets go of all of them.

    ``added`` is told of each.
    """

    def __init__(self, added: Callable[[type], object] = id) -> None:
        self._classes: dict[type, None] = {}
        self._added = added

    def __contains__(self, cls: type) -> bool:
        return cls in self._classes

    def add(self, cls: type) -> None:
        """Hook ``cls`` and its bases, as far as they can be hooked."""
        for base in reversed(cls.__mro__):
            if base in self._classes or not can_hook(base):
                continue
            with _lock:
                self._classes[base] = None  # first: ``remove`` must know, whatever interrupts the rest
                hooked = _hooked.get(base)
                if hooked is None:
                    hooked = _hooked[base] = _HookedClass(base)
                hooked.users.add(id(self))
                hooked.install(base)
            self._added(base)

    def classes(self) -> list[type]:
        return [cls for cls in self._classes if cls in _hooked]

    def names(self, cls: type) -> tuple[str, ...]:
        """The names in the class's own dictionary, in order, as they were before it was hooked."""
        hooked = _hooked.get(cls)
        return tuple(cls.__dict__ if hooked is None else hooked.names)

    def changes(self, cls: type) -> dict[str, Any]:
        """Entries of the class that differ from what was there: name to new value, or to a gap."""
        hooked = _hooked[cls]
        now = cls.__dict__
        changed = {n: now.get(n, GAP) for n, e in hooked.installed.items() if now.get(n, GAP) is not e}
        return changed

    def assigned(self, cls: type, name: str) -> bool:
        """Whether the entry of this class is one that traced code has put there."""
        if cls not in self._classes:
            return False
        hooked, now = _hooked[cls], cls.__dict__
        if name in hooked.installed:
            return now.get(name, GAP) is not hooked.installed[name]
        return name in now and name not in hooked.names

    def deleted(self, cls: type, name: str) -> bool:
        """Whether traced code has deleted such an entry of the class or of one of its bases."""
        return any(
            name in _hooked[base].installed and name not in base.__dict__
            for base in cls.__mro__
            if base in self._classes
        )

    def undo(self, cls: type, name: str) -> None:
        """Put back what ``cls.name`` was before the traced code assigned to it."""
        installed = _hooked[cls].installed
        if name in installed:
            type.__setattr__(cls, name, installed[name])
        else:
            type.__delattr__(cls, name)

    def remove(self) -> None:
        with _lock:
            for cls in list(self._classes):
                hooked = _hooked.get(cls)
                if hooked is not None:
                    hooked.users.discard(id(self))
                    if not hooked.users:
                        hooked.remove(cls)
                        _hooked.pop(cls, None)
                del self._classes[cls]


class _Gap:
    def __repr__(self) -> str:
        return "<nothing>"


GAP = _Gap()


def added_entries(cls: type) -> dict[str, Any]:
    """Entries that traced code has added to a hooked class."""
    before = _hooked[cls].names
    return {n: v for n, v in cls.__dict__.items() if n not in before and n not in _ATTRIBUTE_HOOKS}
