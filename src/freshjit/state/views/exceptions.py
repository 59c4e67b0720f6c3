"""Exceptions of the caller's: what Python keeps in them, where no hook sees it.

``raise error from cause`` writes to the error in C, and an error of Python's own classes cannot be hooked at
all. Traced code has the real one, so that what is caught is what was raised. What the run writes to it is
taken back when it ends; how it came about is written again at each call, and anything else is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from freshjit.errors import UnsupportedStateError
from freshjit.state.guards import user_line
from freshjit.state.hooks import GAP, can_hook, differences, slots_of
from freshjit.state.path import Path
from freshjit.state.record import Write
from freshjit.state.values import is_plain

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["ORIGINS", "ExceptionState", "is_as_before", "view_builtin_exception"]

ORIGINS = ("__cause__", "__context__", "__suppress_context__")
"""How an exception came about. In this order: to give it a cause suppresses its context."""


class ExceptionState:
    """What Python keeps in one exception; of a class that cannot be hooked, its attributes as well."""

    def __init__(self, value: BaseException, path: Path) -> None:
        self.value, self.path = value, path
        self._whole = not can_hook(type(value))
        self._traceback = value.__traceback__
        self._before = self._now()

    def _now(self) -> dict[str, Any]:
        now = {name: BaseException.__dict__[name].__get__(self.value) for name in (*ORIGINS, "args")}
        if self._whole:
            members = slots_of(type(self.value))
            now.update({n: m.__get__(self.value) for n, m in members.items() if n not in ORIGINS})
            now.update(self.value.__dict__)
        return now

    def contents(self) -> dict[str, Any]:
        """What it held at the start, but for how it came about."""
        return {name: held for name, held in self._before.items() if name not in ORIGINS}

    def writes(self, capture: Capture) -> Iterator[Write]:
        changed = differences(self._now(), self._before)
        for name, value in changed.items():
            if name not in ORIGINS:
                raise UnsupportedStateError(
                    f"{self.path}.{name} is kept by C code ({type(self.value).__name__}) and was set or "
                    f"deleted inside a jitted function.\nDo it outside, or make a new object."
                )
            yield Write(self.path, "setattr", name, value, user_line())
        for name in ORIGINS:
            if self._whole and name not in changed:
                capture.view(self._before[name], self.path.attr(name))

    def unchanged(self, name: str) -> bool:
        """Whether the run has left this as it was."""
        return self._now().get(name, GAP) is self._before.get(name, GAP)

    def put_back(self) -> None:
        """Make it what it was: no frame and no value of the run may be left in it."""
        now = self._now()
        for name in now.keys() - self._before.keys():
            del self.value.__dict__[name]
        if differences(now, self._before):
            for name, held in self._before.items():
                if name in ORIGINS or now.get(name, GAP) is not held:
                    object.__setattr__(self.value, name, held)
        if self.value.__traceback__ is not self._traceback:
            self.value.__traceback__ = self._traceback

    # What a transform sees of it does not change.

    def start(self) -> Any:
        return {}

    def snapshot(self) -> Any:
        return {}

    def restore(self, snapshot: Any) -> None:
        pass

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        return {}

    def apply(self, changes: dict[Any, Any]) -> None:
        pass

    def content(self, key: Any) -> Any:
        raise KeyError(key)

    def place(self, key: Any) -> Path:
        return self.path.attr(key)


def view_builtin_exception(capture: Capture, value: BaseException, path: Path) -> Any:
    """An error of a class of Python's own: what it holds is read whole."""
    capture.guard(path, "is", value)
    state = ExceptionState(value, path)
    capture.remember(value, value, path)
    capture.mutable(state)
    for name, held in state.contents().items():
        place = path.attr(name)
        if type(held) is tuple:
            capture.guard(place, "len", len(held))
            for i, part in enumerate(held):
                _read(capture, part, place.item(i))
        else:
            _read(capture, held, place)
    return value


def _read(capture: Capture, held: Any, place: Path) -> None:
    if is_plain(held):
        capture.guard(place, "value", held)
    elif isinstance(held, np.ndarray):
        capture.needs_content(place, held)
    elif not isinstance(held, jax.Array) and capture.view(held, place) is not held:
        capture.report_frozen(
            f"{place} is a {type(held).__name__} kept in an error, which traced code reaches past freshjit",
            "Keep it in an attribute of an object, or in an error of a class of your own.",
        )


def is_as_before(capture: Capture, value: BaseException, name: str) -> bool:
    """Whether what a captured error has there is what the caller left in it."""
    states = (thing for thing in capture.mutables if isinstance(thing, ExceptionState))
    return any(state.value is value and state.unchanged(name) for state in states)
