"""Helpers that generated code calls where one expression is not enough."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from freshjit import _compat
from freshjit.errors import LeakedWriteError
from freshjit.state.guards import ANYTHING, at, user_line
from freshjit.state.hooks import GAP, class_entry, entry_of
from freshjit.state.naming import without_prefix
from freshjit.state.values import form, is_by_value, same_value

__all__ = [
    "ContentCheck",
    "KeysCheck",
    "default_setattr",
    "device_copy",
    "has_entry",
    "has_own_entry",
    "is_array",
    "is_empty",
    "other_aval",
    "overlap",
    "same_numpy",
    "slot_is_set",
]


def other_aval(value: Any, aval: Any) -> bool:
    """Whether the array's type differs from ``aval`` (asked when it is not the same object)."""
    return bool(value.aval != aval)


def is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, _compat.Tracer))


def same_numpy(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two NumPy arrays hold the same bits; NaN equals itself, -0.0 differs from 0.0."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.hasobject:
        return all(x is y for x, y in zip(a.flat, b.flat, strict=True))
    if a.dtype.kind in "biu":
        return bool(np.array_equal(a, b))
    if a.flags.c_contiguous and b.flags.c_contiguous and a.ndim:
        return bool(np.array_equal(a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8)))
    return a.tobytes() == b.tobytes()


def overlap(a: Any, b: Any) -> bool:
    """Whether two NumPy arrays share memory; what is no NumPy array shares none."""
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return False
    return np.may_share_memory(a, b) and np.shares_memory(a, b)  # the first is the quicker one


class ContentCheck:
    """Whether an array still holds given contents. JAX arrays are immutable: the last one is known."""

    __slots__ = ("_contents", "_last")

    def __init__(self, contents: np.ndarray[Any, Any]) -> None:
        self._contents = contents
        self._last: Callable[[], Any] = _nothing

    def __call__(self, value: Any) -> bool:
        if self._last() is value:
            return True
        if isinstance(value, np.ndarray):
            return same_numpy(value, self._contents)
        if isinstance(value, _compat.Tracer) or not isinstance(value, jax.Array):
            return False
        if not same_numpy(_compat.as_numpy(value), self._contents):
            return False
        self._last = weakref.ref(value)
        return True


def _nothing() -> None:
    return None


class KeysCheck:
    """Whether a dict or set has given keys in a given order, by type and value or by identity."""

    __slots__ = ("_same",)

    def __init__(self, keys: tuple[Any, ...]) -> None:
        self._same = [_key_check(k) for k in keys]

    def __call__(self, mapping: Any) -> bool:
        if len(mapping) != len(self._same):
            return False
        return all(same(key) for same, key in zip(self._same, mapping, strict=True))


def _key_check(wanted: Any) -> Callable[[Any], bool]:
    if wanted is ANYTHING:
        return _anything
    if is_by_value(wanted):
        return lambda key: same_value(key, wanted)
    if isinstance(wanted, tuple):
        kind, parts = type(wanted), list(map(_key_check, cast(tuple[Any, ...], tuple.__iter__(wanted))))
        return lambda key: type(key) is kind and len(key) == len(parts) and all(map(_holds, parts, key))
    try:
        reference = weakref.ref(wanted)
    except TypeError:
        return lambda key: key is wanted
    return lambda key: reference() is key and key is not None  # None is what a dead one gives


def _anything(_: Any) -> bool:
    return True


def _holds(same: Callable[[Any], bool], part: Any) -> bool:
    return same(part)


def is_empty(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def has_entry(cls: type, name: str) -> bool:
    try:
        class_entry(cls, name)
    except KeyError:
        return False
    return True


def has_own_entry(cls: type, name: str) -> bool:
    return entry_of(cls, name) is not GAP


def slot_is_set(value: Any, name: str) -> bool:
    """Whether it is, whatever the class's own ``__getattr__`` would say."""
    try:
        object.__getattribute__(value, name)
    except AttributeError:
        return False
    return True


def default_setattr(cls: type) -> bool:
    return class_entry(cls, "__setattr__") is object.__setattr__


def subvalue(value: Any, wanted: tuple[type, Any]) -> bool:
    base, plain = wanted
    return same_value(form(base, value), plain)


# -- NumPy inputs -----------------------------------------------------------------------------------

# What is on the device for a NumPy array of the user's: a private copy of the numbers and the device
# array made from it. Keyed by id, with a weak reference that removes the entry when the array dies.
_device_copies: dict[int, tuple[weakref.ref[Any], np.ndarray[Any, Any], jax.Array, Any]] = {}


def device_copy(array: np.ndarray[Any, Any]) -> jax.Array:
    """The array on the device, sent again only if its contents have changed.

    The device array is made from a private copy: JAX may share memory with the NumPy array it is
    given, and reads it after the call has returned, so the user could change it under way.
    """
    key = id(array)
    known = _device_copies.get(key)
    # Both are part of the type that JAX gives to an array of NumPy's.
    setting = _compat.x64_is_enabled(), jax.sharding.get_abstract_mesh()
    usable = known is not None and known[0]() is array and known[3] == setting
    if usable and known is not None and same_numpy(array, known[1]):
        return known[2]
    private = np.array(array, copy=True, order="C")
    with jax.ensure_compile_time_eval():  # a transform around this call would make it one of its tracers
        on_device = jnp.asarray(private)
    reference = weakref.ref(array, lambda _: _device_copies.pop(key, None))
    _device_copies[key] = (reference, private, on_device, setting)
    return on_device


# -- writes under a foreign transform ---------------------------------------------------------------


def refuse_tracers(values: tuple[Any, ...], labels: tuple[str, ...]) -> None:
    """Raise if a value that is about to be written into state belongs to a transform that goes on."""
    for value, label in zip(values, labels, strict=True):
        if not isinstance(value, _compat.Tracer):
            continue
        if _compat.is_mapped(value):
            remedy = (
                "there are as many of them as mapped elements. Say what is to become of them with "
                f"freshjit.vmap(..., state_axes={{{without_prefix(label)!r}: 'mean'}}), 'last', or an axis; "
                "or return them and combine them outside."
            )
        else:
            remedy = (
                "outside of the transform it would be a leaked tracer. Use freshjit's transform in its place "
                "(freshjit.grad, freshjit.scan…), or freshjit.jit for the outer function as well (jax.jit "
                "around it hides the write); or return the new value and assign it outside."
            )
        raise LeakedWriteError(
            f"{label} would be given a value that belongs to a JAX transform around this call"
            f"{at(user_line(), 'called at')}: {value!r}.\n{remedy[0].upper()}{remedy[1:]}"
        )
