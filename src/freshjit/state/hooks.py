"""Class hooks: while a capture runs, reads and writes on the objects it knows go through it.

A hooked class gets three things, all removed when the last capture that needs them ends:

* ``__getattribute__``, ``__setattr__`` and ``__delattr__`` that ask for a capture *in this thread*
  that knows *this object*, and otherwise do what the class did before; and ``__reduce_ex__``, with
  which ``copy`` and ``pickle`` would take the attributes past these;
* its own entries (methods, properties, plain class attributes) wrapped in descriptors, so that
  ``Config.LR``, ``super().step``, ``type(self).count`` and special methods called by the
  interpreter (``obj(x)``, ``obj[i]``) are seen as well;
* descriptors for a few special methods that it does *not* have (``defaults.py``), where Python does something
  by itself: that it has none is seen when Python asks for it;
* nothing else: no attribute of any instance is touched.
"""

from __future__ import annotations

import copyreg
import ctypes
import enum
import functools
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from freshjit.state import defaults
from freshjit.state.active import thread
from freshjit.state.libraries import is_library_class, is_user_class

if TYPE_CHECKING:
    from freshjit.state.capture import Capture
    from freshjit.state.views.objects import ObjectState

__all__ = [
    "ATTRIBUTE_HOOKS",
    "GAP",
    "ClassEntry",
    "Hooks",
    "bind",
    "bind_default",
    "can_hook",
    "class_entry",
    "comes_first",
    "differences",
    "entry_of",
    "entry_outside",
    "find_entry",
    "hooked_classes",
    "is_data_descriptor",
    "is_wrapped",
    "next_entry",
    "note_elsewhere",
    "original_entries",
    "set_entry",
    "slot_values",
    "slots_of",
    "stands_for_nothing",
    "unwrap",
]

ATTRIBUTE_HOOKS = ("__getattribute__", "__setattr__", "__delattr__", "__reduce_ex__")

# Entries that the interpreter or the type machinery reads without asking the descriptor, or that
# must stay what they are for the class to keep working.
_LEFT_ALONE = frozenset(
    (
        *ATTRIBUTE_HOOKS,
        "__getattr__",
        "__del__",
        "__subclasshook__",
        "__annotate__",
        "__annotate_func__",
    )
)
# What Python itself keeps in the namespace of a class, or finds in it, besides methods.
_OF_PYTHON = frozenset(
    (
        *dir(type),
        "__abstractmethods__",
        "__annotate__",
        "__annotations__",
        "__annotations_cache__",
        "__classcell__",
        "__classdictcell__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__final__",
        "__firstlineno__",
        "__non_callable_proto_members__",
        "__orig_bases__",
        "__parameters__",
        "__protocol_attrs__",
        "__signature__",
        "__slotnames__",
        "__slots__",
        "__static_attributes__",
        "__type_params__",
        "__weakref__",
        "__wrapped__",
    )
)
# What the machinery of enumerations looks at, or calls to find a member.
_USED_BY_ENUM = frozenset(("__new__", "__new_member__", "__init__"))
_FUNCTION_LIKE = (types.FunctionType, classmethod, staticmethod)


class ClassEntry:
    """Stands for one entry of a hooked class's namespace.

    Attributes:
        raw: what the class has there; a gap where it has nothing, and only traced code sees something.
    """

    __slots__ = ("name", "owner", "raw")

    def __init__(self, owner: type, name: str, raw: Any) -> None:
        self.owner, self.name, self.raw = owner, name, raw

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        capture = thread.capture
        if capture is not None:
            return capture.read_class_entry(self.owner, self.name, self.raw, instance, owner)
        if self.raw is GAP:
            _, raw = next_entry(self.owner, self.name, instance, owner)
            return bind(raw, instance, owner)
        return bind(self.raw, instance, owner)


