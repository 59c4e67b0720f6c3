"""What no hook sees of a class without a metaclass of the user's: ``C.__dict__``, ``C.__name__``…

``vars(C)`` is followed. The attribute shows the hooks as well, so it is told of when a function that reads
it is captured. The others are guarded, for the classes that a capture has met, if its code names them. What
installed packages look at (to name a scope, to log) does not count.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from freshjit.state.guards import SourceLine
from freshjit.state.libraries import is_installed
from freshjit.state.path import Path
from freshjit.state.values import is_plain

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["ClassAttributes", "is_class", "report_reads"]


@functools.lru_cache(maxsize=4096)
def _reads_of_dict(code: types.CodeType) -> tuple[tuple[str, int], ...]:
    """Where the code reads ``__dict__`` of a variable, and of what can only be a class (under no name)."""
    found: list[tuple[str, int]] = []
    before: list[dis.Instruction] = []
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        if instruction.positions is not None and instruction.positions.lineno is not None:
            line = instruction.positions.lineno
        if before and instruction.opname == "LOAD_ATTR" and instruction.argval == "__dict__":
            if before[-1].opname in ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME"):
                found.append((str(before[-1].argval), line))
            elif is_class(before):
                found.append(("", line))
        before.append(instruction)
    return tuple(found)


def is_class(before: list[dis.Instruction]) -> bool:
    """Whether these instructions end with ``type(x)``, ``x.__class__`` or ``cls``."""
    if not before:
        return False
    last = before[-1]
    if last.opname == "CALL":
        return any(i.opname == "LOAD_GLOBAL" and i.argval == "type" for i in before[-4:])
    return last.argval == "__class__" or (last.opname.startswith("LOAD_FAST") and last.argval == "cls")


def report_reads(capture: Capture, function: types.FunctionType) -> None:
    """Tell of reads of ``C.__dict__`` in the code of a function."""
    code = function.__code__
    if "__dict__" not in code.co_names or is_installed(code.co_filename):
        return
    for name, line in _reads_of_dict(code):
        cls = _found(function, name) if name else type
        if isinstance(cls, type):
            capture.report_frozen(
                f"{name or 'the class'}.__dict__ was read",
                f"Use vars({name or 'cls'}) instead, which is followed.",
                SourceLine(code.co_filename, line, code.co_name),
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


class ClassAttributes:
    """Which attributes that Python gives to classes the code of one capture names."""

    def __init__(self) -> None:
        self._named: set[str] = set()

    def met(self, code: types.CodeType) -> None:
        """The code of a function is going to run."""
        if not is_installed(code.co_filename):
            self._named |= _named(code)

    def read_by_name(self, name: str) -> None:
        """``getattr(C, name)``."""
        self._named |= {name} & (_PLAIN | _BASES | {_SUBCLASSES})

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


@functools.lru_cache(maxsize=4096)
def _named(code: types.CodeType) -> frozenset[str]:
    """The attributes in question that the code reads of anything."""
    found: set[str] = set()
    if not {*_PLAIN, *_BASES, _SUBCLASSES}.isdisjoint(code.co_names):
        found = {str(i.argval) for i in dis.get_instructions(code) if i.opname in _READS}
    inner = [_named(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return frozenset(found & {*_PLAIN, *_BASES, _SUBCLASSES}).union(*inner)


_READS = ("LOAD_ATTR", "LOAD_METHOD")
