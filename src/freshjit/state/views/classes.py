"""Classes as traced code sees them: their entries, found, bound and assigned through the capture.

An entry of a class is a method, a property, another descriptor, or a plain attribute; the class hooks send
reads and writes of it here. What was assigned stays with the hooks, which show it to traced code alone.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from freshjit import _compat
from freshjit.errors import UnsupportedStateError
from freshjit.state import bytecode, defaults, hooks
from freshjit.state.guards import user_frame, user_line
from freshjit.state.hooks import GAP, find_entry, is_data_descriptor
from freshjit.state.libraries import is_user_class
from freshjit.state.path import Path
from freshjit.state.record import Write

if TYPE_CHECKING:
    from freshjit.state.capture import Capture
    from freshjit.state.views.objects import ObjectState


def view_class(capture: Capture, value: type, path: Path) -> Any:
    capture.guard(path, "is", value)
    capture.remember(value, value, path)
    capture.hooks.add(value)
    capture.hooks.add(type(value))  # a metaclass of the user's has attributes and methods too
    return value


# -- finding ----------------------------------------------------------------------------------------


def owner_of(cls: type, name: str) -> type:
    """Whose entry that is: the class itself, or one of its bases."""
    for base in cls.__mro__:
        if name in hooks.original_entries(base):
            return base
    raise KeyError(name)


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


def entry_path(capture: Capture, owner: type, name: str, raw: Any, instance: Any, cls: type | None) -> Path:
    """Where ``raw``, an entry of ``owner``, is found again: it was read through ``instance``, or ``cls``."""
    start = cls if cls is not None else owner
    direct = find_entry(start, name) is raw
    if not direct:
        _guard_passed_over(capture, start, owner, name, instance)
    path = _base_path(capture, start, start if direct else owner, instance)
    plain = isinstance(raw, types.FunctionType) or not hasattr(type(raw), "__get__")
    if direct and plain and name not in hooks.ATTRIBUTE_HOOKS:
        found = path.to("attr", name, _entry_label(path, name))
    else:
        found = path.to("classattr", name, _entry_label(path, name))
    return found


def _guard_passed_over(capture: Capture, start: type, owner: type, name: str, instance: Any) -> None:
    """``super().name`` was found in ``owner``: classes before it that lack the name must go on to do so."""
    for base in start.__mro__[: start.__mro__.index(owner)]:
        lacks = hooks.can_hook(base) and hooks.entry_of(base, name) is GAP
        if lacks and not capture.hooks.deleted(base, name):
            capture.guard(_base_path(capture, start, base, instance), "lacks", name)


def _base_path(capture: Capture, start: type, base: type, instance: Any) -> Path:
    """A path to a class in the MRO of ``start``."""
    if base is not start and id(base) not in capture.entries:
        mro = class_path(capture, start, instance).attr("__mro__")
        path = mro.to("item", start.__mro__.index(base), base.__name__)
        capture.guard(path, "is", base)
        capture.remember(base, base, path)
        capture.hooks.add(base)
    return class_path(capture, base, instance)


def _entry_label(path: Path, name: str) -> str:
    if path.step == "type" and path.parent is not None:
        return f"{path.parent.label}.{name}"
    return f"{path.label}.{name}"


# -- which entries there are ------------------------------------------------------------------------


def note_classless(capture: Capture, cls: type, name: str) -> None:
    """Traced code has found that the class (or its bases) has no such entry."""
    if hooks.can_hook(cls) and not capture.hooks.deleted(cls, name):
        guard_classless(capture, cls, class_path(capture, cls, None), name)


def guard_classless(capture: Capture, cls: type, path: Path, name: str) -> None:
    """The class, found at this path, is to go on having no such entry."""
    quick = name.startswith("__") and name.endswith("__") and _is_asked_plainly(cls)
    capture.guard(path, "methodless" if quick else "classless", name)


def _is_asked_plainly(cls: type) -> bool:
    """Whether ``cls.name`` runs no code of the user's metaclass."""
    meta = type(cls)
    plain = find_entry(meta, "__getattribute__") is type.__getattribute__
    return plain and find_entry(meta, "__getattr__") is GAP


