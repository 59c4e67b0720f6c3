"""Things of JAX that carry functions of the user's: what ``jax.jit``, ``custom_vjp`` and the like return.

If there is code of the user's anywhere in them it is entered, so that what it reads is live; however they are
put into each other, and whatever name JAX has given them. Others are a library's own and run as they are.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from freshjit import _compat
from freshjit.state.libraries import runs_user_code
from freshjit.state.path import Path
from freshjit.state.views import modules, rules
from freshjit.state.views.library_calls import Ufunc

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = [
    "view_custom_derivative",
    "view_custom_vmap",
    "view_plain_jit",
    "view_ufunc",
    "view_vectorized",
]


def view_plain_jit(capture: Capture, function: Any, path: Path) -> Any:
    """A ``jax.jit`` function: entered if it is the user's, so that what it captures is live too."""
    wrapped = getattr(function, "__wrapped__", None)
    if not runs_user_code(wrapped):
        return _as_it_is(capture, function, path)
    capture.guard(path, "type", type(function))
    view = capture.view(wrapped, path.to("attr", "__wrapped__", str(path)))
    capture.alias_view(function, view, path)
    return view


def view_custom_derivative(capture: Capture, value: Any, path: Path) -> Any:
    """``jax.custom_jvp`` and ``custom_vjp`` objects: the same with views of the user's functions."""
    if not runs_user_code(value):
        return _as_it_is(capture, value, path)
    capture.guard(path, "type", type(value))
    stateful = rules.StatefulVjp if isinstance(value, jax.custom_vjp) else rules.StatefulJvp
    return _with_views(capture, value, rules.as_kind(value, stateful), ("fun", "jvp", "fwd", "bwd"), path)


def view_custom_vmap(capture: Capture, value: Any, path: Path) -> Any:
    """``jax.custom_batching.custom_vmap`` objects, in the same way."""
    if not runs_user_code(value):
        return _as_it_is(capture, value, path)
    capture.guard(path, "type", type(value))
    view = rules.as_kind(value, rules.StatefulVmap)
    return _with_views(capture, value, view, ("fun", "vmap_rule"), path)


def view_vectorized(capture: Capture, value: Any, path: Path) -> Any:
    """``np.vectorize`` objects, in the same way."""
    if not runs_user_code(value):
        return _as_it_is(capture, value, path)
    capture.guard(path, "type", type(value))
    view = copy.copy(value)
    vars(view)["_ufunc"] = {}  # what it has made of its function; the user's has made its own
    return _with_views(capture, value, view, ("pyfunc",), path)


def view_ufunc(capture: Capture, ufunc: Any, path: Path) -> Any:
    """``jnp.add`` and the like, and what ``jnp.frompyfunc`` has made of the user's functions."""
    if not runs_user_code(ufunc):
        return _as_it_is(capture, ufunc, path)
    capture.guard(path, "type", type(ufunc))
    live = rules.as_kind(ufunc, _LiveUfunc)
    view = capture.remember(ufunc, Ufunc(live), path)
    for name, part in vars(ufunc).items():
        vars(live)[name] = capture.view(part, path.to("dictitem", name, str(path)))
    return view


class _LiveUfunc(jnp.ufunc):
    """A ufunc that does not keep what it has traced: its function is only known during one capture."""


for _name, _method in vars(jnp.ufunc).items():
    if isinstance(_method, _compat.JitFunction):
        setattr(_LiveUfunc, _name, _method.__wrapped__)


def _as_it_is(capture: Capture, value: Any, path: Path) -> Any:
    capture.guard(path, "is", value)
    return capture.remember(value, modules.library_value(value), path)


def _with_views(capture: Capture, value: Any, view: Any, names: tuple[str, ...], path: Path) -> Any:
    """``view``, a copy of ``value``, with views of the functions that it has under these names."""
    capture.remember(value, view, path)
    for name in names:
        function = getattr(value, name, None)
        if function is not None:
            setattr(view, name, capture.view(function, path.attr(name)))
    return view
