"""State through transforms: run a function apart, and carry what it changed out of the transform.

Inside ``jax.grad`` or ``jax.lax.scan`` a value that is written into state belongs to that transform
and means nothing outside. So the function is run *apart*: what it changed is taken back, its traced
values are handed out as further results of the transform, and the changes are made with what comes
out on the other side.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax

from freshjit import _compat
from freshjit.state.arguments import POSITIONAL
from freshjit.state.guards import SourceLine, user_line
from freshjit.state.hooks import can_hook, slot_values
from freshjit.state.record import Mutable
from freshjit.state.views import made
from freshjit.state.views.arrays import leaves_to_jax
from freshjit.state.views.objects import instance_dict

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["Apart", "Change", "Changes", "called_like", "named", "run_apart"]


@dataclass(eq=False, slots=True)
class Change:
    """One location that a function changed, and its new value."""

    thing: Mutable
    key: Any
    value: Any

    @property
    def label(self) -> str:
        return str(self.thing.place(self.key))


@dataclass(eq=False, slots=True)
class Changes:
    """What one function run apart has changed.

    Attributes:
        changes: the locations.
        where: the line of the call.
    """

    changes: list[Change]
    where: SourceLine | None

    def __bool__(self) -> bool:
        return bool(self.changes)

    def labels(self) -> str:
        return ", ".join(dict.fromkeys(c.label for c in self.changes))

    def holes(self, capture: Capture) -> dict[int, list[Change]]:
        """For each traced value, by its position among them: the changes it is part of."""
        found: dict[int, list[Change]] = {}
        for change in self.changes:

            def note(value: Any, change: Change = change) -> Any:
                if type(value) is _Hole:
                    found.setdefault(value.index, []).append(change)
                return value

            _map_traced(capture, change.value, note, {})
        return found

    def apply(self, capture: Capture, values: list[Any]) -> None:
        """Make the changes, with ``values`` in the holes."""
        for change, new in zip(self.changes, self.filled(capture, values), strict=True):
            change.thing.apply({change.key: new})

    def filled(self, capture: Capture, values: list[Any]) -> list[Any]:
        """The new contents of each location, with ``values`` in the holes."""

        def fill(value: Any) -> Any:
            return values[value.index] if type(value) is _Hole else value

        memo: dict[int, Any] = {}
        return [_map_traced(capture, change.value, fill, memo) for change in self.changes]


class Apart:
    """A function prepared for a transform: called by it, it returns its result and its traced changes."""

    def __init__(self, capture: Capture, function: Callable[..., Any]) -> None:
        self.capture, self.function = capture, function
        self.changes: Changes = Changes([], None)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        result, traced = self.as_it_is(*args, **kwargs)
        return leaves_to_jax(result), traced

    def as_it_is(self, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        """The same for a transform that hands on part of the result without looking at it."""
        result, self.changes, traced = run_apart(self.capture, self.function, args, kwargs)
        return result, traced

    def dropping_changes(self) -> Callable[..., Any]:
        """The function alone, for a run that only looks: ``changes`` says afterwards what it would do."""
        return named(lambda *args, **kwargs: self(*args, **kwargs)[0], self.function)

    def apply(self, values: list[Any]) -> None:
        self.changes.apply(self.capture, values)


def named(function: Callable[..., Any], like: Any) -> Callable[..., Any]:
    """``function`` under the name of the user's own, which JAX's errors then give."""
    name = getattr(like, "__name__", None)
    function.__name__ = name if isinstance(name, str) else type(like).__name__  # Equinox has odd ones
    function.__wrapped__ = like  # pyright: ignore[reportFunctionMemberAccess]
    return function


def called_like(original: Any, replacement: Callable[..., Any]) -> Callable[..., Any]:
    """The replacement, taking by position whatever the original takes by position."""
    names = [p.name for p in inspect.signature(original).parameters.values() if p.kind in POSITIONAL]
    known = inspect.signature(replacement).parameters.values()
    taken = sum(p.kind in POSITIONAL for p in known)
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in known) or taken >= len(names):
        return replacement

    @functools.wraps(replacement)
    def call(*args: Any, **kwargs: Any) -> Any:
        return replacement(*args[:taken], **dict(zip(names[taken:], args[taken:], strict=False)), **kwargs)

    return call


@dataclass(frozen=True, eq=False, slots=True)
class _Hole:
    """Stands where a traced value of the transform was, which must not outlive it."""

    index: int


def run_apart(
    capture: Capture, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]
) -> tuple[Any, Changes, list[Any]]:
    """Call the function and take back what it changed.

    Returns the result, the changes, and the traced values among the new contents that belong to the
    transform (each a hole in the changes).
    """
    made.watch(capture, function)
    before = {id(thing): thing.snapshot() for thing in capture.mutables}
    assert capture.recorder is not None
    try:
        with capture.recorder.inside():
            result = function(*args, **kwargs)
    except BaseException:
        _take_back(capture, before)
        raise
    changes = _take_back(capture, before)
    found: dict[int, int] = {}
    traced: list[Any] = []

    def take_out(value: Any) -> Any:
        if type(value) is _Hole or (capture.recorder is not None and capture.recorder.owns(value)):
            return value
        if id(value) not in found:
            found[id(value)] = len(traced)
            traced.append(value)
        return _Hole(found[id(value)])

    memo: dict[int, Any] = {}
    for change in changes:
        change.value = _map_traced(capture, change.value, take_out, memo)
    return result, Changes(changes, user_line()), traced


def _take_back(capture: Capture, before: dict[int, Any]) -> list[Change]:
    made.forget(capture, before)
    changes: list[Change] = []
    for thing in list(capture.mutables):
        snapshot = before[id(thing)] if id(thing) in before else thing.start()
        changed = thing.changes(snapshot)
        if changed:
            changes += [Change(thing, key, value) for key, value in changed.items()]
            thing.restore(snapshot)
    return changes


def _map_traced(capture: Capture, value: Any, change: Callable[[Any], Any], memo: dict[int, Any]) -> Any:
    """Apply ``change`` to every traced value inside ``value``; new mutable things are changed in place.

    What libraries define is not looked into, nor what was captured: its own contents are accounted for
    by itself.
    """
    if type(value) is _Hole or isinstance(value, _compat.Tracer):
        return change(value)
    if made.is_whole(value) or isinstance(value, _CLOSED):
        return value
    if id(value) in memo:
        return memo[id(value)]
    if capture.original_of(value) is not None:
        return value

    def mapped(part: Any) -> Any:
        return _map_traced(capture, part, change, memo)

    kind = type(value)
    if isinstance(value, tuple):
        items = list(map(mapped, tuple.__iter__(value)))
        same = all(a is b for a, b in zip(items, tuple.__iter__(value), strict=True))
        new = value if same else tuple.__new__(kind, items)
        attributes = instance_dict(value)  # of a subclass of the user's
        if attributes:
            memo[id(value)] = new
            object.__getattribute__(new, "__dict__").update(
                {name: mapped(item) for name, item in attributes.items()}
            )
        return new
    memo[id(value)] = value  # which also keeps it alive while ids count
    if isinstance(value, functools.partial):
        parts = value.func, value.args, tuple(value.keywords.items())
        new_parts = mapped(parts)
        if new_parts is not parts:
            func, args, keywords = new_parts
            memo[id(value)] = kind(func, *args, **dict(keywords))
        return memo[id(value)]
    if kind is types.FunctionType:
        for cell in value.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty cell
                cell.cell_contents = mapped(cell.cell_contents)
        defaults = mapped(value.__defaults__)
        if defaults is not value.__defaults__:
            value.__defaults__ = defaults
        mapped(value.__kwdefaults__)
        mapped(value.__dict__)
        return value
    if kind is types.MethodType:
        mapped(value.__self__)
        mapped(value.__func__)
        return value
    if isinstance(value, list):
        list.__setitem__(value, slice(None), list(map(mapped, list.__iter__(value))))
    elif isinstance(value, collections.deque):
        for index, item in enumerate(value):
            value[index] = mapped(item)
    elif isinstance(value, dict):
        for key, item in list(dict.items(value)):
            dict.__setitem__(value, key, mapped(item))
    if kind in _OPEN or can_hook(kind):
        with capture.paused():
            namespace: dict[str, Any] = getattr(value, "__dict__", {})
            slots = slot_values(value)
        for name, item in list(namespace.items()):
            namespace[name] = mapped(item)
        for name, item in slots.items():
            new = mapped(item)
            if new is not item:
                made.put_slot(value, name, new)
    return value


# Arrays hold no traced values, and neither do classes and modules that a run has made.
_CLOSED = (jax.Array, type, types.ModuleType)
# Of what others define, these hold what the user has put there.
_OPEN = (types.SimpleNamespace, jax.custom_jvp, jax.custom_vjp)
