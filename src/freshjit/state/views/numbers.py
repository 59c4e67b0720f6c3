"""Views of Python numbers that change: arithmetic that stays Python's, done again at each call.

A number that has changed between calls is seen as a ``NumberView``. Among Python numbers it computes
like the number it stands for and remembers how; where it meets JAX it becomes a weakly typed scalar
input; where its value is needed (a branch, an index, a format) the program is guarded on exactly
what was needed: the outcome of the comparison, or the value of that expression.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from freshjit import _compat
from freshjit.state.path import Path

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["NUMBERS", "NumberView", "add_up", "math_function", "plain_number", "view_number"]

Number = int | float | complex
NUMBERS = (int, float, complex)


def view_number(capture: Capture, value: Number, path: Path) -> NumberView:
    """The number at ``path``, which may be another one of the same type at the next call."""
    capture.guard(path, "type", type(value))
    capture.used_numbers[path] = None
    return NumberView(capture, value, None, (), path)


class NumberView:
    """An int, float or complex of the user's state, or what Python arithmetic makes of such numbers.

    Attributes:
        value: what it is in this call.
        function: how it was computed, None for a number found in state.
        operands: from what: numbers and other views.
        path: where it was found, or the first such place among its operands.
    """

    __slots__ = ("_tracer", "_unequal", "capture", "function", "operands", "path", "value")
    __array_priority__ = 40

    def __init__(
        self,
        capture: Capture,
        value: Any,
        function: Callable[..., Any] | None,
        operands: tuple[Any, ...],
        path: Path,
    ) -> None:
        self.capture: Any = capture
        self.value = value
        self.function, self.operands, self.path = function, operands, path
        self._tracer: Any = None
        self._unequal: set[Number] | None = None
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

    def differs(self, other: Number) -> None:
        """This number is not ``other``, a constant: one guard for all of which that was found."""
        if other != other:
            return  # NaN is never equal to anything
        if self._unequal is None:
            self._unequal = set()
            among = NumberView(self.capture, False, _is_among, (self, self._unequal), self.path)
            self.capture.guard_outcome(among, False)
        self._unequal.add(other)

    def __jax_array__(self) -> Any:
        if self.capture.width_differs(np.dtype(type(self.value))):
            return jnp.asarray(self.concrete())
        if self._tracer is None:
            self._tracer = self.capture.number_input(self)
        return self._tracer

    def as_operand(self) -> Any:
        """What a function of JAX's is to get: a tracer, or the int itself if no input can hold it."""
        try:
            return self.__jax_array__()
        except OverflowError:
            return self.concrete()

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
        operator.index(self.value)  # a float refuses, whatever its value
        return operator.index(self.concrete())

    def __hash__(self) -> int:
        return hash(self.concrete())

    def __str__(self) -> str:
        return str(self.concrete())

    def __repr__(self) -> str:
        if self.capture is None:
            return f"<number of {self.path}>"
        return repr(self.concrete())

    def __format__(self, spec: str) -> str:
        return format(self.concrete(), spec)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.value, name)  # whether there is such an attribute is a matter of the type
        if name in _PARTS:
            return _expression(self.capture, _PARTS[name], (self,))
        if name in _METHODS:
            return functools.partial(_expression, self.capture, _METHODS[name], (self,))
        return getattr(self.concrete(), name) if callable(found) else found

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if _compat.only_checks_overflow(sys._getframe(1)) and _takes_any(dtype, type(self.value)):  # pyright: ignore[reportPrivateUsage]
            return np.asarray(self.value, dtype)
        return np.asarray(self.concrete(), dtype)

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

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is None:
            return _power(self, other)
        return pow_of_three(self, other, modulus)

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is None:
            return _reflected_power(self, other)
        return pow_of_three(other, self, modulus)


def plain_number(value: Any) -> Any:
    return value.concrete() if type(value) is NumberView else value


def _is_python_number(value: Any) -> bool:
    return type(value) in (int, float, complex, bool, NumberView)


