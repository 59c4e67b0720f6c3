"""Views of arrays: tracers for JAX arrays, and for NumPy arrays a stand-in that turns into one.

A NumPy array must behave as NumPy in NumPy code and become an input of the program where it meets
JAX. ``NumpyView`` is not an ndarray underneath, so nothing, C code included, can get at the numbers
without asking it: if it is asked by JAX it answers with a tracer; if by anybody else with the
numbers, and the program is then valid for these numbers only.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from freshjit import _compat
from freshjit.errors import CapturedNumpyWriteError, UnsupportedStateError
from freshjit.state.contents import set_shape
from freshjit.state.guards import SourceLine, user_line
from freshjit.state.hooks import can_hook
from freshjit.state.path import Path
from freshjit.state.record import Write
from freshjit.state.views import objects
from freshjit.state.views.numbers import NumberView, plain_number

if TYPE_CHECKING:
    from freshjit.state.capture import Capture


def view_jax(capture: Capture, value: Any, path: Path) -> Any:
    tracer = capture.input(value, path)
    return capture.remember(value, tracer, path)


def view_numpy(capture: Capture, value: np.ndarray[Any, Any], path: Path) -> Any:
    if type(value) is not np.ndarray:
        return _view_subclass(capture, value, path)
    if value.dtype == object:
        return _view_objects(capture, value, path)
    # Strings, dates and records cannot be inputs.
    if value.dtype.kind not in "biufc" or capture.seeing.plain_numpy:
        _refuse_objects_in_records(value, path)
        capture.guard(path, "type", np.ndarray)
        capture.guard(path, "content", np.array(value))
        return _watched(capture, PlainCopy(value, same_layout(value), path))
    source = Source(capture, value, path)
    if capture.seeing.has_given(capture.by_key(path)):
        source.stand_for(capture.seeing.given_at(capture.by_key(path)))
    capture.mutable(source)
    capture.guard(path, "aval", (value.shape, value.dtype))
    return capture.remember(value, NumpyView(source, ()), path)


def _watched(capture: Capture, copy: PlainCopy) -> Any:
    guard_layout(capture, copy.original, copy.path)
    capture.mutable(copy)
    return capture.remember(copy.original, copy.view, copy.path)


def _view_subclass(capture: Capture, value: np.ndarray[Any, Any], path: Path) -> Any:
    """A masked array, a matrix or one of the user's own: a copy of the same class, with its numbers."""
    if value is np.ma.masked:  # a mark, of which there is one
        capture.guard(path, "is", value)
        return capture.remember(value, value, path)
    _refuse_objects_in_records(value, path)
    if value.dtype == object:
        _refuse_objects(value, path)
    capture.guard(path, "type", type(value))
    if isinstance(value, np.ma.MaskedArray):
        capture.guard(path.attr("data"), "content", np.array(value.data))
        if value.mask is np.ma.nomask:
            capture.guard(path.attr("mask"), "value", np.ma.nomask)
        else:
            capture.guard(path.attr("mask"), "content", np.array(value.mask))
        for name in ("fill_value", "hardmask"):
            capture.guard(path.attr(name), "value", getattr(value, name))
        return _watched(capture, MaskedCopy(value, value.copy(), path))
    capture.guard(path, "content", np.array(value))
    copy = PlainCopy(value, value.copy(order="K"), path)
    if not can_hook(type(value)):
        return _watched(capture, copy)
    guard_layout(capture, value, path)
    capture.mutable(copy)
    return objects.adopt_object(capture, value, copy.view, path)  # attributes and methods like any object's


def _view_objects(capture: Capture, value: np.ndarray[Any, Any], path: Path) -> Any:
    """An array of objects is a container: its elements are seen one by one."""
    capture.guard(path, "type", np.ndarray)
    capture.guard(path.attr("dtype"), "value", value.dtype)
    capture.guard(path.attr("shape"), "value", value.shape)
    view = same_layout(value)
    capture.remember(value, view, path)
    for index in np.ndindex(value.shape):
        view[index] = capture.view(value[index], path.item(_plain_index(index)))
    guard_layout(capture, value, path)
    capture.mutable(ObjectsCopy(value, view, path))
    return view


