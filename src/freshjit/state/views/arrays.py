"""Views of arrays: tracers for JAX arrays, and for NumPy arrays a stand-in that turns into one.

A NumPy array must behave as NumPy in NumPy code and become an input of the program where it meets
JAX. ``NumpyView`` is not an ndarray underneath, so nothing, C code included, can get at the numbers
without asking it: if it is asked by JAX it answers with a tracer; if by anybody else with the
numbers, and the program is then valid for these numbers only. NumPy arrays of other kinds, and any array
where a library does not take the stand-in, are seen as copies (``array_copies``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from freshjit import _compat
from freshjit.errors import CapturedNumpyWriteError, UnsupportedStateError
from freshjit.state.guards import SourceLine, user_line
from freshjit.state.path import Path
from freshjit.state.record import Write
from freshjit.state.views import array_copies
from freshjit.state.views.memory import CapturedArray, guard_layout, refuse_overlap, same_layout
from freshjit.state.views.numbers import NumberView, plain_number

if TYPE_CHECKING:
    from freshjit.state.capture import Capture


def view_jax(capture: Capture, value: Any, path: Path) -> Any:
    tracer = capture.input(value, path)
    return capture.remember(value, tracer, path)


def note_asked(capture: Capture, path: Path, array: Any, name: str) -> None:
    """Traced code asked a captured JAX array something that is not about its contents.

    Parameters:
        name: the method or attribute, one of those in ``_compat``.
    """
    place = path.attr(name)
    if name in ("delete", "unsafe_buffer_pointer"):
        raise UnsupportedStateError(
            f"{place}() was called{_at(user_line())}: a compiled program keeps neither the deletion of an "
            "array nor its address for later calls.\nCall it outside of the jitted function."
        )
    if name in ("is_deleted", "is_ready", "on_device_size_in_bytes"):
        capture.guard(place.to("call", ()), "value", getattr(array, name)())
    elif name == "committed":
        capture.guard(place, "value", array.committed)
    elif name == "format":
        capture.guard(place, "equal", array.format)
    else:  # it follows from where the array lies
        capture.guard(path.attr("sharding"), "equal", array.sharding)


def view_numpy(capture: Capture, value: np.ndarray[Any, Any], path: Path) -> Any:
    if type(value) is not np.ndarray:
        return array_copies.view_subclass(capture, value, path)
    if value.dtype == object:
        return array_copies.view_objects(capture, value, path)
    # Strings, dates and records cannot be inputs.
    if value.dtype.kind not in "biufc" or capture.seeing.plain_numpy:
        return array_copies.view_plain(capture, value, path)
    source = Source(capture, value, path)
    if capture.seeing.has_given(capture.by_key(path)):
        source.stand_for(capture.seeing.given_at(capture.by_key(path)))
    capture.mutable(source)
    capture.guard(path, "aval", (value.shape, value.dtype))
    return capture.remember(value, NumpyView(source, ()), path)


class Source(CapturedArray):
    """One captured NumPy array: its input once JAX wants it, its numbers once anybody else does."""

    def __init__(self, capture: Capture, original: np.ndarray[Any, Any], path: Path) -> None:
        self.capture, self.original, self.path = capture, original, path
        self.before = original.copy(order="K")
        self._numbers: np.ndarray[Any, Any] | None = None
        self._tracer: Any = None
        self._given = False
        self._log: list[tuple[Any, Any, SourceLine | None]] = []  # writes since the first traced one

    def stand_for(self, value: Any) -> None:
        """Be this value in place of the array's own contents."""
        self._tracer, self._given = jnp.asarray(value), True
        if not isinstance(value, _compat.Tracer):
            self._numbers = np.array(value)
            self.before = self._numbers.copy()

    @property
    def used(self) -> bool:
        """Whether anybody has asked for the contents, or changed them."""
        return self._tracer is not None or self._numbers is not None or bool(self._log)

    def numbers(self) -> np.ndarray[Any, Any]:
        if self._log:
            raise CapturedNumpyWriteError(
                f"the NumPy array {self.path} is read as NumPy{_at(user_line())} after a traced value "
                f"has been written into it{_at(self._log[0][2])}: NumPy can only hold concrete numbers."
                f"\n{self.advice()}"
            )
        if self._numbers is None and self._given:
            return np.asarray(self._tracer)  # JAX says that a traced value has no numbers
        if self._numbers is None:
            self.capture.needs_content(self.path, self.before)
            guard_layout(self.capture, self.original, self.path)
            self._numbers = same_layout(self.original)
            self._numbers[...] = self.before  # which another thread may have changed
        return self._numbers

    def concrete(self) -> np.ndarray[Any, Any] | None:
        """The array in the hands of NumPy code, if there is one."""
        return self._numbers

    def is_numbers(self, array: Any) -> bool:
        """Whether it is the concrete array that stands for this one."""
        return array is not None and array is self._numbers

    def tracer(self) -> Any:
        if self.changed() or self.capture.width_differs(self.original.dtype):
            return jnp.asarray(self.numbers().copy())
        if self._tracer is None:
            with jax.ensure_compile_time_eval():
                device_array = jnp.asarray(self.before)
            self._tracer = self.capture.input(self.before, self.path, device_array)
        value = self._tracer
        for key, new, _ in self._log:
            value = value.at[key].set(jnp.asarray(new).astype(value.dtype))
        return value

    def write(self, steps: tuple[Any, ...], key: Any, value: Any) -> None:
        """``array[key] = value``; a traced value is kept apart and written at the commit."""
        traced = self._given and self._numbers is None
        if not (traced or self._log or _contains_jax((key, value))):
            target = self.numbers()
            for step in steps:
                target = target[step]
            target[to_plain(key)] = to_plain(value)
            return
        if steps or self.changed():
            raise CapturedNumpyWriteError(
                f"a traced value was written into {'a slice of ' if steps else ''}the NumPy array {self.path}"
                f"{_at(user_line())}{'' if steps else ' after concrete ones'}: NumPy can only hold concrete "
                f"numbers.\n{self.advice()}"
            )
        self._log.append((_kept(to_plain(key)), _kept(to_jax(value)), user_line()))

    def advice(self) -> str:
        return (
            f"Make {self.path} a jax array (jnp.asarray) and assign a new one: "
            f"{self.path} = {self.path}.at[...].set(...)."
        )

    def changed(self) -> bool:
        return self._numbers is not None and self._numbers.tobytes() != self.before.tobytes()

    # -- Mutable --------------------------------------------------------------------------------

    def writes(self, capture: Capture) -> Iterator[Write]:
        if self._log or self.changed():
            refuse_overlap(capture, self)
        if self._log:
            for key, value, where in self._log:
                yield Write(self.path, "fillitem", None, (key, value), where)
        elif self.changed():
            yield Write(self.path, "fill", None, self.numbers().copy(), user_line())

    def start(self) -> Any:
        return None, []

    def snapshot(self) -> Any:
        return None if self._numbers is None else self._numbers.copy(), list(self._log)

    def restore(self, snapshot: Any) -> None:
        numbers, self._log = snapshot
        if self._numbers is not None:
            self._numbers[...] = self.before if numbers is None else numbers

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        return {"log": self._log[len(snapshot[1]) :]} if len(self._log) > len(snapshot[1]) else {}

    def apply(self, changes: dict[Any, Any]) -> None:
        self._log.extend(tuple(entry) for entry in changes.get("log", ()))

    def content(self, key: Any) -> Any:
        return self.snapshot()

    def place(self, key: Any) -> Path:
        return self.path


