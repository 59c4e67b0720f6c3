"""Arguments that JAX has flattened, and rebuilt with tracers: they belong to the caller's all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from freshjit import _compat
from freshjit.state import hooks
from freshjit.state.path import Path
from freshjit.state.views import containers, dicts, objects

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["adopt_argument"]


def adopt_argument(capture: Capture, rebuilt: Any, original: Any, path: Path) -> Any:
    """Make the capture know an argument that JAX has flattened and rebuilt with tracers.

    Containers are watched, so that changes made to them reach the caller's. Registered pytree nodes
    may have lost attributes that are no leaves: those are read from the caller's object.

    Returns what traced code is to hold: the same object for everything that is one object outside.
    """
    kind = type(rebuilt)
    if isinstance(rebuilt, _compat.Tracer):
        return capture.argument_leaf(rebuilt, original, path)
    if rebuilt is original or type(original) is not kind:
        return rebuilt
    if isinstance(rebuilt, tuple):
        return _adopt_tuple(capture, rebuilt, original, path)
    if kind not in containers.REBUILT and not hooks.can_hook(kind):
        return rebuilt
    known = capture.entries.get(id(original))
    if known is not None:
        capture.guard(path, "alias", known.path)
        return known.view
    capture.argument_containers.append(path)
    if kind not in containers.REBUILT:
        _adopt_node(capture, rebuilt, original, path)
        return rebuilt
    capture.remember(original, rebuilt, path)
    if isinstance(rebuilt, dict):
        capture.argument_dicts.append(path)
    if kind in dicts.OWN_KEYS:
        dicts.put_in_order(capture, rebuilt, original, path)
    pairs = list(rebuilt.items()) if isinstance(rebuilt, dict) else enumerate(rebuilt)
    for key, item in pairs:
        rebuilt[key] = adopt_argument(capture, item, original[key], path.item(key))
    containers.watch_argument(capture, rebuilt, path)
    return rebuilt


def _adopt_tuple(capture: Capture, rebuilt: Any, original: Any, path: Path) -> Any:
    kind = type(rebuilt)
    has_attributes = objects.instance_dict(original) is not None  # of a subclass of a named tuple
    known = capture.entries.get(id(original)) if has_attributes else None
    if known is not None:
        capture.guard(path, "alias", known.path)
        return known.view
    pairs = zip(tuple.__iter__(rebuilt), tuple.__iter__(original), strict=True)
    items = [adopt_argument(capture, item, was, path.item(i)) for i, (item, was) in enumerate(pairs)]
    if any(a is not b for a, b in zip(items, tuple.__iter__(rebuilt), strict=True)):
        rebuilt = tuple.__new__(kind, items)
    if has_attributes:
        return objects.adopt_object(capture, original, rebuilt, path)
    if hooks.can_hook(kind):
        capture.hooks.add(kind)  # it has methods, and attributes of the class
    return capture.argument_leaf(rebuilt, original, path)


def _adopt_node(capture: Capture, rebuilt: Any, original: Any, path: Path) -> None:
    capture.guard(path, "type", type(original))
    capture.remember(original, rebuilt, path)
    capture.hooks.add(type(rebuilt))
    state = objects.ObjectState(original, rebuilt, path, capture.hooks.elsewhere)
    parts: list[tuple[str, Any, Path]] = []
    for name, value in (objects.instance_dict(rebuilt) or {}).items():
        if _holds_tracer(value):
            state.attrs[name] = state.initial[name] = value
            parts.append((name, value, state.attribute(name)))
    for name, value in hooks.slot_values(rebuilt).items():
        if _holds_tracer(value):
            state.slots[name] = state.slots_initial[name] = value
            parts.append((name, value, path.attr(name)))
    capture.objects[id(rebuilt)] = state
    capture.mutable(state)
    for name, value, place in parts:
        seen = adopt_argument(capture, value, getattr(original, name, None), place)
        if seen is not value:  # what is one thing outside
            known, first = (
                (state.attrs, state.initial) if name in state.attrs else (state.slots, state.slots_initial)
            )
            known[name] = first[name] = seen


def _holds_tracer(value: Any) -> bool:
    return any(isinstance(leaf, _compat.Tracer) for leaf in jax.tree_util.tree_leaves(value))
