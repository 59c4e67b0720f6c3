"""What must not outlive a run: the tracers and views that traced code holds, hidden in what it has made."""

from __future__ import annotations

import collections
import functools
import types
from typing import TYPE_CHECKING, Any

from freshjit import _compat
from freshjit.errors import UnsupportedStateError
from freshjit.state.guards import SourceLine, at
from freshjit.state.hooks import original_entries, slot_values
from freshjit.state.path import shown
from freshjit.state.values import is_plain
from freshjit.state.views.arrays import STAND_INS

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["found", "refusal"]

_MAKES_NO_DIFFERENCE = (
    types.ModuleType,
    types.BuiltinFunctionType,
    types.CodeType,
    types.GetSetDescriptorType,
)
_ITEMS = (list, tuple, set, frozenset, collections.deque)
# Of a class: what Python has put there.
_OF_PYTHON = frozenset(
    ("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__")
)


def refusal(label: str, what: str, where: SourceLine | None) -> UnsupportedStateError:
    place = at(where, "written at")
    return UnsupportedStateError(
        f"{label} was given {what}{place}.\nIt is the same for all calls of the compiled program, so nothing "
        "that belongs to one call may be in it. Create it outside the jitted function, or keep what belongs "
        "to the call in attributes of a new object."
    )


def found(capture: Capture, value: Any) -> str | None:
    """What there is in ``value``, itself no stand-in, that belongs to the run; None if nothing does."""
    todo: list[tuple[Any, str]] = _inside(capture, value, getattr(value, "__name__", type(value).__name__))
    seen = {id(value)}
    while todo:
        part, label = todo.pop()
        if is_plain(part):
            continue
        if isinstance(part, _compat.Tracer) or type(part) in STAND_INS:
            return f"{label} is a traced value"
        entry = capture.original_of(part)
        if entry is not None and not isinstance(part, (type, *_MAKES_NO_DIFFERENCE)):
            return f"{label} is {entry.path}"
        if id(part) not in seen:
            seen.add(id(part))
            todo += _inside(capture, part, label)
    return None


def _inside(capture: Capture, value: Any, label: str) -> list[tuple[Any, str]]:
    if isinstance(value, type):
        return _of_class(value, label) if capture.has_made(value) else []
    if isinstance(value, _MAKES_NO_DIFFERENCE):
        return []
    if isinstance(value, types.CellType):
        try:
            return [(value.cell_contents, label)]
        except ValueError:
            return []
    if isinstance(value, dict):
        return [(part, f"{label}[{shown(key)}]") for key, part in dict.items(value)] + [
            (key, f"a key of {label}") for key in dict.keys(value)
        ]
    iterate: Any = next((kind.__iter__ for kind in _ITEMS if isinstance(value, kind)), None)
    if iterate is not None:
        return [(part, label) for part in iterate(value)]
    if isinstance(value, types.FunctionType):
        return _of_function(value, label)
    return [(part, label) for part in _parts(value)]


def _of_class(cls: type, label: str) -> list[tuple[Any, str]]:
    entries = original_entries(cls).items()
    parts = [(value, f"{label}.{name}") for name, value in entries if name not in _OF_PYTHON]
    return [*parts, *((base, base.__name__) for base in cls.__bases__)]


def _of_function(function: types.FunctionType, label: str) -> list[tuple[Any, str]]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    parts: list[tuple[Any, str]] = [(cell, f"{name} of {label}") for name, cell in cells]
    defaults = *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()
    parts += [(value, f"a default of {label}") for value in defaults]
    return parts + [(value, f"{label}.{name}") for name, value in function.__dict__.items()]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, slice):
        return [value.start, value.stop, value.step]
    if isinstance(value, (staticmethod, classmethod)):
        return [value.__func__]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    attributes = getattr(value, "__dict__", None)
    return [*(attributes.values() if isinstance(attributes, dict) else ()), *slot_values(value).values()]
