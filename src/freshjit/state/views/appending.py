"""Lists and deques that traced code only appends to: what they hold is not looked at.

``self.losses.append(loss)`` needs to know of the list that it is one, and nothing else. Seen as any other
container it would be read whole, and each call would find a longer one that no program was compiled for.
Whether a read is of this kind stands in the bytecode: all that can become of what the reading instruction
gives, be it kept in local variables first, is that something is appended to it. So nobody else gets to see
what stands for the list.

A dict that holds such lists is read whole but for these, as long as the code takes and sets single items or
goes over it: ``self.stats["steps"] += 1`` looks at no ``self.stats["losses"]``. What stands for the dict
looks in its turn at what becomes of the item that it is to give.

Once something does look at a list, it is read whole like any other.
"""

from __future__ import annotations

import collections
import functools
import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from freshjit.state import bytecode
from freshjit.state.assignment import as_written
from freshjit.state.hooks import GAP
from freshjit.state.path import Path
from freshjit.state.values import is_by_value
from freshjit.state.views import dicts, elements
from freshjit.state.views.growing import GrowingCopy, Later, PartialCopy
from freshjit.state.views.numbers import plain_number

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["AppendOnly", "assigned", "for_cell", "for_read", "is_enough"]

_APPENDING = frozenset(("append", "extend"))
_GROWING = (list, collections.deque)
_MAPPINGS = (dict, collections.OrderedDict, collections.defaultdict)
_SEQUENCES = (list, tuple)
_DEEPEST = 8  # dicts within dicts, which may lead back to themselves


# -- what becomes of what is read ---------------------------------------------------------------------


class _Spot(NamedTuple):
    """Where in the code something comes from: one of the things that an instruction gives."""

    code: types.CodeType
    offset: int
    position: int = 0

    @property
    def fates(self) -> frozenset[bytecode.Fate]:
        """All that can become of it; nothing where that is not known."""
        return bytecode.fates(*self) or frozenset()

    def then(self, fate: bytecode.Fate, position: int = 0) -> _Spot:
        """What comes of it."""
        assert fate.offset is not None
        return _Spot(self.code, fate.offset, position)

    def only(self, kind: str) -> _Spot | None:
        """What comes of the one thing that becomes of it, if that is of this kind."""
        fates = [*self.fates]
        return self.then(fates[0]) if [fate.kind for fate in fates] == [kind] else None

    @property
    def item(self) -> _Spot | None:
        """The items that the one loop over it gives."""
        iterator = self.only("iter")
        return None if iterator is None else iterator.only("next")

    @property
    def value(self) -> _Spot | None:
        """The second of two things that each of these items is taken apart into."""
        item = self.item
        parts = None if item is None else item.only("unpack")
        if parts is None or item is None or {fate.name for fate in item.fates} != {2}:
            return None
        return parts._replace(position=1)


