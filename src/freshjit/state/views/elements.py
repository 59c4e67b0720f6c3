"""Views of what is in containers: where it is, how it is guarded, what is seen of it."""

from __future__ import annotations

import collections
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from freshjit.state.contents import base_of, same_things
from freshjit.state.guards import ANYTHING
from freshjit.state.hooks import can_hook, class_entry, slots_of
from freshjit.state.path import Path, shown
from freshjit.state.values import is_by_value
from freshjit.state.views import objects

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = [
    "element",
    "guard_members",
    "length_guard",
    "member_of",
    "members_of",
    "remember",
    "view_member",
    "view_plainly",
    "view_tuple",
]


def element(path: Path, container: Any, key: Any) -> Path:
    """The path of an element, which no method of the user's own takes part in reading."""
    for base in (tuple, list, dict, collections.deque):
        if isinstance(container, base):
            label = label_of_key(container, str(path), key)
            if type(container) is base:
                return path.to("item", key, label)
            return path.to("rawitem", (base.__name__, key), label)
    return path.item(key)


def label_of_key(container: Any, label: str, key: Any) -> str:
    """How an element is written: ``x[0]``, ``x['w']``, of a named tuple ``x.mu``."""
    fields = getattr(type(container), "_fields", None) if isinstance(container, tuple) else None
    return f"{label}.{fields[key]}" if isinstance(fields, tuple) else f"{label}[{shown(key)}]"


def remember(capture: Capture, value: Any, view: Any, path: Path) -> Any:
    """Note what stands for a container: of the user's own subclass, attributes and class count too."""
    kind = type(value)
    if not can_hook(kind):
        return capture.remember(value, view, path)
    if objects.instance_dict(value) is not None or slots_of(kind):
        return objects.adopt_object(capture, value, view, path)
    capture.hooks.add(kind)
    return capture.remember(value, view, path)


def length_guard(path: Path, value: Any) -> tuple[Path, Any, int]:
    """The guard on the length, for which no method of the user's own is asked."""
    base = base_of(value)
    place = path if class_entry(type(value), "__len__") is base.__len__ else members_of(path, value)
    return place, "len", base.__len__(value)


def members_of(path: Path, container: Any) -> Path:
    """The path of the elements of a set, or the keys of a dict, as a tuple."""
    return path.to("elements", base_of(container).__name__)


def view_plainly(capture: Capture, value: Any, path: Path) -> Any:
    return capture.view(value, path)


def view_tuple(
    capture: Capture,
    value: tuple[Any, ...],
    path: Path,
    see: Callable[[Capture, Any, Path], Any] = view_plainly,
) -> Any:
    """A tuple, or an instance of a subclass of one: a named tuple, say.

    Parameters:
        see: gives what is seen of each part.
    """
    kind: Any = type(value)
    capture.guard(path, "type", kind)
    capture.guard(*length_guard(path, value))
    old = tuple.__iter__(value)
    items = [see(capture, item, element(path, value, i)) for i, item in enumerate(tuple.__iter__(value))]
    view = value if same_things(items, list(old)) else tuple.__new__(kind, items)
    return remember(capture, value, view, path)


def guard_members(capture: Capture, place: Path, members: Sequence[Any]) -> None:
    """The guard on what is in a set, or on the keys of a dict, but for objects: these have their own."""
    wanted = tuple(map(_as_guarded, members))
    if members and all(member is ANYTHING for member in wanted):
        capture.guard(place, "len", len(wanted))
    else:
        capture.guard(place, "keys", wanted)


def _as_guarded(value: Any) -> Any:
    if _needs_no_view(value):
        return value
    if isinstance(value, tuple):
        return tuple.__new__(type(value), map(_as_guarded, tuple.__iter__(value)))
    return ANYTHING


def _needs_no_view(value: Any) -> bool:
    return is_by_value(value) or (isinstance(value, type) and not can_hook(value))


def view_member(capture: Capture, value: Any, path: Path) -> Any:
    """An element or a key. What is guarded together with the others is the same at every call."""
    if _needs_no_view(value):
        return value
    if isinstance(value, tuple) and id(value) not in capture.entries:
        return view_tuple(capture, value, path, view_member)
    return _view_hashed(capture, value, path)


def member_of(path: Path, container: Any, index: int) -> Path:
    return members_of(path, container).to("item", index, f"list({path})[{index}]")


def _view_hashed(capture: Capture, value: Any, path: Path) -> Any:
    """An object among them: a weak reference must be found there as it is."""
    if not isinstance(value, weakref.ref):
        return capture.view(value, path)
    capture.guard(path, "is", value)
    target: Any = value()
    if target is not None and capture.view(target, path.to("call", ())) is not target:
        capture.report_frozen(
            f"{path} refers to a {type(target).__name__}, which traced code reaches past freshjit",
            "Keep the thing itself where it can be found, or refer to an object that holds it.",
        )
    return capture.remember(value, value, path)
