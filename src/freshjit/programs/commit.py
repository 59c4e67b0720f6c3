"""Commit: new state written back after the call, all or nothing; and new objects made from recipes."""

from __future__ import annotations

import array
import collections
import types
from collections.abc import Callable
from typing import Any, cast

import jax
import numpy as np

from freshjit.state.contents import base_of, fill_buffer, members, refill_set, set_shape
from freshjit.state.hooks import GAP, entry_outside, note_elsewhere, set_entry

__all__ = [
    "apply",
    "fill_function",
    "fill_object",
    "fill_objects",
    "fill_reduced",
    "new_cell",
    "new_function",
    "new_object",
    "new_objects",
    "new_reduced",
]

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE

# What to do, and what to undo it with, whether it has been done, half done or not at all.
Step = tuple[Callable[[], Any], Callable[[], Any]]


def apply(writes: list[tuple[str, Any, Any, Any]]) -> None:
    """Make all the writes ``(action, target, key, value)``, or none of them."""
    undo: list[Callable[[], Any]] = []
    try:
        for action, target, key, value in writes:
            do, back = _ACTIONS[action](target, key, value)
            undo.append(back)  # first: an interrupt may come in between
            do()
    except BaseException as error:
        try:
            failed = _take_back(undo)
        except BaseException:  # Ctrl-C in the middle of it: once more, however far it got
            _take_back(undo)
            raise
        for other in failed:
            # What refuses to be written refuses to be restored in the same words; nothing has been changed.
            if (type(other), str(other)) != (type(error), str(error)):
                error.add_note(f"A change that had been made before could not be taken back: {other!r}")
        raise


def _take_back(undo: list[Callable[[], Any]]) -> list[Exception]:
    """Undo, the last one first, each whatever becomes of the others; gives the errors."""
    errors: list[Exception] = []
    for back in reversed(undo):
        try:
            back()
        except Exception as error:
            errors.append(error)
    return errors


def _setattr(target: Any, key: str, value: Any) -> Step:
    note_elsewhere(target, key)
    old = _slot_or_dict(target, key)
    return lambda: object.__setattr__(target, key, value), lambda: _restore_attr(target, key, old)


def _setdict(target: Any, key: str, value: Any) -> Step:
    note_elsewhere(target, key)
    return _set_in_mapping(target.__dict__, key, value)


def _delattr(target: Any, key: str, _: Any) -> Step:
    note_elsewhere(target, key)
    old = _slot_or_dict(target, key)
    namespace = getattr(target, "__dict__", None)
    if namespace is not None and key in namespace:
        return lambda: namespace.__delitem__(key), lambda: namespace.__setitem__(key, old)
    return lambda: object.__delattr__(target, key), lambda: _restore_attr(target, key, old)


def _slot_or_dict(target: Any, key: str) -> Any:
    try:
        return object.__getattribute__(target, key)
    except AttributeError:
        return GAP


def _restore_attr(target: Any, key: str, old: Any) -> None:
    if old is not GAP:
        object.__setattr__(target, key, old)
    elif _slot_or_dict(target, key) is not GAP:
        object.__delattr__(target, key)


def _setcell(target: types.CellType, _: Any, value: Any) -> Step:
    old = _contents(target)
    return lambda: _restore_cell(target, value), lambda: _restore_cell(target, old)


def _delcell(target: types.CellType, _: Any, __: Any) -> Step:
    old = _contents(target)
    return lambda: _restore_cell(target, GAP), lambda: _restore_cell(target, old)


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return GAP


def _restore_cell(target: types.CellType, value: Any) -> None:
    if value is GAP:
        del target.cell_contents
    else:
        target.cell_contents = value


def _setitem(target: Any, key: Any, value: Any) -> Step:
    base = _indexed_by(target)
    if base in (dict, collections.OrderedDict):
        return _set_in_mapping(target, key, value)
    old = base.__getitem__(target, key)
    return lambda: base.__setitem__(target, key, value), lambda: base.__setitem__(target, key, old)


def _indexed_by(target: Any) -> Any:
    return np.ndarray if isinstance(target, np.ndarray) else base_of(target)


