"""What a code object names, and what it could find out: globals, attributes, identity, exceptions."""

from __future__ import annotations

import dis
import functools
import itertools
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from freshjit.state.bytecode.instructions import (
    READS_ATTRIBUTE,
    code_inside,
    instructions_of,
    looks_up_method,
    variable_loaded,
    walk,
)

__all__ = [
    "AttributeRead",
    "attribute_reads",
    "attributes_called_or_kept",
    "attributes_deleted",
    "attributes_of_objects",
    "attributes_read",
    "compares_identity",
    "compares_with_is",
    "global_names",
    "handles_exceptions",
    "imported_names",
    "names",
    "unasked_names",
    "uses_of_variable",
]


@functools.lru_cache(maxsize=4096)
def names(code: types.CodeType) -> frozenset[str]:
    """The names of globals and attributes, for whatever they are used; those in code inside included."""
    return frozenset(code.co_names).union(*map(names, code_inside(code)))


@functools.lru_cache(maxsize=4096)
def global_names(code: types.CodeType) -> tuple[str, ...]:
    """The variables that are looked up in globals and builtins."""
    return tuple(dict.fromkeys(str(i.argval) for i in instructions_of(code) if i.opname in _READS_GLOBAL))


@functools.lru_cache(maxsize=4096)
def imported_names(code: types.CodeType) -> frozenset[str]:
    """What ``from … import name`` gets out of modules."""
    return frozenset(str(i.argval) for i in instructions_of(code) if i.opname == "IMPORT_FROM")


@functools.lru_cache(maxsize=4096)
def unasked_names(code: types.CodeType) -> tuple[str, ...]:
    """The globals that CPython looks up without asking a subclass of dict; code inside included."""
    own = [str(i.argval) for i in instructions_of(code) if i.opname in _UNASKED]
    return tuple(dict.fromkeys(itertools.chain(own, *map(unasked_names, code_inside(code)))))


