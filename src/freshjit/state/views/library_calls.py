"""Calls of JAX's functions, which do not know what stands for arrays and numbers."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import jax

from freshjit.errors import FreshjitError
from freshjit.state.active import thread
from freshjit.state.views import arrays


def accepting_numpy_views(function: Callable[..., Any]) -> Callable[..., Any]:
    """JAX's functions do not know our NumPy views: hand them the tracer instead."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if thread.capture is None:
            return function(*args, **kwargs)
        return call_library(function, args, kwargs)

    return call


def handing_on_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Functions for pytrees compute nothing: a number that goes through them stays a number."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if thread.capture is None:
            return function(*args, **kwargs)
        return function(*arrays.to_jax(args, False), **arrays.to_jax(kwargs, False))

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


class Ufunc:
    """One of ``jax.numpy``'s ufuncs: it and its methods take what stands for arrays and numbers."""

    def __init__(self, ufunc: Any) -> None:
        self._ufunc = ufunc
        self._call = accepting_numpy_views(ufunc)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._ufunc, name)
        return accepting_numpy_views(found) if isinstance(found, types.MethodType) else found

    def __repr__(self) -> str:
        return repr(self._ufunc)
