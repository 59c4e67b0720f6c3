"""What Python does by itself for objects whose class lacks a special method.

Python asks a class for special methods in C, where no read of an attribute can be seen. Where there is none,
it does something else: an object without ``__bool__`` is true, one without ``__contains__`` is gone through.
A class that is given the method later changes that, so what a class lacks is state.

For the few methods that nothing else is asked for instead of, ``STOOD_FOR``, something stands in a hooked
class and does what Python would. All others show by what is asked for instead: ``asked_before``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any

__all__ = ["FALLBACKS", "SHOWN_BY_OBJECT", "STOOD_FOR", "Truth", "asked_before", "asked_of_other", "stand_in"]

STOOD_FOR = ("__bool__", "__eq__", "__hash__", "__repr__", "__init__")
SHOWN_BY_OBJECT = ("__ne__", "__str__", "__format__")
"""Methods of ``object`` that ask for one of those. Where a class has them from elsewhere, they may not."""

# -- in place of a method -------------------------------------------------------------------------------


class Truth:
    """What ``bool`` does with an object whose class has no ``__bool__``.

    Parameters:
        entry: gives what its class has under a name, KeyError if nothing.
    """

    __slots__ = ("_entry", "_instance")

    def __init__(self, instance: Any, entry: Callable[[str], Any]) -> None:
        self._instance, self._entry = instance, entry

    def __call__(self) -> bool:
        try:
            self._entry("__len__")
        except KeyError:
            return True
        return len(self._instance) > 0


def stand_in(name: str, raw: Any, instance: Any, entry: Callable[[str], Any]) -> Callable[..., Any] | None:
    """What does the work of ``raw``, Python's own method, where that cannot while the class is hooked."""
    if name == "__hash__" and raw is None:
        return functools.partial(_unhashable, type(instance))
    if raw is object.__init__:
        return functools.partial(_initialise, instance, entry)
    return None


def _unhashable(cls: type) -> int:
    raise TypeError(f"unhashable type: {cls.__name__!r}")


def _initialise(instance: Any, entry: Callable[[str], Any], *args: Any, **kwargs: Any) -> None:
    """``object.__init__``, which goes by whether the class has another, and would take a hook for one."""
    if not args and not kwargs:
        return
    if entry("__init__") is not object.__init__:
        object.__init__(instance, *args, **kwargs)  # says what is wrong
    elif entry("__new__") is object.__dict__["__new__"]:
        raise TypeError(f"{type(instance).__name__}() takes no arguments")


# -- what is asked for instead --------------------------------------------------------------------------

_ARITHMETIC = (
    *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod"),
    *("pow", "lshift", "rshift", "and", "xor", "or"),
)
_OF_OPERATORS = (
    *(f"__{kind}{name}__" for name in _ARITHMETIC for kind in ("", "i")),
    *("__lt__", "__le__", "__gt__", "__ge__"),
)
_REFLECTED = {
    **{f"__r{name}__": f"__{name}__" for name in (*_ARITHMETIC, "divmod")},
    **{"__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__", "__ge__": "__le__"},
}
# For what Python asks for instead: what it has asked for before.
_BEFORE: dict[str, tuple[str, ...]] = {
    **{f"__{name}__": (f"__i{name}__",) for name in _ARITHMETIC},
    "__iter__": ("__contains__",),
    "__getitem__": ("__contains__", "__iter__", "__reversed__"),
    "__eq__": ("__ne__",),
    "__str__": ("__format__",),
    "__repr__": ("__str__", "__format__"),
    "__init__": ("__new__",),
    # What makes a plain value of an object: an operator asks for it last.
    "__index__": (
        *("__int__", "__float__", "__complex__", *_OF_OPERATORS),
        *(f"__r{name}__" for name in _ARITHMETIC),  # [1] * thing
    ),
    "__float__": ("__complex__", "__floor__", "__ceil__", *_OF_OPERATORS),
    "__complex__": _OF_OPERATORS,
    "__array__": _OF_OPERATORS,
    "__jax_array__": _OF_OPERATORS,
    "__trunc__": ("__int__",),
}
FALLBACKS = frozenset((*_BEFORE, *_REFLECTED))
"""The special methods that Python asks for where a class, or that of the other operand, lacks others."""

# Functions that ask for a method, by their names in the code; any call may ask for the others.
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    **{f"__{k}{n}__": (n, f"{n}_", f"i{n}") for n in _ARITHMETIC for k in ("", "i", "r")},
    **{f"__{name}__": (name,) for name in ("lt", "le", "gt", "ge", "contains", "format", "floor", "ceil")},
    "__ne__": ("ne", "not_equal"),
    "__reversed__": ("reversed",),
}
# Operations that ask for something else than the method of their name, or of their name alone.
_OPERATIONS: dict[str, tuple[str, ...]] = {
    **{f"{kind}{name}": (f"__{name}__", f"__r{name}__") for name in _ARITHMETIC for kind in ("", "i")},
    "mod": ("__mod__", "__rmod__", "__str__"),
    "contains": ("__iter__",),
    "format": ("__str__",),
    "": ("__iter__",),
}


def asked_before(name: str, operation: str, names: Collection[str]) -> list[str]:
    """The special methods that Python has asked the class for in vain, if it asks for ``name`` now.

    Parameters:
        operation: what the running instruction does (see ``bytecode.operations``); empty for anything else.
        names: those in its code.
    """
    return [m for m in _BEFORE.get(name, ()) if m != name and _is_asked(m, operation, names)]


def _is_asked(method: str, operation: str, names: Collection[str]) -> bool:
    if operation == "call":
        return method not in _FUNCTIONS or any(name in names for name in _FUNCTIONS[method])
    return method == f"__{operation}__" or method in _OPERATIONS.get(operation, ())


def asked_of_other(name: str, operation: str, names: Collection[str]) -> list[str]:
    """The methods that Python has asked the class of the *other* operand for, if it asks for ``name`` now."""
    forward = _REFLECTED.get(name)
    if forward is None or operation in ("attribute", name.strip("_")):
        return []
    return [forward, *asked_before(forward, operation, names)]