def note_names(capture: Capture, cls: type) -> None:
    """Traced code has asked which entries a class has."""
    if hooks.can_hook(cls):
        capture.hooks.add(cls)
        capture.guard(class_path(capture, cls, None).attr("__dict__"), "keys", capture.hooks.names(cls))


def whole_class(capture: Capture, cls: type) -> types.MappingProxyType[str, Any]:
    """``vars(cls)``: all entries of the class are read."""
    note_names(capture, cls)
    contents: dict[str, Any] = {}
    for name, raw in hooks.original_entries(cls).items():
        own = name.startswith("__") and name.endswith("__")  # Python's: methods, documentation, slots…
        seen = own or capture.assigned_to_class(cls, name) is not None
        path = None if seen else entry_path(capture, cls, name, raw, None, cls)
        contents[name] = raw if path is None else capture.view(raw, path)
    return types.MappingProxyType(contents)


# -- reading ----------------------------------------------------------------------------------------


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
        return _read_gap(capture, owner, name, instance, cls)
    found = _read_entry(capture, owner, name, raw, instance, cls)
    if instance is not None and name in defaults.FALLBACKS:
        return _after_others(capture, name, instance, found)
    return found


def _read_entry(capture: Capture, owner: type, name: str, raw: Any, instance: Any, cls: type | None) -> Any:
    """What is bound of an entry that is there outside, which becomes part of the state."""
    implicit = name.startswith("__") and name.endswith("__")  # cls(...) does not ask the class itself
    if issubclass(type(instance), type) and not implicit and not is_data_descriptor(raw):
        # Found on the metaclass, which Python asks last: the class itself must not have the name.
        capture.guard(class_path(capture, instance, None), "classless", name)
    path = entry_path(capture, owner, name, raw, instance, cls)
    kind = type(raw)
    if kind is types.FunctionType:
        function = capture.view(raw, path)
        return function if instance is None else types.MethodType(function, instance)
    if kind is staticmethod:
        return _bind_inner(capture, raw, path, None, cls)
    if kind is classmethod:
        return _bind_inner(capture, raw, path, cls if cls is not None else type(instance), cls)
    if _is_property(raw, "__get__"):
        if instance is None:
            return capture.view(raw, path)
        if raw.fget is None:
            raise AttributeError(f"property {name!r} of {type(instance).__name__!r} object has no getter")
        return capture.view(raw.fget, path.attr("fget"))(instance)
    if kind is functools.singledispatchmethod:
        dispatcher = capture.view(raw.dispatcher, path.attr("dispatcher"))
        return lambda *args, **kwargs: dispatcher.dispatch(args[0].__class__).__get__(instance, cls)(
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


def _read_gap(capture: Capture, owner: type, name: str, instance: Any, cls: type | None) -> Any:
    """What traced code finds where a class has no entry."""
    start = type(instance) if cls is None else cls
    try:
        base, raw = hooks.next_entry(owner, name, instance, cls)
    except AttributeError:
        _note_default(capture, start, instance, name, GAP)
        if name == "__bool__" and instance is not None:
            note_lacking(capture, instance, "__len__")
        return hooks.bind_default(owner, name, instance, cls)
    if hooks.can_hook(base):
        return read_class_entry(capture, base, name, raw, instance, cls)
    _note_default(capture, start, instance, name, raw)
    found = hooks.bind_default(owner, name, instance, cls)
    return found if instance is None else _after_others(capture, name, instance, found)


# -- what Python does by itself ---------------------------------------------------------------------


def note_lacking(capture: Capture, instance: Any, name: str) -> None:
    """Python has asked the class of an object for a special method, if it is the user's, and has none."""
    cls = type(instance)
    if hooks.can_hook(cls):
        raw = find_entry(cls, name)
        if raw is GAP or not hooks.can_hook(owner_of(cls, name)):
            _note_default(capture, cls, instance, name, raw)


def _note_default(capture: Capture, cls: type, instance: Any, name: str, raw: Any) -> None:
    """That Python's own ``raw`` was used, or nothing, where the user's classes could have had an entry."""
    if capture.has_made(cls) or capture.hooks.deleted(cls, name):
        return
    path = class_path(capture, cls, instance)
    if raw is GAP:
        guard_classless(capture, cls, path, name)
    elif name not in hooks.ATTRIBUTE_HOOKS and _is_asked_plainly(cls) and isinstance(raw, _AS_THEY_ARE):
        capture.guard(path.to("attr", name, _entry_label(path, name)), "is", raw)
    else:
        capture.guard(path.to("classattr", name, _entry_label(path, name)), "is", raw)


# What an attribute of a class gives as it is.
_AS_THEY_ARE = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.FunctionType,
    types.BuiltinFunctionType,
)


