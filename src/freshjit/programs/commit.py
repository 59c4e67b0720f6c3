"""Commit: new state written back after the call, all or nothing; and new objects made from recipes."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable
from typing import Any, cast

import jax
import numpy as np

__all__ = ["apply", "new_cell", "new_function", "new_object", "new_reduced"]

Undo = Callable[[], Any]


def apply(writes: list[tuple[str, Any, Any, Any]]) -> None:
    """Make all the writes ``(action, target, key, value)``, or none of them."""
    undo: list[Undo] = []
    try:
        for action, target, key, value in writes:
            undo.append(_ACTIONS[action](target, key, value))
    except BaseException:
        for step in reversed(undo):
            step()
        raise


_GAP = object()


def _setattr(target: Any, key: str, value: Any) -> Undo:
    old = _slot_or_dict(target, key)
    object.__setattr__(target, key, value)
    return lambda: _restore_attr(target, key, old)


def _setdict(target: Any, key: str, value: Any) -> Undo:
    namespace = target.__dict__
    old = namespace.get(key, _GAP)
    namespace[key] = value
    return lambda: namespace.pop(key, None) if old is _GAP else namespace.__setitem__(key, old)


def _delattr(target: Any, key: str, _: Any) -> Undo:
    old = _slot_or_dict(target, key)
    namespace = getattr(target, "__dict__", None)
    if namespace is not None and key in namespace:
        del namespace[key]
    else:
        object.__delattr__(target, key)
    return lambda: _restore_attr(target, key, old)


def _slot_or_dict(target: Any, key: str) -> Any:
    try:
        return object.__getattribute__(target, key)
    except AttributeError:
        return _GAP


def _restore_attr(target: Any, key: str, old: Any) -> None:
    if old is _GAP:
        object.__delattr__(target, key)
    else:
        object.__setattr__(target, key, old)


def _setcell(target: types.CellType, _: Any, value: Any) -> Undo:
    try:
        old = target.cell_contents
    except ValueError:
        old = _GAP
    target.cell_contents = value
    return lambda: _restore_cell(target, old)


def _delcell(target: types.CellType, _: Any, __: Any) -> Undo:
    old = target.cell_contents
    del target.cell_contents
    return lambda: _restore_cell(target, old)


def _restore_cell(target: types.CellType, old: Any) -> None:
    if old is _GAP:
        del target.cell_contents
    else:
        target.cell_contents = old


def _setitem(target: Any, key: Any, value: Any) -> Undo:
    base = _base(target)
    if base in (dict, collections.OrderedDict):
        return _set_in_mapping(target, key, value)
    old = base.__getitem__(target, key)
    base.__setitem__(target, key, value)
    return lambda: base.__setitem__(target, key, old)


def _set_in_mapping(target: dict[Any, Any], key: Any, value: Any) -> Undo:
    base = _base(target)
    old = dict.get(target, key, _GAP)
    base.__setitem__(target, key, value)
    return lambda: base.__delitem__(target, key) if old is _GAP else base.__setitem__(target, key, old)


def _delitem(target: Any, key: Any, _: Any) -> Undo:
    return _replace(target, lambda: _base(target).__delitem__(target, key))


def _replace(target: Any, change: Callable[[], Any]) -> Undo:
    """A change of a whole container, undone by putting everything back in order."""
    base = _base(target)
    if base in (dict, collections.OrderedDict):
        old = list(dict.items(target))
        change()

        def back() -> None:
            base.clear(target)
            for key, value in old:
                base.__setitem__(target, key, value)

        return back
    elements = list(base.__iter__(target))
    change()

    def refill() -> None:
        base.clear(target)
        if base is set:
            base.update(target, elements)
        else:
            base.extend(target, elements)

    return refill


def _base(target: Any) -> Any:
    """The built-in class whose methods go around the user's overrides."""
    kinds = (collections.OrderedDict, dict, list, set, collections.deque)
    return next(k for k in kinds if isinstance(target, k))


def _append(target: Any, _: Any, value: Any) -> Undo:
    if isinstance(target, list):
        list.append(target, value)
        return lambda: list.pop(target)
    return _replace(target, lambda: collections.deque.append(target, value))


def _replace_items(target: Any, _: Any, value: list[Any]) -> Undo:
    def change() -> None:
        base = _base(target)
        base.clear(target)
        base.extend(target, value)

    return _replace(target, change)


def _replace_dict(target: Any, _: Any, value: dict[Any, Any]) -> Undo:
    def change() -> None:
        base = _base(target)
        base.clear(target)
        for key, item in value.items():
            base.__setitem__(target, key, item)

    return _replace(target, change)