def _set_in_mapping(target: dict[Any, Any], key: Any, value: Any) -> Step:
    base = base_of(target)
    old = dict.get(target, key, GAP)

    def back() -> None:
        if old is not GAP:
            base.__setitem__(target, key, old)
        elif dict.__contains__(target, key):
            base.__delitem__(target, key)

    return lambda: base.__setitem__(target, key, value), back


def _delitem(target: Any, key: Any, _: Any) -> Step:
    return _replace(target, lambda: base_of(target).__delitem__(target, key))


def _replace(target: Any, change: Callable[[], Any]) -> Step:
    """A change of a whole container, undone by putting everything back in order."""
    base = base_of(target)
    if base in (dict, collections.OrderedDict):
        old = list(dict.items(target))

        def back() -> None:
            base.clear(target)
            for key, value in old:
                base.__setitem__(target, key, value)

        return change, back
    elements = members(target)

    def refill() -> None:
        base.clear(target)
        base.extend(target, elements)

    return change, (lambda: refill_set(target, elements)) if base is set else refill


def _append(target: Any, _: Any, value: Any) -> Step:
    if isinstance(target, list):
        length = list.__len__(target)
        return lambda: list.append(target, value), lambda: list.__delitem__(target, slice(length, None))
    if target.maxlen is None:
        length = len(target)
        return lambda: collections.deque.append(target, value), lambda: _shorten(target, length)
    return _replace(target, lambda: collections.deque.append(target, value))


def _shorten(target: collections.deque[Any], length: int) -> None:
    while len(target) > length:
        collections.deque.pop(target)


def _replace_items(target: Any, _: Any, value: list[Any]) -> Step:
    def change() -> None:
        base = base_of(target)
        base.clear(target)
        base.extend(target, value)

    return _replace(target, change)


def _replace_dict(target: Any, _: Any, value: dict[Any, Any]) -> Step:
    def change() -> None:
        base = base_of(target)
        base.clear(target)
        for key, item in value.items():
            base.__setitem__(target, key, item)

    return _replace(target, change)


def _replace_set(target: Any, _: Any, value: list[Any]) -> Step:
    return _replace(target, lambda: refill_set(target, value))


def _fill(target: np.ndarray[Any, Any], _: Any, value: np.ndarray[Any, Any]) -> Step:
    old = target.copy()
    return lambda: target.__setitem__(..., value), lambda: target.__setitem__(..., old)


def _fill_masked(target: Any, _: Any, value: tuple[Any, Any]) -> Step:
    old = target.data.copy(), target.mask.copy() if target.mask is not np.ma.nomask else None
    return lambda: _put_masked(target, *value), lambda: _put_masked(target, *old)


def _put_masked(target: Any, data: Any, mask: Any) -> None:
    hard = target.hardmask
    target.soften_mask()  # or it keeps what is masked as it is
    target.mask = np.ma.nomask if mask is None else mask
    if mask is None:
        target.shrink_mask()
    target.data[...] = data
    if hard:
        target.harden_mask()


def _fill_record(target: Any, _: Any, value: Any) -> Step:
    old = target.copy()
    return lambda: _put_record(target, value), lambda: _put_record(target, old)


def _put_record(target: Any, value: Any) -> None:
    for name in value.dtype.names:
        target[name] = value[name]


def _reshape(target: np.ndarray[Any, Any], _: Any, value: tuple[int, ...]) -> Step:
    old = target.shape
    return lambda: set_shape(target, value), lambda: set_shape(target, old)


def _fill_buffer(target: Any, _: Any, value: bytes) -> Step:
    old = bytes(memoryview(target))
    return lambda: fill_buffer(target, value), lambda: fill_buffer(target, old)


def _fill_item(target: np.ndarray[Any, Any], _: Any, value: tuple[Any, Any]) -> Step:
    old = target.copy()
    key, new = value
    return (
        lambda: target.__setitem__(_as_index(key), np.asarray(new)),
        lambda: target.__setitem__(..., old),
    )


