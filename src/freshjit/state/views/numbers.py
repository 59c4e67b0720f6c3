"""Views of numbers that change: arithmetic that stays Python's and NumPy's, done again at each call.

A number that has changed between calls is seen as a ``NumberView``: one of Python's, or a scalar of NumPy's.
Among numbers it computes like the number it stands for and remembers how; where it meets JAX it becomes the
scalar input that JAX makes of such a number, weakly typed if it is Python's; where its value is needed (a
branch, an index, a format) the program is guarded on exactly what was needed: the outcome of the comparison,
or the value of that expression.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from freshjit import _compat
from freshjit.state import bytecode
from freshjit.state.path import Path
from freshjit.state.values import NUMBERS, NUMPY_NUMBERS
from freshjit.state.views.replacements import replace_calls_in_captures

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["NumberView", "add_up", "error_handling", "math_function", "plain_number", "view_number"]

Number = int | float | complex | np.number[Any]


def view_number(capture: Capture, value: Number, path: Path) -> NumberView:
    """The number at ``path``, which may be another one of the same type at the next call."""
    capture.guard(path, "type", type(value))
    capture.used_numbers[path] = None
    return NumberView(capture, value, None, (), path)


class NumberView:
    """A number of the user's state, Python's or NumPy's, or what arithmetic makes of such numbers.

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
        if name in ("__array_interface__", "__array_struct__"):  # NumPy is to ask ``__array__``
            raise AttributeError(name)
        found = getattr(self.value, name)  # whether there is such an attribute is a matter of the type
        if name in _PARTS:
            return _expression(self.capture, _PARTS[name], (self,))
        if name in _METHODS:
            return functools.partial(_expression, self.capture, _METHODS[name], (self,))
        if type(self.value) in NUMPY_NUMBERS:
            if name in _METHODS_OF_NUMPY:
                return functools.partial(_method_of_numpy, self, name)
            return found if name in _OF_THE_TYPE else getattr(self.concrete(), name)
        return getattr(self.concrete(), name) if callable(found) else found

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if _compat.only_checks_overflow(sys._getframe(1)) and _takes_any(dtype, type(self.value)):  # pyright: ignore[reportPrivateUsage]
            return np.asarray(self.value, dtype)
        return np.asarray(self.concrete(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        followed = method == "__call__" and not kwargs and getattr(np, ufunc.__name__, None) is ufunc
        # A scalar of NumPy's that is compared with a view comes as an array of no dimensions.
        inputs = tuple(i[()] if type(i) is np.ndarray and i.ndim == 0 else i for i in inputs)
        if not followed or not all(map(_is_number, inputs)):
            return getattr(ufunc, method)(*map(plain_number, inputs), **kwargs)
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        function = _operator_of(ufunc) if bytecode.is_at_operator(frame) else ufunc
        if ufunc in _COMPARISONS:
            return _outcome(self.capture, function, inputs)
        return _expression(self.capture, function, inputs)

    def __getitem__(self, key: Any) -> Any:
        return self.concrete()[key]  # a scalar of NumPy's can be indexed as an array

    __iter__ = None  # but not gone over

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


def _is_number(value: Any) -> bool:
    kind = type(value)
    return kind is NumberView or kind in NUMBERS or kind is bool or kind is np.bool


def _any_of_numpy(values: Iterable[Any]) -> bool:
    return any(isinstance(value, np.generic) for value in values)


def error_handling() -> Any:
    """What becomes of NumPy's warnings (overflow, a division by zero): settings of NumPy's and Python's."""
    return np.geterr(), np.geterrcall(), list(warnings.filters)


def _expression(capture: Capture, function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """``function(*operands)`` as Python and NumPy compute it, remembered; errors are their own."""
    values = [o.value if type(o) is NumberView else o for o in operands]
    first = next(o for o in operands if type(o) is NumberView)
    numpy_warns = isinstance(function, np.ufunc) or function in NUMPY_NUMBERS or _any_of_numpy(values)
    if numpy_warns and error_handling() != capture.error_handling:
        # The function has changed it for a while, as by np.errstate: at later calls it would not be so.
        return function(*map(plain_number, operands))
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
    varies = function in _TYPE_VARIES or isinstance(function, np.ufunc)
    if varies and not _any_of_numpy(values):
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


# 2 ** n is an int or a float, (-8.0) ** x a float or complex, depending on the values; so is what ufuncs make
# of Python's ints. What scalars of NumPy's give depends on their types.
_TYPE_VARIES = (operator.pow,)

# What a number has beside operators: arithmetic too.
_PARTS = {name: operator.attrgetter(name) for name in ("real", "imag", "numerator", "denominator")}
_METHODS = {
    name: operator.methodcaller(name)
    for name in ("conjugate", "is_integer", "bit_length", "bit_count", "as_integer_ratio")
}

# What a scalar of NumPy's has beside that: arithmetic, and what follows from its type.
_METHODS_OF_NUMPY = frozenset(("astype", "clip", "conj", "copy", "item", "round", "tolist"))
_OF_THE_TYPE = frozenset(("base", "dtype", "itemsize", "nbytes", "ndim", "shape", "size", "strides"))


def _method_of_numpy(view: NumberView, name: str, *args: Any, **kwargs: Any) -> Any:
    if name == "astype" and len(args) == 1 and not kwargs:
        args = (np.dtype(args[0]),)
    elif kwargs or not all(map(_is_number, args)):
        return getattr(view.concrete(), name)(*map(plain_number, args), **kwargs)
    return _expression(view.capture, _call_of(name), (view, *args))


@functools.cache
def _call_of(name: str) -> Callable[..., Any]:
    """The method of this name as a function."""
    return lambda value, *args: getattr(value, name)(*args)


_COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
_OPERATORS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
}


def _operator_of(ufunc: Any) -> Callable[..., Any]:
    """What a scalar of NumPy's computes with, where it asks for this ufunc because it meets a view."""
    known = _OPERATORS.get(ufunc)
    return ufunc if known is None else known


def _binary(function: Callable[[Any, Any], Any], reflected: bool) -> Callable[[Any, Any], Any]:
    def operate(self: NumberView, other: Any) -> Any:
        if _is_number(other):
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
        if _is_number(other):
            if function in _EQUALITY and _differs_as_python_does(self.value, other):
                self.differs(other)
                return function is operator.ne
            return _outcome(self.capture, function, (self, other))
        if isinstance(other, (jax.Array, _compat.Tracer)):
            return NotImplemented
        if type(other) in (type(None), str) or (
            type(other).__module__ == "builtins" and type(self.value) not in NUMPY_NUMBERS
        ):
            return function(self.value, other)  # a string, None: never equal, whatever the value
        return function(self.concrete(), other)

    return compare


def _differs_as_python_does(value: Any, other: Any) -> bool:
    """Whether they are unequal numbers of Python's: NumPy may round one of them to the kind of the other."""
    return type(other) is not NumberView and not _any_of_numpy((value, other)) and bool(value != other)


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def operate(self: NumberView) -> Any:
        return _expression(self.capture, function, (self,))

    return operate


def _define_operators() -> None:
    names = ("add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "and", "or", "xor")
    for name in (*names, "divmod"):
        known = getattr(operator, name, None) or getattr(operator, f"{name}_", None)
        function: Any = known or getattr(builtins, name)
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
    if not all(map(_is_number, args)):
        return instead(*map(plain_number, args))
    return _expression(view.capture, function, args)


def math_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python's ``math`` or ``cmath`` that remembers what it did to numbers of the state."""
    over_items = function in _OVER_ITEMS

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if over_items and len(args) == 1 and not kwargs:
            items = tuple(args[0])
            if all(map(_is_number, items)):
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
    count = next((i for i, item in enumerate(items) if not _is_number(item)), len(items))
    total = start
    if count > 1:
        total = _on_numbers(_over_items(_sum_from_first), items[:count], lambda *n: _sum_from_first(n))
    for item in items[max(count, 1) :]:
        total = total + item
    return total


def _sum_from_first(numbers: tuple[Any, ...]) -> Any:
    return sum(numbers[1:], numbers[0])


def as_input(view: NumberView) -> tuple[NumberView, jax.Array]:
    """What the input is at each call, and the scalar that JAX makes of it: weakly typed if it is Python's.

    JAX refuses an int of Python's that is too large for it. Of one of NumPy's it takes the lower bits where
    it makes an array of it, but all of it to make a float of it: such a one is no input either.
    """
    kind = type(view.value)
    if kind in (np.int64, np.uint64):
        own = jax.dtypes.canonicalize_dtype(kind)
        if own != kind:
            fits = _within(own)
            view = NumberView(view.capture, fits(view.value), fits, (view,), view.path)
    with jax.ensure_compile_time_eval():
        return view, jnp.asarray(view.value)


@functools.cache
def _within(dtype: Any) -> Callable[[Any], Any]:
    """A function that gives back the integers that fit this dtype, and raises OverflowError for others."""
    lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max

    def within(value: Any) -> Any:
        if lowest <= value <= highest:
            return value
        raise OverflowError(f"{value} does not fit {dtype}")

    return within


def _number_class(cls: type) -> Callable[..., Any]:
    """A class of numbers, to be called by traced code: what its own ``__float__`` gives has to be a float."""

    @functools.wraps(cls, updated=())
    def make(*args: Any, **kwargs: Any) -> Any:
        return cls(*args, **kwargs) if kwargs else _on_numbers(cls, args, cls)

    return make


for kind in NUMBERS:
    replace_calls_in_captures(kind, _number_class(kind))
