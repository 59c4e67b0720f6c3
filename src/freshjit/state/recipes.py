"""Recipes: how to make a value again at each call, from the program's outputs and the live state.

After the run, everything that was written or returned is turned into a recipe: output number 3, the
object found at ``self.layers[0]``, a new list of two such things, a new instance of a class… New
objects made during the run are templates: each call makes its own.
"""

from __future__ import annotations

import array
import collections
import copyreg
import enum
import functools
import sys
import types
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from freshjit import _compat
from freshjit.errors import LeakedWriteError, UnsupportedStateError
from freshjit.state.assignment import code_of
from freshjit.state.contents import base_of
from freshjit.state.guards import SourceLine, at
from freshjit.state.held import Kept, held, may_die
from freshjit.state.hooks import can_hook, class_entry, slot_values, slots_of
from freshjit.state.libraries import is_user_class
from freshjit.state.path import Path, shown
from freshjit.state.values import is_plain, is_value_like
from freshjit.state.views import ecosystem, memory, stand_ins
from freshjit.state.views.arrays import NumpyView
from freshjit.state.views.namespaces import Namespace
from freshjit.state.views.numbers import NumberView
from freshjit.state.views.replacements import real_library_value

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["Builder", "Constant", "Host", "Make", "Output", "Recipe", "Reference", "Shared", "Slice"]


@dataclass(frozen=True, slots=True)
class Output:
    """Output number ``index`` of the compiled program."""

    index: int


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """The real thing at a path, as it was before the call."""

    path: Path


class Constant:
    """A value that cannot be changed, hence can be shared by all calls.

    Parameters:
        keep: hold it strongly. What the run itself has made nobody else may hold; what was there before
            lives as long as the user's program has it.
    """

    __slots__ = ("_held", "keep")
    __match_args__ = ("value", "keep")

    def __init__(self, value: Any, keep: bool = False) -> None:
        self.keep = keep or not may_die(value)
        self._held = Kept(value) if keep else held(value)

    @property
    def value(self) -> Any:
        return self._held()


@dataclass(frozen=True, eq=False, slots=True)
class Host:
    """A Python number that Python computes at each call, from numbers in state."""

    expression: NumberView


@dataclass(frozen=True, eq=False, slots=True)
class Slice:
    """A basic slice of the NumPy array at a path: it shares the array's memory."""

    path: Path
    steps: tuple[Any, ...]


@dataclass(eq=False, slots=True)
class Make:
    """A new object: created first, filled afterwards, so that cycles are possible.

    Attributes:
        kind: what to create: list, dict, set, deque, tuple, slice, array, object, reduced, cell, function.
        cls: its class as a Constant; for some kinds another recipe, or what the kind needs.
        parts: recipes, by position, key or name according to ``kind``.
    """

    kind: str
    cls: Any
    parts: list[tuple[Any, Any]]


@dataclass(frozen=True, eq=False, slots=True)
class Shared:
    """A ``Make`` that appears more than once: the same new object each time."""

    make: Make


_CONTAINERS = (list, dict, set, collections.deque)

Recipe = Output | Reference | Constant | Host | Slice | Make | Shared