def _after_others(capture: Capture, name: str, instance: Any, found: Any) -> Any:
    """A special method as it is found, having noted which others would have come before it."""
    frame = user_frame()
    if frame is None:
        return found
    operation = bytecode.operations(frame.f_code).get(bytecode.running(frame), "")
    for other in defaults.asked_before(name, operation, frame.f_code.co_names):
        note_lacking(capture, instance, other)
    if name == "__init__":
        note_lacking(capture, type(instance), "__call__")  # cls(…): the metaclass is asked first
    of_other = defaults.asked_of_other(name, operation, frame.f_code.co_names)
    return functools.partial(_reflected, capture, of_other, found) if of_other else found


def _reflected(capture: Capture, forward: list[str], method: Any, other: Any, *modulus: Any) -> Any:
    """Call a method whose object is the right operand: the left one's class was asked first."""
    for name in forward:
        note_lacking(capture, other, name)
    return method(other, *modulus)


def note_copying(capture: Capture, instance: Any) -> None:
    """An object is about to be copied, or pickled: these methods would have a say."""
    for name in _OF_COPYING:
        note_lacking(capture, instance, name)


_OF_COPYING = (
    *("__copy__", "__deepcopy__", "__reduce__", "__getstate__", "__setstate__"),
    *("__getnewargs__", "__getnewargs_ex__"),
)


def read_slot(capture: Capture, state: ObjectState, name: str, raw: Any) -> Any:
    """What an object of the caller's has in one of its ``__slots__``."""
    if name not in state.slots:
        growing = capture.only_appended_to(slot_now(state, raw), state.path.attr(name), name, put_back=True)
        if growing is not GAP:
            return growing
        state.slots[name] = state.slots_initial[name] = _slot_outside(capture, state, name, raw)
    value = state.slots[name]
    if value is GAP:
        raise AttributeError(name, name=name, obj=state.view)
    return value


def slot_now(state: ObjectState, raw: Any) -> Any:
    try:
        return raw.__get__(state.original)
    except AttributeError:
        return GAP


def _slot_outside(capture: Capture, state: ObjectState, name: str, raw: Any) -> Any:
    value = slot_now(state, raw)
    if value is GAP:
        capture.guard(state.path, "unset", name)
        return GAP
    return capture.view(value, state.path.attr(name))


def read_missing(capture: Capture, cls: type, name: str) -> Any:
    """``cls.name`` for a class without it, whose metaclass may have a ``__getattr__``."""
    meta = type(cls)
    note_classless(capture, cls, name)
    note_classless(capture, meta, name)
    fallback = find_entry(meta, "__getattr__")
    if not isinstance(fallback, types.FunctionType):
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)
    getter = read_class_entry(capture, owner_of(meta, "__getattr__"), "__getattr__", fallback, None, meta)
    return getter(cls, name)


def _is_property(raw: Any, method: str) -> bool:
    """Whether this part of the descriptor protocol is that of ``property`` itself, not of a subclass."""
    return isinstance(raw, property) and find_entry(type(raw), method) is property.__dict__[method]


def _bind_inner(capture: Capture, raw: Any, path: Path, bound: Any, cls: type | None) -> Any:
    function = capture.view(raw.__func__, path.attr("__func__"))
    if bound is None:
        return function
    if isinstance(function, (types.FunctionType, types.MethodType)):
        return types.MethodType(function, bound)
    get = getattr(type(function), "__get__", None)
    return functools.partial(function, bound) if get is None else get(function, bound, cls)


# Of Python's and JAX's wrappers of functions, those that bind as a function does.
_FUNCTION_WRAPPERS = (_compat.JitFunction, type(functools.lru_cache(lambda: None)))


