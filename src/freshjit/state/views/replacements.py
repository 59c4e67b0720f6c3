"""What traced code finds in place of functions, modules and classes of libraries: who stands for whom."""

from __future__ import annotations

import builtins
import sys
import types
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from freshjit import _compat
from freshjit.state import bytecode
from freshjit.state.hooks import GAP
from freshjit.state.libraries import is_library_module

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

_library_views: dict[int, tuple[Any, Any]] = {}  # by id of the original: (original, view)
_library_originals: dict[int, tuple[Any, Any]] = {}  # by id of the view: (view, original)


def note_stand_in(view: Any, original: Any) -> None:
    """``view`` is what traced code finds under some name in place of ``original``."""
    _library_originals[id(view)] = (view, original)


def replace_in_captures(original: Any, replacement: Any) -> None:
    """Let traced code find ``replacement`` wherever it would find JAX's ``original``."""
    _library_views[id(original)] = (original, replacement)
    note_stand_in(replacement, original)


def is_replaced(value: Any) -> bool:
    """Whether traced code finds something else in its place."""
    return id(value) in _library_views


def replacement(value: Any) -> Any:
    """What that is, a gap if there is nothing."""
    return _library_views.get(id(value), (value, GAP))[1]


def real_library_value(capture: Capture, value: Any) -> Any:
    """What a library's function is to code outside, if ``value`` is one; else None."""
    known = _library_originals.get(id(value))
    if known is not None:
        return known[1]
    for name in ("__import__", "eval", "exec"):  # each capture has its own
        if capture.builtins[name] is value:
            return getattr(builtins, name)
    if isinstance(value, np.ufunc):
        return value if getattr(np, value.__name__, None) is value else None
    if not isinstance(value, (types.FunctionType, *_CALLABLES_OF_JAX)):
        return None
    home: Any = getattr(value, "__module__", None)
    if not is_library_module(home):
        return None
    found = sys.modules.get(home)
    for part in str(getattr(value, "__qualname__", value.__name__)).split("."):
        found = getattr(found, part, None)
    return value if found is value else None


_CALLABLES_OF_JAX = (_compat.JitFunction, jax.custom_jvp, jax.custom_vjp, jnp.ufunc)


# -- classes ----------------------------------------------------------------------------------------

# By id of a library's class: (the class, what may stand for it, the class methods that need it).
_class_stand_ins: dict[int, tuple[type, type, frozenset[str]]] = {}


def replace_class_in_captures(real: type, stand_in: type, methods: frozenset[str]) -> None:
    """Let traced code find ``stand_in`` for a class, wherever it cannot tell the two apart."""
    _class_stand_ins[id(real)] = (real, stand_in, methods)
    note_stand_in(stand_in, real)


# By id of a library's class: (the class, what is called in its place).
_call_stand_ins: dict[int, tuple[type, Any]] = {}


def replace_calls_in_captures(real: type, called: Any) -> None:
    """Let traced code find ``called`` for a class that it reads only to call it."""
    _call_stand_ins[id(real)] = (real, called)


def may_have_stand_in(value: Any) -> bool:
    """Whether it is a class that some code finds something else for."""
    return id(value) in _class_stand_ins or id(value) in _call_stand_ins


def class_read_now(cls: type) -> Any:
    """What the instruction gets that now reads a class which may have a stand-in."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while str(frame.f_globals.get("__name__", "")).partition(".")[0] == "freshjit":
        if frame.f_back is None:
            return cls
        frame = frame.f_back
    return class_read_by(cls, frame.f_code, bytecode.running(frame))


def class_read_by(cls: Any, code: types.CodeType, offset: int | None = None) -> Any:
    """The stand-in for a class if all that this code does next is to call one of its methods that need it.

    Also if the code nowhere compares by identity, which is how it could tell a stand-in from the class.
    """
    if id(cls) in _call_stand_ins:
        called = offset is not None and bytecode.is_only_called(code, offset)
        return _call_stand_ins[id(cls)][1] if called else cls
    known = _class_stand_ins.get(id(cls))
    if known is None:
        return cls
    _, stand_in, methods = known
    use = None if offset is None else bytecode.uses(code).get(offset)
    taken = None if use is None else use.attribute
    return stand_in if taken in methods or not bytecode.compares_identity(code) else cls