class Builder:
    """Turns values of the run into recipes, and collects the program's outputs on the way."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._made: dict[int, tuple[Any, Any]] = {}
        self._output_index: dict[int, int] = {}
        self._unfilled: collections.deque[tuple[Make, Any, str, SourceLine | None]] = collections.deque()
        self._searched: list[type] = []
        self._weak: list[tuple[Make, Any]] = []
        self.outputs: list[Any] = []

    def build(self, value: Any, label: str, where: SourceLine | None) -> Recipe:
        """The recipe for ``value``; ``label`` and ``where`` say in errors what it was meant for."""
        recipe = self._build(value, label, where)
        # Not one inside the other: a linked list may be as long as it likes.
        while self._unfilled:
            self._fill(*self._unfilled.popleft())
        return recipe

    def finish(self) -> None:
        """All has been built: now it is known what weak references lead to."""
        for make, reference in self._weak:
            target = reference()
            entry, made = self._capture.original_of(target), self._made.get(id(target))
            if entry is not None:
                make.parts = [(None, Reference(entry.path))]
            elif made is not None and isinstance(made[1], Make):
                make.parts = [(None, Shared(made[1]))]
            else:  # it dies with the run, or it was there before
                make.kind, make.cls = "constant", Constant(reference)

    def _build(self, value: Any, label: str, where: SourceLine | None) -> Recipe:
        """The same, but for the contents of new objects in it."""
        capture = self._capture
        if is_plain(value):
            return Constant(value)
        if type(value) is NumberView:
            return Host(value)
        if type(value) is NumpyView:
            path, steps = value.place()
            return Slice(path, steps) if steps else Reference(path)
        entry = capture.original_of(value)
        if entry is not None:
            return Reference(entry.path)
        if isinstance(value, _compat.Tracer):
            return self._output(value, label, where)
        real = real_library_value(capture, value)
        if real is not None:
            return Constant(real)
        done = self._made.get(id(value))
        if done is not None and done[0] is value:
            return Shared(done[1]) if isinstance(done[1], Make) else done[1]
        recipe = self._new(value, label, where)
        if id(value) not in self._made:
            self._made[id(value)] = (value, recipe)
        return recipe

    def output_index(self, value: Any) -> int | None:
        """Which output of the program ``value`` is, if it is one."""
        return self._output_index.get(id(value)) if isinstance(value, _compat.Tracer) else None

    def _output(self, tracer: Any, label: str, where: SourceLine | None) -> Recipe:
        capture = self._capture
        assert capture.recorder is not None
        if not capture.recorder.owns(tracer):
            line = at(where, "written at")
            raise LeakedWriteError(
                f"{label} was given a value that belongs to a JAX transform inside the jitted "
                f"function{line}: {tracer!r}.\n"
                "It has no meaning once the transform has returned. Return it from the transformed "
                "function (for jax.grad: has_aux=True) and assign it outside."
            )
        array = capture.recorder.is_input(tracer)
        if array is not None:
            known = capture.original_of(tracer)
            if known is not None:
                return Reference(known.path)
        index = self._output_index.get(id(tracer))
        if index is None:
            index = self._output_index[id(tracer)] = len(self.outputs)
            self.outputs.append(tracer)
            capture.keep(tracer)
        return Output(index)

    def _new(self, value: Any, label: str, where: SourceLine | None) -> Recipe:
        kind = type(value)
        if isinstance(value, type):
            return self._class(value, label, where)
        if isinstance(value, np.void):
            return Make("array", value.copy(), [])  # a record can be changed in place
        if isinstance(value, (jax.Array, np.generic, types.ModuleType)):
            return Constant(value)
        if kind is slice:
            parts = [(name, self._build(getattr(value, name), label, where)) for name in _OF_SLICE]
            return Constant(value) if _all_kept(parts) else Make("slice", None, parts)
        if kind is types.BuiltinFunctionType and not self._is_method_of_container(value):
            return Constant(value)
        if isinstance(value, enum.Enum):
            return Constant(value, self._capture.has_made(kind))
        if is_value_like(value) and not stand_ins.found(self._capture, value):
            return Constant(value, True)
        if kind is np.ndarray:
            array = self._array(value, label, where)
            if array is not None:
                return array
        if kind is weakref.ref and getattr(value, "__callback__", None) is None:
            self._weak.append((Make("weakref", None, []), value))
            return self._weak[-1][0]
        # A subclass of a namedtuple has a __dict__ as well, mostly with nothing in it.
        if kind in (tuple, frozenset) or (isinstance(value, tuple) and not getattr(value, "__dict__", None)):
            items = tuple.__iter__(value) if isinstance(value, tuple) else value
            parts = [(i, self._build(v, f"{label}[{i}]", where)) for i, v in enumerate(items)]
            if _all_kept(parts) and not can_hook(kind):
                return Constant(value, True)
            return Make(
                "tuple" if isinstance(value, tuple) else "frozenset", self._class(kind, label, where), parts
            )
        if isinstance(value, _IMMUTABLE) and not can_hook(kind):
            return Constant(value, True)
        if kind.__module__.startswith("freshjit.state"):
            raise stand_ins.refusal(label, f"a {kind.__name__} of freshjit's own", where)
        maker = ecosystem.maker(value)
        if maker is not None:
            return Make("reduced", Constant(maker), [("call", [])])
        make = Make("", self._class(kind, label, where), [])
        self._made[id(value)] = (value, make)
        self._capture.keep(value)
        self._unfilled.append((make, value, label, where))
        return make

    def _class(self, cls: type, label: str, where: SourceLine | None) -> Constant:
        """A class; one that the run has made is the same for all calls: nothing of the run may be in it."""
        if cls is NumpyView:
            cls = np.ndarray  # NumPy keeps the class of what it has made a masked array of
        made_here = self._capture.has_made(cls)
        if made_here and cls not in self._searched:
            self._searched.append(cls)
            inside = stand_ins.found(self._capture, cls)
            if inside is not None:
                what = f"a class made during the call ({cls.__qualname__}: {inside})"
                raise stand_ins.refusal(label, what, where)
        return Constant(cls, made_here)

    def _array(self, value: Any, label: str, where: SourceLine | None) -> Recipe | None:
        """A NumPy array: a captured one, a view of one, a new one, or a view of a new one."""
        owner = memory.owner_of(value)
        known = memory.captured_by_owner(self._capture, owner)
        if known is not None:
            if known.array is value:
                return Reference(known.path)
            if value.size and known.array.strides == known.original.strides:
                self._capture.guard(known.path.attr("strides"), "value", known.original.strides)
                layout = memory.Layout.of(value, known.array)
                return Make("view", layout, [("base", Reference(known.path))])
        if value.dtype.hasobject:
            return None
        contiguous = owner.flags.c_contiguous or owner.flags.f_contiguous
        if owner is value or type(owner) is not np.ndarray or not contiguous or not value.size:
            return Make("array", value.copy(order="K"), [])
        base = self._build(owner, label, where)
        return Make("view", memory.Layout.of(value, owner), [("base", base)])

    def _is_method_of_container(self, function: types.BuiltinFunctionType) -> bool:
        """Whether it is ``items.append`` or the like, of a container that is another one at each call."""
        owner = function.__self__
        return isinstance(owner, _CONTAINERS) or self._capture.original_of(owner) is not None

    def _fill(self, make: Make, value: Any, label: str, where: SourceLine | None) -> None:
        kind = type(value)
        if isinstance(value, (*_IMMUTABLE, frozenset)):
            self._fill_immutable(make, value, label, where)
        elif kind is np.ndarray:
            make.kind, make.cls = "objects", value.shape
            make.parts = [(i, self._build(v, label, where)) for i, v in enumerate(value.flat)]
        elif kind in (list, set, collections.deque):
            make.kind = "list" if kind is list else "set" if kind is set else "deque"
            if kind is collections.deque:
                make.cls = value.maxlen
            make.parts = [(i, self._build(v, f"{label}[{i}]", where)) for i, v in enumerate(value)]
        elif kind in (dict, collections.OrderedDict):
            make.kind = "dict"
            make.parts = self._pairs(value, label, where)
        elif kind is collections.defaultdict:
            make.kind = "defaultdict"
            make.cls = self._build(value.default_factory, label, where)
            make.parts = self._pairs(value, label, where)
        elif kind is types.FunctionType:
            self._fill_function(make, value, label, where)
        elif kind is types.CellType:
            make.kind = "cell"
            try:
                make.parts = [(None, self._build(value.cell_contents, label, where))]
            except ValueError:
                make.parts = []
        elif kind is types.MethodType:
            make.kind = "method"
            make.parts = [
                (0, self._build(value.__func__, label, where)),
                (1, self._build(value.__self__, label, where)),
            ]
        elif kind is functools.partial:
            make.kind = "partial"
            make.parts = [
                (0, self._build(value.func, label, where)),
                (1, self._build(value.args, label, where)),
                (2, self._build(value.keywords, label, where)),
            ]
        elif kind is types.SimpleNamespace:
            make.kind = "namespace"
            make.parts = [(n, self._build(v, f"{label}.{n}", where)) for n, v in vars(value).items()]
        elif isinstance(value, BaseException):
            self._fill_exception(make, value, label, where)
        elif _is_what_it_holds(kind):
            self._fill_object(make, value, label, where)
        else:
            self._fill_reduced(make, value, label, where)

    def _is_known(self, value: Any) -> bool:
        """Whether something else leads to this as well."""
        made = self._made.get(id(value))
        return self._capture.original_of(value) is not None or (made is not None and made[0] is value)

    def _pairs(self, value: Any, label: str, where: SourceLine | None) -> list[tuple[Any, Any]]:
        return [
            (self._build(k, label, where), self._build(v, f"{label}[{shown(k)}]", where))
            for k, v in base_of(value).items(value)  # an OrderedDict has an order that dict does not see
        ]

    def _fill_object(self, make: Make, value: Any, label: str, where: SourceLine | None) -> None:
        kind = type(value)
        contents: list[tuple[str, Any]] = []
        if isinstance(value, dict):
            contents = [("dict", self._pairs(value, label, where))]
        elif isinstance(value, (list, collections.deque)):
            items = enumerate(base_of(value).__iter__(value))
            contents = [("list", [self._build(v, f"{label}[{i}]", where) for i, v in items])]
            if isinstance(value, collections.deque):
                contents.append(("base", self._build(collections.deque(maxlen=value.maxlen), label, where)))
        elif isinstance(value, set):
            contents = [("base", self._build(set(set.__iter__(value)), label, where))]
        elif isinstance(value, (bytearray, array.array)):
            contents = [("base", self._build(_plain_buffer(value), label, where))]
        elif not _made_by_python(kind):
            raise UnsupportedStateError(
                f"{label} was given a new {kind.__module__}.{kind.__qualname__}, made during the call"
                f"{at(where, 'written at')}, which freshjit cannot make again at each call.\n"
                "Create it outside the jitted function, or keep its contents in plain attributes."
            )
        make.kind = "object"
        make.parts = self._attributes(value, label, where) + contents

    def _fill_immutable(self, make: Make, value: Any, label: str, where: SourceLine | None) -> None:
        """An instance of the user's own kind of string, tuple…: the class can have attributes."""
        if isinstance(value, (tuple, frozenset)):
            base = base_of(value)
            plain: Any = base(base.__iter__(value))
        else:
            kind: Any = next(kind for kind in _IMMUTABLE if isinstance(value, kind))
            plain = kind(*kind.__getnewargs__(value))
        make.kind = "object"
        make.parts = [("base", self._build(plain, label, where))]
        make.parts += self._attributes(value, label, where)

    def _fill_exception(self, make: Make, value: BaseException, label: str, where: SourceLine | None) -> None:
        """An exception, which may hold other things than its ``__init__`` was given; no traceback."""
        make.kind = "object"
        parts: list[tuple[str, Any]] = []
        if isinstance(value, BaseExceptionGroup):
            group: Any = value.message, value.exceptions
            parts.append(("base", self._build(group, label, where)))
        for name in _OF_EXCEPTION:
            held = BaseException.__dict__[name].__get__(value)
            parts.append(("slot", (name, self._build(held, f"{label}.{name}", where))))
        members = slots_of(type(value))
        for part in self._attributes(value, label, where):
            if part[0] != "slot" or not _is_there_anyway(members[part[1][0]], value):
                parts.append(part)
        make.parts = parts

    def _attributes(self, value: Any, label: str, where: SourceLine | None) -> list[tuple[str, Any]]:
        with self._capture.paused():
            namespace: Any = getattr(value, "__dict__", {})
            attributes = list(namespace.items())
            slots = list(slot_values(value).items())
        parts: list[tuple[str, Any]] = []
        if self._is_known(namespace):  # self.__dict__ = self, or a dict that something else has
            parts, attributes = [("own", self._build(namespace, f"{label}.__dict__", where))], []
        for kind, found in (("attr", attributes), ("slot", slots)):
            parts += [(kind, (n, self._build(v, f"{label}.{n}", where))) for n, v in found]
        return parts

    def _fill_reduced(self, make: Make, value: Any, label: str, where: SourceLine | None) -> None:
        try:
            with self._capture.paused():
                reduced = value.__reduce_ex__(4)
        except Exception as error:
            raise UnsupportedStateError(
                f"{label} was given a new {type(value).__qualname__}, made during the call"
                f"{at(where, 'written at')}, which freshjit cannot make again at each call ({error}).\n"
                "Create it outside the jitted function."
            ) from error
        if isinstance(reduced, str):
            home = sys.modules.get(getattr(value, "__module__", ""))
            there_before = getattr(home, reduced, None) is value
            make.kind, make.cls = "constant", Constant(value, not there_before)
            return
        function, args, *rest = reduced
        make.kind = "reduced"
        if function is copyreg.__newobj__:  # pyright: ignore[reportAttributeAccessIssue]
            make.cls = self._build(args[0], label, where)
            args = args[1:]
            make.parts = [("new", [self._build(a, label, where) for a in args])]
        else:
            make.cls = self._build(function, label, where)
            make.parts = [("call", [self._build(a, label, where) for a in args])]
        state, items, pairs = (*rest, None, None, None)[:3]
        if state is not None:
            make.parts.append(("state", self._build(state, label, where)))
        if items is not None:
            make.parts.append(("extend", [self._build(i, label, where) for i in items]))
        if pairs is not None:
            made = [(self._build(k, label, where), self._build(v, label, where)) for k, v in pairs]
            make.parts.append(("update", made))

    def _fill_function(self, make: Make, value: Any, label: str, where: SourceLine | None) -> None:
        make.kind = "function"
        namespace: Any = value.__globals__
        real_globals = namespace.real if isinstance(namespace, Namespace) else namespace
        make.cls = (code_of(value), real_globals, value.__name__)
        cells = value.__closure__ or ()
        make.parts = [
            ("closure", [self._build(c, label, where) for c in cells]),
            ("defaults", self._build(value.__defaults__, label, where)),
            ("kwdefaults", self._build(value.__kwdefaults__, label, where)),
            ("dict", self._pairs(value.__dict__, label, where)),
            ("qualname", Constant(value.__qualname__)),
        ]


