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
    "Fate",
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
    "fates",
    "global_names",
    "handles_exceptions",
    "imported_names",
    "name_read",
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


def is_at_operator(frame: types.FrameType) -> bool:
    """Whether the instruction that a frame is at is an operator, as in ``a * b``."""
    return frame.f_code.co_code[running(frame)] == dis.opmap["BINARY_OP"]


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
class Fate:
    """One thing that is done with a value.

    Attributes:
        kind: what: a method of it is called (``method``), it is called itself (``call``), an item is taken
            (``item``), set (``set item``) or looked for (``in``), it is gone over (``iter``), an iterator is
            asked for the next item (``next``), it is taken apart (``unpack``), it is compared with None by
            ``is`` (``is None``), something is added to it in place and it is put back (``add``).
        name: the name of the method; of ``add``: the attribute it is put back to, ``[]`` for an item, None
            for a variable, which is followed further; of ``unpack``: into how many.
        offset: the instruction that gives what comes of it; None where that has not been looked for.
    """

    kind: str
    name: str | int | None
    offset: int | None


@functools.lru_cache(maxsize=4096)
def fates(code: types.CodeType, offset: int, position: int = 0) -> frozenset[Fate] | None:
    """All that can become of what an instruction gives, be it kept in local variables first.

    None if it is not known: it may be returned, passed on, looked at.

    Parameters:
        position: which of the things it gives, counted from the top of the stack.
    """
    instructions = _instructions(code)
    at = bisect.bisect_left(_offsets(code), offset)
    given = instructions[at]
    if given.opname not in _GIVES and not _is_subscript(given):
        return None
    if given.opname == "LOAD_GLOBAL" and sys.version_info >= (3, 13):
        position += (given.arg or 0) & 1  # what a call wants has been pushed behind it
    following = _Following(code)
    return frozenset(following.found) if following.follow(at + 1, position) else None


def is_only_called(code: types.CodeType, offset: int) -> bool:
    """Whether all that becomes of what an instruction gives is that it is called."""
    if _looks_up_method(_instructions(code)[bisect.bisect_left(_offsets(code), offset)]):
        return True
    return {fate.kind for fate in fates(code, offset) or ()} == {"call"}


_GIVES = frozenset(
    (
        "LOAD_ATTR",
        "LOAD_GLOBAL",
        "LOAD_NAME",
        "LOAD_DEREF",
        "CALL",
        "CALL_FUNCTION_EX",
        "CALL_KW",
        "GET_ITER",
        "FOR_ITER",
        "UNPACK_SEQUENCE",
    )
)


