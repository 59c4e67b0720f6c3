"""What no hook sees of a class without a metaclass of the user's: ``C.__dict__``, ``C.__name__``…

``vars(C)`` is followed. The attribute shows the hooks as well, so it is told of when a function that reads
it is captured. The others are guarded, for the classes that a capture has met, if its code names them. What
installed packages look at (to name a scope, to log) does not count.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from freshjit.state import bytecode
from freshjit.state.guards import SourceLine
from freshjit.state.libraries import is_installed
from freshjit.state.path import Path
from freshjit.state.values import is_plain

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["ClassAttributes", "report_reads"]


def report_reads(capture: Capture, function: types.FunctionType) -> None:
    """Tell of reads of ``C.__dict__`` in the code of a function."""
    code = function.__code__
    if "__dict__" not in code.co_names or is_installed(code.co_filename):
        return
    for read in bytecode.attribute_reads(code, "__dict__"):
        name = read.variable
        cls = _found(function, name) if name else type
        if isinstance(cls, type):
            capture.report_frozen(
                f"{name or 'the class'}.__dict__ was read",
                f"Use vars({name or 'cls'}) instead, which is followed.",
                SourceLine(code.co_filename, read.line, code.co_name),
            )


def _found(function: types.FunctionType, name: str) -> Any:
    if name in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            return None
    return function.__globals__.get(name)


_PLAIN = frozenset(("__doc__", "__module__", "__name__", "__qualname__"))
_BASES = frozenset(("__base__", "__bases__", "__mro__", "mro"))
_SUBCLASSES = "__subclasses__"
_NAMES = _PLAIN | _BASES | {_SUBCLASSES}


class ClassAttributes:
    """Which attributes that Python gives to classes the code of one capture names."""

    def __init__(self) -> None:
        self._named: set[str] = set()

    def met(self, code: types.CodeType) -> None:
        """The code of a function is going to run."""
        if not is_installed(code.co_filename):
            self._named |= bytecode.attributes_read(code) & _NAMES

    def read_by_name(self, name: str) -> None:
        """``getattr(C, name)``."""
        self._named |= {name} & _NAMES

    def finish(self, capture: Capture) -> None:
        """All code has run, and all classes are known."""
        for cls in list(capture.hooks) if self._named else ():
            known = capture.entries.get(id(cls))
            self._guard(capture, cls, Path.constant(cls, cls.__name__) if known is None else known.path)

    def _guard(self, capture: Capture, cls: type, path: Path) -> None:
        for name in self._named & _PLAIN:
            value = getattr(cls, name)
            if is_plain(value):
                capture.guard(path.attr(name), "value", value)
        if self._named & _BASES:
            _guard_all(capture, path.attr("__mro__"), cls.__mro__)
        if _SUBCLASSES in self._named:
            _guard_all(capture, path.attr(_SUBCLASSES).to("call", ()), type.__subclasses__(cls))


def _guard_all(capture: Capture, path: Path, classes: Sequence[type]) -> None:
    capture.guard(path, "len", len(classes))
    for index, cls in enumerate(classes):
        capture.guard(path.item(index), "is", cls)