_OF_SLICE = ("start", "stop", "step")
_IMMUTABLE = (int, float, complex, str, bytes, tuple)
_FILLED = (dict, list, set, collections.deque, bytearray, array.array)
# In this order: giving it a cause says that the context is not to be shown.
_OF_EXCEPTION = ("args", "__cause__", "__context__")


def _all_kept(parts: list[tuple[Any, Any]]) -> bool:
    return all(isinstance(part, Constant) and part.keep for _, part in parts)


def _is_what_it_holds(cls: type) -> bool:
    """Whether an instance is made again from what it holds, and not as the class wants itself copied.

    What the user's own class does for ``copy`` and ``pickle`` (leave something out, count, call ``__init__``)
    has not happened to the object.
    """
    if class_entry(cls, "__reduce_ex__") is object.__reduce_ex__ and cls.__reduce__ is object.__reduce__:
        return True
    return is_user_class(cls) and (issubclass(cls, _FILLED) or _made_by_python(cls))


def _is_there_anyway(member: types.MemberDescriptorType, value: BaseException) -> bool:
    """Whether a new exception has this already, or nothing at this place."""
    if can_hook(member.__objclass__):
        return False
    return member.__get__(value) is None or member.__objclass__ is BaseExceptionGroup


def _plain_buffer(value: Any) -> Any:
    contents = bytes(memoryview(value))
    return array.array(value.typecode, contents) if isinstance(value, array.array) else bytearray(contents)


def _made_by_python(cls: type) -> bool:
    """Whether instances hold nothing but attributes, so that a bare one can be made and filled.

    None is made to find out: the class may have a ``__del__``.
    """
    written_in_c = (base for base in _bases(cls) if not base.__flags__ & _HEAP_TYPE or _made_by_c(base))
    return next(written_in_c, None) is object and not cls.__flags__ & _NEVER_BARE


def _bases(cls: type | None) -> Iterator[type]:
    while cls is not None:
        yield cls
        cls = cls.__base__


def _made_by_c(cls: type) -> bool:
    return isinstance(cls.__dict__.get("__new__"), types.BuiltinFunctionType)


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_NEVER_BARE = 1 << 20 | 1 << 7  # Py_TPFLAGS_IS_ABSTRACT, Py_TPFLAGS_DISALLOW_INSTANTIATION