class _Following:
    """Follows one value through a code object, from where it is pushed to all instructions that take it.

    Attributes:
        found: what they do with it.
    """

    def __init__(self, code: types.CodeType) -> None:
        self.found: set[Fate] = set()
        self._code, self._instructions = code, _instructions(code)
        self._seen: set[tuple[int, int]] = set()

    def follow(self, at: int, above: int) -> bool:
        """Follow it from an instruction on, before which so many things lie above it on the stack.

        Says whether all that takes it is known.
        """
        todo = [(at, above)]
        while todo:
            state = todo.pop()
            if state not in self._seen:
                self._seen.add(state)
                following = self._on(*state)
                if following is None:
                    return False
                todo += following
        return True

    def _on(self, at: int, above: int) -> list[tuple[int, int]] | None:
        """Where it is after one instruction: nowhere, or at several places; None if that is not known."""
        instruction = self._instructions[at]
        name, argument = instruction.opname, instruction.arg or 0
        if name == "COPY":
            copies = [(at + 1, 0)] if argument == above + 1 else []
            return [(at + 1, above + 1), *copies]
        if name == "SWAP":
            swapped = {argument - 1: 0, 0: argument - 1}
            return [(at + 1, swapped.get(above, above))]
        stores = _stored(instruction)
        if above < len(stores):
            return self._kept(stores[above])
        effect = _effect(instruction)
        if effect is None:
            return None
        takes, gives = effect
        if above < takes:
            return self._taken(at, above)
        above += gives - takes
        if name == "FOR_ITER":
            return [(at + 1, above), (self._target(instruction) + _AFTER_LOOP, above - 2)]
        if name in _ENDS:
            return []
        if name.startswith("JUMP_"):
            return [(self._target(instruction), above)]
        if name.startswith("POP_JUMP_"):
            return [(at + 1, above), (self._target(instruction), above)]
        return [(at + 1, above)]

    def _target(self, jump: dis.Instruction) -> int:
        return bisect.bisect_left(_offsets(self._code), int(jump.argval))

    def _kept(self, variable: str) -> list[tuple[int, int]] | None:
        """Where it is after each instruction that loads the local variable in which it is."""
        if not _SHOWS_VARIABLES.isdisjoint(global_names(self._code)):
            return None
        found: list[tuple[int, int]] = []
        for at, instruction in enumerate(self._instructions):
            loads = _loaded(instruction)
            found += [(at + 1, above) for above, name in enumerate(loads) if name == variable]
        return found

    def _taken(self, at: int, above: int) -> list[tuple[int, int]] | None:
        """Note what the instruction that takes it does with it; where it is afterwards; None if not known."""
        instruction = self._instructions[at]
        name, offset = instruction.opname, instruction.offset
        if name in _READS_ATTRIBUTE and name != "LOAD_SUPER_ATTR":
            if _looks_up_method(instruction) or self._only_called(at + 1):
                return self._note("method", str(instruction.argval), None)
        elif name == "POP_TOP":
            return []
        elif _is_subscript(instruction) and above:
            return self._note("item", None, offset)
        elif name == "STORE_SUBSCR" and above == 1:
            return self._note("set item", None, None)
        elif name == "CONTAINS_OP" and not above:
            return self._note("in", None, None)
        elif name.endswith(("_IF_NONE", "_IF_NOT_NONE")) or (name == "IS_OP" and self._loads_none(at - 1)):
            return self._note("is None", None, None)
        elif name == "GET_ITER":
            return self._note("iter", None, offset)
        elif name == "FOR_ITER":
            return self._note("next", None, offset)
        elif name == "UNPACK_SEQUENCE":
            return self._note("unpack", instruction.arg, offset)
        elif name == "CALL" and above >= (instruction.arg or 0):
            return self._note("call", None, offset)
        elif name == "BINARY_OP" and instruction.argrepr == "+=" and above:
            return self._added(at + 1)
        return None

    def _note(self, kind: str, name: str | int | None, offset: int | None) -> list[tuple[int, int]]:
        self.found.add(Fate(kind, name, offset))
        return []

    def _loads_none(self, at: int) -> bool:
        return self._instructions[at].opname == "LOAD_CONST" and self._instructions[at].argval is None

    def _only_called(self, at: int) -> bool:
        method = _Following(self._code)
        return method.follow(at, 0) and {fate.kind for fate in method.found} == {"call"}

    def _added(self, at: int) -> list[tuple[int, int]] | None:
        """What a statement does with the result of ``+=``: it stores it where it came from."""
        after = self._instructions[at : at + 3]
        names = [instruction.opname for instruction in after]
        if _stored(after[0]):
            self._note("add", None, None)
            return [(at, 0)]
        if names[:2] == ["SWAP", "STORE_ATTR"]:
            return self._note("add", str(after[1].argval), None)
        return self._note("add", "[]", None) if names == ["SWAP", "SWAP", "STORE_SUBSCR"] else None


# Functions that show local variables to whoever calls them.
_SHOWS_VARIABLES = frozenset(("locals", "vars", "dir", "eval", "exec"))
_ENDS = frozenset(("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS"))
# A loop goes on behind the instructions that stand at its end: these are for what reads the code.
_AFTER_LOOP = 0 if sys.version_info < (3, 12) else 1 if sys.version_info < (3, 13) else 2


def _stored(instruction: dis.Instruction) -> list[str]:
    """The local variables that it stores to, that with the top of the stack first."""
    if instruction.opname == "STORE_FAST_STORE_FAST":  # with CPython 3.13
        return [str(name) for name in instruction.argval]
    if instruction.opname == "STORE_FAST_LOAD_FAST":
        return [str(instruction.argval[0])]
    return [str(instruction.argval)] if instruction.opname == "STORE_FAST" else []


def _loaded(instruction: dis.Instruction) -> list[str]:
    """The local variables that it loads, that on top of the stack first."""
    if instruction.opname.startswith("LOAD_FAST") and isinstance(instruction.argval, tuple):
        return [str(name) for name in reversed(instruction.argval)]
    if instruction.opname == "STORE_FAST_LOAD_FAST":
        return [str(instruction.argval[-1])]
    return [str(instruction.argval)] if instruction.opname.startswith("LOAD_FAST") else []


