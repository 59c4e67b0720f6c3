"""Which values are plain (guarded by type and value), and how two of them are compared exactly."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import pathlib
import re
import struct
import uuid
from typing import Any

import jax
import numpy as np

__all__ = ["is_iterator", "is_plain", "is_value_like", "same_value"]

_PLAIN = frozenset(
    (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range, slice)
)

# Immutable values of libraries whose equality is known to be complete: compared with ==, which is
# never done with the user's own classes.
_VALUE_LIKE: tuple[type, ...] = (
    np.dtype,
    jax.sharding.Sharding,
    jax.sharding.PartitionSpec,
    jax.sharding.Mesh,
    jax.ShapeDtypeStruct,
    jax.tree_util.PyTreeDef,
    datetime.date,
    datetime.timedelta,
    datetime.time,
    decimal.Decimal,
    fractions.Fraction,
    pathlib.PurePath,
    re.Pattern,
    uuid.UUID,
)


def is_plain(value: Any) -> bool:
    """Whether ``value`` is one of Python's own immutable values, compared by type and bits."""
    return type(value) in _PLAIN


def is_value_like(value: Any) -> bool:
    """Whether ``value`` is an immutable value of a library, or an enum member."""
    return isinstance(value, (_VALUE_LIKE, enum.Enum))


def is_iterator(kind: type) -> bool:
    """Whether it has ``__next__``; asking the abstract class would run code of classes hooked now."""
    return any("__next__" in cls.__dict__ for cls in kind.__mro__)


def same_value(a: Any, b: Any) -> bool:
    """Whether two plain values are the same for every computation: type, sign of zero and NaN included.

    >>> same_value(0.0, -0.0), same_value(1, True), same_value(float("nan"), float("nan"))
    (False, False, True)
    """
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is float:
        return struct.pack("d", a) == struct.pack("d", b)
    if kind is complex:
        return same_value(a.real, b.real) and same_value(a.imag, b.imag)
    if kind is slice:
        return all(same_value(x, y) for x, y in zip(_parts(a), _parts(b), strict=True))
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if kind is tuple:
        return len(a) == len(b) and all(map(same_value, a, b))
    if kind is frozenset:
        return set(map(_exact, a)) == set(map(_exact, b))
    if kind is range:
        return (a.start, a.stop, a.step) == (b.start, b.stop, b.step)
    if kind is decimal.Decimal:
        return str(a) == str(b)
    return a is b or bool(a == b)


def _exact(value: Any) -> Any:
    """A hashable form of a value that keeps apart what Python's equality does not."""
    kind = type(value)
    if kind is float:
        return kind, struct.pack("d", value)
    if kind is complex:
        return kind, struct.pack("dd", value.real, value.imag)
    if kind is tuple:
        return kind, tuple(map(_exact, value))
    if kind is frozenset:
        return kind, frozenset(map(_exact, value))
    return kind, value


def _parts(value: slice) -> tuple[Any, Any, Any]:
    return value.start, value.stop, value.step
