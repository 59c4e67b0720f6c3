"""Views of containers: copies of the same type with views inside.

Being real lists and dicts, they behave exactly as such, in C code and in JAX's pytrees too. What the
traced code did to a copy is found by comparing it afterwards, and is done to the original at the
commit, in place: aliases stay aliases.
"""

from __future__ import annotations

import collections
import threading
import types
from typing import TYPE_CHECKING, Any

from freshjit.state.contents import base_of, items_of, same_things
from freshjit.state.path import Path
from freshjit.state.views import objects
from freshjit.state.views.copies import MappingCopy, SequenceCopy
from freshjit.state.views.dicts import fill_dict
from freshjit.state.views.elements import element, length_guard

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = [
    "REBUILT",
    "view_deque",
    "view_list",
    "view_namespace",
    "view_slice",
    "view_subclass",
    "view_thread_local",
    "watch_argument",
]


def view_list(capture: Capture, value: list[Any], path: Path) -> Any:
    capture.guard(path, "type", list)
    capture.guard(path, "len", len(value))
    view: list[Any] = []
    capture.remember(value, view, path)
    view.extend([capture.view(item, path.item(i)) for i, item in enumerate(value)])
    _watch(capture, value, view, path)
    return view


def view_deque(capture: Capture, value: collections.deque[Any], path: Path) -> Any:
    capture.guard(path, "type", type(value))
    capture.guard(path, "len", len(value))
    capture.guard(path.attr("maxlen"), "value", value.maxlen)
    view: collections.deque[Any] = collections.deque(maxlen=value.maxlen)
    capture.remember(value, view, path)
    view.extend([capture.view(item, path.item(i)) for i, item in enumerate(value)])
    _watch(capture, value, view, path)
    return view


def _watch(capture: Capture, value: Any, view: Any, path: Path) -> None:
    growing = capture.growing_copy(value, path)
    if growing is None:
        capture.mutable(SequenceCopy(view, path))
    else:
        growing.look(view)


def view_slice(capture: Capture, value: slice, path: Path) -> Any:
    """A slice of something else than plain values."""
    capture.guard(path, "type", slice)
    old = value.start, value.stop, value.step
    parts = [
        capture.view(part, path.attr(name)) for name, part in zip(("start", "stop", "step"), old, strict=True)
    ]
    view = value if same_things(parts, list(old)) else slice(*parts)
    return capture.remember(value, view, path)


def view_namespace(capture: Capture, value: types.SimpleNamespace, path: Path) -> Any:
    capture.guard(path, "type", types.SimpleNamespace)
    view = types.SimpleNamespace()
    capture.remember(value, view, path)
    contents = value.__dict__
    capture.guard(path.to("dict"), "keys", tuple(contents))
    for name, item in list(contents.items()):
        view.__dict__[name] = capture.view(item, path.attr(name))
    capture.mutable(MappingCopy(view.__dict__, path, ("setattr", "delattr")))
    return view


def view_thread_local(capture: Capture, value: Any, path: Path) -> Any:
    """A plain ``threading.local``: the attributes that this thread has set."""
    capture.guard(path, "type", threading.local)
    view = threading.local()
    capture.remember(value, view, path)
    capture.guard(path.to("dict"), "keys", tuple(value.__dict__))
    for name, item in list(value.__dict__.items()):
        view.__dict__[name] = capture.view(item, path.attr(name))
    capture.mutable(MappingCopy(view.__dict__, path, ("setdict", "delattr")))
    return view


def view_subclass(capture: Capture, value: Any, path: Path) -> Any:
    """An instance of the user's own subclass of a container that can change: a shadow of the same class."""
    kind: Any = type(value)
    capture.guard(path, "type", kind)
    view = kind.__new__(kind)
    if isinstance(value, collections.deque):
        capture.guard(path.attr("maxlen"), "value", value.maxlen)
        collections.deque.__init__(view, (), value.maxlen)
    objects.adopt_object(capture, value, view, path)
    if isinstance(value, dict):
        if isinstance(value, collections.defaultdict):
            view.default_factory = capture.view(value.default_factory, path.attr("default_factory"))
        fill_dict(capture, value, view, path)
        capture.mutable(MappingCopy(view, path, ("setitem", "delitem")))
        if objects.instance_dict(value) is value:
            capture.guard(path.to("dict"), "alias", path)
            capture.objects[id(view)].share(objects.OwnItems(view))
        return view
    capture.guard(*length_guard(path, value))
    items = enumerate(items_of(value))
    base_of(view).extend(view, [capture.view(item, element(path, value, i)) for i, item in items])
    capture.mutable(SequenceCopy(view, path))
    return view


# The containers that JAX takes apart and rebuilds.
REBUILT = (list, dict, collections.deque, collections.OrderedDict, collections.defaultdict)


def watch_argument(capture: Capture, value: Any, path: Path) -> None:
    """Watch a container among the traced arguments (JAX has rebuilt it: it is the view already)."""
    if isinstance(value, dict):
        capture.mutable(MappingCopy(value, path, ("setitem", "delitem")))
    else:
        capture.mutable(SequenceCopy(value, path))
