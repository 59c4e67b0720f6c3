"""Views of modules: the user's, read and written through the capture, and those of libraries."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from freshjit import _compat
from freshjit.errors import UnsupportedStateError
from freshjit.state import draws, hooks
from freshjit.state.active import thread
from freshjit.state.guards import user_line
from freshjit.state.held import is_lasting
from freshjit.state.hooks import GAP
from freshjit.state.libraries import is_jax_module, is_library_function, is_library_module, is_user_class
from freshjit.state.path import Path
from freshjit.state.values import is_plain
from freshjit.state.views import classes
from freshjit.state.views.library_calls import Ufunc, accepting_numpy_views, handing_on_numbers
from freshjit.state.views.namespaces import Namespace, namespace_of
from freshjit.state.views.numbers import math_function
from freshjit.state.views.replacements import (
    is_replaced,
    may_have_stand_in,
    replace_in_captures,
    replacement,
)

if TYPE_CHECKING:
    from freshjit.state.capture import Capture


def view_module(capture: Capture, module: types.ModuleType, path: Path) -> Any:
    if is_library_module(module.__name__):
        capture.guard(path, "is", module)
        return capture.remember(module, library_value(module), path)
    capture.guard(path, "type", type(module))
    view = ModuleView(module, namespace_of(capture, module, path))
    return capture.remember(module, view, path)


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


# -- libraries --------------------------------------------------------------------------------------


class LibraryModule(types.ModuleType):
    """A module of a library: the same names, with what must see the capture replaced.

    Its entries are state like the globals of the user's modules: somebody may replace them.
    """

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__, module.__doc__)
        object.__setattr__(self, "_freshjit_module", module)
        # The module itself is guarded where it is found, and keeps this dictionary as long as it lives.
        object.__setattr__(self, "_freshjit_path", Path.constant(module.__dict__, module.__name__))

    def __getattr__(self, name: str) -> Any:
        module: types.ModuleType = object.__getattribute__(self, "_freshjit_module")
        if thread.capture is None or _is_stream(module, name):
            return library_value(getattr(module, name))
        namespace = _library_namespace(thread.capture, self)
        if name not in module.__dict__ and not namespace.assigned(name):
            found = _made_by_module(thread.capture, module, name)
            if name not in module.__dict__:  # a lazy module has put it in its place
                thread.capture.guard(namespace.path, "missing", name)
                if found is GAP:
                    raise _no_entry(module, name)
                return library_value(found)
        try:
            return namespace[name]
        except KeyError:
            raise _no_entry(module, name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        module: types.ModuleType = object.__getattribute__(self, "_freshjit_module")
        if thread.capture is None or _is_stream(module, name):
            setattr(module, name, value)
        else:
            _library_namespace(thread.capture, self).assign(name, value)

    def __delattr__(self, name: str) -> None:
        module: types.ModuleType = object.__getattribute__(self, "_freshjit_module")
        if thread.capture is None or _is_stream(module, name):
            delattr(module, name)
            return
        try:
            _library_namespace(thread.capture, self).remove(name)
        except KeyError:
            raise _no_entry(module, name) from None

    @property
    def __dict__(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        module: types.ModuleType = object.__getattribute__(self, "_freshjit_module")
        return module.__dict__ if thread.capture is None else _library_namespace(thread.capture, self)

    def __dir__(self) -> list[str]:
        return dir(object.__getattribute__(self, "_freshjit_module"))


class LibraryNamespace(Namespace):
    """The entries of a library's module: guarded by identity, or by value where they are settings."""

    def view_entry(self, value: Any, place: Path) -> Any:
        if _is_setting(value) or not _is_librarys_own(value):
            return self.capture.view(value, place)
        self.capture.guard(place, "is", value)
        owner = getattr(value, "__self__", None)
        if owner is draws.of_python or owner is draws.of_numpy:
            self.capture.pathless.watch_random(owner, place)
        return value if may_have_stand_in(value) else library_value(value)


def _library_namespace(capture: Capture, view: LibraryModule) -> Namespace:
    module: types.ModuleType = object.__getattribute__(view, "_freshjit_module")
    known = capture.namespaces.get(id(module.__dict__))
    if known is None:
        path: Path = object.__getattribute__(view, "_freshjit_path")
        known = capture.namespaces[id(module.__dict__)] = LibraryNamespace(capture, module.__dict__, path)
        known.prefix = module.__name__
    return known


def _made_by_module(capture: Capture, module: types.ModuleType, name: str) -> Any:
    """What the module's own ``__getattr__`` gives, a gap if nothing."""
    with capture.paused():
        return getattr(module, name, GAP)


def _no_entry(module: types.ModuleType, name: str) -> AttributeError:
    return AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module)


def _is_stream(module: types.ModuleType, name: str) -> bool:
    """Whether it is what texts are written to while tracing: the one that is there makes no other program."""
    return module is sys and name in ("stdin", "stdout", "stderr")


def _is_setting(value: Any) -> bool:
    """Whether a module's entry is data that somebody may change."""
    if type(value) in (list, tuple):
        return all(map(_is_setting, value))
    return is_plain(value) or isinstance(value, (np.ndarray, jax.Array))


def _is_librarys_own(value: Any) -> bool:
    """Whether an entry of a library's module is the library's, and not one that somebody has put there."""
    if is_replaced(value):
        return True
    if isinstance(value, types.ModuleType):
        return is_library_module(value.__name__)
    if isinstance(value, type):
        return not is_user_class(value)
    if isinstance(value, types.MethodType):
        return _is_librarys_own(value.__func__) and _is_librarys_own(value.__self__)
    if isinstance(value, functools.partial):
        return all(map(_is_librarys_own, (value.func, *value.args, *value.keywords.values())))
    function = inspect.unwrap(value) if isinstance(value, _WRAPPERS) else value
    if isinstance(function, types.FunctionType):
        own = is_library_function(function)
        return own and (function.__closure__ is None or is_lasting(value))
    kind = type(value)
    return not (is_user_class(kind) and hooks.can_hook(kind)) and kind.__module__ != "unittest.mock"


_WRAPPERS = (_compat.JitFunction, jax.custom_jvp, jax.custom_vjp)


def library_value(value: Any) -> Any:
    """What traced code sees of something found in a library: mostly the thing itself."""
    known = replacement(value)
    if known is not GAP:
        return known
    if isinstance(value, types.ModuleType):
        view: Any = LibraryModule(value) if is_library_module(value.__name__) else value
    elif isinstance(value, types.BuiltinFunctionType) and value.__module__ in ("math", "cmath"):
        view = math_function(value)
    elif isinstance(value, jnp.ufunc):
        view = Ufunc(value)
    elif _takes_arrays(value):
        view = (handing_on_numbers if value.__module__ in _OF_TREES else accepting_numpy_views)(value)
    else:
        return value
    replace_in_captures(value, view)
    return view


_OF_TREES = (jax.tree.map.__module__, jax.tree_util.tree_map.__module__)


def _takes_arrays(value: Any) -> bool:
    if not isinstance(value, (types.FunctionType, _compat.JitFunction, jax.custom_jvp, jax.custom_vjp)):
        return False
    return is_jax_module(getattr(value, "__module__", None))
