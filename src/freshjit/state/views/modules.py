"""Views of namespaces: the globals of the user's modules, and JAX's modules as traced code sees them."""

from __future__ import annotations

import builtins
import functools
import itertools
import sys
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from freshjit import _compat
from freshjit.errors import FreshjitError, UnsupportedStateError
from freshjit.state import hooks
from freshjit.state.active import thread
from freshjit.state.guards import user_line
from freshjit.state.hooks import GAP, differences
from freshjit.state.libraries import is_library_module
from freshjit.state.path import Path
from freshjit.state.record import Write
from freshjit.state.values import is_plain
from freshjit.state.views import arrays, classes
from freshjit.state.views.numbers import math_function

if TYPE_CHECKING:
    from freshjit.state.capture import Capture


class Namespace(dict[str, Any]):
    """The globals of one module as its cloned functions see them.

    CPython asks ``__getitem__`` for every global name when a function's globals are not exactly a
    dict; names that are assigned (``global x``) land in the dict itself, which is how they are found.
    """

    def __init__(self, capture: Capture, real: dict[str, Any], path: Path) -> None:
        super().__init__()
        self.capture, self.real, self.path = capture, real, path
        self.cache: dict[str, Any] = {}
        self.preloaded: dict[str, Any] = {"__builtins__": capture.builtins}
        dict.__setitem__(self, "__builtins__", capture.builtins)
        for name in ("__name__", "__package__", "__spec__", "__file__", "__loader__"):
            if name in real:
                self.preloaded[name] = real[name]
                dict.__setitem__(self, name, real[name])
        self.deleted: set[str] = set()
        self.closed = False
        self.prefix = str(real.get("__name__", "")) if not path.label.startswith("globals of") else ""
        capture.mutable(self)

    def preload(self, code: types.CodeType) -> None:
        """Put names in place that CPython looks up without asking: in class bodies, ``eval``, and ``del``."""
        for name in _unasked_names(code):
            if dict.__contains__(self, name) or name in self.deleted:
                continue
            if name not in self.real:
                self.capture.guard(self.path, "missing", name)
                continue
            view = self[name]
            self.preloaded[name] = view
            dict.__setitem__(self, name, view)

    def __getitem__(self, name: str) -> Any:
        if self.closed:  # a rule of custom_jvp, say, which JAX runs when it differentiates later
            return self.real[name]
        if dict.__contains__(self, name):
            return dict.__getitem__(self, name)
        if name in self.deleted or name not in self.real:
            if name not in self.deleted:
                self.capture.guard(self.path, "missing", name)
            raise KeyError(name)
        if name not in self.cache:
            place = self.path.to("item", name, f"{self.prefix}.{name}" if self.prefix else name)
            growing = self.capture.only_appended_to(self.real[name], place, name)
            if growing is not GAP:
                return growing
            self.cache[name] = self.capture.view(self.real[name], place)
        found = self.cache[name]
        return class_read_now(found) if id(found) in _class_stand_ins else found

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str) and not dict.__contains__(self, name) and name not in self.deleted:
            self.capture.guard(self.path, "contains" if name in self.real else "missing", name)
        return dict.__contains__(self, name) or (name in self.real and name not in self.deleted)

    def get(self, name: str, default: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        try:
            return self[name]
        except KeyError:
            return default

    def __iter__(self) -> Iterator[str]:
        self.capture.guard(self.path, "keys", tuple(self.real))
        names = [n for n in self.real if n not in self.deleted]
        return iter(names + [n for n in dict.keys(self) if n not in self.real])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def keys(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return list(iter(self))

    def items(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return [(n, self[n]) for n in self]

    def values(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return [self[n] for n in self]

    def assign(self, name: str, value: Any) -> None:
        dict.__setitem__(self, name, value)
        self.deleted.discard(name)

    def assigned(self, name: str) -> bool:
        """Whether traced code has assigned or deleted the name."""
        return dict.__contains__(self, name) or name in self.deleted

    def __setitem__(self, name: str, value: Any) -> None:
        self.assign(name, value)

    def __delitem__(self, name: str) -> None:
        self.remove(name)

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self.assign(name, default)
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        if name not in self and default:
            return default[0]
        value = self[name]
        self.remove(name)
        return value

    def popitem(self) -> tuple[str, Any]:
        names = list(self)
        if not names:
            raise KeyError("popitem(): dictionary is empty")
        return names[-1], self.pop(names[-1])

    def update(self, *others: Any, **named: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        for name, value in dict(*others, **named).items():
            self.assign(name, value)

    def __ior__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.update(other)
        return self

    def __or__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.copy() | other

    def copy(self) -> dict[str, Any]:
        return dict(self.items())

    def clear(self) -> None:
        for name in list(self):
            self.remove(name)

    def remove(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        dict.pop(self, name, None)
        self.deleted.add(name)

    def close(self) -> None:
        """The capture is over: forget its views, and be the real globals for whoever still calls."""
        self.closed = True
        dict.clear(self)
        dict.__setitem__(self, "__builtins__", builtins)
        self.cache.clear()
        self.preloaded.clear()

    def _assigned(self) -> dict[str, Any]:
        return {
            n: v
            for n, v in dict.items(self)
            if self.preloaded.get(n, GAP) is not v and self.cache.get(n, GAP) is not v
        }

    # -- Mutable --------------------------------------------------------------------------------

    def writes(self, capture: Capture) -> Iterator[Write]:
        for name, value in self._assigned().items():
            yield Write(self.path, "setglobal", name, value, user_line())
        gone = self.deleted | {n for n in self.preloaded if not dict.__contains__(self, n)}
        for name in gone:
            if name in self.real and not dict.__contains__(self, name):
                yield Write(self.path, "delglobal", name, None)

    def start(self) -> Any:
        return dict(self.preloaded), set[str]()

    def snapshot(self) -> Any:
        return dict(dict.items(self)), set(self.deleted)

    def restore(self, snapshot: Any) -> None:
        contents, deleted = snapshot
        dict.clear(self)
        dict.update(self, contents)
        self.deleted = set(deleted)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        contents, _ = snapshot
        return differences(dict(dict.items(self)), contents)

    def apply(self, changes: dict[Any, Any]) -> None:
        for name, value in changes.items():
            if value is GAP:
                dict.pop(self, name, None)
            else:
                self.assign(name, value)

    def content(self, key: Any) -> Any:
        return self[key]

    def place(self, key: Any) -> Path:
        return self.path.to("item", key, f"{self.prefix}.{key}" if self.prefix else key)


# The first two are found in the body of a class, of a module, and in what ``eval`` gets.
_UNASKED = ("LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "DELETE_GLOBAL")


@functools.lru_cache(maxsize=4096)
def _unasked_names(code: types.CodeType) -> tuple[str, ...]:
    import dis

    names = [str(i.argval) for i in dis.get_instructions(code) if i.opname in _UNASKED]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.extend(_unasked_names(constant))
    return tuple(dict.fromkeys(names))


# -- modules ----------------------------------------------------------------------------------------


class ModuleView(types.ModuleType):
    """A user's module: its attributes are its globals, read and written through the capture.

    A module may have a class of its own, with properties and ``__getattr__``.
    """

    def __init__(self, module: types.ModuleType, namespace: Namespace) -> None:
        object.__setattr__(self, "_freshjit_namespace", namespace)
        object.__setattr__(self, "_freshjit_class", type(module))
        super().__init__(module.__name__)

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return object.__getattribute__(self, "_freshjit_class")
        namespace: Namespace = object.__getattribute__(self, "_freshjit_namespace")
        if name == "__dict__":
            return namespace
        raw = _module_entry(self, name)
        if raw is not GAP and hooks.is_data_descriptor(raw):
            return _bound_to_module(self, name, raw)
        try:
            return namespace[name]
        except KeyError:
            pass
        if raw is not GAP:
            return _bound_to_module(self, name, raw)
        fallback = namespace.get("__getattr__")
        if fallback is not None:
            return fallback(name)
        raw = _module_entry(self, "__getattr__")
        if raw is not GAP:
            return _bound_to_module(self, "__getattr__", raw)(name)
        module = namespace.real.get("__name__")
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        namespace: Namespace = object.__getattribute__(self, "_freshjit_namespace")
        raw = _module_entry(self, name)
        if name == "__class__" or (raw is not GAP and hooks.is_data_descriptor(raw)):
            raise UnsupportedStateError(
                f"{namespace.prefix}.{name}, which belongs to the class of the module, was assigned inside a "
                f"jitted function (at {user_line()}).\nAssign it outside."
            )
        namespace.assign(name, value)

    def __delattr__(self, name: str) -> None:
        namespace: Namespace = object.__getattribute__(self, "_freshjit_namespace")
        try:
            namespace.remove(name)
        except KeyError:
            raise AttributeError(name, name=name, obj=self) from None


def _module_entry(view: ModuleView, name: str) -> Any:
    """What a module's own class has under a name, a gap if nothing (or the class is Python's)."""
    cls = object.__getattribute__(view, "_freshjit_class")
    if cls is types.ModuleType:
        return GAP
    own = cls.__mro__[: cls.__mro__.index(types.ModuleType)]
    raw = next((raw for base in own if (raw := hooks.entry_of(base, name)) is not GAP), GAP)
    if raw is GAP:
        namespace: Namespace = object.__getattribute__(view, "_freshjit_namespace")
        if not hasattr(types.ModuleType, name):
            classes.note_classless(namespace.capture, cls, name)
    return raw


def _bound_to_module(view: ModuleView, name: str, raw: Any) -> Any:
    namespace: Namespace = object.__getattribute__(view, "_freshjit_namespace")
    cls = object.__getattribute__(view, "_freshjit_class")
    owner = next(base for base in cls.__mro__ if hooks.entry_of(base, name) is raw)
    return classes.read_class_entry(namespace.capture, owner, name, raw, view, cls)


class LibraryModule(types.ModuleType):
    """A module of a library: the same names, with what must see the capture replaced.

    Its settings (``sys.argv``, ``logging.raiseExceptions``) are state like those of the user's modules.
    """

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__, module.__doc__)
        object.__setattr__(self, "_freshjit_module", module)

    def __getattr__(self, name: str) -> Any:
        module: types.ModuleType = object.__getattribute__(self, "_freshjit_module")
        capture = thread.capture
        if capture is None or module.__name__ in _OF_CONSTANTS:
            return library_value(getattr(module, name))
        namespace = capture.namespaces.get(id(module.__dict__))
        if namespace is not None and namespace.assigned(name):
            return namespace[name]
        if name in module.__dict__:
            value = module.__dict__[name]
            if id(value) in _class_stand_ins:
                return class_read_now(value)
            return namespace_of(capture, module)[name] if _is_setting(value) else library_value(value)
        try:
            return library_value(getattr(module, name))  # what the module's own __getattr__ makes
        except AttributeError:
            capture.guard(imported(module).to("dict"), "missing", name)
            raise

    def __setattr__(self, name: str, value: Any) -> None:
        module: types.ModuleType = object.__getattribute__(self, "_freshjit_module")
        settable = _is_setting(value) or type(value) in arrays.STAND_INS
        if thread.capture is not None and settable and _is_setting(module.__dict__.get(name)):
            namespace_of(thread.capture, module).assign(name, value)
        else:
            setattr(module, name, value)

    def __delattr__(self, name: str) -> None:
        module: types.ModuleType = object.__getattribute__(self, "_freshjit_module")
        if thread.capture is not None and name in module.__dict__ and _is_setting(module.__dict__[name]):
            namespace_of(thread.capture, module).remove(name)
        else:
            delattr(module, name)

    @property
    def __dict__(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        module: types.ModuleType = object.__getattribute__(self, "_freshjit_module")
        return module.__dict__ if thread.capture is None else namespace_of(thread.capture, module)

    def __dir__(self) -> list[str]:
        return dir(object.__getattribute__(self, "_freshjit_module"))


_OF_CONSTANTS = frozenset(("math", "cmath", "string", "numpy", "jax", "jax.numpy", "jax.lax"))


def _is_setting(value: Any) -> bool:
    """Whether a module's entry is data that somebody may change."""
    if type(value) in (list, tuple):
        return all(map(_is_setting, value))
    return is_plain(value) or isinstance(value, (np.ndarray, jax.Array))


def view_module(capture: Capture, module: types.ModuleType, path: Path) -> Any:
    if is_library_module(module.__name__):
        capture.guard(path, "is", module)
        return capture.remember(module, library_value(module), path)
    capture.guard(path, "type", type(module))
    view = ModuleView(module, namespace_of(capture, module, path))
    return capture.remember(module, view, path)


def namespace_of(capture: Capture, module: types.ModuleType, path: Path | None = None) -> Namespace:
    """The watched globals of a module, found at ``path`` or where it is imported from."""
    path = imported(module) if path is None else path
    place = path.to("dict")
    known = capture.namespaces.get(id(module.__dict__))
    if known is None:
        known = Namespace(capture, module.__dict__, place)
        known.prefix = str(path)
        capture.namespaces[id(module.__dict__)] = known
    elif known.path is not place:
        capture.guard(place, "alias", known.path)
    return known


sys_modules = Path.constant(sys.modules, "sys.modules")


def imported(module: types.ModuleType) -> Path:
    """Where an import statement finds a module."""
    name = module.__name__
    if sys.modules.get(name) is module:
        return sys_modules.to("item", name, name)
    return Path.constant(module, name)


# -- JAX as traced code sees it ---------------------------------------------------------------------

_library_views: dict[int, tuple[Any, Any]] = {}  # by id of the original: (original, view)
_library_originals: dict[int, tuple[Any, Any]] = {}  # by id of the view: (view, original)


def note_stand_in(view: Any, original: Any) -> None:
    """``view`` is what traced code finds under some name in place of ``original``."""
    _library_originals[id(view)] = (view, original)


def replace_in_captures(original: Any, replacement: Any) -> None:
    """Let traced code find ``replacement`` wherever it would find JAX's ``original``."""
    _library_views[id(original)] = (original, replacement)
    note_stand_in(replacement, original)


# By id of a library's class: (the class, what may stand for it, the class methods that need it).
_class_stand_ins: dict[int, tuple[type, type, frozenset[str]]] = {}


def replace_class_in_captures(real: type, stand_in: type, methods: frozenset[str]) -> None:
    """Let traced code find ``stand_in`` for a class, wherever it cannot tell the two apart."""
    _class_stand_ins[id(real)] = (real, stand_in, methods)
    note_stand_in(stand_in, real)


def class_read_now(cls: type) -> Any:
    """What the instruction gets that now reads a class which may have a stand-in."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while str(frame.f_globals.get("__name__", "")).partition(".")[0] == "freshjit":
        if frame.f_back is None:
            return cls
        frame = frame.f_back
    return class_read_by(cls, frame.f_code, frame.f_lasti)


def class_read_by(cls: Any, code: types.CodeType, offset: int | None = None) -> Any:
    """The stand-in for a class if all that this code does next is to call one of its methods that need it.

    Also if the code nowhere compares by identity, which is how it could tell a stand-in from the class.
    """
    from freshjit.state.views.functions import compares_identity

    known = _class_stand_ins.get(id(cls))
    if known is None:
        return cls
    _, stand_in, methods = known
    taken = None if offset is None else _attributes_taken(code).get(offset)
    return stand_in if taken in methods or not compares_identity(code) else cls


@functools.lru_cache(maxsize=4096)
def _attributes_taken(code: types.CodeType) -> dict[int, str]:
    """By the offset of an instruction: the attribute that is read at once from what it gives."""
    import dis

    instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
    return {
        before.offset: str(after.argval)
        for before, after in itertools.pairwise(instructions)
        if after.opname in ("LOAD_ATTR", "LOAD_METHOD")
    }


def real_library_value(capture: Capture, value: Any) -> Any:
    """What a library's function is to code outside, if ``value`` is one; else None."""
    known = _library_originals.get(id(value))
    if known is not None:
        return known[1]
    for name in ("__import__", "eval", "exec"):  # each capture has its own
        if capture.builtins[name] is value:
            return getattr(builtins, name)
    if isinstance(value, np.ufunc):
        return value if getattr(np, value.__name__, None) is value else None
    if not isinstance(value, (types.FunctionType, *_CALLABLES_OF_JAX)):
        return None
    home: Any = getattr(value, "__module__", None)
    if not is_library_module(home):
        return None
    found = sys.modules.get(home)
    for part in str(getattr(value, "__qualname__", value.__name__)).split("."):
        found = getattr(found, part, None)
    return value if found is value else None


_CALLABLES_OF_JAX = (_compat.JitFunction, jax.custom_jvp, jax.custom_vjp, jnp.ufunc)


def is_replaced(value: Any) -> bool:
    """Whether traced code finds something else in its place."""
    return id(value) in _library_views


def library_value(value: Any) -> Any:
    """What traced code sees of something found in a library: mostly the thing itself."""
    known = _library_views.get(id(value))
    if known is not None:
        return known[1]
    if isinstance(value, types.ModuleType):
        view: Any = LibraryModule(value) if is_library_module(value.__name__) else value
    elif isinstance(value, types.BuiltinFunctionType) and value.__module__ in ("math", "cmath"):
        view = math_function(value)
    elif isinstance(value, jnp.ufunc):
        view = _Ufunc(value)
    elif _takes_arrays(value):
        view = _accepting_numpy_views(value)
    else:
        return value
    replace_in_captures(value, view)
    return view


def _takes_arrays(value: Any) -> bool:
    if not isinstance(value, (types.FunctionType, _compat.JitFunction, jax.custom_jvp, jax.custom_vjp)):
        return False
    home = getattr(value, "__module__", None) or ""
    return isinstance(home, str) and home.partition(".")[0] == "jax"


def _accepting_numpy_views(function: Callable[..., Any]) -> Callable[..., Any]:
    """JAX's functions do not know our NumPy views: hand them the tracer instead."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if thread.capture is None:
            return function(*args, **kwargs)
        return call_library(function, args, kwargs)

    return call


def call_library(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of JAX's that does not know what stands for arrays and numbers."""
    new_args, new_kwargs = arrays.to_jax(args), arrays.to_jax(kwargs)
    try:
        return function(*new_args, **new_kwargs)
    except FreshjitError:
        raise
    except Exception:
        # Perhaps a tracer came where JAX wants a number (an axis, a number of sections).
        if (new_args is args and new_kwargs is kwargs) or _has_functions((args, kwargs)):
            raise
    return function(*arrays.to_plain(args), **arrays.to_plain(kwargs))


def _has_functions(arguments: Any) -> bool:
    """Whether there is user code among the arguments, which is not to run a second time."""
    leaves = jax.tree_util.tree_leaves(arguments, is_leaf=lambda x: type(x) in arrays.STAND_INS)
    return any(callable(leaf) and not isinstance(leaf, type) for leaf in leaves)


class _Ufunc:
    """One of ``jax.numpy``'s ufuncs: it and its methods take what stands for arrays and numbers."""

    def __init__(self, ufunc: Any) -> None:
        self._ufunc = ufunc
        self._call = _accepting_numpy_views(ufunc)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._ufunc, name)
        return _accepting_numpy_views(found) if isinstance(found, types.MethodType) else found

    def __repr__(self) -> str:
        return repr(self._ufunc)
