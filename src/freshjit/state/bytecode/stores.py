"""Assignments to attributes, and others in their place."""

from __future__ import annotations

import dis
import opcode
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from freshjit.state.bytecode.instructions import variable_loaded

__all__ = ["AttributeStore", "attribute_stores", "replaced_stores"]

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
    return is_own and variable_loaded(instruction) == "self"


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