def _as_index(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(map(_as_index, cast(tuple[Any, ...], key)))
    return np.asarray(key) if isinstance(key, jax.Array) else key


def _setclass(target: type, key: str, value: Any) -> Step:
    old = entry_outside(target, key)
    return lambda: set_entry(target, key, value), lambda: set_entry(target, key, old)


def _delclass(target: type, key: str, _: Any) -> Step:
    return _setclass(target, key, GAP)


_ACTIONS: dict[str, Callable[[Any, Any, Any], Step]] = {
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
    "fillmasked": _fill_masked,
    "fillrecord": _fill_record,
    "reshape": _reshape,
    "fillbuffer": _fill_buffer,
    "fillitem": _fill_item,
    "setclass": _setclass,
    "delclass": _delclass,
}


# -- new objects ------------------------------------------------------------------------------------


def new_object(cls: type, *base: Any) -> Any:
    """An instance without running ``__init__``: its contents follow.

    Parameters:
        base: the value of an instance of a subclass of ``str``, ``set`` and the like, as its base has it.
    """
    if base:
        return _new_like(cls, base[0])
    if issubclass(cls, BaseException):
        return _own(cls).__new__(cls)
    bases: tuple[Any, ...] = (collections.OrderedDict, collections.defaultdict, dict, list)
    for kind in bases:
        if issubclass(cls, kind):
            return kind.__new__(cls)
    return object.__new__(cls)


def _new_like(cls: Any, base: Any) -> Any:
    kind: Any = type(base)
    if issubclass(cls, BaseExceptionGroup):
        return _own(cls).__new__(cls, *base)
    if isinstance(base, array.array):
        return kind.__new__(cls, base.typecode, base)
    made = kind.__new__(cls, base)
    if kind is collections.deque:
        kind.__init__(made, base, base.maxlen)
    elif kind in (set, bytearray):
        kind.__init__(made, base)
    return made


def _own(cls: type) -> Any:
    """The class of Python's own that this class of exceptions is a subclass of."""
    return next(base for base in cls.__mro__ if not base.__flags__ & _HEAP_TYPE)


def fill_object(
    value: Any,
    attributes: dict[str, Any],
    slots: dict[str, Any],
    pairs: list[tuple[Any, Any]],
    items: list[Any],
    *namespace: Any,
) -> Any:
    """Give a new instance its attributes, slots and, for subclasses of containers, its elements.

    Parameters:
        namespace: its ``__dict__``, if that is something else as well.
    """
    if namespace:
        object.__setattr__(value, "__dict__", *namespace)
    if attributes:
        object.__getattribute__(value, "__dict__").update(attributes)
    for name, content in slots.items():
        object.__setattr__(value, name, content)
    for key, content in pairs:
        base_of(value).__setitem__(value, key, content)
    if items:
        base_of(value).extend(value, items)
    return value


def new_objects(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.empty(shape, object)


def fill_objects(array: np.ndarray[Any, Any], elements: list[Any]) -> np.ndarray[Any, Any]:
    for index, element in zip(np.ndindex(array.shape), elements, strict=True):
        array[index] = element
    return array


def new_cell(contents: tuple[Any, ...]) -> types.CellType:
    return types.CellType(*contents)


def new_function(code: types.CodeType, namespace: dict[str, Any], name: str, closure: list[Any]) -> Any:
    """A function made during the call, with the real globals in place of the watched ones."""
    return types.FunctionType(code, namespace, name, None, tuple(closure) or None)


def fill_function(function: Any, defaults: Any, kwdefaults: Any, name: str, contents: dict[str, Any]) -> Any:
    function.__defaults__, function.__kwdefaults__ = defaults, kwdefaults
    function.__qualname__ = name
    function.__dict__.update(contents)
    return function


def new_reduced(make: Any, args: list[Any], new: bool) -> Any:
    """An object made again the way ``copy`` would make it (see ``object.__reduce_ex__``)."""
    return make.__new__(make, *args) if new else make(*args)


def fill_reduced(value: Any, state: Any, items: list[Any], pairs: list[Any]) -> Any:
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
