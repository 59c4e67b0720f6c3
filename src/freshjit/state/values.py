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
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

__all__ = [
    "NUMBERS",
    "NUMPY_NUMBERS",
    "base_and_form",
    "form",
    "identity",
    "is_by_value",
    "is_iterator",
    "is_plain",
    "is_value_like",
    "same_value",
]

_PLAIN = frozenset(
    (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range, slice)
)

NUMPY_NUMBERS: frozenset[type] = frozenset(
    np.dtype(f"{kind}{bits}").type
    for kind, sizes in (
        ("int", (8, 16, 32, 64)),
        ("uint", (8, 16, 32, 64)),
        ("float", (16, 32, 64)),
        ("complex", (64, 128)),
    )
    for bits in sizes
)
"""The types of NumPy's scalars that JAX has, too."""

NUMBERS: frozenset[type] = frozenset((int, float, complex)) | NUMPY_NUMBERS
"""The types of numbers that may change from call to call without a compilation. A bool is a flag."""

# Immutable values of libraries. What has no form below is compared with ==, which is never done with the
# user's own classes.
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
    datetime.timezone,
    decimal.Decimal,
    fractions.Fraction,
    pathlib.PurePath,
    re.Pattern,
    uuid.UUID,
)


def _zone(zone: datetime.tzinfo | None) -> Any:
    """A time zone: what is no plain offset goes by identity (``zoneinfo`` has one object for each)."""
    return repr(zone) if zone is None or type(zone) is datetime.timezone else zone


# What says all there is to a value, where == does not: an hour in another zone, a path in other letters.
# Methods are those of the base class: a subclass of the user's may have its own.
_FORMS: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
    str: str.__str__,
    bytes: bytes.__bytes__,
    datetime.datetime: lambda v: (
        datetime.datetime.isoformat(v.replace(tzinfo=None)),
        v.fold,
        _zone(v.tzinfo),
    ),
    datetime.date: datetime.date.isoformat,
    datetime.time: lambda v: (datetime.time.isoformat(v.replace(tzinfo=None)), v.fold, _zone(v.tzinfo)),
    datetime.timedelta: lambda v: (v.days, v.seconds, v.microseconds),
    datetime.timezone: _zone,
    decimal.Decimal: decimal.Decimal.__str__,
    fractions.Fraction: lambda v: (v.numerator, v.denominator),
    pathlib.PurePath: pathlib.PurePath.__str__,
    uuid.UUID: lambda v: (v.int, v.is_safe.name),
}


def is_plain(value: Any) -> bool:
    """Whether ``value`` is one of Python's own immutable values, compared by type and bits."""
    kind = type(value)
    return kind in _PLAIN and (kind is not slice or all(map(is_by_value, _parts(value))))


def is_by_value(value: Any) -> bool:
    """Whether ``value`` is plain, or a tuple or frozenset of such: ``same_value`` says all about it."""
    return is_plain(value) or (type(value) in (tuple, frozenset) and all(map(is_by_value, value)))


def base_and_form(value: Any) -> tuple[type, Any] | None:
    """What an instance of a subclass is besides its attributes: the base class, and its value there."""
    base = next((base for base in _FORMS if isinstance(value, base)), None)
    return None if base is None else (base, _FORMS[base](value))


def form(base: type, value: Any) -> Any:
    """What a value is as an instance of this base class."""
    return _FORMS[base](value)


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
    if kind is tuple or kind is frozenset:  # a frozenset can be gone over: its order counts
        return len(a) == len(b) and all(map(same_value, a, b))
    if kind is range:
        return (a.start, a.stop, a.step) == (b.start, b.stop, b.step)
    if a is b or kind in _PLAIN:
        return a is b or bool(a == b)
    if isinstance(a, datetime.tzinfo) and kind is not datetime.timezone:
        return False
    base = next((base for base in _FORMS if issubclass(kind, base)), None)
    return bool(a == b) if base is None else same_value(_FORMS[base](a), _FORMS[base](b))


def identity(value: Any) -> Any:
    """A hashable form that keeps apart what Python's equality does not; things that are no values by id."""
    kind = type(value)
    if kind is float:
        return kind, struct.pack("d", value)
    if kind is complex:
        return kind, struct.pack("dd", value.real, value.imag)
    if kind in (tuple, frozenset):
        return kind, tuple(map(identity, value))
    return kind, value if kind in _PLAIN and kind is not slice else id(value)


def _parts(value: slice) -> tuple[Any, Any, Any]:
    return value.start, value.stop, value.step
