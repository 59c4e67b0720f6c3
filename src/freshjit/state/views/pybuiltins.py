"""Stand-ins of Python's builtins: what cloned functions find as ``type``, ``super``, ``getattr``, ``eval``…

Most builtins are seen as they are. Those here would go past the capture (``object.__setattr__``, ``eval``),
show what stands for real things (``type``), or find that something is not there (``hasattr``).
"""

from __future__ import annotations

import abc
import builtins
import functools
import sys
import types
import typing
from collections.abc import Callable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from freshjit import _compat
from freshjit.state import bytecode, hooks
from freshjit.state.active import thread
from freshjit.state.contents import OrderedFrozenset, OrderedSet
from freshjit.state.hooks import GAP
from freshjit.state.path import Path
from freshjit.state.views import arrays, classes, objects
from freshjit.state.views.modules import library_value
from freshjit.state.views.namespaces import Namespace, imported, sys_modules
from freshjit.state.views.numbers import add_up, pow_of_three
from freshjit.state.views.replacements import class_read_now, note_stand_in, replace_in_captures

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["Builtins"]


class _ObjectAccess:
    """Stands for ``object`` where traced code reads a method for access to attributes from it."""

    def __getattribute__(self, name: str) -> Any:
        access = _default_access.get(name)
        return getattr(object, name) if access is None else access


_SEEN_AS_OTHERS = (*arrays.STAND_INS, OrderedSet, OrderedFrozenset)


