"""Guards: the conditions on captured state under which a program is valid, as plain data.

What was read and cannot be made a condition is ``Frozen``.

A guard belongs to one path and says what was found there. How it is checked quickly is the probe's
business (``programs/probe.py``); how it is explained, the explanation's.
"""

from __future__ import annotations

import sys
import types
from typing import Any, Literal, NamedTuple

from freshjit.state.held import GONE, held
from freshjit.state.path import Path

__all__ = ["ANYTHING", "Frozen", "Guard", "Kind", "SourceLine", "at", "user_frame", "user_line"]

Kind = Literal[
    "type",  # type(p) is value
    "is",  # p is value
    "value",  # a plain Python value: same type, same bits
    "equal",  # a value of a library's own immutable kind (dtype, date…): same type, same value
    "code",  # a function: its code object
    "aval",  # an array that is an input: shape, dtype, weak type, sharding of its type
    "buffer",  # a bytearray or array.array: its bytes
    "content",  # an array whose value the traced code needed: (dtype, shape, bytes)
    "len",  # number of elements
    "keys",  # the keys of a dict, or the elements of a set, in order; ANYTHING: see the guards on that one
    "alias",  # p is the object at another path
    "absent",  # the instance at p has no attribute of its own by this name
    "classless",  # no class in the MRO of the class at p has this name
    "methodless",  # the same of a special method, where asking the class itself runs no code of the user's
    "lacks",  # the class at p has no entry of its own by this name
    "contains",  # the namespace (dict) at p has this name
    "missing",  # the namespace (dict) at p lacks this name
    "empty",  # the cell at p is empty
    "present",  # the instance at p has an attribute of its own by this name
    "unset",  # the slot of this name is not set
    "subvalue",  # an instance of a subclass of int, date…: its value as the base class has it
    "outcome",  # an expression over numbers in state, (expression, result): the same result
    "subclass",  # the class at p is, or is not, a subclass of an abstract one: (class, answer)
    "undrawn",  # the random generator at p: what it holds
    "there",  # p can be read, whatever is found
    "default",  # the class at p has the default object.__setattr__
]


class _Anything:
    __slots__ = ()

    def __repr__(self) -> str:
        return "…"


ANYTHING = _Anything()
"""Among keys or elements, or in them: an object that has guards of its own, which any like it may pass."""


class SourceLine(NamedTuple):
    """A line of the user's source."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


class Guard:
    """One condition: what was found at ``path`` when the program was captured.

    Attributes:
        path: where.
        kind: what is compared.
        value: what was found, in the form the kind needs; ``GONE`` if it was an object that is no more.
        where: the user's line that read it.
    """

    __slots__ = ("_held", "_is_none", "kind", "path", "where")

    def __init__(self, path: Path, kind: Kind, value: Any, where: SourceLine | None = None) -> None:
        self.path = path
        self.kind: Kind = kind
        self.where = where
        self._held = held(value)
        self._is_none = value is None

    @property
    def value(self) -> Any:
        value = self._held()
        return GONE if value is None and not self._is_none else value

    @property
    def place(self) -> str:
        """What it looks at: for one that concerns a name, not the thing that has or lacks it."""
        if self.kind in ("absent", "present", "unset", "methodless"):
            return str(self.path.attr(self.value))
        if self.kind in ("lacks", "missing", "contains"):
            return f"{self.value!r} in {self.path}"
        return str(self.path)

    def __repr__(self) -> str:
        return f"Guard({self.path}, {self.kind}, {self.value!r})"


class Frozen(NamedTuple):
    """Something traced code did whose result can be neither guarded nor made an input.

    Attributes:
        what: what was done.
        remedy: what to do instead.
        where: the user's line.
    """

    what: str
    remedy: str
    where: SourceLine | None

    def message(self, name: str, place: str = "") -> str:
        """What to tell the user about the function of this name."""
        return (
            f"{self.what} while {name} was traced{place}: what came of it is a constant of the compiled "
            f"program, the same at every call.\n{self.remedy}"
        )


_SKIPPED_PACKAGES = ("freshjit", "jax", "jaxlib", "numpy", "functools", "contextlib", "dataclasses")


def at(where: SourceLine | None, what: str = "at") -> str:
    """A line as messages put it behind what happened there; nothing if it is not known."""
    return f" ({what} {where})" if where else ""


def user_line() -> SourceLine | None:
    """The innermost line on the stack that is neither ours nor a library's that we run through."""
    frame = user_frame()
    if frame is None:
        return None
    return SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def user_frame() -> types.FrameType | None:
    """The frame of that line."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in _SKIPPED_PACKAGES:
            break
        frame = frame.f_back
    return frame
