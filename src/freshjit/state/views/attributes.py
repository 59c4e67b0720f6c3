"""What a function object carries beside its code: its own attributes, and those that Python gives it.

A clone has them too, so reads need no help, but most of them are guarded only where some code of the capture
could tell: a function's name, say, where an attribute ``__name__`` is read somewhere. That a function *lacks*
an attribute or a default can be told by code that handles exceptions, and by ``hasattr``. What installed
packages look at (to name a scope, to log) does not count, but for ``getattr`` and ``hasattr``.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from freshjit.errors import UnsupportedStateError
from freshjit.state import bytecode
from freshjit.state.hooks import GAP, differences
from freshjit.state.libraries import is_installed
from freshjit.state.path import Path
from freshjit.state.record import Write
from freshjit.state.values import is_plain

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["FunctionState", "Functions"]

# Those that can be assigned, and are no entries of the dictionary.
_PYTHONS = (
    "__annotations__",
    "__code__",
    "__defaults__",
    "__doc__",
    "__kwdefaults__",
    "__module__",
    "__name__",
    "__qualname__",
)
_DICTIONARIES = ("__annotations__", "__kwdefaults__")
# Functions of the standard library that read them.
_READ_BY = {
    "signature": ("__defaults__", "__kwdefaults__"),
    "getfullargspec": ("__defaults__", "__kwdefaults__"),
    "get_type_hints": ("__annotations__",),
    "getdoc": ("__doc__",),
}


class FunctionState:
    """The attributes of one function (``f.calls += 1``, ``f.__doc__``), as its clone has them.

    Attributes:
        path: where the function is.
    """

    def __init__(self, path: Path, function: types.FunctionType, clone: types.FunctionType) -> None:
        self.path, self.function, self.clone = path, function, clone
        self.initial: dict[str, Any] = {name: getattr(clone, name) for name in _PYTHONS}

    def read_dict(self, capture: Capture) -> None:
        """Give the clone the attributes that the user has set."""
        given, place = vars(self.function), self.path.to("dict")
        if given:
            capture.guard(place, "keys", tuple(given))
        self.clone.__dict__.clear()
        for name, value in given.items():
            view = capture.view(value, place.to("item", name, f"{self.path}.{name}"))
            self.clone.__dict__[name] = view
        self.initial = {n: v for n, v in self.initial.items() if n in _PYTHONS}
        self.initial.update(self.clone.__dict__)

    def expose(self, capture: Capture, name: str) -> None:
        """Some code may look at this attribute."""
        if name == "__dict__":
            capture.guard(self.path.to("dict"), "keys", tuple(vars(self.function)))
            return
        value, place = getattr(self.function, name), self.path.attr(name)
        if name in _DICTIONARIES and value is not None:
            view = self.initial[name] = capture.view(value, place)
            setattr(self.clone, name, view)
        elif is_plain(value):
            capture.guard(place, "value", value)

    def guard_absence(self, capture: Capture) -> None:
        """Some code may have noticed that the function lacks an attribute or a default."""
        if not self.function.__dict__:
            capture.guard(self.path.to("dict"), "len", 0)
        code = self.function.__code__
        if code.co_argcount and self.function.__defaults__ is None:
            capture.guard(self.path.attr("__defaults__"), "value", None)
        if code.co_kwonlyargcount and self.function.__kwdefaults__ is None:
            capture.guard(self.path.attr("__kwdefaults__"), "value", None)

    def note_missing(self, capture: Capture, name: str) -> None:
        if name not in vars(self.function):
            capture.guard(self.path.to("dict"), "missing", name)

    # -- Mutable --------------------------------------------------------------------------------

    def writes(self, capture: Capture) -> Iterator[Write]:
        now = self.snapshot()
        if now["__code__"] is not self.initial["__code__"]:
            raise UnsupportedStateError(
                f"{self.path}.__code__ was assigned inside a jitted function.\nAssign it outside."
            )
        for name in self.initial:
            if name not in now:
                yield Write(self.path, "delattr", name, None)
        for name, value in now.items():
            if self.initial.get(name, GAP) is value:
                continue
            if name in _PYTHONS:
                yield Write(self.path, "setattr", name, value)
            else:
                yield Write(self.path, "setdict", name, value)

    def start(self) -> Any:
        return self.initial

    def snapshot(self) -> Any:
        return {name: getattr(self.clone, name) for name in _PYTHONS} | self.clone.__dict__

    def restore(self, snapshot: Any) -> None:
        self.clone.__dict__.clear()
        self.apply(snapshot)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        return differences(self.snapshot(), snapshot)

    def apply(self, changes: dict[Any, Any]) -> None:
        for name, value in changes.items():
            if value is GAP:
                self.clone.__dict__.pop(name, None)
            elif name not in _PYTHONS:
                self.clone.__dict__[name] = value
            elif getattr(self.clone, name) is not value:
                setattr(self.clone, name, value)

    def content(self, key: Any) -> Any:
        return self.snapshot()[key]

    def place(self, key: Any) -> Path:
        if key in _PYTHONS:
            return self.path.attr(key)
        return self.path.to("dict").to("item", key, f"{self.path}.{key}")


class Functions:
    """The functions that one capture has met, and which of their attributes its code may look at."""

    def __init__(self) -> None:
        self._states: dict[int, FunctionState] = {}  # by id of the clone
        self._named: set[str] = set()
        self._catches = False

    def met(self, capture: Capture, code: types.CodeType) -> None:
        """The code of a function is going to run."""
        if is_installed(code.co_filename):
            return
        self._catches = self._catches or _may_catch(code)
        new = _attributes_read(code) - self._named
        self._named |= new
        for state in list(self._states.values()) if new else ():
            for name in new:
                state.expose(capture, name)

    def add(self, capture: Capture, state: FunctionState) -> None:
        self._states[id(state.clone)] = state
        capture.mutable(state)
        for name in self._named:
            state.expose(capture, name)

    def state_of(self, view: Any) -> FunctionState | None:
        """The books on a function, or on that of a method, as traced code holds it."""
        state = self._states.get(id(getattr(view, "__func__", view)))
        return state if isinstance(view, (types.FunctionType, types.MethodType)) else None

    def read_by_name(self, capture: Capture, view: Any, name: str) -> None:
        """``getattr(f, name)``."""
        state = self.state_of(view)
        if state is not None and (name in _PYTHONS or name == "__dict__"):
            state.expose(capture, name)

    def finish(self, capture: Capture) -> None:
        """All code has run."""
        for state in self._states.values() if self._catches else ():
            state.guard_absence(capture)

    def clear(self) -> None:
        self._states.clear()


@functools.lru_cache(maxsize=4096)
def _attributes_read(code: types.CodeType) -> frozenset[str]:
    """The attributes in question that the code may read of a function."""
    readers = bytecode.names(code) & _READ_BY.keys()
    found = bytecode.attributes_of_objects(code).union(*(_READ_BY[reader] for reader in readers))
    return found & {*_PYTHONS, "__dict__"} - {"__code__"}


@functools.lru_cache(maxsize=4096)
def _may_catch(code: types.CodeType) -> bool:
    """Whether the code goes on after exceptions (a ``with`` by itself does not; the manager may)."""
    return any(
        c.co_name == "__exit__" or "suppress" in c.co_names or bytecode.handles_exceptions(c)
        for c in bytecode.walk(code)
    )
