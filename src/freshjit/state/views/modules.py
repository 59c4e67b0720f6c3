"""Views of modules: the user's, read and written through the capture, and those of libraries."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from freshjit import _compat
from freshjit.errors import UnsupportedStateError
from freshjit.state import hooks
from freshjit.state.active import thread
from freshjit.state.guards import user_line
from freshjit.state.hooks import GAP
from freshjit.state.libraries import is_library_module
from freshjit.state.path import Path
from freshjit.state.values import is_plain
from freshjit.state.views import arrays, classes
from freshjit.state.views.library_calls import Ufunc, accepting_numpy_views
from freshjit.state.views.namespaces import Namespace, imported, namespace_of
from freshjit.state.views.numbers import math_function
from freshjit.state.views.replacements import (
    class_read_now,
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
            if may_have_stand_in(value):
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
        view = accepting_numpy_views(value)
    else:
        return value
    replace_in_captures(value, view)
    return view


def _takes_arrays(value: Any) -> bool:
    if not isinstance(value, (types.FunctionType, _compat.JitFunction, jax.custom_jvp, jax.custom_vjp)):
        return False
    home = getattr(value, "__module__", None) or ""
    return isinstance(home, str) and home.partition(".")[0] == "jax"