def _binds_like_function(raw: Any) -> bool:
    """Wrappers of functions (ours, jax.jit's) become bound methods when read through an instance."""
    return isinstance(raw, _FUNCTION_WRAPPERS) or getattr(type(raw), "__freshjit_method__", False)


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
        state.set(attribute, value)
    return value


# -- writing ----------------------------------------------------------------------------------------


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
            state.set(name, value)
        return
    if isinstance(raw, types.MemberDescriptorType):
        if state is None:
            raw.__set__(instance, value)
        else:
            state.slots[name] = value
            state.where[name] = user_line()
        return
    _refuse_hidden(state, name, raw)
    path = entry_path(capture, owner, name, raw, instance, cls)
    if _is_property(raw, "__set__"):
        if raw.fset is None:
            raise AttributeError(f"property {name!r} of {cls.__name__!r} object has no setter")
        capture.view(raw.fset, path.attr("fset"))(instance, value)
        return
    view = capture.view(raw, path)
    type(view).__set__(view, instance, value)


def delete_class_entry(capture: Capture, owner: type, name: str, raw: Any, instance: Any) -> None:
    """``del instance.name`` where the class entry is a property, a slot or another data descriptor."""
    cls = type(instance)
    state = capture.objects.get(id(instance))
    assigned = capture.assigned_to_class(owner, name)
    if assigned is not None:
        (raw,) = assigned
        if is_data_descriptor(raw):
            type(raw).__delete__(raw, instance)
        elif state is not None:
            state.delete(capture, name)
        elif instance.__dict__.pop(name, GAP) is GAP:
            raise AttributeError(name, name=name, obj=instance)
        return
    if isinstance(raw, types.MemberDescriptorType):
        if state is None:
            raw.__delete__(instance)
        else:
            read_slot(capture, state, name, raw)  # it must be there
            if name not in state.slots_initial:  # written before it was read
                state.slots_initial[name] = _slot_outside(capture, state, name, raw)
            state.slots[name] = GAP
            state.where[name] = user_line()
        return
    _refuse_hidden(state, name, raw)
    path = entry_path(capture, owner, name, raw, instance, cls)
    if _is_property(raw, "__delete__"):
        if raw.fdel is None:
            raise AttributeError(f"property {name!r} of {cls.__name__!r} object has no deleter")
        capture.view(raw.fdel, path.attr("fdel"))(instance)
        return
    view = capture.view(raw, path)
    type(view).__delete__(view, instance)


def takes_writes(capture: Capture, raw: Any) -> bool:
    """Whether ``object.name = value`` is the affair of this entry of the class: it may become that later."""
    answer = is_data_descriptor(raw)
    if not answer and hooks.can_hook(type(raw)) and is_user_class(type(raw)):
        note_classless(capture, type(raw), "__set__")
        note_classless(capture, type(raw), "__delete__")
    return answer


def _refuse_hidden(state: ObjectState | None, name: str, raw: Any) -> None:
    """What C code keeps in an object of the caller's (``error.args``) would be changed there and then."""
    hidden = isinstance(raw, types.GetSetDescriptorType) and not name.startswith("__")
    if hidden and state is not None and state.view is state.original:
        raise UnsupportedStateError(
            f"{state.path}.{name} is kept by C code ({raw.__objclass__.__name__}) and was set or deleted "
            f"inside a jitted function (at {user_line()}).\nDo it outside, or make a new object."
        )


def write_class(capture: Capture, cls: type, name: str, value: Any) -> None:
    """``cls.name = value``."""
    if cls not in capture.hooks or not hooks.is_wrapped(cls, name, value):
        setattr(cls, name, value)  # made by this run, or nothing that traced code reads through a hook
    elif find_entry(type(cls), "__setattr__") is type.__setattr__ and find_entry(type(cls), name) is GAP:
        capture.hooks.assign(cls, name, value)
    else:  # the metaclass has a say
        setattr(cls, name, value)
        ClassState(capture, cls).take_over(certain=True)


def delete_from_class(capture: Capture, cls: type, name: str) -> None:
    """``delattr(cls, name)``."""
    delattr(cls, name)
    if cls in capture.hooks:
        ClassState(capture, cls).take_over(certain=True)


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
