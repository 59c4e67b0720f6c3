"""The instructions of a code object, and what one of them does by itself."""

from __future__ import annotations

import bisect
import dis
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

__all__ = [
    "READS_ATTRIBUTE",
    "code_inside",
    "instructions_of",
    "is_at_operator",
    "is_subscript",
    "looks_up_method",
    "name_read",
    "operations",
    "position",
    "running",
    "variable_loaded",
    "walk",
]


def code_inside(code: types.CodeType) -> list[types.CodeType]:
    """The code objects that stand directly in a code object."""
    return [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def walk(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and all that stand in it, however deep."""
    yield code
    for inner in code_inside(code):
        yield from walk(inner)


@functools.lru_cache(maxsize=128)  # one function is asked about many things in a row
def instructions_of(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """The instructions, without those that only extend the argument of the next."""
    return tuple(i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG")


@functools.lru_cache(maxsize=128)
def _offsets(code: types.CodeType) -> tuple[int, ...]:
    return tuple(i.offset for i in instructions_of(code))


def position(code: types.CodeType, offset: int) -> int:
    """Which of the instructions is at an offset."""
    return bisect.bisect_left(_offsets(code), offset)


def running(frame: types.FrameType) -> int:
    """The offset of the instruction that a frame is at.

    ``f_lasti`` may point into the caches behind it: CPython 3.12 reads an attribute by a frame of its own.
    """
    offsets = _offsets(frame.f_code)
    return offsets[bisect.bisect_right(offsets, frame.f_lasti) - 1]


def is_at_operator(frame: types.FrameType) -> bool:
    """Whether the instruction that a frame is at is an operator, as in ``a * b``."""
    return frame.f_code.co_code[running(frame)] == dis.opmap["BINARY_OP"]


def name_read(code: types.CodeType, offset: int) -> str | None:
    """The attribute or variable that an instruction reads, but for local ones."""
    instruction = instructions_of(code)[position(code, offset)]
    return str(instruction.argval) if instruction.opname in _READS else None


_READS = frozenset(("LOAD_ATTR", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"))


def variable_loaded(instruction: dis.Instruction) -> str | None:
    """The variable that comes on top of the stack, if this instruction loads one."""
    if not instruction.opname.startswith(_LOADS_VARIABLE):
        return None
    # CPython 3.13 loads two at once.
    return str(instruction.argval[-1] if isinstance(instruction.argval, tuple) else instruction.argval)


_LOADS_VARIABLE = (
    "LOAD_FAST",
    "LOAD_DEREF",
    "LOAD_GLOBAL",
    "LOAD_NAME",
    "STORE_FAST_LOAD_FAST",
)


# ``super().name`` has an instruction of its own since CPython 3.12.
READS_ATTRIBUTE = frozenset(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"))


def looks_up_method(instruction: dis.Instruction) -> bool:
    """Whether it looks up a method for a call, so that no bound method is made of it."""
    if sys.version_info < (3, 12):
        return instruction.opname == "LOAD_METHOD"
    return instruction.opname in READS_ATTRIBUTE and bool((instruction.arg or 0) & 1)


def is_subscript(instruction: dis.Instruction) -> bool:
    # Python 3.14 spells it as an operator.
    return instruction.opname == "BINARY_SUBSCR" or instruction.argrepr == "[]"


@functools.lru_cache(maxsize=1024)
def operations(code: types.CodeType) -> dict[int, str]:
    """By the offsets of instructions: what they do with things, of what Python has special methods for.

    That is the name of the method without underscores (``iadd`` for ``a += b``), ``call``, or ``attribute``;
    ``getitem`` also where an item is set or deleted. What goes over a thing is not among them.
    """
    found = ((i.offset, _operation(i)) for i in instructions_of(code))
    return {offset: operation for offset, operation in found if operation}


def _operation(instruction: dis.Instruction) -> str | None:
    name = instruction.opname
    if name == "BINARY_OP":
        operator = instruction.argrepr.removesuffix("=")
        return _OPERATORS[operator] if operator == instruction.argrepr else f"i{_OPERATORS[operator]}"
    if name == "COMPARE_OP":
        return _COMPARISONS[instruction.argrepr.removeprefix("bool(").rstrip(")")]
    if name in ("FORMAT_VALUE", "CONVERT_VALUE"):
        convert: Any = instruction.argval[0] if name == "FORMAT_VALUE" else instruction.argval
        return "format" if convert is None else "str" if convert is str else "repr"
    if name.startswith(("CALL", "PRECALL")):
        return None if "INTRINSIC" in name else "call"
    return _OPERATIONS.get(name)


_OPERATORS = {
    **{"+": "add", "-": "sub", "*": "mul", "@": "matmul", "/": "truediv", "//": "floordiv", "%": "mod"},
    **{"**": "pow", "<<": "lshift", ">>": "rshift", "&": "and", "^": "xor", "|": "or"},
}
_COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_OPERATIONS = {
    **dict.fromkeys(
        ("BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR", "BINARY_SLICE", "STORE_SLICE"), "getitem"
    ),
    **dict.fromkeys(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"), "attribute"),
    **dict.fromkeys(("FORMAT_SIMPLE", "FORMAT_WITH_SPEC"), "format"),
    "CONTAINS_OP": "contains",
}