def _plain_index(index: tuple[int, ...]) -> Any:
    return index[0] if len(index) == 1 else index


def _refuse_objects_in_records(value: np.ndarray[Any, Any], path: Path) -> None:
    if value.dtype.hasobject and value.dtype != object:
        _refuse_objects(value, path)


def _refuse_objects(value: np.ndarray[Any, Any], path: Path) -> None:
    where = user_line()
    raise UnsupportedStateError(
        f"{path} ({type(value).__name__}) is an array of {value.dtype}"
        f"{f' (read at {where})' if where else ''}: freshjit cannot see what the objects in it hold.\n"
        "Keep the objects in a list, a dict or a plain array of objects (dtype=object)."
    )


def guard_layout(capture: Capture, value: np.ndarray[Any, Any], path: Path) -> None:
    """NumPy code can tell in which order the elements lie (``ravel(order="K")``, ``flags``)."""
    if value.ndim > 1 and type(value) is np.ndarray:
        capture.guard(path.attr("strides"), "value", value.strides)


def same_layout(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy whose elements lie as those of the original do: a view of the one tells of one of the other."""
    copy = value.copy(order="K")
    if copy.strides == value.strides:
        return copy
    low, high = np.lib.array_utils.byte_bounds(value) if value.size else (0, 0)
    if value.dtype.hasobject or not value.size:
        return copy
    buffer = np.zeros(high - low, np.uint8)
    spread = np.ndarray(value.shape, value.dtype, buffer, _address(value) - low, value.strides)
    spread[...] = value
    return spread


class PlainCopy:
    """A captured NumPy array seen as a plain copy: of a kind that JAX does not know, or where a library
    would not take the stand-in."""

    used = True  # for all we know

    def __init__(self, original: Any, view: Any, path: Path) -> None:
        self.original, self.view, self.path = original, view, path
        self.before = view.copy()

    def writes(self, capture: Capture) -> Iterator[Write]:
        if self.view.dtype != self.before.dtype or self.view.size != self.before.size:
            raise CapturedNumpyWriteError(
                f"the NumPy array {self.path} was given another dtype or size in place.\n"
                f"Make a new array and assign it: {self.path} = ..."
            )
        changed = self.changed()
        if changed or self.view.shape != self.before.shape:
            _refuse_overlap(capture, self)
        if self.view.shape != self.before.shape:
            yield Write(self.path, "reshape", None, self.view.shape)
        if changed:
            yield from self.contents()

    def changed(self) -> bool:
        return self.view.tobytes() != self.before.tobytes()

    def contents(self) -> Iterator[Write]:
        yield Write(self.path, "fill", None, np.array(self.view))

    def concrete(self) -> Any:
        """The array in the hands of traced code."""
        return self.view

    def start(self) -> Any:
        return self.before

    def snapshot(self) -> Any:
        return self.view.copy()

    def restore(self, snapshot: Any) -> None:
        if self.view.shape != snapshot.shape:
            set_shape(self.view, snapshot.shape)
        self.view[...] = snapshot

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        return {}

    def apply(self, changes: dict[Any, Any]) -> None:
        pass

    def content(self, key: Any) -> Any:
        return self.snapshot()

    def place(self, key: Any) -> Path:
        return self.path


class MaskedCopy(PlainCopy):
    """A masked array: its data and its mask."""

    def changed(self) -> bool:
        now, before = self.view, self.before
        masks = np.ma.getmaskarray(now).tobytes() != np.ma.getmaskarray(before).tobytes()
        return masks or now.data.tobytes() != before.data.tobytes()

    def contents(self) -> Iterator[Write]:
        mask: Any = self.view.mask
        parts = np.array(self.view.data), None if mask is np.ma.nomask else np.array(mask)
        yield Write(self.path, "fillmasked", None, parts)

    def restore(self, snapshot: Any) -> None:
        self.view.data[...] = snapshot.data
        self.view.mask = snapshot.mask


class ObjectsCopy(PlainCopy):
    """An array of objects: each element by itself."""

    def changed(self) -> bool:
        return bool(self.changes(self.before))

    def contents(self) -> Iterator[Write]:
        for index, value in self.changes(self.before).items():
            yield Write(self.path, "setitem", index, value)

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        pairs = zip(np.ndindex(self.view.shape), self.view.flat, snapshot.flat, strict=True)
        return {_plain_index(index): new for index, new, old in pairs if new is not old}

    def apply(self, changes: dict[Any, Any]) -> None:
        for index, value in changes.items():
            self.view[index] = value

    def content(self, key: Any) -> Any:
        return self.view[key]

    def place(self, key: Any) -> Path:
        return self.path.item(key)


class RecordCopy(PlainCopy):
    """One record of an array by itself (``np.void``), which can be changed in place."""

    def contents(self) -> Iterator[Write]:
        yield Write(self.path, "fillrecord", None, self.view.copy())

    def restore(self, snapshot: Any) -> None:
        for name in snapshot.dtype.names:
            self.view[name] = snapshot[name]


def view_record(capture: Capture, value: np.void, path: Path) -> Any:
    capture.guard(path, "value", value.copy())
    copy = RecordCopy(value, value.copy(), path)
    capture.mutable(copy)
    return capture.remember(value, copy.view, path)


class Source:
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
        if self.changed():
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
            _refuse_overlap(capture, self)
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


@dataclass(frozen=True, slots=True)
class Layout:
    """How an array lies in the memory of another one."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    writeable: bool

    @staticmethod
    def of(array: np.ndarray[Any, Any], base: np.ndarray[Any, Any]) -> Layout:
        offset = _address(array) - _address(base)
        return Layout(offset, array.shape, array.strides, array.dtype, array.flags.writeable)

    def on(self, base: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The array that lies like this in the memory of ``base``."""
        array = np.asarray(_Window(base, self))
        return array if array.dtype == self.dtype else array.view(self.dtype)


class _Window:
    """Tells NumPy of memory, and keeps it alive."""

    def __init__(self, base: np.ndarray[Any, Any], layout: Layout) -> None:
        self._base = base
        readonly = not (layout.writeable and base.flags.writeable)
        self.__array_interface__ = {
            "data": (_address(base) + layout.offset, readonly),
            "shape": layout.shape,
            "strides": layout.strides,
            "typestr": layout.dtype.str,
            "version": 3,
        }


def _address(array: np.ndarray[Any, Any]) -> int:
    return array.__array_interface__["data"][0]


def owner_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array whose memory this one is a view of, if it is one."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class Captured(NamedTuple):
    """A captured NumPy array, and the one that traced code has been given in its place."""

    path: Path
    original: np.ndarray[Any, Any]
    array: np.ndarray[Any, Any]


def captured_by_owner(capture: Capture, owner: np.ndarray[Any, Any]) -> Captured | None:
    """The captured array whose stand-in lies in this memory."""
    for thing in capture.mutables:
        if isinstance(thing, (PlainCopy, Source)):
            array = thing.concrete()
            if isinstance(array, np.ndarray) and owner_of(array) is owner:
                return Captured(thing.path, thing.original, array)
    return None


def _refuse_overlap(capture: Capture, written: PlainCopy | Source) -> None:
    """Each captured array is a copy of its own: a write into one would not show in one of the same memory."""
    others = [m for m in capture.mutables if isinstance(m, (PlainCopy, Source)) and m.used]
    places = [(other.path, other.original) for other in others if other is not written]
    for path, original in (*places, *capture.argument_leaves.values()):
        if isinstance(original, np.ndarray) and np.shares_memory(written.original, original):
            raise CapturedNumpyWriteError(
                f"the NumPy array {written.path} is written and shares memory with {path}, which is "
                "read in the same call: the write would not be seen there.\n"
                "Use one of the two inside, and slice it there."
            )


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


def to_jax(value: Any) -> Any:
    """The same with every view replaced by its tracer."""
    kind = type(value)
    if kind is NumberView:
        return value.as_operand()
    if kind is NumpyView:
        return value.__jax_array__()
    if kind in (list, tuple):
        new = [to_jax(v) for v in value]
        return value if all(a is b for a, b in zip(new, value, strict=True)) else kind(new)
    if kind is dict:
        changed = {k: to_jax(v) for k, v in value.items()}
        return value if all(changed[k] is value[k] for k in value) else changed
    return value


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
        return tuple(_given_back(part, out) for part in result)
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