def _replace_set(target: Any, _: Any, value: list[Any]) -> Undo:
    def change() -> None:
        set.clear(target)
        set.update(target, value)

    return _replace(target, change)


def _fill(target: np.ndarray[Any, Any], _: Any, value: np.ndarray[Any, Any]) -> Undo:
    old = target.copy()
    target[...] = value
    return lambda: target.__setitem__(..., old)


def _fill_buffer(target: Any, _: Any, value: list[Any]) -> Undo:
    old = list(target)
    target[:] = type(target)(target.typecode, value) if hasattr(target, "typecode") else bytearray(value)
    return lambda: _fill_buffer(target, _, old)


def _fill_item(target: np.ndarray[Any, Any], _: Any, value: tuple[Any, Any]) -> Undo:
    old = target.copy()
    key, new = value
    target[_as_index(key)] = np.asarray(new)
    return lambda: target.__setitem__(..., old)


def _as_index(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(map(_as_index, cast(tuple[Any, ...], key)))
    return np.asarray(key) if isinstance(key, jax.Array) else key


def _setclass(target: type, key: str, value: Any) -> Undo:
    old = target.__dict__.get(key, _GAP)
    type.__setattr__(target, key, value)
    return lambda: type.__delattr__(target, key) if old is _GAP else type.__setattr__(target, key, old)


def _delclass(target: type, key: str, _: Any) -> Undo:
    old = target.__dict__[key]
    type.__delattr__(target, key)
    return lambda: type.__setattr__(target, key, old)


_ACTIONS: dict[str, Callable[[Any, Any, Any], Undo]] = {
    "setattr": _setattr,
    "setslot": _setattr,
    "setdict": _setdict,
    "delattr": _delattr,
    "setcell": _setcell,
    "delcell": _delcell,
    "setglobal": _set_in_mapping,
    "delglobal": _delitem,
    "setitem": _setitem,
    "delitem": _delitem,
    "append": _append,
    "replace": _replace_items,
    "replacedict": _replace_dict,
    "replaceset": _replace_set,
    "fill": _fill,
    "fillbuffer": _fill_buffer,
    "fillitem": _fill_item,
    "setclass": _setclass,
    "delclass": _delclass,
}


# -- new objects ------------------------------------------------------------------------------------


def new_object(cls: type) -> Any:
    """An instance without running ``__init__``: its contents follow."""
    bases: tuple[Any, ...] = (dict, list, tuple, set)
    for base in bases:
        if issubclass(cls, base):
            return base.__new__(cls)
    return object.__new__(cls)


def fill_object(
    value: Any,
    attributes: dict[str, Any],
    slots: dict[str, Any],
    pairs: list[tuple[Any, Any]],
    items: list[Any],
) -> Any:
    """Give a new instance its attributes, slots and, for subclasses of containers, its elements."""
    if attributes:
        object.__getattribute__(value, "__dict__").update(attributes)
    for name, content in slots.items():
        object.__setattr__(value, name, content)
    for key, content in pairs:
        dict.__setitem__(value, key, content)
    if items:
        list.extend(value, items)
    return value


def new_cell(contents: tuple[Any, ...]) -> types.CellType:
    return types.CellType(*contents)


def new_function(code: types.CodeType, namespace: dict[str, Any], name: str, parts: dict[str, Any]) -> Any:
    """A function made during the call, with the real globals in place of the watched ones."""
    closure = tuple(parts["closure"])
    function = types.FunctionType(code, namespace, name, parts["defaults"], closure or None)
    function.__kwdefaults__ = parts["kwdefaults"]
    function.__qualname__ = parts["qualname"]
    function.__dict__.update(parts["dict"])
    return function


def new_reduced(make: Any, args: list[Any], new: bool, state: Any, items: list[Any], pairs: list[Any]) -> Any:
    """An object made again the way ``copy`` would make it (see ``object.__reduce_ex__``)."""
    value = make.__new__(make, *args) if new else make(*args)
    if state is not None:
        if hasattr(value, "__setstate__"):
            value.__setstate__(state)
        elif isinstance(state, tuple) and len(state) == 2:  # pyright: ignore[reportUnknownArgumentType]
            attributes, slots = state  # pyright: ignore[reportUnknownVariableType]
            fill_object(value, attributes or {}, slots or {}, [], [])
        else:
            value.__dict__.update(state)
    for item in items:
        value.append(item)
    for key, item in pairs:
        value[key] = item
    return value
