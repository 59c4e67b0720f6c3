"""Reads of ``C.__dict__``, which no hook sees where the class has no metaclass of the user's.

``vars(C)`` is followed. The attribute shows the hooks as well, so it is told of when a function that reads
it is captured.
"""

from __future__ import annotations

import dis
import functools
import types
from typing import TYPE_CHECKING, Any

from freshjit.state.guards import SourceLine
from freshjit.state.libraries import is_installed

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["is_class", "report_reads"]


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
