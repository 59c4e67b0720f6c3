"""What the instructions of a code object tell about it."""

from __future__ import annotations

import dis
import functools
import itertools
import types

__all__ = ["attributes_taken", "compares_identity", "unasked_names"]

_IDENTITY_NAMES = frozenset(("id", "is_", "is_not", "index", "remove", "count"))
_SINGLETONS = (None, True, False, Ellipsis, NotImplemented)


@functools.lru_cache(maxsize=4096)
def compares_identity(code: types.CodeType) -> bool:
    """Whether the code could tell one array from an equal other one (``a is b``, ``id(a)``).

    Comparisons with None and the like do not count. Where no code can tell, it does not matter
    whether two captured arrays are one object or two.
    """
    if not _IDENTITY_NAMES.isdisjoint(code.co_names):
        return True
    before: dis.Instruction | None = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IS_OP" and not (
            before is not None
            and before.opname.startswith("LOAD_CONST")
            and any(before.argval is s for s in _SINGLETONS)
        ):
            return True
        before = instruction
    return any(compares_identity(c) for c in code.co_consts if isinstance(c, types.CodeType))


# The first two are found in the body of a class, of a module, and in what ``eval`` gets.
_UNASKED = ("LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "DELETE_GLOBAL")


@functools.lru_cache(maxsize=4096)
def unasked_names(code: types.CodeType) -> tuple[str, ...]:
    """The global names that CPython looks up (or deletes) without asking ``__getitem__`` of the globals."""
    names = [str(i.argval) for i in dis.get_instructions(code) if i.opname in _UNASKED]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.extend(unasked_names(constant))
    return tuple(dict.fromkeys(names))


@functools.lru_cache(maxsize=4096)
def attributes_taken(code: types.CodeType) -> dict[int, str]:
    """By the offset of an instruction: the attribute that is read at once from what it gives."""
    instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
    return {
        before.offset: str(after.argval)
        for before, after in itertools.pairwise(instructions)
        if after.opname in ("LOAD_ATTR", "LOAD_METHOD")
    }
