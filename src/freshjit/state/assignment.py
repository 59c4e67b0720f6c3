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

import types
import weakref
from typing import Any

from freshjit.state import bytecode
from freshjit.state.active import thread

__all__ = ["as_written", "assigning", "code_of"]


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
    return as_written(function.__code__)


def as_written(code: types.CodeType) -> types.CodeType:
    """The code that a clone's code was made from, with the same offsets; other code itself."""
    known = _originals.get(id(code))
    original = None if known is None else known[1]()
    return code if original is None else original


def _rewritten(code: types.CodeType) -> types.CodeType:
    stores = [store for store in bytecode.attribute_stores(code) if not store.of_self]
    return bytecode.replaced_stores(code, stores, _Target, assigning)