def _asking() -> _Spot | None:
    """What the instruction gives that now runs in code which is not ours."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while str(frame.f_globals.get("__name__", "")).partition(".")[0] == "freshjit":
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return _Spot(as_written(frame.f_code), bytecode.running(frame))


def _only_appends(fates: frozenset[bytecode.Fate], put_back: bool) -> bool:
    """Whether a list is only appended to.

    Parameters:
        put_back: whether what ``+=`` puts back to an attribute or item is noticed there.
    """
    return bool(fates) and all(
        fate.name in _APPENDING
        if fate.kind == "method"
        else fate.kind == "is None" or (fate.kind == "add" and (put_back or fate.name is None))
        for fate in fates
    )


def _takes_parts(fates: frozenset[bytecode.Fate]) -> bool:
    """Whether of a dict only items are taken and set, and it is gone over."""
    return bool(fates) and all(
        fate.name in _PARTS_BY_METHOD if fate.kind == "method" else fate.kind in _PARTS for fate in fates
    )


def _leads_to_lists(spot: _Spot, depth: int = 0) -> bool:
    """Whether something is appended to what is found in it, under indices or going over it."""
    return depth < _DEEPEST and any(
        _is_appended_to(inside, depth) for fate in spot.fates if (inside := _inside(spot, fate)) is not None
    )


def _is_appended_to(spot: _Spot, depth: int) -> bool:
    appended = any(fate.kind == "method" and fate.name in _APPENDING for fate in spot.fates)
    return appended or _leads_to_lists(spot, depth + 1)


def _inside(spot: _Spot, fate: bytecode.Fate) -> _Spot | None:
    if fate.kind == "item":
        return spot.then(fate)
    return spot.then(fate).only("next") if fate.kind == "iter" else None


_PARTS = frozenset(("item", "set item", "in", "iter", "is None"))
_PARTS_OF_SEQUENCES = frozenset(("item", "iter", "is None"))
_PARTS_BY_METHOD = frozenset(("get", "setdefault", "items", "values", "keys", "update"))


# -- what stands for containers -----------------------------------------------------------------------


class AppendOnly:
    """Stands for a list in ``self.log.append(x)``."""

    __slots__ = ("_capture", "_copy", "_path", "original")

    def __init__(self, capture: Capture, original: Any, path: Path, copy: GrowingCopy) -> None:
        self._capture, self.original, self._path, self._copy = capture, original, path, copy

    def append(self, value: Any) -> None:
        self._copy.view.append(value)

    def extend(self, values: Any) -> None:
        self._copy.view.extend(values)

    def __iadd__(self, values: Any) -> AppendOnly:
        self._copy.view += values
        return self

    def looked_at(self) -> Any:
        return self._capture.view(self.original, self._path)


class _Container:
    """Stands for a container of which parts are taken."""

    __slots__ = ("_capture", "_path", "_value")

    def __init__(self, capture: Capture, value: Any, path: Path) -> None:
        self._capture, self._value, self._path = capture, value, path

    def _whole(self) -> Any:
        return self._capture.view(self._value, self._path)

    def _found(self, found: Any, key: Any, spot: _Spot | None) -> Any:
        """What stands for what is in it at a key; GAP if it has to be looked at."""
        if type(found) not in _GROWING and type(found) not in _MAPPINGS and type(found) is not tuple:
            return GAP
        return _stand_in(self._capture, found, elements.element(self._path, self._value, key), spot)


class _Sequence(_Container):
    """Stands for the list or tuple in ``self.histories[0].append(x)``, of which nobody has seen anything."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        value = self._value
        in_it = type(index) is int and -len(value) <= index < len(value)
        found = self._found(value[index], index, _asking()) if in_it and self._is_unseen() else GAP
        return self._whole()[index] if found is GAP else found

    def __iter__(self) -> Iterator[Any]:
        asking = _asking()
        return self._over(None if asking is None else asking.only("next"))

    def _over(self, item: _Spot | None) -> Iterator[Any]:
        capture, value, path, at = self._capture, self._value, self._path, 0
        if item is not None and self._is_unseen():
            capture.guard(path, "len", len(value))
            while at < len(value) and self._is_unseen():
                found = self._found(value[at], at, item)
                if found is GAP:
                    found = capture.view(value[at], elements.element(path, value, at))
                yield found
                at += 1
        if not self._is_unseen() or item is None:
            whole = self._whole()
            while at < len(whole):
                yield whole[at]
                at += 1

    def _is_unseen(self) -> bool:
        return id(self._value) not in self._capture.entries and id(self._value) not in self._capture.growing


class _Mapping(_Container):
    """Stands for the dict in ``self.stats["steps"] += 1``: lists in it are looked at when they have to be.

    Nothing of it is read as long as it is only asked for lists to append to.
    """

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return self._at(key, _asking(), lambda items: items[key])

    def get(self, key: Any, default: Any = None) -> Any:
        return self._at(key, _asking(), lambda items: items.get(key, default))

    def setdefault(self, key: Any, default: Any = None) -> Any:
        return self._at(key, _asking(), lambda items: items.setdefault(key, default))

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(value) is AppendOnly:  # self.stats["losses"] += […]
            if self._unseen(key) is value.original:
                return
            value = value.looked_at()
        self._items()[key] = value

    def update(self, *args: Any, **kwargs: Any) -> None:
        self._items().update(*args, **kwargs)

    def __contains__(self, key: Any) -> bool:
        return key in self._items()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items())

    def keys(self) -> Any:
        asking = _asking()
        only_looks = asking is not None and {fate.kind for fate in asking.fates} <= {"iter", "in"}
        return self._items().keys() if only_looks else self._whole().keys()

    def values(self) -> Any:
        asking = _asking()
        item = None if asking is None else asking.item
        return self._whole().values() if item is None else self._over(item, lambda _, value: value)

    def items(self) -> Any:
        asking = _asking()
        value = None if asking is None else asking.value
        return self._whole().items() if value is None else self._over(value, lambda *pair: pair)

    def _over(self, spot: _Spot, give: Any) -> Iterator[Any]:
        for key in self._items():
            yield give(key, self._at(key, spot, lambda items, key=key: items[key]))

    def _at(self, key: Any, spot: _Spot | None, take: Any) -> Any:
        """What is at a key: what stands for it, or what ``take`` gets out of what has been looked at."""
        plain = plain_number(key)  # which looking it up in the dict would come to, too
        unseen = self._unseen(plain)
        found = GAP if unseen is GAP else self._found(unseen, plain, spot)
        if found is not GAP:
            return found
        items, partly = self._items(), self._partly()
        if partly is not None:
            partly.look_at(key)
        return take(items)

    def _unseen(self, key: Any) -> Any:
        """What is at a key, if it has not been looked at: GAP otherwise, or if there is nothing."""
        partly = self._partly()
        if partly is not None:
            later = partly.later(key)
            return GAP if later is None else later.original
        if id(self._value) in self._capture.entries or not is_by_value(key):
            return GAP
        return self._value.get(key, GAP)

    def _items(self) -> Any:
        """The dict as traced code sees it now, with something else in place of lists nobody has looked at."""
        partly = self._partly()
        if partly is not None:
            return partly.contents
        if id(self._value) in self._capture.entries or not _holds_lists(self._value):
            return self._whole()
        return _view_partly(self._capture, self._value, self._path).contents

    def _partly(self) -> PartialCopy | None:
        partly = self._capture.partly.get(id(self._value))
        if partly is not None and partly.path is not self._path:
            self._capture.guard(self._path, "alias", partly.path)
        return partly


