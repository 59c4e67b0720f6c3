"""Bytecode: what a code object shows of what its function does, on every supported CPython.

The only module that knows instructions by name. It says what stands in the code; what follows from that is
decided by who asks. Where CPythons differ (3.11 looks up methods by an instruction of its own, 3.13 loads two
variables at once), the answers do not.

Answers are about one code object by itself, unless they are said to include the code inside it: that of inner
functions, of lambdas and bodies of classes, before Python 3.12 also of comprehensions.
"""

from __future__ import annotations

import bisect
import dis
import functools
import itertools
import opcode
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "AttributeRead",
    "AttributeStore",
    "Use",
    "attribute_reads",
    "attribute_stores",
    "attributes_called_or_kept",
    "attributes_deleted",
    "attributes_of_objects",
    "attributes_read",
    "code_inside",
    "compares_identity",
    "compares_with_is",
    "containers_of_one_item",
    "global_names",
    "handles_exceptions",
    "imported_names",
    "methods_of",
    "names",
    "operations",
    "replaced_stores",
    "running",
    "unasked_names",
    "uses",
    "uses_of_variable",
    "walk",
]

# -- code within code ---------------------------------------------------------------------------------


def code_inside(code: types.CodeType) -> list[types.CodeType]:
    """The code objects that stand directly in a code object."""
    return [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def walk(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and all that stand in it, however deep."""
    yield code
    for inner in code_inside(code):
        yield from walk(inner)


@functools.lru_cache(maxsize=128)  # one function is asked about many things in a row
def _instructions(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    return tuple(i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG")


@functools.lru_cache(maxsize=128)
def _offsets(code: types.CodeType) -> tuple[int, ...]:
    return tuple(i.offset for i in _instructions(code))


def running(frame: types.FrameType) -> int:
    """The offset of the instruction that a frame is at.

    ``f_lasti`` may point into the caches behind it: CPython 3.12 reads an attribute by a frame of its own.
    """
    offsets = _offsets(frame.f_code)
    return offsets[bisect.bisect_right(offsets, frame.f_lasti) - 1]


# -- names --------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def names(code: types.CodeType) -> frozenset[str]:
    """The names of globals and attributes, for whatever they are used; those in code inside included."""
    return frozenset(code.co_names).union(*map(names, code_inside(code)))


@functools.lru_cache(maxsize=4096)
def global_names(code: types.CodeType) -> tuple[str, ...]:
    """The variables that are looked up in globals and builtins."""
    return tuple(dict.fromkeys(str(i.argval) for i in _instructions(code) if i.opname in _READS_GLOBAL))


@functools.lru_cache(maxsize=4096)
def imported_names(code: types.CodeType) -> frozenset[str]:
    """What ``from … import name`` gets out of modules."""
    return frozenset(str(i.argval) for i in _instructions(code) if i.opname == "IMPORT_FROM")


@functools.lru_cache(maxsize=4096)
def unasked_names(code: types.CodeType) -> tuple[str, ...]:
    """The globals that CPython looks up without asking a subclass of dict; code inside included."""
    own = [str(i.argval) for i in _instructions(code) if i.opname in _UNASKED]
    return tuple(dict.fromkeys(itertools.chain(own, *map(unasked_names, code_inside(code)))))


_READS_GLOBAL = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"))
# The first two are found in the body of a class, of a module, and in what ``eval`` gets.
_UNASKED = frozenset(("LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "DELETE_GLOBAL"))


def _variable(instruction: dis.Instruction) -> str | None:
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


# -- attributes ---------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def attributes_deleted(code: types.CodeType) -> frozenset[str]:
    """The attributes that are deleted by ``del thing.name``; code inside included."""
    own = (str(i.argval) for i in _instructions(code) if i.opname == "DELETE_ATTR")
    return frozenset(own).union(*map(attributes_deleted, code_inside(code)))


@functools.lru_cache(maxsize=4096)
def attributes_read(code: types.CodeType) -> frozenset[str]:
    """The attributes that are read of anything, methods to be called too; code inside included."""
    own = (str(i.argval) for i in _instructions(code) if i.opname in _READS_ATTRIBUTE)
    return frozenset(own).union(*map(attributes_read, code_inside(code)))


@functools.lru_cache(maxsize=4096)
def attributes_of_objects(code: types.CodeType) -> frozenset[str]:
    """The attributes read, assigned or deleted of what need not be a class; code inside included.

    Methods that are called at once do not count.
    """
    found: set[str] = set()
    instructions = _instructions(code)
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
    instructions = _instructions(code)
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
    return last.argval == "__class__" or (is_local and _variable(last) == "cls")


# ``super().name`` has an instruction of its own since CPython 3.12.
_READS_ATTRIBUTE = frozenset(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"))


def _looks_up_method(instruction: dis.Instruction) -> bool:
    """Whether it looks up a method for a call, so that no bound method is made of it."""
    if sys.version_info < (3, 12):
        return instruction.opname == "LOAD_METHOD"
    return instruction.opname in _READS_ATTRIBUTE and bool((instruction.arg or 0) & 1)


# -- what an instruction asks of things ---------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def operations(code: types.CodeType) -> dict[int, str]:
    """By the offsets of instructions: what they do with things, of what Python has special methods for.

    That is the name of the method without underscores (``iadd`` for ``a += b``), ``call``, or ``attribute``;
    ``getitem`` also where an item is set or deleted. What goes over a thing is not among them.
    """
    found = ((i.offset, _operation(i)) for i in _instructions(code))
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


# -- what becomes of what is read ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Use:
    """What the code does at once with what an instruction has read.

    Attributes:
        variable: the name that the instruction has loaded, None if it has none.
        attribute: the attribute that is taken of it, None if it is not.
        compared: whether it is compared by ``is``, or is the class of a pattern.
    """

    variable: str | None
    attribute: str | None
    compared: bool


@functools.lru_cache(maxsize=4096)
def uses(code: types.CodeType) -> dict[int, Use]:
    """By the offsets of instructions: what becomes of what they give, if that can be told at once."""
    found: dict[int, Use] = {}
    instructions = _instructions(code)
    for at, instruction in enumerate(instructions):
        after = [*(i.opname for i in instructions[at + 1 : at + 3]), "", ""][:2]
        compared = after[0] == "IS_OP" or after[1] in ("IS_OP", "MATCH_CLASS")
        takes = after[0] in ("LOAD_ATTR", "LOAD_METHOD")
        if compared or takes:
            attribute = str(instructions[at + 1].argval) if takes else None
            loaded = instruction.argval if instruction.opname.startswith("LOAD_") else None
            variable = loaded if isinstance(loaded, str) else None
            found[instruction.offset] = Use(variable, attribute, compared)
    return found


@dataclass(frozen=True, slots=True)
class MethodOf:
    """That something is read only for one method of it, or of what is found in it under some indices.

    Attributes:
        name: the name by which it is read: that of a variable or attribute.
        depth: the number of indices.
        method: the method, which is called.
    """

    name: str
    depth: int
    method: str


@functools.lru_cache(maxsize=4096)
def methods_of(code: types.CodeType) -> dict[int, MethodOf]:
    """By the offsets of the reading instructions: what is read only to call a method of it."""
    found: dict[int, MethodOf] = {}
    instructions = _instructions(code)
    for position, read in enumerate(instructions):
        if read.opname not in _READS:
            continue
        at, depth = position + 1, 0
        while len(instructions) - at > 2 and _is_index(instructions[at], instructions[at + 1]):
            at, depth = at + 2, depth + 1
        if at == len(instructions):
            continue
        imported = not depth and _calls_attribute(instructions[position : at + 2])
        if imported or _looks_up_method(instructions[at]):
            found[read.offset] = MethodOf(str(read.argval), depth, str(instructions[at].argval))
    return found


def _calls_attribute(instructions: Sequence[dis.Instruction]) -> bool:
    """Whether these instructions begin a call of ``imported.name(…)``.

    CPython makes no method call of it where the module imports ``imported``, which may be another module.
    """
    read, attribute, *after = instructions
    if read.opname != "LOAD_GLOBAL" or attribute.opname != "LOAD_ATTR":
        return False
    if sys.version_info < (3, 13):
        return bool((read.arg or 0) & 1)  # what a call wants below its function has been pushed first
    return bool(after) and after[0].opname == "PUSH_NULL"


def _is_index(index: dis.Instruction, subscript: dis.Instruction) -> bool:
    return index.opname in _SIMPLE and _is_subscript(subscript)


def _is_subscript(instruction: dis.Instruction) -> bool:
    # Python 3.14 spells it as an operator.
    return instruction.opname == "BINARY_SUBSCR" or instruction.argrepr == "[]"


_READS = frozenset(("LOAD_ATTR", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"))
_SIMPLE = frozenset(
    (
        "LOAD_FAST",
        "LOAD_FAST_BORROW",
        "LOAD_CONST",
        "LOAD_SMALL_INT",
        "LOAD_GLOBAL",
        "LOAD_NAME",
        "LOAD_DEREF",
    )
)


@functools.lru_cache(maxsize=4096)
def containers_of_one_item(code: types.CodeType) -> dict[int, str]:
    """By the offsets of the reading instructions: the name of what is read for one item of it.

    The item is taken, set or, as in ``+=``, both.
    """
    found: dict[int, str] = {}
    instructions = _instructions(code)
    for position, read in enumerate(instructions):
        if read.opname in _READS and _is_item(instructions[position + 1 : position + 5]):
            found[read.offset] = str(read.argval)
    return found


def _is_item(following: Sequence[dis.Instruction]) -> bool:
    if len(following) < 2 or following[0].opname not in _SIMPLE:
        return False
    if following[1].opname == "COPY" and len(following) == 4:
        return following[2].opname == "COPY" and _is_subscript(following[3])
    return _is_subscript(following[1]) or following[1].opname == "STORE_SUBSCR"


def uses_of_variable(code: types.CodeType, name: str) -> list[int]:
    """The offsets of the instructions that may use a closure variable, or have its name otherwise.

    That its cell is handed to an inner function does not count.
    """
    return [i.offset for i in _instructions(code) if i.argval == name and i.opname not in _HAND_ON_CELL]


_HAND_ON_CELL = frozenset(("LOAD_CLOSURE", "LOAD_FAST"))


@functools.lru_cache(maxsize=4096)
def attributes_called_or_kept(code: types.CodeType) -> frozenset[str]:
    """The attributes that are called, or handed on (``f = xs.index``), so that they may be called later.

    Attributes that are only assigned, or read to compute with them (``self.count += 1``), do not count.
    """
    instructions = _instructions(code)
    return frozenset(
        str(i.argval)
        for at, i in enumerate(instructions)
        if i.opname in _READS_ATTRIBUTE and (_looks_up_method(i) or not _is_operand(instructions[at + 1 :]))
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
        return 0 if _looks_up_method(instruction) else 1
    return int(instruction.opname.startswith(("UNARY_", "POP_JUMP_")) or instruction.opname == "TO_BOOL")


_PUSHES = ("LOAD_FAST", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")


def compares_with_is(code: types.CodeType) -> bool:
    """Whether the code compares by ``is`` or ``is not``, with anything but None and the like."""
    return any(
        after.opname == "IS_OP"
        and not (before.opname.startswith("LOAD_CONST") and any(before.argval is s for s in _SINGLETONS))
        for before, after in itertools.pairwise(_instructions(code))
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
    found = itertools.pairwise(i.opname for i in _instructions(code))
    return any(a == "PUSH_EXC_INFO" and b != "WITH_EXCEPT_START" for a, b in found)


# -- assignments to attributes, and others in their place -------------------------------------------------

_WIDTH = 2  # bytes of one code unit
_EXTEND, _LOAD = opcode.opmap["EXTENDED_ARG"], opcode.opmap["LOAD_CONST"]
_NOTHING, _SWAP, _STORE_ITEM = (opcode.opmap[name] for name in ("NOP", "SWAP", "STORE_SUBSCR"))
_CACHE = opcode.opmap["CACHE"]


@dataclass(frozen=True, slots=True)
class AttributeStore:
    """An instruction that assigns an attribute.

    Attributes:
        start, end: the bytes that it takes, with those that extend it and its caches.
        name: the attribute.
        of_self: whether it assigns ``self.name``.
    """

    start: int
    end: int
    name: str
    of_self: bool


def attribute_stores(code: types.CodeType) -> Iterator[AttributeStore]:
    """The instructions that assign attributes."""
    done: list[dis.Instruction] = []
    start: int | None = None
    for instruction in dis.get_instructions(code):
        start = instruction.offset if start is None else start
        if instruction.opname == "EXTENDED_ARG":
            continue
        if instruction.opname == "STORE_ATTR":
            end = instruction.offset + _WIDTH
            while end < len(code.co_code) and code.co_code[end] == _CACHE:
                end += _WIDTH
            of_self = _stores_to_self(done, instruction.argval)
            yield AttributeStore(start, end, instruction.argval, of_self)
        done.append(instruction)
        start = None


def _stores_to_self(before: list[dis.Instruction], name: str) -> bool:
    """Whether what comes after these instructions assigns ``self.name``."""
    if before and before[-1].opname == "SWAP":  # self.name += …
        reads = zip(before, before[1:], before[2:], strict=False)
        found = [a for a, b, c in reads if b.opname == "COPY" and (c.opname, c.argval) == ("LOAD_ATTR", name)]
        return bool(found) and _loads_self(found[-1])
    return bool(before) and _loads_self(before[-1])


def _loads_self(instruction: dis.Instruction) -> bool:
    is_own = "LOAD_FAST" in instruction.opname or instruction.opname == "LOAD_DEREF"
    return is_own and _variable(instruction) == "self"


def replaced_stores(
    code: types.CodeType,
    stores: Sequence[AttributeStore],
    target: Callable[[str], Any],
    inside: Callable[[types.CodeType], types.CodeType],
) -> types.CodeType:
    """The code with ``target("name")[thing] = value`` in place of ``thing.name = value``.

    Every offset, line and jump is as it was. The code itself is returned where nothing is replaced, or where
    there is no room for it.

    Parameters:
        stores: the assignments to replace.
        target: makes what is indexed, once for each name.
        inside: what is to be put in place of the code objects that stand in this one.
    """
    constants = [inside(c) if isinstance(c, types.CodeType) else c for c in code.co_consts]
    new = bytearray(code.co_code)
    places: dict[str, int] = {}
    for store in stores:
        place = places.setdefault(store.name, len(constants) + len(places))
        instructions = _store_item(place)
        padding = bytes([_NOTHING, 0]) * ((store.end - store.start - len(instructions)) // _WIDTH)
        new[store.start : store.end] = instructions + padding
    if len(new) != len(code.co_code):
        return code  # thousands of constants: no room
    if not places and all(a is b for a, b in zip(constants, code.co_consts, strict=True)):
        return code
    constants += map(target, places)
    return code.replace(
        co_code=bytes(new), co_consts=tuple(constants), co_stacksize=code.co_stacksize + bool(places)
    )


def _store_item(place: int) -> bytes:
    """With a value and a thing on the stack: ``constants[place][thing] = value``."""
    load: list[int] = []
    for shift in range(0, max(place.bit_length(), 1), 8):
        load = [_EXTEND if load else _LOAD, (place >> shift) & 255, *load]
    return bytes([*load, _SWAP, 2, _STORE_ITEM, 0, *[_CACHE, 0] * _CACHES])


def _caches_of(source: str, instruction: int) -> int:
    """How many units of cache the interpreter wants behind an instruction."""
    units = compile(source, "", "exec").co_code
    at = next(at for at in range(0, len(units), _WIDTH) if units[at] == instruction)
    end = at + _WIDTH
    while units[end] == _CACHE:
        end += _WIDTH
    return end // _WIDTH - at // _WIDTH - 1


_CACHES = _caches_of("a[b] = c", _STORE_ITEM)