def _expression(capture: Capture, function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """``function(*operands)`` as Python computes it, remembered; errors are Python's own."""
    values = [o.value if type(o) is NumberView else o for o in operands]
    first = next(o for o in operands if type(o) is NumberView)
    try:
        value = function(*values)
    except Exception as error:
        # The program is valid as long as it is this error, which traced code may catch.
        outcome = NumberView(capture, None, _failure_of(function), operands, first.path)
        capture.guard_outcome(outcome, _failure(error))
        raise
    result = NumberView(capture, value, function, operands, first.path)
    if not _cannot_fail(function, values):
        capture.must_not_fail(result)
    if type(value) is tuple and all(type(part) in NUMBERS for part in value):
        parts = enumerate(value)
        return tuple(NumberView(capture, v, operator.getitem, (result, i), first.path) for i, v in parts)
    if type(value) not in NUMBERS:
        capture.guard_outcome(result, value)
        return value
    if function in _TYPE_VARIES:
        capture.guard_outcome(NumberView(capture, value, _type_of, (result,), first.path), type(value))
    return result


def _failure(error: Exception) -> tuple[type, str]:
    return type(error), str(error)


@functools.cache
def _failure_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """What goes wrong in ``function``, as a function of the same operands; None if nothing does."""

    def failure(*values: Any) -> tuple[type, str] | None:
        try:
            function(*values)
        except Exception as error:
            return _failure(error)
        return None

    return failure


# What gives a result for all ints, and for all floats.
_TOTAL = frozenset((operator.add, operator.sub, operator.mul, operator.neg, operator.pos, operator.abs))


def _cannot_fail(function: Callable[..., Any], values: list[Any]) -> bool:
    kinds = {*map(type, values)}
    return function in _TOTAL and (kinds <= {int, bool} or kinds == {float})


def _outcome(capture: Capture, function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """``function(*operands)``, a bool: the program is valid as long as it comes out the same."""
    values = [o.value if type(o) is NumberView else o for o in operands]
    value = function(*values)
    first = next(o for o in operands if type(o) is NumberView)
    capture.guard_outcome(NumberView(capture, value, function, operands, first.path), value)
    return value


def _type_of(value: Any) -> type:
    return type(value)


def _is_among(value: Any, others: set[Any]) -> bool:
    return value in others


def _takes_any(dtype: Any, kind: type) -> bool:
    """Whether every number of this kind that can be an input fits the dtype: no overflow to look for."""
    if dtype is None or kind is not int:
        return True
    own = jax.dtypes.canonicalize_dtype(int)
    return np.dtype(dtype) == own or not jnp.issubdtype(dtype, jnp.integer)


# 2 ** n is an int or a float, (-8.0) ** x a float or complex, depending on the values.
_TYPE_VARIES = (operator.pow,)

# What a number has beside operators: arithmetic too.
_PARTS = {name: operator.attrgetter(name) for name in ("real", "imag", "numerator", "denominator")}
_METHODS = {
    name: operator.methodcaller(name)
    for name in ("conjugate", "is_integer", "bit_length", "bit_count", "as_integer_ratio")
}


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
            if function in _EQUALITY and type(other) is not NumberView and self.value != other:
                self.differs(other)
                return function is operator.ne
            return _outcome(self.capture, function, (self, other))
        if isinstance(other, (jax.Array, _compat.Tracer)):
            return NotImplemented
        if type(other).__module__ == "builtins":
            return function(self.value, other)  # a string, None: never equal, whatever the value
        return function(self.concrete(), other)

    return compare


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def operate(self: NumberView) -> Any:
        return _expression(self.capture, function, (self,))

    return operate


def _define_operators() -> None:
    names = ("add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "and", "or", "xor")
    for name in names:
        function = getattr(operator, name, None) or getattr(operator, name + "_")
        setattr(NumberView, f"__{name}__", _binary(function, False))
        setattr(NumberView, f"__r{name}__", _binary(function, True))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(NumberView, f"__{name}__", _comparison(getattr(operator, name)))
    for name in ("neg", "pos", "abs", "invert"):
        setattr(NumberView, f"__{name}__", _unary(getattr(operator, name)))


_define_operators()
_EQUALITY = (operator.eq, operator.ne)
_power, _reflected_power = _binary(operator.pow, False), _binary(operator.pow, True)


def _on_numbers(function: Callable[..., Any], args: tuple[Any, ...], instead: Callable[..., Any]) -> Any:
    """``function(*args)`` remembered, if the arguments are numbers and one of them may change."""
    view = next((a for a in args if type(a) is NumberView), None)
    if view is None:
        return instead(*args)
    if not all(map(_is_python_number, args)):
        return instead(*map(plain_number, args))
    return _expression(view.capture, function, args)


def math_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python's ``math`` or ``cmath`` that remembers what it did to numbers of the state."""
    over_items = function in _OVER_ITEMS

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if over_items and len(args) == 1 and not kwargs:
            items = tuple(args[0])
            if all(map(_is_python_number, items)):
                return _on_numbers(_over_items(function), items, lambda *items: function(items))
            args = (items,)
        if kwargs:
            # Named arguments in an order of their own are part of the function.
            names = tuple(kwargs)
            call = _with_names(function, len(args), names)
            return _on_numbers(call, (*args, *kwargs.values()), call)
        return _on_numbers(function, args, function)

    return call


@functools.cache
def _over_items(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function([a, b, c])`` as a function of a, b and c."""
    return lambda *items: function(items)


@functools.cache
def _with_names(function: Callable[..., Any], n_args: int, names: tuple[str, ...]) -> Callable[..., Any]:
    """``function(a, b, name=c)`` as a function of a, b and c."""
    return lambda *args: function(*args[:n_args], **dict(zip(names, args[n_args:], strict=True)))


_OVER_ITEMS = (math.fsum, math.prod)


def pow_of_three(*args: Any, **kwargs: Any) -> Any:
    """Python's ``pow``: with a modulus, no operator is asked for a number on the right."""
    if len(args) == 3 and not kwargs:
        return _on_numbers(builtins.pow, args, builtins.pow)
    return builtins.pow(*args, **kwargs)


def add_up(iterable: Iterable[Any], /, start: Any = 0) -> Any:
    """Python's ``sum``: it adds floats more exactly than one ``+`` after the other does.

    As in Python, that is so up to the first thing that is not a number.
    """
    items = (start, *iterable)
    if not any(type(item) is NumberView for item in items):
        return sum(items[1:], start)
    count = next((i for i, item in enumerate(items) if not _is_python_number(item)), len(items))
    total = start
    if count > 1:
        total = _on_numbers(_over_items(_sum_from_first), items[:count], lambda *n: _sum_from_first(n))
    for item in items[max(count, 1) :]:
        total = total + item
    return total


def _sum_from_first(numbers: tuple[Any, ...]) -> Any:
    return sum(numbers[1:], numbers[0])


def as_input(view: NumberView) -> jax.Array:
    """The weakly typed scalar that JAX makes of a Python number."""
    with jax.ensure_compile_time_eval():
        return jnp.asarray(view.value)
