"""What Python's containers hold, past the methods of the user's own subclasses; and sets in their order.

A set has an order, though nobody chose it: traced code that goes over one must meet the elements as
plain Python would, and a set that was written must have them in that order for the next call.
"""

from __future__ import annotations

import array
import collections
import functools
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from freshjit.state.values import identity

__all__ = [
    "BASES",
    "OrderedFrozenset",
    "OrderedSet",
    "base_of",
    "fill_buffer",
    "items_of",
    "members",
    "moved",
    "pairs_of",
    "refill_set",
    "same_things",
    "set_shape",
]

BASES: tuple[Any, ...] = (
    collections.OrderedDict,
    dict,
    list,
    set,
    frozenset,
    tuple,
    collections.deque,
)


def base_of(container: Any) -> Any:
    """The built-in class whose methods go around the user's overrides."""
    return next(base for base in BASES if isinstance(container, base))


def members(container: Any) -> list[Any]:
    """The elements, or the keys of a dict, in their order."""
    kind = type(container)
    return list((kind if issubclass(kind, _InOrder) else base_of(container)).__iter__(container))


def items_of(container: Any) -> list[Any]:
    """The elements that Python's own class holds, in its order."""
    return list(base_of(container).__iter__(container))


def pairs_of(mapping: dict[Any, Any]) -> Any:
    """The items in the mapping's own order (an OrderedDict keeps one that dict's methods do not see)."""
    ordered = isinstance(mapping, collections.OrderedDict)
    return collections.OrderedDict.items(mapping) if ordered else dict.items(mapping)


def same_things(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether they hold the very same things, in the same order."""
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def moved(now: Iterable[Any], before: Collection[Any]) -> list[Any]:
    """The keys of a dict that were taken out and put in again: they come after all that stayed, in order.

    One that is equal only may have been put in its place.
    """
    marks = [identity(key) for key in before]
    rest, known, keys = iter(marks), set(marks), list(now)
    stayed = len(list(itertools.takewhile(lambda key: identity(key) in rest, keys)))  # goes on from the last
    return [key for key in keys[stayed:] if identity(key) in known or key in before]


def refill_set(target: set[Any], wanted: list[Any]) -> None:
    """Make a set hold these elements, by adding and discarding as few as that takes.

    Elements that come in another order now have been taken out and put in again. A set that keeps its
    elements keeps their order, which one that is filled anew need not have.
    """
    now = [(identity(value), value) for value in members(target)]
    new = [(identity(value), value) for value in wanted]
    before, after = {mark for mark, _ in now}, {mark for mark, _ in new}
    stay = set[Any]()
    for old_mark, new_mark in zip(
        (mark for mark, _ in now if mark in after), (mark for mark, _ in new if mark in before), strict=False
    ):
        if old_mark != new_mark:
            break
        stay.add(old_mark)
    if not stay:
        set.clear(target)
    for mark, value in now:
        if mark not in stay:
            set.discard(target, value)
    for mark, value in new:
        if mark not in stay:
            set.add(target, value)


def fill_buffer(target: Any, contents: bytes) -> None:
    """Give a bytearray or array.array these bytes; one of the same length may be shown by a memoryview."""
    new = array.array(target.typecode, contents) if isinstance(target, array.array) else contents
    base: Any = array.array if isinstance(target, array.array) else bytearray
    base.__setitem__(target, slice(None), new)


class _InOrder:
    """A set whose first elements come in a given order, as long as they are in it.

    It passes for a plain one, and what is made of it is one, with the order of a plain one's copy.
    """

    order: tuple[Any, ...] = ()

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return set if issubclass(type(self), set) else frozenset

    def __iter__(self) -> Iterator[Any]:
        rest = {id(value): value for value in base_of(self).__iter__(self)}
        first = [value for value in self.order if rest.pop(id(value), rest) is value]
        return iter([*first, *rest.values()])

    def __reduce__(self) -> Any:
        return base_of(self), (list(self),)

    def __repr__(self) -> str:
        return repr(base_of(self)(self))


def _on_a_copy(name: str) -> Any:
    def method(self: Any, *args: Any) -> Any:
        base = base_of(self)
        # Filled from a dict, it is as large as one filled from a set, with its elements at the same places.
        return getattr(base, name)(base(dict.fromkeys(self)), *args)

    return method


for name in ("copy", "union", "intersection", "difference", "symmetric_difference"):
    setattr(_InOrder, name, _on_a_copy(name))
for name in ("__or__", "__and__", "__sub__", "__xor__"):
    setattr(_InOrder, name, _on_a_copy(name))


class OrderedSet(_InOrder, set[Any]):
    """Stands for a set that could not be copied with its order."""

    def __init__(self, elements: Iterable[Any]) -> None:
        super().__init__(elements)
        self.put_in_order(elements)

    def put_in_order(self, elements: Iterable[Any]) -> None:
        self.order = tuple(elements)

    def pop(self) -> Any:
        for value in self:
            self.remove(value)
            return value
        raise KeyError("pop from an empty set")


class OrderedFrozenset(_InOrder, frozenset[Any]):
    """The same for a frozenset."""

    def __new__(cls, elements: Iterable[Any]) -> OrderedFrozenset:
        made = super().__new__(cls, elements)
        made.order = tuple(elements)
        return made


def set_shape(target: np.ndarray[Any, Any], shape: tuple[int, ...]) -> None:
    """``target.shape = shape``, of which newer versions of NumPy warn: whoever wrote it has been warned."""
    put: Any = getattr(target, "_set_shape", functools.partial(setattr, target, "shape"))
    put(shape)
