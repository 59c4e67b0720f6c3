"""Views of Python numbers that change: arithmetic that stays Python's, done again at each call.

A number that has changed between calls is seen as a ``NumberView``. Among Python numbers it computes
like the number it stands for and remembers how; where it meets JAX it becomes a weakly typed scalar
input; where its value is needed (a branch, an index, a format) the program is guarded on exactly
what was needed: the outcome of the comparison, or the value of that expression.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from freshjit import _compat
from freshjit.state.path import Path

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["NumberView", "math_function", "view_number"]


def view_number(capture: Capture, value: int | float, path: Path) -> NumberView:
    """The number at ``path``, which may be another one of the same type at the next call."""
    capture.guard(path, "type", type(value))
    capture.used_numbers.add(path)
    return NumberView(capture, value, None, (), path)


class NumberView:
    """An int or float of the user's state, or what Python arithmetic makes of such numbers.

    Attributes:
        value: what it is in this call.
        function: how it was computed, None for a number found in state.
        operands: from what: numbers and other views.
        path: where it was found, or the first such place among its operands.
    """

    __slots__ = ("_tracer", "capture", "function", "operands", "path", "value")
    __array_priority__ = 40

    def __init__(
        self,
        capture: Capture,
        value: int | float,
        function: Callable[..., Any] | None,
        operands: tuple[Any, ...],
        path: Path,
    ) -> None:
        self.capture: Any = capture
        self.value = value
        self.function, self.operands, self.path = function, operands, path
        self._tracer: Any = None
        capture.number_views.append(self)

    def detach(self) -> None:
        """The capture is over: from now on this is only an expression."""
        self.capture = self._tracer = None

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return type(self.value)  # isinstance(x, float) answers as for the real number

    def concrete(self) -> Any:
        """The value itself; the program becomes valid for this value of the expression only."""
        self.capture.guard_outcome(self, self.value)
        return self.value

    def __jax_array__(self) -> Any:
        if self._tracer is None:
            self._tracer = self.capture.number_input(self)
        return self._tracer

    # What needs the value gets it.
    def __bool__(self) -> bool:
        return _outcome(self.capture, bool, (self,))

    def __int__(self) -> int:
        return int(self.concrete())

    def __float__(self) -> float:
        return float(self.concrete())

    def __complex__(self) -> complex:
        return complex(self.concrete())

    def __index__(self) -> int:
        return operator.index(self.concrete())

    def __hash__(self) -> int:
        return hash(self.concrete())

    def __str__(self) -> str:
        return str(self.concrete())

    def __repr__(self) -> str:
        return repr(self.concrete())

    def __format__(self, spec: str) -> str:
        return format(self.concrete(), spec)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.concrete(), name)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        import numpy as np

        return np.asarray(self.concrete(), *args, **kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(plain_number, inputs), **kwargs)

    def __copy__(self) -> NumberView:
        return self

    def __deepcopy__(self, memo: Any) -> NumberView:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.concrete().__reduce_ex__(protocol)

    # What is arithmetic stays an expression.
    def __round__(self, digits: Any = None) -> Any:
        if digits is None:
            return _expression(self.capture, round, (self,))
        return _expression(self.capture, round, (self, digits))

    def __trunc__(self) -> Any:
        return _expression(self.capture, math.trunc, (self,))

    def __floor__(self) -> Any:
        return _expression(self.capture, math.floor, (self,))

    def __ceil__(self) -> Any:
        return _expression(self.capture, math.ceil, (self,))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    @property
    def real(self) -> NumberView:
        return self


def plain_number(value: Any) -> Any:
    return value.concrete() if type(value) is NumberView else value


def _is_python_number(value: Any) -> bool:
    return type(value) in (int, float, bool, NumberView)


def _expression(capture: Capture, function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """``function(*operands)`` as Python computes it, remembered; errors are Python's own."""
    values = [o.value if type(o) is NumberView else o for o in operands]
    value = function(*values)
    first = next(o for o in operands if type(o) is NumberView)
    if type(value) not in (int, float):
        capture.guard_outcome(NumberView(capture, value, function, operands, first.path), value)
        return value
    result = NumberView(capture, value, function, operands, first.path)
    if function in _TYPE_VARIES:
        capture.guard_outcome(NumberView(capture, value, _type_of, (result,), first.path), type(value))
    return result


def _outcome(capture: Capture, function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """``function(*operands)``, a bool: the program is valid as long as it comes out the same."""
    values = [o.value if type(o) is NumberView else o for o in operands]
    value = function(*values)
    first = next(o for o in operands if type(o) is NumberView)
    capture.guard_outcome(NumberView(capture, value, function, operands, first.path), value)
    return value


def _type_of(value: Any) -> type:
    return type(value)


# 2 ** n is an int or a float, (-8.0) ** x a float or complex, depending on the values.
_TYPE_VARIES = (operator.pow,)


def _binary(function: Callable[[Any, Any], Any], reflected: bool) -> Callable[[Any, Any], Any]:
    def operate(self: NumberView, other: Any) -> Any:
        if _is_python_number(other):
            operands = (other, self) if reflected else (self, other)
            return _expression(self.capture, function, operands)
        if isinstance(other, (jax.Array, _compat.Tracer)):
            return NotImplemented  # JAX's own method takes over, and asks for __jax_array__
        return NotImplemented if _knows_numbers(other) else _on_values(function, self, other, reflected)

    return operate


def _knows_numbers(other: Any) -> bool:
    """Whether the other operand is an object of the user's, whose own method is to decide."""
    return not type(other).__module__.startswith(("numpy", "decimal", "fractions", "builtins"))


def _on_values(function: Callable[[Any, Any], Any], this: NumberView, other: Any, reflected: bool) -> Any:
    value = this.concrete()
    return function(other, value) if reflected else function(value, other)


def _comparison(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compare(self: NumberView, other: Any) -> Any:
        if _is_python_number(other):
            return _outcome(self.capture, function, (self, other))
        if isinstance(other, (jax.Array, _compat.Tracer)):
            return NotImplemented
        return function(self.concrete(), other)

    return compare


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def operate(self: NumberView) -> Any:
        return _expression(self.capture, function, (self,))

    return operate


def _define_operators() -> None:
    names = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor")
    for name in names:
        function = getattr(operator, name, None) or getattr(operator, name + "_")
        setattr(NumberView, f"__{name}__", _binary(function, False))
        setattr(NumberView, f"__r{name}__", _binary(function, True))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(NumberView, f"__{name}__", _comparison(getattr(operator, name)))
    for name in ("neg", "pos", "abs", "invert"):
        setattr(NumberView, f"__{name}__", _unary(getattr(operator, name)))


_define_operators()


def math_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python's ``math`` that remembers what it did to numbers of the state."""

    def call(*args: Any) -> Any:
        views = [a for a in args if type(a) is NumberView]
        if not views:
            return function(*args)
        capture = views[0].capture
        if not all(map(_is_python_number, args)):
            return function(*map(plain_number, args))
        if function in _PREDICATES:
            return _outcome(capture, function, args)
        return _expression(capture, function, args)

    call.__name__ = call.__qualname__ = function.__name__
    return call


_PREDICATES = (math.isnan, math.isinf, math.isfinite, math.isclose)


def as_input(view: NumberView) -> jax.Array:
    """The weakly typed scalar that JAX makes of a Python number."""
    with jax.ensure_compile_time_eval():
        return jnp.asarray(view.value)
