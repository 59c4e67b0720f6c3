"""Holding what a program refers to without keeping the user's objects alive."""

from __future__ import annotations

import inspect
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from freshjit import _compat
from freshjit.state.libraries import is_library_function, is_library_module

__all__ = ["GONE", "Held", "Kept", "all_classes", "held", "is_lasting", "may_die", "strongly", "weakly"]

# Values whose lifetime is nobody's concern, or which others may hold only through us.
_KEPT = (types.ModuleType, types.BuiltinFunctionType, jax.Array, np.ndarray, np.dtype, weakref.ref)


def may_die(value: Any) -> bool:
    """Whether a program must not keep ``value`` alive: a class, a function, an object of the user's."""
    kind = type(value)
    if issubclass(kind, type):
        return bool(value.__flags__ & (1 << 9)) and not is_lasting(value)  # made by a class statement
    if issubclass(kind, (*_KEPT, set, frozenset)):
        return False
    return kind is types.CodeType or (kind.__weakrefoffset__ != 0 and not is_lasting(value))


_FUNCTIONS = (types.FunctionType, _compat.JitFunction, jax.custom_jvp, jax.custom_vjp)


def is_lasting(value: Any) -> bool:
    """Whether it is a function or class of a library's, found in its module under its own name.

    It lives as long as Python, so it need not be held weakly, which costs more to look at.
    """
    if isinstance(value, type):
        home = type.__getattribute__(value, "__module__")
        module = sys.modules.get(home) if is_library_module(home) else None
        return module is not None and vars(module).get(type.__getattribute__(value, "__name__")) is value
    if not isinstance(value, _FUNCTIONS):
        return False
    function = inspect.unwrap(value)  # whose globals cannot lie, as a name can
    if not isinstance(function, types.FunctionType) or not is_library_function(function):
        return False
    return function.__globals__.get(function.__name__) is value


class Kept:
    """A function that gives ``value``, and keeps it alive: for what nobody had before a run has made it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


def all_classes() -> dict[int, type]:
    """Every class that there is now, by id. Takes about a millisecond."""
    found: dict[int, type] = {}
    todo: list[type] = [object]
    while todo:
        for cls in type.__subclasses__(todo.pop()):
            if id(cls) not in found:
                found[id(cls)] = cls
                todo.append(cls)
    return found


def held(value: Any) -> Callable[[], Any]:
    """A function that gives ``value``, or None once it is gone, without keeping it alive.

    A tuple's parts are held one by one; something that is equal to nothing stands for one that is gone.
    """
    if may_die(value):
        return weakref.ref(value)
    if isinstance(value, tuple) and any(map(_mortal, tuple.__iter__(value))):
        kind, parts = type(value), list(map(held, tuple.__iter__(value)))
        there = [part is not None for part in tuple.__iter__(value)]
        return lambda: tuple.__new__(kind, map(_part, parts, there))
    return lambda: value


GONE = object()
"""Stands for what is there no longer; equal to nothing else."""


class Held:
    """Stands for an object that it does not keep alive; equal to what stands for the same one."""

    __slots__ = ("_get", "_id")

    def __init__(self, value: Any) -> None:
        self._get, self._id = weakref.ref(value), id(value)

    def __call__(self) -> Any:
        value = self._get()
        return GONE if value is None else value

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Held and self._get() is not None and self() is other())


def weakly(value: Any) -> Any:
    """The same, be it a tuple or not, with a ``Held`` for every object that it must not keep alive."""
    if isinstance(value, tuple):
        parts = list(map(weakly, tuple.__iter__(value)))
        same = all(a is b for a, b in zip(parts, tuple.__iter__(value), strict=True))
        return value if same else tuple.__new__(type(value), parts)
    if isinstance(value, frozenset):
        return value if all(part is weakly(part) for part in frozenset.__iter__(value)) else Held(value)
    return Held(value) if may_die(value) else value


def strongly(value: Any) -> Any:
    """What ``weakly`` was given."""
    if isinstance(value, tuple):
        parts = list(map(strongly, tuple.__iter__(value)))
        same = all(a is b for a, b in zip(parts, tuple.__iter__(value), strict=True))
        return value if same else tuple.__new__(type(value), parts)
    return value() if type(value) is Held else value


def _mortal(value: Any) -> bool:
    return may_die(value) or (isinstance(value, tuple) and any(map(_mortal, tuple.__iter__(value))))


def _part(get: Callable[[], Any], was_there: bool) -> Any:
    value = get()
    return GONE if value is None and was_there else value
