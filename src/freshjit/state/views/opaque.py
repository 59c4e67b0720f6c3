"""Things that cannot be watched: objects of C and of some libraries. Traced code gets the real ones.

They are guarded by identity, and what they hold as far as it shows from outside: the flag of an event, how
much waits in a queue. Should that change during the run, it was done by code that is not followed: it is
done once, while tracing, and is reported.
"""

from __future__ import annotations

import ctypes
import queue
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from freshjit.state.guards import SourceLine, user_line
from freshjit.state.libraries import is_library_module, runs_user_code
from freshjit.state.path import Path
from freshjit.state.values import is_plain, same_value
from freshjit.state.views.objects import instance_dict

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["view_alias", "view_opaque"]


_CONTENTS: tuple[tuple[type, str], ...] = (
    (types.CellType, "cell_contents"),
    (ctypes.c_int.__mro__[1], "value"),  # the base of all simple types of C
)
_STRUCTURED = (ctypes.Structure, ctypes.Union, ctypes.Array)


def view_opaque(capture: Capture, value: Any, path: Path) -> Any:
    capture.guard(path, "is", value)
    before, where = _shown(value, path), user_line()
    if _has_caches(type(value)) and runs_user_code(value):
        capture.report_frozen(
            f"{path} is a {type(value).__name__} with functions of yours in it, which run out of sight",
            "Make it inside the jitted function, or let its functions read nothing that changes.",
        )
    if before:
        capture.at_end(lambda capture: _compare(capture, value, path, before, where))
    return capture.remember(value, value, path)


def _shown(value: Any, path: Path) -> dict[Path, Any]:
    """What the object holds, by where it is read: plain values and NumPy arrays."""
    found: dict[Path, Any] = {}
    for kind, name in _CONTENTS:
        if isinstance(value, kind):
            found[path.attr(name)] = getattr(value, name, None)
    if isinstance(value, queue.SimpleQueue):
        found[path.attr("qsize").to("call", ())] = value.qsize()
    if isinstance(value, _STRUCTURED):
        found.update(_fields(value, path))
    if not _has_caches(type(value)):
        attributes = instance_dict(value) or {}
        found.update({path.to("dictitem", name): part for name, part in attributes.items()})
    return {
        place: part.copy() if isinstance(part, np.ndarray) else part
        for place, part in found.items()
        if is_plain(part) or type(part) is np.ndarray
    }


def _fields(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """What is in a structure or an array of C, and the plain attributes of its class."""
    if isinstance(value, ctypes.Array):
        parts = [(path.item(i), part) for i, part in enumerate(cast("ctypes.Array[Any]", value))]
    else:
        names = [n for n in dir(value) if not n.startswith("_")]
        parts = [(path.attr(name), getattr(value, name)) for name in names]
    for place, part in parts:
        if isinstance(part, _STRUCTURED):
            yield from _fields(part, place)
        else:
            yield place, part


def _has_caches(kind: type) -> bool:
    """JAX's objects do not change but for what they compute once and keep."""
    return kind.__module__.partition(".")[0] in ("jax", "jaxlib") and is_library_module(kind.__module__)


def _compare(
    capture: Capture, value: Any, path: Path, before: dict[Path, Any], where: SourceLine | None
) -> None:
    now = _shown(value, path)
    for place, was in before.items():
        if place not in now or not _same(now[place], was):
            what = f"{place} was changed by code that is not followed"
            capture.report_frozen(what, "Change it outside, around the call.", where)
        elif isinstance(was, np.ndarray):
            capture.needs_content(place, was)
        else:
            capture.guard(place, "value", was, where)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return (
            type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
        )
    return same_value(a, b)


def view_alias(capture: Capture, alias: Any, path: Path) -> Any:
    """``Base[int]``: it hands on what is asked of it to its class."""
    capture.guard(path, "is", alias)
    capture.view(alias.__origin__, path.attr("__origin__"))
    return capture.remember(alias, alias, path)
