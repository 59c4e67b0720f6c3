"""What becomes of a value: it is followed from the instruction that gives it to all that take it."""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass

from freshjit.state.bytecode.instructions import (
    READS_ATTRIBUTE,
    instructions_of,
    is_subscript,
    looks_up_method,
    position,
)
from freshjit.state.bytecode.names import global_names

__all__ = ["Fate", "Use", "fates", "is_only_called", "uses"]


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
    instructions = instructions_of(code)
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
def fates(code: types.CodeType, offset: int, which: int = 0) -> frozenset[Fate] | None:
    """All that can become of what an instruction gives, be it kept in local variables first.

    None if it is not known: it may be returned, passed on, looked at.

    Parameters:
        which: which of the things it gives, counted from the top of the stack.
    """
    instructions = instructions_of(code)
    at = position(code, offset)
    given = instructions[at]
    if given.opname not in _GIVES and not is_subscript(given):
        return None
    if given.opname == "LOAD_GLOBAL" and sys.version_info >= (3, 13):
        which += (given.arg or 0) & 1  # what a call wants has been pushed behind it
    following = _Following(code)
    return frozenset(following.found) if following.follow(at + 1, which) else None


def is_only_called(code: types.CodeType, offset: int) -> bool:
    """Whether all that becomes of what an instruction gives is that it is called."""
    if looks_up_method(instructions_of(code)[position(code, offset)]):
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
        self._code, self._instructions = code, instructions_of(code)
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
        return position(self._code, int(jump.argval))

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
        if name in READS_ATTRIBUTE and name != "LOAD_SUPER_ATTR":
            if looks_up_method(instruction) or self._only_called(at + 1):
                return self._note("method", str(instruction.argval), None)
        elif name == "POP_TOP":
            return []
        elif is_subscript(instruction) and above:
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