class _TypeType:
    """Stands for ``type`` in cloned functions: ``type(x)`` of a stand-in is that of the real thing."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and type(args[0]) in _SEEN_AS_OTHERS:
            return args[0].__class__
        return type(*args, **kwargs)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, type)

    def __subclasscheck__(self, cls: Any) -> bool:
        return issubclass(cls, type)

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (type,)

    def __getattr__(self, name: str) -> Any:
        return getattr(type, name)

    def __getitem__(self, item: Any) -> Any:
        return type[item]

    def __eq__(self, other: object) -> bool:
        return other is type or other is self

    def __hash__(self) -> int:
        return hash(type)

    def __or__(self, other: Any) -> Any:
        return type | other


def _default_getattribute(instance: Any, name: str) -> Any:
    capture = thread.capture
    known = None if capture is None else capture.objects.get(id(instance))
    if capture is None or known is None:
        return object.__getattribute__(instance, name)
    return objects.default_read(capture, known, name)


def _default_setattr(instance: Any, name: str, value: Any) -> None:
    capture = thread.capture
    known = None if capture is None else capture.objects.get(id(instance))
    if capture is None or known is None:
        object.__setattr__(instance, name, value)
    else:
        objects.default_write(capture, known, name, value)


def _default_delattr(instance: Any, name: str) -> None:
    capture = thread.capture
    known = None if capture is None else capture.objects.get(id(instance))
    if capture is None or known is None:
        object.__delattr__(instance, name)
    else:
        objects.default_delete(capture, known, name)


_default_access: dict[str, Any] = {
    "__getattribute__": _default_getattribute,
    "__setattr__": _default_setattr,
    "__delattr__": _default_delattr,
}


class _Super(super):  # pyright: ignore
    """``super`` in cloned functions: ``super().__setattr__`` respects the capture, and a miss is noted."""

    def __getattribute__(self, name: str) -> Any:
        if name not in _default_access:
            try:
                return super.__getattribute__(self, name)
            except AttributeError:
                _Super._note_missing(self, name)
                raise
        this = super.__getattribute__(self, "__thisclass__")
        instance = super.__getattribute__(self, "__self__")
        start = super.__getattribute__(self, "__self_class__")
        mro = start.__mro__
        for base in mro[mro.index(this) + 1 :]:
            raw = hooks.original_entries(base).get(name)
            if isinstance(raw, types.FunctionType) and thread.capture is not None:
                reader = thread.capture.read_class_entry
                return reader(base, name, raw, instance, start)
            if raw is not None:
                break
        return functools.partial(_default_access[name], instance)

    def _note_missing(self, name: str) -> None:
        start = super.__getattribute__(self, "__self_class__")
        if thread.capture is None or start is None:
            return
        mro = start.__mro__
        for base in mro[mro.index(super.__getattribute__(self, "__thisclass__")) + 1 :]:
            classes.note_classless(thread.capture, base, name)


def _getattr(instance: Any, name: str, /, *default: Any) -> Any:
    """``getattr`` in cloned functions. That a class or function lacks a name is noted here."""
    _note_read(instance, name)
    try:
        return getattr(instance, name)
    except AttributeError:
        _note_missing(instance, name)
        if default:
            return default[0]
        raise


def _id(thing: Any, /) -> int:
    """``id`` in cloned functions: that of the real thing, which later calls have to be given again."""
    return id(_told_by_identity(thing))


def _hash(thing: Any, /) -> int:
    if type(thing).__hash__ is object.__hash__:
        thing = _told_by_identity(thing)
    return hash(thing)


def _told_by_identity(thing: Any) -> Any:
    capture = thread.capture
    entry = None if capture is None else capture.original_of(thing)
    if capture is None or entry is None or capture.objects.get(id(thing)) is None:
        return thing
    capture.guard(entry.path, "is", entry.original)
    return entry.original


def _hasattr(instance: Any, name: str, /) -> bool:
    capture = thread.capture
    state = None if capture is None else capture.objects.get(id(instance))
    if capture is not None and state is not None and objects.has_of_its_own(capture, state, name):
        return True
    try:
        getattr(instance, name)
    except AttributeError:
        _note_missing(instance, name)
        return False
    return True


def _callable(thing: Any, /) -> bool:
    """``callable`` in cloned functions: it looks whether the class of an object has ``__call__``."""
    answer, capture = callable(thing), thread.capture
    if capture is not None and hooks.can_hook(type(thing)):
        if answer:
            _ = thing.__call__  # is read
        else:
            classes.note_lacking(capture, thing, "__call__")
    return answer


def _setattr(instance: Any, name: str, value: Any, /) -> None:
    """``setattr`` in cloned functions: what is given to a class is kept apart."""
    if thread.capture is not None and isinstance(instance, type):
        thread.capture.write_class(instance, name, value)
    else:
        setattr(instance, name, value)


def _delattr(instance: Any, name: str, /) -> None:
    if thread.capture is not None and isinstance(instance, type):
        classes.delete_from_class(thread.capture, instance, name)
    else:
        delattr(instance, name)


def _vars(*args: Any) -> Any:
    """``vars`` in cloned functions: the dictionary of a class goes past its hooks."""
    if not args:
        return sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]
    (instance,) = args
    if thread.capture is not None and isinstance(instance, type) and hooks.can_hook(instance):
        return classes.whole_class(thread.capture, instance)
    _note_read(instance, "__dict__")
    return vars(instance)


def _dir(*args: Any) -> list[str]:
    """``dir`` in cloned functions: which entries a class has is noted here."""
    if not args:
        return sorted(sys._getframe(1).f_locals)  # pyright: ignore[reportPrivateUsage]
    (instance,) = args
    cls = instance if isinstance(instance, type) else type(instance)
    if thread.capture is not None:
        for base in cls.__mro__:
            classes.note_names(thread.capture, base)
    _note_read(instance, "__dict__")
    return [name for name in dir(instance) if not hooks.stands_for_nothing(cls, name)]


def _isinstance(instance: Any, kinds: Any, /) -> bool:
    """``isinstance`` in cloned functions: a class can become one of an abstract class without changing."""
    capture, parts = thread.capture, _abstract(kinds)
    if capture is None or not parts or not hooks.can_hook(type(instance)):
        return isinstance(instance, kinds)
    known = capture.objects.get(id(instance))
    if known is not None and any(map(_is_protocol, parts)):
        return any(_is_one_of(known, part) for part in _parts(kinds))
    answer = isinstance(instance, kinds)
    _note_subclass(capture, type(instance), parts, classes.class_path(capture, type(instance), instance))
    return answer


def _issubclass(cls: Any, kinds: Any, /) -> bool:
    """``issubclass`` in cloned functions."""
    answer, capture, parts = issubclass(cls, kinds), thread.capture, _abstract(kinds)
    if capture is not None and parts and hooks.can_hook(cls):
        _note_subclass(capture, cls, parts, classes.class_path(capture, cls, None))
    return answer


def _parts(kinds: Any) -> list[Any]:
    """The classes in what ``isinstance`` gets."""
    if isinstance(kinds, tuple):
        return [part for kind in kinds for part in _parts(kind)]  # pyright: ignore
    return [*kinds.__args__] if isinstance(kinds, types.UnionType) else [kinds]


def _abstract(kinds: Any) -> list[Any]:
    if type(kinds) is type:
        return []
    return [part for part in _parts(kinds) if isinstance(part, abc.ABCMeta)]


def _is_protocol(kind: Any) -> bool:
    return bool(vars(kind).get("_is_protocol"))


def _is_one_of(known: objects.ObjectState, kind: Any) -> bool:
    """``isinstance`` of a captured object, whose attributes decide whether it follows a protocol."""
    capture, cls = thread.capture, type(known.view)
    assert capture is not None
    answer = isinstance(known.view, type(None) if kind is None else kind)
    if not isinstance(kind, abc.ABCMeta) or any(kind is base for base in cls.__mro__):
        return answer
    if not _is_protocol(kind):
        _note_subclass(capture, cls, [kind], classes.class_path(capture, cls, known.view))
        return answer
    names = getattr(kind, "__protocol_attrs__", None)  # since Python 3.12
    if names is None:
        names = typing._get_protocol_attrs(kind)  # pyright: ignore
    return all(objects.has_attribute(capture, known, name) for name in sorted(names))


def _note_subclass(capture: Capture, cls: type, kinds: list[Any], path: Path) -> None:
    for kind in kinds:
        if any(kind is base for base in cls.__mro__):
            continue  # by inheritance: the guards of types see to that
        try:
            capture.guard(path, "subclass", (kind, issubclass(cls, kind)))
        except TypeError:  # a protocol with members that are no methods, of an object made by this run
            continue


def _note_read(instance: Any, name: str) -> None:
    if thread.capture is not None and isinstance(instance, type):
        thread.capture.class_attributes.read_by_name(name)
    if thread.capture is not None and isinstance(instance, (types.FunctionType, types.MethodType)):
        thread.capture.functions.read_by_name(thread.capture, instance, name)


def _note_missing(instance: Any, name: str) -> None:
    capture = thread.capture
    if capture is None:
        return
    state = capture.functions.state_of(instance)
    if state is not None:
        state.note_missing(capture, name)
    elif isinstance(instance, type):
        classes.note_classless(capture, instance, name)


class _Modules(MutableMapping[str, Any]):
    """``sys.modules`` as traced code sees it."""

    def __getitem__(self, name: str) -> Any:
        capture, found = thread.capture, sys.modules.get(name, GAP)
        if capture is None:
            return sys.modules[name]
        if found is GAP:
            capture.guard(sys_modules, "missing", name)
            raise KeyError(name)
        return capture.view(found, sys_modules.to("item", name, name))

    def __contains__(self, name: object) -> bool:
        if thread.capture is not None and isinstance(name, str):
            thread.capture.guard(sys_modules, "contains" if name in sys.modules else "missing", name)
        return name in sys.modules

    def __setitem__(self, name: str, module: Any) -> None:
        sys.modules[name] = module

    def __delitem__(self, name: str) -> None:
        del sys.modules[name]

    def __iter__(self) -> Iterator[str]:
        if thread.capture is not None:
            thread.capture.report_frozen("sys.modules was listed", "List it outside.")
        return iter(list(sys.modules))

    def __len__(self) -> int:
        return len(list(iter(self)))


replace_in_captures(sys.modules, _Modules())


def _evaluator(run: Callable[..., Any]) -> Callable[..., Any]:
    """``eval`` and ``exec`` of code that sees watched globals."""

    def evaluate(source: Any, globals: Any = None, locals: Any = None, /, **kwargs: Any) -> Any:
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        if globals is None:
            globals, locals = frame.f_globals, frame.f_locals if locals is None else locals
        if not isinstance(globals, Namespace):
            return run(source, globals, locals, **kwargs)
        mode = "eval" if run is builtins.eval else "exec"
        code: Any = source
        if not isinstance(source, types.CodeType):
            code = compile(source, "<string>", mode, dont_inherit=True)
        globals.preload(code)
        return run(code, globals, locals, **kwargs)

    return evaluate


def _print(*values: Any, **options: Any) -> None:
    """What is printed is for the eyes of a person: the program does not depend on it."""
    print(*map(_compat.shown, values), **options)


_replaced_builtins: dict[str, Any] = {
    "callable": _callable,
    "delattr": _delattr,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "hash": _hash,
    "id": _id,
    "isinstance": _isinstance,
    "issubclass": _issubclass,
    "setattr": _setattr,
    "pow": pow_of_three,
    "print": _print,
    "sum": add_up,
    "super": _Super,
    "type": _TypeType(),
    "vars": _vars,
    "dir": _dir,
}
_object_access = _ObjectAccess()
for _name, _view in (*_replaced_builtins.items(), ("object", _object_access)):
    note_stand_in(_view, getattr(builtins, _name))
    if isinstance(_view, types.FunctionType):
        _view.__name__ = _view.__qualname__ = _name

_STANDARD = dict(vars(builtins))
_builtins = Path.constant(builtins, "builtins")


class Builtins(dict[str, Any]):
    """Python's builtins as the cloned functions of one capture see them.

    CPython asks ``__getitem__`` for every name that it does not find in the globals, since this is not
    exactly a dict. What somebody has put there, or in place of Python's own, is state.
    """

    def __init__(self, capture: Capture) -> None:
        super().__init__(vars(builtins))
        self._capture, self._closed = capture, False
        self.update(_replaced_builtins)
        self.update({name: library_value(vars(builtins)[name]) for name in ("open", "input")})
        self["__import__"] = functools.partial(_import, capture)
        self["eval"] = _evaluator(builtins.eval)
        self["exec"] = _evaluator(builtins.exec)

    def __getitem__(self, name: str) -> Any:
        found = vars(builtins).get(name, GAP)
        if self._closed:
            return vars(builtins)[name]
        if found is GAP:
            self._capture.guard(_builtins.to("dict"), "missing", name)
            raise KeyError(name)
        if found is not _STANDARD.get(name, GAP):
            return self._capture.view(found, _builtins.attr(name))
        if name in ("int", "float", "complex"):
            return class_read_now(found)
        if name in ("type", "object"):
            frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
            use = bytecode.uses(frame.f_code).get(bytecode.running(frame))
            if use is not None and use.variable != name:
                use = None  # it is read in another way
            # A stand-in would be found out by ``is``, and ``match`` takes classes only.
            compared = use is not None and use.compared
            if name == "object":
                taken = None if use is None or compared else use.attribute
                return _object_access if taken in _default_access else object
            if compared:
                return type
        return dict.__getitem__(self, name)

    def close(self) -> None:
        """The capture is over: be the real builtins for whoever still calls."""
        self._closed = True


def _import(
    capture: Capture,
    name: str,
    globals: Any = None,
    locals: Any = None,
    fromlist: Any = (),
    level: int = 0,
) -> Any:
    """What an import statement calls."""
    try:
        with capture.paused():
            module = builtins.__import__(name, globals, locals, fromlist, level)
    except ImportError as error:
        _note_not_imported(capture, error)
        raise
    return capture.view(module, imported(module))


def _note_not_imported(capture: Capture, error: ImportError) -> None:
    """That a module could not be imported is noted here, as far as ``sys.modules`` shows it."""
    name = error.name
    if name is None:
        return
    if name in sys.modules:  # None there means: do not import it
        capture.guard(sys_modules.to("item", name, name), "is", sys.modules[name])
    else:
        capture.guard(sys_modules, "missing", name)
