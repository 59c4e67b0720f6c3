"""Of which kind a value is, and so which module makes its view.

Exact types first, then families; whatever is left is opaque: taken as it is and guarded by identity.
"""

from __future__ import annotations

import array
import ast
import collections
import contextvars
import copy
import enum
import functools
import io
import itertools
import logging
import threading
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from freshjit import _compat
from freshjit.errors import UnsupportedStateError
from freshjit.state import draws
from freshjit.state.guards import at, user_line
from freshjit.state.hooks import can_hook
from freshjit.state.libraries import is_user_class
from freshjit.state.path import Path
from freshjit.state.values import NUMBERS, base_and_form, is_iterator, is_plain, is_value_like
from freshjit.state.views import (
    array_copies,
    arrays,
    buffers,
    callbacks,
    carriers,
    classes,
    containers,
    dicts,
    ecosystem,
    elements,
    exceptions,
    functions,
    loops,
    modules,
    numbers,
    objects,
    opaque,
    outside,
    reporting,
    sets,
    transforms,
)

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["register", "view_of"]

View = Callable[["Capture", Any, Path], Any]

_EXACT: dict[type, View] = {
    list: containers.view_list,
    dict: dicts.view_dict,
    tuple: elements.view_tuple,
    set: sets.view_set,
    frozenset: sets.view_set,
    collections.deque: containers.view_deque,
    collections.OrderedDict: dicts.view_dict,
    collections.defaultdict: dicts.view_dict,
    collections.Counter: dicts.view_dict,
    types.SimpleNamespace: containers.view_namespace,
    types.MappingProxyType: dicts.view_mapping_proxy,
    **dict.fromkeys(dicts.DICT_VIEWS, dicts.view_dict_view),
    np.ndarray: arrays.view_numpy,
    types.FunctionType: functions.view_function,
    types.MethodType: functions.view_method,
    types.BuiltinFunctionType: functions.view_builtin,
    types.MethodWrapperType: functions.view_builtin,
    functools.partial: functions.view_partial,
    functools.partialmethod: functions.view_partial,
    jax.tree_util.Partial: functions.view_partial,
    staticmethod: functions.view_static,
    classmethod: functions.view_static,
    _compat.JitFunction: carriers.view_plain_jit,
    jnp.ufunc: carriers.view_ufunc,
    np.vectorize: carriers.view_vectorized,
    jax.custom_batching.custom_vmap: carriers.view_custom_vmap,
    type(functools.lru_cache(lambda: None)): functions.view_memoised,
    weakref.ref: functions.view_weakref,
    bytearray: buffers.view_buffer,
    array.array: buffers.view_buffer,
    memoryview: buffers.view_memory,
    slice: containers.view_slice,
    threading.local: containers.view_thread_local,
    contextvars.Context: functions.view_context,
    contextvars.ContextVar: functions.view_context_variable,
    types.ModuleType: modules.view_module,
    property: objects.view_property,
}


def register(kind: type, view: View) -> None:
    """Say how values of exactly this type are seen by traced code (for modules further up)."""
    _EXACT[kind] = view


