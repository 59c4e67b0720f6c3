"""Views of dicts: copies in the same order, with views of the keys and items in them."""

from __future__ import annotations

import collections
import gc
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from freshjit.state.contents import base_of, pairs_of
from freshjit.state.hooks import class_entry
from freshjit.state.path import Path
from freshjit.state.values import is_by_value
from freshjit.state.views import objects
from freshjit.state.views.copies import MappingCopy
from freshjit.state.views.elements import (
    element,
    guard_members,
    member_of,
    members_of,
    view_member,
    view_plainly,
)

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = [
    "DICT_VIEWS",
    "OWN_KEYS",
    "fill_dict",
    "new_dict",
    "put_in_order",
    "view_dict",
    "view_dict_view",
    "view_mapping_proxy",
]


def view_dict(capture: Capture, value: dict[Any, Any], path: Path) -> Any:
    owner = capture.owner_of_dict.get(id(value))
    if owner is not None:  # it is the ``__dict__`` of an object that is known
        objects.whole_dict(capture, owner)
        return capture.view(value, path)
    view = new_dict(capture, value, path)
    fill_dict(capture, value, view, path)
    capture.mutable(MappingCopy(view, path, ("setitem", "delitem")))
    return view


def new_dict(capture: Capture, value: dict[Any, Any], path: Path) -> Any:
    """The view of a dict before it is filled."""
    kind = type(value)
    capture.guard(path, "type", kind)
    view: Any = kind.__new__(kind)
    if isinstance(value, collections.defaultdict):
        view.default_factory = capture.view(value.default_factory, path.attr("default_factory"))
        if value.default_factory in (int, float):
            capture.tallies.add(path)
    elif kind is collections.Counter:
        capture.tallies.add(path)
    return capture.remember(value, view, path)


def fill_dict(
    capture: Capture,
    value: dict[Any, Any],
    view: dict[Any, Any],
    path: Path,
    see: Callable[[Capture, Any, Path], Any] = view_plainly,
) -> None:
    """Put the views of the items into the copy; ``see`` gives what is seen of each."""
    pairs = list(pairs_of(value))
    keys = tuple(key for key, _ in pairs)
    base = base_of(value)
    guard_members(capture, path if type(value) in OWN_KEYS else members_of(path, value), keys)
    # JAX's pytrees put a dict together again with its keys sorted (a training step does, the first time).
    # Items are looked at in that order, so that the inputs come in the same order before and after, and what
    # has been compiled for the one serves the other.
    views: list[Any] = [None] * len(pairs)
    for i in _pytree_order(keys):
        key, item = pairs[i]
        views[i] = see(capture, item, _item(capture, value, path, key, i))
    for i, key in enumerate(keys):
        base.__setitem__(view, view_member(capture, key, member_of(path, value, i)), views[i])
    if _has_moved_keys(value, view):
        _put_where_they_were(value, view, views)


# Going over one of these gives its keys, whatever subclass of the user's there is.
OWN_KEYS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)


def _pytree_order(keys: tuple[Any, ...]) -> list[int]:
    """The positions of the keys, sorted by key if that calls no code of the user's."""
    positions = list(range(len(keys)))
    return sorted(positions, key=keys.__getitem__) if {*map(type, keys)} in ({str}, {int}) else positions


def _item(capture: Capture, value: dict[Any, Any], path: Path, key: Any, index: int) -> Path:
    """The path of an item of a dict: by its position if the key is an object.

    Then reading it calls no code of the key's, and every dict with such keys is served by one program.
    """
    by_key = element(path, value, key)
    if is_by_value(key):
        return by_key
    place = path.to("values", base_of(value).__name__).to("item", index, str(by_key))
    capture.keyed[place] = by_key
    return place


def _has_moved_keys(value: dict[Any, Any], view: dict[Any, Any]) -> bool:
    """Whether there are keys whose hash, or what they are equal to, has changed since they were put in.

    Python does not find these, or finds others; the copy would have them where they are looked for.
    """
    if base_of(value) is not dict:  # an OrderedDict does not even go over such keys
        return False
    if dict.__len__(view) != dict.__len__(value):
        return True
    keys = (
        key for key in dict.__iter__(value) if type(class_entry(type(key), "__hash__")) is types.FunctionType
    )
    return not all(dict.__contains__(value, key) for key in keys)


def _put_where_they_were(value: dict[Any, Any], view: dict[Any, Any], views: list[Any]) -> None:
    """Put items into the copy under the hashes that their keys had when they were put in.

    Sets and dicts that are made of one another ask no key for its hash.
    """
    dict.clear(view)
    rest = dict.copy(value)
    keys, single = set(rest), list[set[Any]]()
    while rest:
        rest.popitem()
        fewer = set(rest)
        single.append(keys - fewer)
        keys = fewer
    for key, item in zip(reversed(single), views, strict=True):
        dict.update(view, dict.fromkeys(key, item))


def put_in_order(capture: Capture, rebuilt: dict[Any, Any], original: dict[Any, Any], path: Path) -> None:
    """Give a dict among the traced arguments, which JAX has rebuilt with sorted keys, the caller's order."""
    if len(original) > 1:
        capture.guard(path, "keys", tuple(original))
        items = {key: rebuilt[key] for key in original}
        base_of(rebuilt).clear(rebuilt)
        base_of(rebuilt).update(rebuilt, items)


def view_mapping_proxy(capture: Capture, value: types.MappingProxyType[Any, Any], path: Path) -> Any:
    """A read-only view of a mapping: of what traced code sees of that one."""
    capture.guard(path, "type", types.MappingProxyType)
    (mapping,) = gc.get_referents(value)
    view = types.MappingProxyType(capture.view(mapping, path.to("mapping")))
    return capture.remember(value, view, path)


DICT_VIEWS = {
    type(getattr(kind(), name)()): name
    for kind in (dict, collections.OrderedDict)
    for name in ("keys", "values", "items")
}


def view_dict_view(capture: Capture, value: Any, path: Path) -> Any:
    """What ``d.keys()``, ``d.values()`` or ``d.items()`` gave outside: it shows the dict as it is now."""
    capture.guard(path, "type", type(value))
    mapping = capture.view(value.mapping, path.attr("mapping"))
    return capture.remember(value, getattr(mapping, DICT_VIEWS[type(value)])(), path)