def _at(where: SourceLine | None) -> str:
    return f" at {where}" if where else ""


def _kept(value: Any) -> Any:
    """What a write holds until the commit: arrays and lists could change meanwhile."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return type(value)(map(_kept, value)) if type(value) in (list, tuple) else value


def _is_jax(value: Any) -> bool:
    return isinstance(value, (jax.Array, _compat.Tracer))


def to_plain(value: Any) -> Any:
    """The same with every view replaced by its numbers."""
    kind = type(value)
    if kind is NumpyView:
        return value.numbers()
    if kind is NumberView:
        return value.concrete()
    if kind in (list, tuple):
        return kind(map(to_plain, value))
    if kind is dict:
        return {k: to_plain(v) for k, v in value.items()}
    return value


def to_jax(value: Any, numbers: bool = True) -> Any:
    """The same with every view replaced by its tracer.

    Parameters:
        numbers: views of numbers, too.
    """
    kind = type(value)
    if kind is NumberView:
        return value.as_operand() if numbers else value
    if kind is NumpyView:
        return value.__jax_array__()
    if kind in (list, tuple):
        new = [to_jax(v, numbers) for v in value]
        return value if all(a is b for a, b in zip(new, value, strict=True)) else kind(new)
    if kind is dict:
        changed = {k: to_jax(v, numbers) for k, v in value.items()}
        return value if all(changed[k] is value[k] for k in value) else changed
    return value


def leaves_to_jax(value: Any) -> Any:
    """The same pytree, of whatever nodes, with every view replaced by its tracer.

    For what JAX takes apart anyway: operands of loops, and what functions return to its transforms.
    """
    leaves, tree = jax.tree_util.tree_flatten(value)
    if not any(type(leaf) in STAND_INS for leaf in leaves):
        return value
    return jax.tree_util.tree_unflatten(tree, list(map(to_jax, leaves)))


def to_index(key: Any) -> Any:
    """An index into a JAX array: integer views may be traced, masks must be concrete as always."""
    if isinstance(key, tuple):
        return tuple(map(to_index, key))
    if type(key) is NumpyView:
        return key.numbers() if key.dtype == bool else key.__jax_array__()
    if type(key) is NumberView:
        return key.__jax_array__()
    if isinstance(key, slice):
        return slice(plain_number(key.start), plain_number(key.stop), plain_number(key.step))
    return key


def _binary(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    function: Any = getattr(operator, name)

    def operate(self: NumpyView, other: Any) -> Any:
        if _is_jax(other):
            mine = self.__jax_array__()
            return function(other, mine) if reflected else function(mine, other)
        mine, theirs = self.numbers(), to_plain(other)
        return function(theirs, mine) if reflected else function(mine, theirs)

    return operate


def _in_place(name: str, plain_name: str = "") -> Callable[[Any, Any], Any]:
    function: Any = getattr(operator, name)

    plain: Any = getattr(operator, plain_name or name[1:])

    def operate(self: NumpyView, other: Any) -> Any:
        if _is_jax(other):
            self[...] = plain(self.__jax_array__(), other)
        else:
            function(self.numbers(), to_plain(other))
        return self

    return operate


def _unary(name: str) -> Callable[[Any], Any]:
    def operate(self: NumpyView) -> Any:
        return getattr(self.numbers(), name)()

    return operate


class NumpyView:
    """What traced code holds in place of a captured NumPy array (or of a basic slice of one)."""

    __slots__ = ("__weakref__", "_source", "_steps")
    __array_priority__ = 50  # above NumPy's own arrays, below JAX's

    def __init__(self, source: Source, steps: tuple[Any, ...]) -> None:
        self._source, self._steps = source, steps

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return np.ndarray  # isinstance(x, np.ndarray) is True, as it is for the real one

    def place(self) -> tuple[Path, tuple[Any, ...]]:
        """Where the real array is, and the basic indices that lead from it to this view."""
        return self._source.path, self._steps

    def numbers(self) -> np.ndarray[Any, Any]:
        """The concrete array; the program becomes valid for these contents only."""
        value = self._source.numbers()
        for step in self._steps:
            value = value[step]
        return value

    def stands_for(self, array: Any) -> bool:
        return not self._steps and self._source.is_numbers(array)

    def __jax_array__(self) -> Any:
        value = self._source.tracer()
        for step in self._steps:
            value = value[step]
        return value

    def _still(self) -> np.ndarray[Any, Any]:
        """The array for questions about its form, which need no contents."""
        value = self._source.before
        for step in self._steps:
            value = value[step]
        return value

    shape = property(lambda self: self._still().shape)
    dtype = property(lambda self: self._still().dtype)
    ndim = property(lambda self: self._still().ndim)
    size = property(lambda self: self._still().size)
    nbytes = property(lambda self: self._still().nbytes)
    itemsize = property(lambda self: self._still().itemsize)
    T = property(lambda self: self.numbers().T)

    def __len__(self) -> int:
        return len(self._still())

    def __getattr__(self, name: str) -> Any:
        if name in ("__array_interface__", "__array_struct__"):
            raise AttributeError(
                name
            )  # NumPy would make another array of it; ``__array__`` gives the same one
        return getattr(self.numbers(), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.numbers(), dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out", ())
        for target in out:
            if type(target) is NumpyView:
                target.refuse_traced(inputs)
        if method == "__call__" and any(map(_is_jax, inputs)) and not out:
            return getattr(jnp, ufunc.__name__)(*map(to_jax, inputs), **kwargs)
        return _given_back(getattr(ufunc, method)(*map(to_plain, inputs), **to_plain(kwargs)), out)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        out = kwargs.get("out", ())
        result = function(*to_plain(args), **to_plain(kwargs))
        return _given_back(result, out if isinstance(out, tuple) else (out,))

    def __getitem__(self, key: Any) -> Any:
        if _contains_jax(key):
            return self.__jax_array__()[key]
        if _is_basic(key) and self._still()[key].ndim > 0:
            return NumpyView(self._source, (*self._steps, key))
        return self.numbers()[to_plain(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._source.write(self._steps, key, value)

    def refuse_traced(self, values: Any) -> None:
        if _contains_jax(values):
            raise CapturedNumpyWriteError(
                f"a NumPy function was to write a traced value into {self._source.path}{_at(user_line())}: "
                f"NumPy can only hold concrete numbers.\n{self._source.advice()}"
            )

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return to_plain(value) in self.numbers()

    def __repr__(self) -> str:
        return repr(self.numbers())

    def __str__(self) -> str:
        return str(self.numbers())

    def __format__(self, spec: str) -> str:
        return format(self.numbers(), spec)

    def __bytes__(self) -> bytes:
        return self.numbers().tobytes()

    __hash__ = None  # pyright: ignore[reportAssignmentType] - arrays are not hashable

    __bool__ = _unary("__bool__")
    __int__ = _unary("__int__")
    __float__ = _unary("__float__")
    __complex__ = _unary("__complex__")
    __index__ = _unary("__index__")
    __neg__ = _unary("__neg__")
    __pos__ = _unary("__pos__")
    __abs__ = _unary("__abs__")
    __invert__ = _unary("__invert__")

    __eq__ = _binary("eq", False)  # pyright: ignore[reportAssignmentType]
    __ne__ = _binary("ne", False)  # pyright: ignore[reportAssignmentType]
    __lt__ = _binary("lt", False)
    __le__ = _binary("le", False)
    __gt__ = _binary("gt", False)
    __ge__ = _binary("ge", False)
    __add__, __radd__, __iadd__ = _binary("add", False), _binary("add", True), _in_place("iadd")
    __sub__, __rsub__, __isub__ = _binary("sub", False), _binary("sub", True), _in_place("isub")
    __mul__, __rmul__, __imul__ = _binary("mul", False), _binary("mul", True), _in_place("imul")
    __matmul__, __rmatmul__ = _binary("matmul", False), _binary("matmul", True)
    __imatmul__ = _in_place("imatmul")
    __truediv__, __rtruediv__ = _binary("truediv", False), _binary("truediv", True)
    __itruediv__ = _in_place("itruediv")
    __floordiv__, __rfloordiv__ = _binary("floordiv", False), _binary("floordiv", True)
    __ifloordiv__ = _in_place("ifloordiv")
    __mod__, __rmod__, __imod__ = _binary("mod", False), _binary("mod", True), _in_place("imod")
    __pow__, __rpow__, __ipow__ = _binary("pow", False), _binary("pow", True), _in_place("ipow")
    __and__, __rand__, __iand__ = _binary("and_", False), _binary("and_", True), _in_place("iand", "and_")
    __or__, __ror__, __ior__ = _binary("or_", False), _binary("or_", True), _in_place("ior", "or_")
    __xor__, __rxor__, __ixor__ = _binary("xor", False), _binary("xor", True), _in_place("ixor")
    __lshift__, __rlshift__ = _binary("lshift", False), _binary("lshift", True)
    __rshift__, __rrshift__ = _binary("rshift", False), _binary("rshift", True)

    def __divmod__(self, other: Any) -> Any:
        return divmod(self.numbers(), to_plain(other))

    def __copy__(self) -> Any:
        return self.numbers().copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.numbers().copy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.numbers().__reduce_ex__(protocol)


def _given_back(result: Any, out: tuple[Any, ...]) -> Any:
    """What a function of NumPy's returns: the stand-in that it was given for its result, if it was."""
    if isinstance(result, tuple):
        parts = [_given_back(part, out) for part in result]
        same = all(a is b for a, b in zip(parts, result, strict=True))
        return result if same else tuple(parts)  # it may be a named one, such as that of np.linalg.svd
    views = (target for target in out if type(target) is NumpyView and target.stands_for(result))
    return next(views, result)


STAND_INS = (NumpyView, NumberView)


def _contains_jax(key: Any) -> bool:
    if isinstance(key, tuple) or type(key) is list:
        return any(map(_contains_jax, key))
    if isinstance(key, slice):
        return any(map(_contains_jax, (key.start, key.stop, key.step)))
    return _is_jax(key)


def _is_basic(key: Any) -> bool:
    if isinstance(key, tuple):
        return all(map(_is_basic, key))
    return key is None or key is Ellipsis or isinstance(key, slice) or type(key) is int
