"""Assignments to attributes, as the code of a clone makes them: ``Config.rate = x`` is told to the capture.

An assignment to an attribute of an object can be watched by the object's class, but one to an attribute of
a class only by its metaclass, and Python does not let us give an ordinary class another one. So a clone runs
a copy of the code in which each instruction that may assign an attribute of a class is replaced, in place, by
others that make it ``target[thing] = value``. Every offset, line and jump is as it was.

``self.rate = x`` is left alone: most functions then run their own code object, which is what some profilers
know them by. Should that ``self`` be a class, the capture finds the value when it looks at its classes again
(``classes.ClassState.take_over``).
"""

from __future__ import annotations

import dis
import functools
import opcode
import types
import weakref
from collections.abc import Iterator
from typing import Any

from freshjit.state.active import thread

__all__ = ["assigning", "code_of", "deleted_names"]


class _Target:
    """The attribute ``name`` of whatever it is indexed with."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __setitem__(self, thing: Any, value: Any) -> None:
        capture = thread.capture
        if capture is None or not isinstance(thing, type):
            setattr(thing, self.name, value)
        else:
            capture.write_class(thing, self.name, value)


# By the id of a code object: a reference to it, which takes the entry away when it goes, and its counterpart
# (None: it needs none).
_copies: dict[int, tuple[weakref.ref[types.CodeType], types.CodeType | None]] = {}
_originals: dict[int, tuple[weakref.ref[types.CodeType], weakref.ref[types.CodeType]]] = {}


def assigning(code: types.CodeType) -> types.CodeType:
    """The code that a clone of a function with ``code`` runs."""
    known = _copies.get(id(code))
    if known is None:
        copy, key = _rewritten(code), id(code)
        known = weakref.ref(code, lambda _: _copies.pop(key)), None if copy is code else copy
        if copy is not code:
            key_of_copy = id(copy)
            forget = weakref.ref(copy, lambda _: _originals.pop(key_of_copy))
            _originals[key_of_copy] = forget, weakref.ref(code)
        _copies[key] = known
    return known[1] or code


def code_of(function: types.FunctionType) -> types.CodeType:
    """The code of a function as its author wrote it, also of one that the code of a clone has made."""
    known = _originals.get(id(function.__code__))
    original = None if known is None else known[1]()
    return function.__code__ if original is None else original


@functools.lru_cache(maxsize=4096)
def deleted_names(code: types.CodeType) -> frozenset[str]:
    """The attributes that a function, or one inside it, deletes by ``del thing.name``."""
    inner = [deleted_names(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    own = [i.argval for i in dis.get_instructions(code) if i.opname == "DELETE_ATTR"]
    return frozenset(own).union(*inner)


_WIDTH = 2  # bytes of one code unit
_EXTEND, _LOAD = opcode.opmap["EXTENDED_ARG"], opcode.opmap["LOAD_CONST"]
_NOTHING, _SWAP, _STORE_ITEM = (opcode.opmap[name] for name in ("NOP", "SWAP", "STORE_SUBSCR"))
_CACHE = opcode.opmap["CACHE"]


def _rewritten(code: types.CodeType) -> types.CodeType:
    constants = [assigning(c) if isinstance(c, types.CodeType) else c for c in code.co_consts]
    new = bytearray(code.co_code)
    places: dict[str, int] = {}
    for start, end, name in _stores(code):
        place = places.setdefault(name, len(constants) + len(places))
        instructions = _store_item(place)
        padding = bytes([_NOTHING, 0]) * ((end - start - len(instructions)) // _WIDTH)
        new[start:end] = instructions + padding
    if len(new) != len(code.co_code):
        return code  # thousands of constants: no room
    if not places and all(a is b for a, b in zip(constants, code.co_consts, strict=True)):
        return code
    constants += map(_Target, places)
    return code.replace(
        co_code=bytes(new), co_consts=tuple(constants), co_stacksize=code.co_stacksize + bool(places)
    )


def _stores(code: types.CodeType) -> Iterator[tuple[int, int, str]]:
    """Where attributes of anything but ``self`` are assigned (from, to after the caches), and the name."""
    done: list[dis.Instruction] = []
    start: int | None = None
    for instruction in dis.get_instructions(code):
        start = instruction.offset if start is None else start
        if instruction.opname == "EXTENDED_ARG":
            continue
        if instruction.opname == "STORE_ATTR" and not _stores_to_self(done, instruction.argval):
            end = instruction.offset + _WIDTH
            while end < len(code.co_code) and code.co_code[end] == _CACHE:
                end += _WIDTH
            yield start, end, instruction.argval
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
    name = instruction.argval[-1] if isinstance(instruction.argval, tuple) else instruction.argval
    return instruction.opname.startswith(_LOADS_VARIABLE) and name == "self"


_LOADS_VARIABLE = ("LOAD_FAST", "LOAD_DEREF", "STORE_FAST_LOAD_FAST")  # the last one loads two at once


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
