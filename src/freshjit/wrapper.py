"""What is called in place of a function and passes for it: its name, its documentation, its attributes."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

__all__ = ["Wrapper", "wrap"]


def wrap(wrapper: Any, function: Callable[..., Any]) -> None:
    """Give an object that is called in place of a function its name, documentation and ``__wrapped__``."""
    functools.update_wrapper(wrapper, function, updated=())
    if not hasattr(function, "__name__"):
        wrapper.__name__ = type(function).__name__


class _Own:
    """Where a wrapper keeps what is its own, so that its ``__dict__`` can be the function's."""

    __slots__ = ("__dict__", "__weakref__", "__wrapped__")


_own: Callable[[_Own], dict[str, Any]] = vars(_Own)["__dict__"].__get__


class Wrapper(_Own):
    """Has the attributes of the function that it wraps: not copies of them, which would grow old.

    A decorator that counts on the function it returns (``counted.calls += 1``) does so whether or not that
    is jitted, and what is set on the jitted function is there for the function to read. A bound method takes
    no attributes, nor does a function of C: what is set is then kept here. What a subclass has slots for is
    its own.
    """

    __slots__ = ()
    __wrapped__: Any

    def __init__(self, function: Callable[..., Any]) -> None:
        named = types.SimpleNamespace()
        wrap(named, function)
        for name, value in vars(named).items():
            object.__setattr__(self, name, value)
        for name, value in vars(function).items() if _takes_attributes(function) else ():
            self._hide(name, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "__wrapped__"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if _takes_attributes(self.__wrapped__) and not self._has_slot(name):
            setattr(self.__wrapped__, name, value)
            self._hide(name, value)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if _takes_attributes(self.__wrapped__):
            delattr(self.__wrapped__, name)
            _own(self).pop(name, None)
        else:
            object.__delattr__(self, name)

    @property
    def __dict__(self) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return vars(self.__wrapped__) if _takes_attributes(self.__wrapped__) else _own(self)

    def _has_slot(self, name: str) -> bool:
        return isinstance(getattr(type(self), name, None), types.MemberDescriptorType)

    def _hide(self, name: str, value: Any) -> None:
        """Let the user's attribute hide what the wrapper itself has by this name: a copy, or a method."""
        if name in _own(self) or (hasattr(type(self), name) and not name.startswith("_")):
            object.__setattr__(self, name, value)


def _takes_attributes(function: Callable[..., Any]) -> bool:
    return hasattr(function, "__dict__") and not isinstance(function, types.MethodType)