# -- choosing -----------------------------------------------------------------------------------------


def for_read(capture: Capture, value: Any, path: Path, name: str, put_back: bool = False) -> Any:
    """What the instruction gets that now reads ``name`` and found ``value``, if it only appends to it.

    GAP if it may do anything else.

    Parameters:
        put_back: whether what ``+=`` puts back there goes through ``assigned``.
    """
    if type(value) not in _GROWING and type(value) not in _MAPPINGS and type(value) is not tuple:
        return GAP
    spot = _asking()
    if spot is None or bytecode.name_read(spot.code, spot.offset) != name:
        return GAP
    return _stand_in(capture, value, path, spot, put_back)


def for_cell(capture: Capture, value: Any, path: Path, name: str, code: types.CodeType) -> Any:
    """What a closure variable of this function is to hold, if it is only used to append to; else GAP."""
    if type(value) in _GROWING and _variable_serves(code, name, True):
        return _appended_to(capture, value, path)
    if type(value) in _MAPPINGS and _variable_serves(code, name, False) and _may_be_partial(capture, value):
        return _container(_Mapping, capture, value, path) if _holds_lists(value) else GAP
    return GAP


def is_enough(stand_in: Any, name: str, code: types.CodeType) -> bool:
    """Whether a closure variable that holds this stand-in may be shared by a function with this code."""
    return _variable_serves(code, name, type(stand_in) is AppendOnly)


def assigned(value: Any, now: Any) -> Any:
    """What is assigned where ``now`` is, which nobody has looked at; GAP if it is that very thing.

    ``self.log += […]`` assigns what it has read, and that may be a stand-in.
    """
    if type(value) is not AppendOnly:
        return value
    return GAP if value.original is now else value.looked_at()


def _stand_in(capture: Capture, value: Any, path: Path, spot: _Spot | None, put_back: bool = True) -> Any:
    if spot is None or not _may_be_partial(capture, value):
        return GAP
    kind, fates = type(value), spot.fates
    if kind in _GROWING and _only_appends(fates, put_back):
        return _appended_to(capture, value, path)
    if kind in _SEQUENCES and {f.kind for f in fates} <= _PARTS_OF_SEQUENCES and _leads_to_lists(spot):
        return _container(_Sequence, capture, value, path)
    if kind in _MAPPINGS and _takes_parts(fates) and (_holds_lists(value) or _leads_to_lists(spot)):
        return _container(_Mapping, capture, value, path)
    return GAP


def _container(kind: Any, capture: Capture, value: Any, path: Path) -> Any:
    capture.guard(path, "type", type(value))
    return kind(capture, value, path)


def _may_be_partial(capture: Capture, value: Any) -> bool:
    """Whether it has not been looked at as a whole so far."""
    seen = id(value) in capture.entries or id(value) in capture.owner_of_dict
    return not capture.seeing.whole and (not seen or id(value) in capture.partly)


def _appended_to(capture: Capture, value: Any, path: Path) -> Any:
    if not _may_be_partial(capture, value):
        return GAP
    copy = capture.growing_copy(value, path)
    if copy is None:
        capture.guard(path, "type", type(value))
        copy = capture.growing[id(value)] = GrowingCopy(path)
        capture.keep(value)
        capture.mutable(copy)
    return AppendOnly(capture, value, path, copy)


def _holds_lists(value: Any, depth: int = 0) -> bool:
    """Whether it is a dict with lists in it, or in dicts in it, and all keys are plain."""
    if type(value) not in _MAPPINGS or depth > _DEEPEST or not all(map(is_by_value, value)):
        return False
    return any(type(item) in _GROWING or _holds_lists(item, depth + 1) for item in value.values())


def _view_partly(capture: Capture, value: dict[Any, Any], path: Path) -> PartialCopy:
    def see(capture: Capture, item: Any, place: Path) -> Any:
        if id(item) in capture.entries or not (type(item) in _GROWING or _holds_lists(item)):
            return capture.view(item, place)
        return Later(item, place)

    view = dicts.new_dict(capture, value, path)
    copy = capture.partly[id(value)] = PartialCopy(capture, view, path)
    dicts.fill_dict(capture, value, view, path, see)
    copy.begin()
    if id(value) not in capture.partly:  # something in it leads back to it, and shows all of it
        copy.look_at_all()
    capture.mutable(copy)
    return copy


@functools.lru_cache(maxsize=4096)
def _variable_serves(code: types.CodeType, name: str, is_list: bool) -> bool:
    """Whether a function and those inside it use a closure variable for nothing but to append to it."""
    for offset in bytecode.uses_of_variable(code, name):
        fates = _Spot(code, offset).fates
        if not (_only_appends(fates, False) if is_list else _takes_parts(fates)):
            return False
    inside = [c for c in bytecode.code_inside(code) if name in c.co_freevars]
    return all(_variable_serves(c, name, is_list) for c in inside)