class _DataEntry(ClassEntry):
    """The same for entries that also take part in writing (properties, slots, other descriptors).

    Perhaps for traced code alone, or for all others: who finds another thing there, or nothing, goes on to
    find what the object itself has under the name.
    """

    __slots__ = ()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is not None and not comes_first(entry_of(self.owner, self.name)):
            own = _own_attributes(instance)
            if self.name in own:
                return own[self.name]
        return ClassEntry.__get__(self, instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        capture = thread.capture
        if capture is not None:
            capture.write_class_entry(self.owner, self.name, self.raw, instance, value)
        elif is_data_descriptor(self.raw):
            type(self.raw).__set__(self.raw, instance, value)
        else:
            _own_attributes(instance)[self.name] = value

    def __delete__(self, instance: Any) -> None:
        capture = thread.capture
        if capture is not None:
            capture.delete_class_entry(self.owner, self.name, self.raw, instance)
        elif is_data_descriptor(self.raw):
            type(self.raw).__delete__(self.raw, instance)
        elif _own_attributes(instance).pop(self.name, GAP) is GAP:
            raise AttributeError(self.name, name=self.name, obj=instance)


def _own_attributes(instance: Any) -> dict[str, Any]:
    try:
        return object.__getattribute__(instance, "__dict__")
    except AttributeError:
        return {}


class _Absent(ClassEntry):
    """Stands for a special method that no class of the user's has: Python's own does what it always does."""

    __slots__ = ()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is not None and self.owner not in type(instance).__mro__:
            return None  # ``inspect``, which takes this for a method of its own class: there is none
        capture = thread.capture
        if capture is not None:
            return capture.read_class_entry(self.owner, self.name, GAP, instance, owner)
        return bind_default(self.owner, self.name, instance, owner)


def bind_default(owner: type, name: str, instance: Any, cls: type | None) -> Any:
    """What Python finds, or does, behind ``owner``, which has no such entry; AttributeError if nothing."""
    entry = functools.partial(class_entry, type(instance))
    try:
        _, raw = next_entry(owner, name, instance, cls)
    except AttributeError:
        if name != "__bool__" or instance is None:
            raise
        return defaults.Truth(instance, entry)
    own = None if instance is None else defaults.stand_in(name, raw, instance, entry)
    return bind(raw, instance, cls) if own is None else own


def stands_for_nothing(cls: type, name: str) -> bool:
    """Whether the class has this name only for the time that it is hooked."""
    return name == "__bool__" and find_entry(cls, name) is GAP


def bind(raw: Any, instance: Any, owner: type | None) -> Any:
    """What the descriptor protocol makes of a class entry."""
    get = getattr(type(raw), "__get__", None)
    return raw if get is None else get(raw, instance, owner)


def unwrap(entry: Any) -> Any:
    return entry.raw if isinstance(entry, ClassEntry) else entry


class _Gap:
    def __repr__(self) -> str:
        return "<nothing>"


GAP = _Gap()


def differences(now: Mapping[Any, Any], before: Mapping[Any, Any]) -> dict[Any, Any]:
    """What is another thing now: key to new value, or to a gap where something went away."""
    changed = {key: value for key, value in now.items() if before.get(key, GAP) is not value}
    changed.update({key: GAP for key in before if key not in now})
    return changed


def is_data_descriptor(raw: Any) -> bool:
    kind = type(raw)
    return hasattr(kind, "__set__") or hasattr(kind, "__delete__")


def comes_first(raw: Any) -> bool:
    """Whether an entry is found before what the object itself has under the name."""
    return is_data_descriptor(raw) and hasattr(type(raw), "__get__")


def entry_of(cls: type, name: str) -> Any:
    """The raw entry of this very class as the running code is to see it, or a gap."""
    if thread.capture is not None:
        assigned = thread.capture.assigned_to_class(cls, name)
        if assigned is not None:
            return assigned[0]
    raw = _namespace(cls).get(name, GAP)
    hooked = hooked_classes.get(cls) if name in ATTRIBUTE_HOOKS else None
    if hooked is not None and name in hooked.installed:
        return hooked.originals.get(name, GAP)
    return unwrap(raw)


def class_entry(cls: type, name: str) -> Any:
    """The raw entry that Python would find for ``name`` in the MRO of ``cls``; KeyError if none."""
    for base in cls.__mro__:
        if name in _namespace(base):
            raw = entry_of(base, name)
            if raw is not GAP:
                return raw
    raise KeyError(name)


def find_entry(cls: type, name: str) -> Any:
    """The same; a gap if none."""
    try:
        return class_entry(cls, name)
    except KeyError:
        return GAP


def next_entry(owner: type, name: str, instance: Any, cls: type | None) -> tuple[type, Any]:
    """The entry that Python would find behind ``owner``, and whose it is; AttributeError if none."""
    start = type(instance) if cls is None else cls
    for base in start.__mro__[start.__mro__.index(owner) + 1 :]:
        raw = entry_of(base, name)
        if raw is not GAP:
            return base, raw
    if instance is None:
        raise AttributeError(f"type object {start.__name__!r} has no attribute {name!r}", name=name, obj=cls)
    raise AttributeError(f"{start.__name__!r} object has no attribute {name!r}", name=name, obj=instance)


def original_entries(cls: type) -> dict[str, Any]:
    """The namespace of one class as the running code is to see it."""
    found = {name: entry_of(cls, name) for name in tuple(_namespace(cls))}
    return {name: raw for name, raw in found.items() if raw is not GAP}


_namespace: Callable[[type], types.MappingProxyType[str, Any]] = type.__dict__["__dict__"].__get__


def entry_outside(cls: type, name: str) -> Any:
    """The raw entry of this very class as eager code sees it, or a gap."""
    return unwrap(_namespace(cls).get(name, GAP))


def set_entry(cls: type, name: str, value: Any) -> None:
    """Change an entry (or take it away, by a gap) for eager code, also of a class that is hooked."""
    with _lock:
        hooked = hooked_classes.get(cls)
        if hooked is not None and (name in hooked.installed or is_wrapped(cls, name, value)):
            hooked.change(cls, name, value)
        elif value is not GAP:
            type.__setattr__(cls, name, value)
        elif name in _namespace(cls):
            type.__delattr__(cls, name)


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
# The layout of these is made from their entries, which cannot be exchanged.
_METACLASSES_OF_C = tuple({type(c) for c in (ctypes.Structure, ctypes.Union, ctypes.Array, ctypes.c_int)})


def can_hook(cls: type) -> bool:
    """Whether the class was made by Python code and can be changed for a while."""
    flags = cls.__flags__
    fixed = not flags & _HEAP_TYPE or flags & _IMMUTABLE_TYPE or isinstance(cls, _METACLASSES_OF_C)
    return not fixed and not is_library_class(cls)


def _finder(cls: type) -> Callable[[Capture, Any, str], ObjectState | None]:
    """How a capture finds its books on an instance of the class."""
    if issubclass(cls, enum.Enum):
        return _find_member
    return lambda capture, instance, name: capture.objects.get(id(instance))


def _find_member(capture: Capture, member: Any, name: str) -> ObjectState | None:
    # Its class hands out a member in many ways (Mode.A, Mode(1), iteration), none of which can be hooked.
    known = capture.objects.get(id(member))
    return capture.enum_member(member) if known is None and not name.startswith("_") else known


def _hooked_getattribute(cls: type, original: Callable[..., Any]) -> Callable[..., Any]:
    is_metaclass = issubclass(cls, type)
    known_to = _finder(cls)

    def __getattribute__(self: Any, name: str) -> Any:
        capture = thread.capture
        if capture is None:
            return original(self, name) if name != "__bool__" else _truth(original, self)
        known = known_to(capture, self, name)
        if known is None:
            if not is_metaclass:
                return original(self, name) if name != "__bool__" else _truth(original, self)
            try:
                return original(self, name)
            except AttributeError:
                return capture.read_missing(self, name)
        if name == "__class__":  # isinstance asks for it, in our own code too
            return object.__getattribute__(self, name)
        return capture.read_attribute(known, name)

    return __getattribute__


def _truth(original: Callable[..., Any], instance: Any) -> Any:
    """``instance.__bool__``: what stands for it in a hooked class is only there for ``bool`` to ask."""
    found = original(instance, "__bool__")
    if type(found) is defaults.Truth:
        kind = type(instance).__name__
        raise AttributeError(f"{kind!r} object has no attribute '__bool__'", name="__bool__", obj=instance)
    return found


def _hooked_setattr(cls: type, original: Callable[..., Any]) -> Callable[..., Any]:
    known_to = _finder(cls)

    def __setattr__(self: Any, name: str, value: Any) -> None:
        capture = thread.capture
        known = None if capture is None else known_to(capture, self, name)
        if capture is None or known is None:
            note_elsewhere(self, name)
            return original(self, name, value)
        return capture.write_attribute(known, name, value)

    return __setattr__


def _hooked_delattr(cls: type, original: Callable[..., Any]) -> Callable[..., Any]:
    known_to = _finder(cls)

    def __delattr__(self: Any, name: str) -> None:
        capture = thread.capture
        known = None if capture is None else known_to(capture, self, name)
        if capture is None or known is None:
            note_elsewhere(self, name)
            return original(self, name)
        return capture.delete_attribute(known, name)

    return __delattr__


def _hooked_reduce_ex(cls: type, original: Callable[..., Any]) -> Callable[..., Any]:
    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        capture = thread.capture
        if capture is not None:
            capture.note_copying(self)
        reduced = original(self, protocol)
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
        self.users: set[Hooks] = set()
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
            if watch_entries and is_wrapped(cls, name, raw):
                self._install(cls, name, _entry_for(cls, name, raw), namespace)
        for name in _stood_for(cls, namespace) if watch_entries else ():
            self._install(cls, name, _Absent(cls, name, GAP), namespace)
        for name, make in _MAKERS.items():
            self._install(cls, name, make(cls, class_entry(cls, name)), namespace)
        self._complete = True

    def _install(self, cls: type, name: str, entry: Any, namespace: dict[str, Any]) -> None:
        if name not in self.installed:
            if name in namespace:
                self.originals[name] = namespace[name]
            self.installed[name] = entry
        type.__setattr__(cls, name, self.installed[name])

    def watch(self, cls: type, name: str, takes_writes: bool) -> None:
        """Have an entry where traced code may see something else than others do."""
        if name not in self.installed:
            outside = entry_outside(cls, name)
            if outside is not GAP:
                self.originals[name] = outside
            self.installed[name] = _entry_for(cls, name, outside)
        if takes_writes and not isinstance(self.installed[name], _DataEntry):
            self.installed[name] = _DataEntry(cls, name, self.installed[name].raw)
        self.put_back(cls, name)

    def put_back(self, cls: type, name: str) -> None:
        """Undo what has been written past the hooks."""
        if name in self.installed:
            type.__setattr__(cls, name, self.installed[name])
        else:
            type.__delattr__(cls, name)

    def change(self, cls: type, name: str, value: Any) -> None:
        """Another value for eager code."""
        if value is GAP:
            self.originals.pop(name, None)
        else:
            self.originals[name] = value
        self.installed[name] = _entry_for(cls, name, value)
        self.put_back(cls, name)

    def displaced(self, cls: type) -> dict[str, Any]:
        """Entries that have been written directly, past the hooks: name to new value, or to a gap."""
        if not self._complete:  # on the way in or out
            return {}
        now = _namespace(cls)
        found = {n: now.get(n, GAP) for n, entry in self.installed.items() if now.get(n, GAP) is not entry}
        found.update({n: v for n, v in now.items() if n not in self.names and n not in self.installed})
        return found

    def remove(self, cls: type) -> None:
        self._complete = False
        namespace = cls.__dict__
        for name, entry in self.installed.items():
            if namespace.get(name) is not entry:
                continue  # the user's code has replaced it meanwhile: theirs stays
            if name in self.originals:
                type.__setattr__(cls, name, self.originals[name])
            else:
                type.__delattr__(cls, name)


def _may_stand_for(cls: type) -> bool:
    """Whether descriptors for missing special methods may be there: a protocol asks for all that it has."""
    is_protocol = _namespace(cls).get("_is_protocol", False)
    return can_hook(cls) and is_user_class(cls) and not issubclass(cls, type) and not is_protocol


def _stood_for(cls: type, namespace: Mapping[str, Any]) -> list[str]:
    """The special methods that this class and its bases lack, if no base of the user's stands for them."""
    if not _may_stand_for(cls) or any(map(_may_stand_for, cls.__mro__[1:])):
        return []
    names = list(defaults.STOOD_FOR)
    names += [n for n in defaults.SHOWN_BY_OBJECT if find_entry(cls, n) is not object.__dict__[n]]
    # An entry of None says that objects of the class cannot do it, also to who only looks at the class.
    return [n for n in names if n not in namespace and find_entry(cls, n) is not None]


def _entry_for(cls: type, name: str, raw: Any) -> ClassEntry:
    if raw is GAP and name in (*defaults.STOOD_FOR, *defaults.SHOWN_BY_OBJECT):
        return _Absent(cls, name, GAP)
    return (_DataEntry if is_data_descriptor(raw) else ClassEntry)(cls, name, raw)


def is_wrapped(cls: type, name: str, raw: Any) -> bool:
    if name in _LEFT_ALONE:
        return False
    if isinstance(cls, enum.EnumType):
        if name.startswith("_"):
            return isinstance(raw, types.FunctionType) and name not in _USED_BY_ENUM and name.endswith("__")
        return isinstance(raw, (*_FUNCTION_LIKE, property))
    if name.startswith("__") and name.endswith("__"):
        return isinstance(raw, _FUNCTION_LIKE) or (raw is not None and name not in _OF_PYTHON)
    return True


_lock = threading.RLock()
hooked_classes: dict[type, _HookedClass] = {}


class Hooks:
    """The classes that one capture has hooked, and how traced code sees them; ``remove`` lets go of all.

    Attributes:
        thread: whose capture it is.
        elsewhere: attributes that other threads have written meanwhile, as (id of the object, name).

    ``added`` is told of each class.
    """

    def __init__(self, added: Callable[[type], object] = id) -> None:
        # Per class, what traced code has put in place of its entries (a gap where it has deleted one).
        self._classes: dict[type, dict[str, Any]] = {}
        self._added = added
        self.thread = threading.get_ident()
        self.elsewhere: set[tuple[int, str]] = set()

    def __contains__(self, cls: type) -> bool:
        return cls in self._classes

    def __iter__(self) -> Iterator[type]:
        return iter(self._classes)

    def add(self, cls: type) -> None:
        """Hook ``cls`` and its bases, as far as they can be hooked."""
        for base in reversed(cls.__mro__):
            if base in self._classes or not can_hook(base):
                continue
            with _lock:
                self._classes[base] = {}  # first: ``remove`` must know, whatever interrupts the rest
                hooked = hooked_classes.get(base)
                if hooked is None:
                    hooked = hooked_classes[base] = _HookedClass(base)
                hooked.users.add(self)
                hooked.install(base)
            self._added(base)

    def names(self, cls: type) -> tuple[str, ...]:
        """The names in the class's own dictionary, in order, as they were before it was hooked."""
        hooked = hooked_classes.get(cls)
        return tuple(cls.__dict__ if hooked is None else hooked.names)

    def changes(self, cls: type) -> dict[str, Any]:
        """What traced code has put in place of entries of this class: name to new value, or to a gap."""
        return self._classes.get(cls, _NOTHING)

    def assign(self, cls: type, name: str, value: Any) -> None:
        """Let traced code, and it alone, find this value (or a gap) in the class."""
        with _lock:
            self._classes[cls][name] = value
            hooked_classes[cls].watch(cls, name, is_data_descriptor(value))

    def undo(self, cls: type, name: str) -> None:
        """Let traced code find what all others find."""
        self._classes[cls].pop(name, None)

    def deleted(self, cls: type, name: str) -> bool:
        """Whether traced code has deleted such an entry of the class or of one of its bases."""
        return any(
            self.changes(base).get(name) is GAP or hooked_classes[base].displaced(base).get(name) is GAP
            for base in cls.__mro__
            if base in self._classes
        )

    def displaced(self, cls: type) -> dict[str, Any]:
        """Entries that have been written past the hooks, by whatever thread."""
        hooked = hooked_classes.get(cls)
        return {} if hooked is None else hooked.displaced(cls)

    def put_back(self, cls: type, name: str) -> None:
        """Undo such a write."""
        with _lock:
            hooked_classes[cls].put_back(cls, name)

    def remove(self) -> None:
        with _lock:
            for cls in list(self._classes):
                hooked = hooked_classes.get(cls)
                if hooked is not None:
                    hooked.users.discard(self)
                    if not hooked.users:
                        hooked.remove(cls)
                        hooked_classes.pop(cls, None)
                del self._classes[cls]


_NOTHING: dict[str, Any] = {}


def note_elsewhere(thing: Any, name: str) -> None:
    """``thing.name`` is about to be written: traced code in other threads is not to take it for its own."""
    hooked = hooked_classes.get(type(thing))
    for hooks in () if hooked is None else tuple(hooked.users):
        if hooks.thread != threading.get_ident():
            hooks.elsewhere.add((id(thing), name))