def _effect(instruction: dis.Instruction) -> tuple[int, int] | None:
    """How many things an instruction takes off the stack, and how many it puts there; None if not known."""
    name, argument = instruction.opname, instruction.arg or 0
    if name in _EFFECTS:
        return _EFFECTS[name]
    if name.startswith(("UNARY_", "POP_JUMP_")):
        return 1, int(name.startswith("UNARY_"))
    if name.startswith("LOAD_FAST"):
        return 0, 2 if isinstance(instruction.argval, tuple) else 1
    if name in _EFFECTS_OF_MANY:
        return _EFFECTS_OF_MANY[name](argument)
    return None


_EFFECTS = {
    **dict.fromkeys(("NOP", "RESUME", "PRECALL", "KW_NAMES", "JUMP_FORWARD", "JUMP_BACKWARD"), (0, 0)),
    **dict.fromkeys(("RETURN_CONST", "JUMP_BACKWARD_NO_INTERRUPT"), (0, 0)),
    **dict.fromkeys(("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLOSURE"), (0, 1)),
    **dict.fromkeys(("PUSH_NULL", "LOAD_ASSERTION_ERROR"), (0, 1)),
    **dict.fromkeys(("POP_TOP", "STORE_FAST", "STORE_DEREF", "STORE_GLOBAL", "STORE_NAME"), (1, 0)),
    **dict.fromkeys(("LIST_APPEND", "LIST_EXTEND", "SET_ADD", "SET_UPDATE"), (1, 0)),
    **dict.fromkeys(("DICT_UPDATE", "DICT_MERGE", "DELETE_ATTR", "RETURN_VALUE"), (1, 0)),
    **dict.fromkeys(("GET_ITER", "TO_BOOL", "FORMAT_SIMPLE", "CONVERT_VALUE", "LIST_TO_TUPLE"), (1, 1)),
    **dict.fromkeys(("STORE_FAST_LOAD_FAST", "CALL_INTRINSIC_1"), (1, 1)),
    "FOR_ITER": (1, 2),
    **dict.fromkeys(("STORE_FAST_STORE_FAST", "STORE_ATTR", "DELETE_SUBSCR", "MAP_ADD"), (2, 0)),
    **dict.fromkeys(("BINARY_OP", "BINARY_SUBSCR", "COMPARE_OP", "IS_OP", "CONTAINS_OP"), (2, 1)),
    **dict.fromkeys(("FORMAT_WITH_SPEC", "SET_FUNCTION_ATTRIBUTE"), (2, 1)),
    "STORE_SUBSCR": (3, 0),
    "BINARY_SLICE": (3, 1),
    "STORE_SLICE": (4, 0),
}
_EFFECTS_OF_MANY: dict[str, Callable[[int], tuple[int, int]]] = {
    **dict.fromkeys(
        ("BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_STRING", "BUILD_SLICE"), lambda n: (n, 1)
    ),
    "BUILD_MAP": lambda n: (2 * n, 1),
    "BUILD_CONST_KEY_MAP": lambda n: (n + 1, 1),
    "CALL": lambda n: (n + 2, 1),
    "CALL_KW": lambda n: (n + 3, 1),
    "CALL_FUNCTION_EX": lambda flags: (3 + (flags & 1), 1),
    "FORMAT_VALUE": lambda flags: (1 + (flags >> 2 & 1), 1),
    "LOAD_ATTR": lambda n: (1, 1 + (sys.version_info >= (3, 12) and n & 1)),
    "LOAD_GLOBAL": lambda n: (0, 1 + (n & 1)),
    "LOAD_METHOD": lambda _: (1, 2),
    "LOAD_SUPER_ATTR": lambda n: (3, 1 + (n & 1)),
    "MAKE_FUNCTION": lambda flags: (1 + flags.bit_count(), 1),
    "RAISE_VARARGS": lambda n: (n, 0),
    "UNPACK_SEQUENCE": lambda n: (1, n),
}


def name_read(code: types.CodeType, offset: int) -> str | None:
    """The attribute or variable that an instruction reads, but for local ones."""
    instruction = _instructions(code)[bisect.bisect_left(_offsets(code), offset)]
    return str(instruction.argval) if instruction.opname in _READS else None


def _is_subscript(instruction: dis.Instruction) -> bool:
    # Python 3.14 spells it as an operator.
    return instruction.opname == "BINARY_SUBSCR" or instruction.argrepr == "[]"


_READS = frozenset(("LOAD_ATTR", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"))


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