def view_of(capture: Capture, value: Any, path: Path) -> Any:
    """The view of ``value``, which no path has reached before in this capture."""
    if type(value) in weakref.ProxyTypes:  # first: it must not be asked for anything if its object is gone
        return objects.view_weak_proxy(capture, value, path)
    if capture.seeing.overrides is not None:
        capture.seeing.overrides.check(value, path)
    if isinstance(value, np.void) and value.dtype.names:
        return array_copies.view_record(capture, value, path)
    if is_plain(value) or isinstance(value, np.generic):
        if capture.seeing.has_given(capture.by_key(path)):
            return capture.seeing.given_at(capture.by_key(path))
        if type(value) in NUMBERS and capture.seeing.changes(path, path.parent in capture.tallies):
            return numbers.view_number(capture, cast(Any, value), path)
        capture.guard(path, "value", value)
        return value
    kind = type(value)
    view = _EXACT.get(kind)
    if view is not None:
        return view(capture, value, path)
    if isinstance(value, (jax.Array, _compat.Tracer)):
        return arrays.view_jax(capture, value, path)
    if isinstance(value, type):
        return classes.view_class(capture, value, path)
    if isinstance(value, enum.Enum):
        capture.guard(path, "is", value)
        return objects.adopt_object(capture, value, value, path)
    if isinstance(value, draws.SOURCES):
        capture.pathless.watch_random(value, path)
        view = objects.view_object if can_hook(kind) else opaque.view_opaque
        return view(capture, value, path)
    if is_value_like(value):
        return _value_like(capture, value, path)
    if isinstance(value, types.ModuleType):
        return modules.view_module(capture, value, path)
    if isinstance(value, property):
        return objects.view_property(capture, value, path)
    if isinstance(value, tuple):
        return elements.view_tuple(capture, value, path)
    if isinstance(value, (set, frozenset)):
        return sets.view_set(capture, value, path)
    if isinstance(value, (dict, list, collections.deque)):
        return containers.view_subclass(capture, value, path)
    if isinstance(value, (bytearray, array.array)):
        return buffers.view_buffer(capture, value, path)
    if isinstance(value, (int, float, complex, str, bytes)):
        return _subclass_of_plain(capture, value, path)
    if isinstance(value, weakref.ref):
        return functions.view_weakref(capture, value, path)
    if isinstance(value, np.ndarray):
        return arrays.view_numpy(capture, value, path)
    if isinstance(value, (jax.custom_jvp, jax.custom_vjp)):
        return carriers.view_custom_derivative(capture, value, path)
    if isinstance(value, logging.Logger):
        return reporting.view_logger(capture, value, path)
    if isinstance(value, (logging.Filterer, logging.Filter, logging.Formatter)):
        return reporting.view_handler(capture, value, path)
    if isinstance(value, io.IOBase):
        return reporting.view_stream(capture, value, path)
    if (is_iterator(kind) or kind is types.CoroutineType) and not can_hook(kind):
        return _refuse_iterator(capture, value, path)
    if kind.__module__ == "weakref" and capture.in_installed_package(path):
        return opaque.view_opaque(capture, value, path)  # a library's cache, of things that come and go
    special = ecosystem.special_view(kind)
    if special is not None:
        return special(capture, value, path)
    if can_hook(kind):
        return objects.view_object(capture, value, path)
    if isinstance(value, BaseException):
        return exceptions.view_builtin_exception(capture, value, path)
    if not jax.tree_util.all_leaves([value]):
        return ecosystem.view_node(capture, value, path)
    if isinstance(getattr(value, "__origin__", None), type) and kind.__module__ in ("types", "typing"):
        return opaque.view_alias(capture, value, path)
    return opaque.view_opaque(capture, value, path)


def _value_like(capture: Capture, value: Any, path: Path) -> Any:
    if is_user_class(type(value)) and base_and_form(value) is not None:
        return _subclass_of_plain(capture, value, path)
    capture.guard(path, "equal", value)
    capture.remember(value, value, path)
    zone = getattr(value, "tzinfo", None)
    if zone is not None and can_hook(type(zone)):
        capture.view(zone, path.attr("tzinfo"))  # its methods are the user's
    return value


def _subclass_of_plain(capture: Capture, value: Any, path: Path) -> Any:
    """An instance of the user's own subclass of ``int``, ``str``, ``date``…: a value, and an object."""
    capture.guard(path, "type", type(value))
    capture.guard(path, "subvalue", base_and_form(value))
    return objects.adopt_object(capture, value, value, path) if can_hook(type(value)) else value


def _copy_of_iterator(value: Any) -> Any:
    if type(value) is itertools.count:
        # Python 3.12 and 3.13 warn about copying it, and newer ones cannot; its repr has all there is to it.
        return itertools.count(*ast.literal_eval(f"({repr(value)[len('count(') : -1]},)"))
    return copy.copy(value)


def _refuse_iterator(capture: Capture, value: Any, path: Path) -> Any:
    if capture.in_installed_package(path):
        # A library's own counter (of frames, of names): it has no bearing on what is computed.
        return capture.remember(value, _copy_of_iterator(value), path)
    where = user_line()
    raise UnsupportedStateError(
        f"{path} is a {type(value).__name__}{at(where, 'read at')}: it moves when it is "
        "read, and compiled code cannot move it.\n"
        "Keep a list and an index in its place, or take the next item outside and pass it as an argument."
    )


for module in (transforms, loops, callbacks, outside, reporting):
    module.install()
