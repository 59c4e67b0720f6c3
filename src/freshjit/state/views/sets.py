"""Views of sets: copies in the same order, which call no ``__hash__`` of the user's."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from freshjit.state.contents import OrderedFrozenset, OrderedSet, base_of, members, same_things
from freshjit.state.hooks import can_hook
from freshjit.state.path import Path
from freshjit.state.values import is_by_value, is_value_like
from freshjit.state.views.copies import SetCopy
from freshjit.state.views.elements import guard_members, member_of, members_of, remember, view_member

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["view_set"]


def view_set(capture: Capture, value: set[Any] | frozenset[Any], path: Path) -> Any:
    """A set or frozenset, or an instance of a subclass of one."""
    kind: Any = type(value)
    elements = members(value)
    capture.guard(path, "type", kind)
    if isinstance(value, frozenset):
        views = _view_elements(capture, value, elements, path)
        view = value if same_things(views, elements) else _frozenset_of(capture, kind, views, path)
        return remember(capture, value, view, path)
    view = _copy_of_set(value, elements)
    remember(capture, value, view, path)
    views = _view_elements(capture, value, elements, path)
    if not same_things(views, members(view)):
        set.clear(view)
        set.update(view, views)
        if isinstance(view, OrderedSet):
            view.put_in_order(views)
        _check_order(capture, view, views, path)
    capture.mutable(SetCopy(view, path))
    return view


def _view_elements(capture: Capture, value: Any, elements: list[Any], path: Path) -> list[Any]:
    """The views of the elements, in order."""
    guard_members(capture, path if type(value) in (set, frozenset) else members_of(path, value), elements)
    return [view_member(capture, part, member_of(path, value, i)) for i, part in enumerate(elements)]


def _copy_of_set(value: set[Any], elements: list[Any]) -> Any:
    """A copy in the same order, which calls no ``__hash__`` of the user's; of the same class, if that can be.

    A copy of a set that once held more may have another order; and a view that is not the thing itself (a
    clone of a function) has another hash.
    """
    kind = type(value)
    view = kind.__new__(kind)
    if kind is set and not all(map(_is_seen_as_itself, elements)):
        return OrderedSet(elements)
    for fill in _WAYS_TO_FILL:
        set.clear(view)
        fill(view, value, elements)
        same_order = same_things(members(view), elements)
        if same_order and set.__sizeof__(view) == set.__sizeof__(value):
            return view  # what is added comes to the same place, too
    set.clear(view)
    set.update(view, value)
    return view if same_things(members(view), elements) or kind is not set else OrderedSet(elements)


def _fill_one_by_one(view: set[Any], value: set[Any], elements: list[Any]) -> None:
    if all(is_by_value(e) or type(e).__hash__ is object.__hash__ for e in elements):
        set.update(view, iter(elements))


# A table is larger or smaller, and its elements in another order, according to how it was filled.
_WAYS_TO_FILL: tuple[Callable[[set[Any], set[Any], list[Any]], None], ...] = (
    lambda view, value, elements: set.update(view, value),
    _fill_one_by_one,
    lambda view, value, elements: set.update(view, value, dict.fromkeys(value)),
)


def _is_seen_as_itself(value: Any) -> bool:
    if isinstance(value, (tuple, frozenset)):
        return all(map(_is_seen_as_itself, base_of(value).__iter__(value)))
    if is_by_value(value) or isinstance(value, (type, weakref.ref, np.generic)) or is_value_like(value):
        return True
    return can_hook(type(value)) and type(value).__hash__ is not None


def _frozenset_of(capture: Capture, kind: Any, views: list[Any], path: Path) -> Any:
    if kind is frozenset:
        return OrderedFrozenset(views)
    view = frozenset.__new__(kind, views)
    _check_order(capture, view, views, path)
    return view


def _check_order(capture: Capture, view: Any, wanted: list[Any], path: Path) -> None:
    if not same_things(members(view), wanted):
        capture.report_frozen(
            f"{path} is a set that was seen in another order than its own",
            "If the order matters, keep the elements in a list.",
        )