_READS_GLOBAL = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"))
# The first two are found in the body of a class, of a module, and in what ``eval`` gets.
_UNASKED = frozenset(("LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "DELETE_GLOBAL"))


# -- attributes ---------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def attributes_deleted(code: types.CodeType) -> frozenset[str]:
    """The attributes that are deleted by ``del thing.name``; code inside included."""
    own = (str(i.argval) for i in instructions_of(code) if i.opname == "DELETE_ATTR")
    return frozenset(own).union(*map(attributes_deleted, code_inside(code)))


@functools.lru_cache(maxsize=4096)
def attributes_read(code: types.CodeType) -> frozenset[str]:
    """The attributes that are read of anything, methods to be called too; code inside included."""
    own = (str(i.argval) for i in instructions_of(code) if i.opname in READS_ATTRIBUTE)
    return frozenset(own).union(*map(attributes_read, code_inside(code)))


@functools.lru_cache(maxsize=4096)
def attributes_of_objects(code: types.CodeType) -> frozenset[str]:
    """The attributes read, assigned or deleted of what need not be a class; code inside included.

    Methods that are called at once do not count.
    """
    found: set[str] = set()
    instructions = instructions_of(code)
    for at, instruction in enumerate(instructions):
        if instruction.opname not in ("LOAD_ATTR", "STORE_ATTR", "DELETE_ATTR"):
            continue
        if not _is_class(instructions[max(at - 4, 0) : at]):
            found.add(str(instruction.argval))
    return frozenset(found).union(*map(attributes_of_objects, code_inside(code)))


@dataclass(frozen=True, slots=True)
class AttributeRead:
    """Where an attribute is read of a variable of an outer function, of a global, or of a class.

    Attributes:
        variable: its name; None for ``type(x)``, ``x.__class__`` and ``cls``, which can only be classes.
        line: the line of the source.
    """

    variable: str | None
    line: int


@functools.lru_cache(maxsize=4096)
def attribute_reads(code: types.CodeType, name: str) -> tuple[AttributeRead, ...]:
    """Where the code reads ``variable.name``, and ``name`` of what can only be a class."""
    found: list[AttributeRead] = []
    line = code.co_firstlineno
    instructions = instructions_of(code)
    for at, instruction in enumerate(instructions):
        if instruction.positions is not None and instruction.positions.lineno is not None:
            line = instruction.positions.lineno
        if at and instruction.opname == "LOAD_ATTR" and instruction.argval == name:
            before = instructions[at - 1]
            if before.opname in ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME"):
                found.append(AttributeRead(str(before.argval), line))
            elif _is_class(instructions[max(at - 4, 0) : at]):
                found.append(AttributeRead(None, line))
    return tuple(found)


def _is_class(before: Sequence[dis.Instruction]) -> bool:
    """Whether these instructions end with ``type(x)``, ``x.__class__`` or ``cls``."""
    if not before:
        return False
    last = before[-1]
    if last.opname == "CALL":
        return any(i.opname == "LOAD_GLOBAL" and i.argval == "type" for i in before)
    is_local = "LOAD_FAST" in last.opname
    return last.argval == "__class__" or (is_local and variable_loaded(last) == "cls")


def uses_of_variable(code: types.CodeType, name: str) -> list[int]:
    """The offsets of the instructions that may use a closure variable, or have its name otherwise.

    That its cell is handed to an inner function does not count.
    """
    return [i.offset for i in instructions_of(code) if i.argval == name and i.opname not in _HAND_ON_CELL]


_HAND_ON_CELL = frozenset(("LOAD_CLOSURE", "LOAD_FAST"))


@functools.lru_cache(maxsize=4096)
def attributes_called_or_kept(code: types.CodeType) -> frozenset[str]:
    """The attributes that are called, or handed on (``f = xs.index``), so that they may be called later.

    Attributes that are only assigned, or read to compute with them (``self.count += 1``), do not count.
    """
    instructions = instructions_of(code)
    return frozenset(
        str(i.argval)
        for at, i in enumerate(instructions)
        if i.opname in READS_ATTRIBUTE and (looks_up_method(i) or not _is_operand(instructions[at + 1 :]))
    )


def _is_operand(after: Sequence[dis.Instruction]) -> bool:
    """Whether what is on top of the stack before these instructions is only computed with.

    False where that is not plain: whatever else may be done in between is not followed.
    """
    above = 0  # things on the stack that have come on top of it
    for instruction in after:
        name = instruction.opname
        if name.startswith(_PUSHES):
            above += dis.stack_effect(instruction.opcode, instruction.arg)
            continue
        takes = _operands(instruction)
        if not takes:
            return False
        if takes > above:
            return name != "LOAD_ATTR"
        if "JUMP" in name:
            return False
        above += 1 - takes
    return False


def _operands(instruction: dis.Instruction) -> int:
    """How many things an instruction takes off the stack that computes one of them; 0 for any other."""
    if instruction.opname in ("BINARY_OP", "BINARY_SUBSCR", "COMPARE_OP"):
        return 2
    if instruction.opname == "LOAD_ATTR":
        return 0 if looks_up_method(instruction) else 1
    return int(instruction.opname.startswith(("UNARY_", "POP_JUMP_")) or instruction.opname == "TO_BOOL")


_PUSHES = ("LOAD_FAST", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")


# -- what the code could tell ---------------------------------------------------------------------------


def compares_with_is(code: types.CodeType) -> bool:
    """Whether the code compares by ``is`` or ``is not``, with anything but None and the like."""
    return any(
        after.opname == "IS_OP"
        and not (before.opname.startswith("LOAD_CONST") and any(before.argval is s for s in _SINGLETONS))
        for before, after in itertools.pairwise(instructions_of(code))
    )


_SINGLETONS: tuple[Any, ...] = (None, True, False, Ellipsis, NotImplemented)


# Functions, and methods of Python's containers, that find what is the same thing.
_IDENTITY_FUNCTIONS = frozenset(("id", "is_", "is_not", "indexOf", "countOf"))
_IDENTITY_METHODS = frozenset(("index", "remove", "count"))


@functools.lru_cache(maxsize=4096)
def compares_identity(code: types.CodeType) -> bool:
    """Whether the code could tell one array from an equal other one (``a is b``, ``id(a)``, ``xs.index(a)``).

    Code inside included. Comparisons with None and the like do not count, nor do attributes of these names
    that are no methods, as far as the code shows. Where no code can tell, it does not matter whether two
    captured arrays are one object or two.
    """
    return any(map(_compares_identity, walk(code)))


def _compares_identity(code: types.CodeType) -> bool:
    functions = {*global_names(code), *imported_names(code)}
    attributes = attributes_called_or_kept(code)
    return (
        not _IDENTITY_FUNCTIONS.isdisjoint(functions | attributes)
        or not _IDENTITY_METHODS.isdisjoint(attributes)
        or compares_with_is(code)
    )


def handles_exceptions(code: types.CodeType) -> bool:
    """Whether there is an ``except`` or ``finally``: a ``with`` by itself does not go on after exceptions."""
    if not code.co_exceptiontable:
        return False
    found = itertools.pairwise(i.opname for i in instructions_of(code))
    return any(a == "PUSH_EXC_INFO" and b != "WITH_EXCEPT_START" for a, b in found)
