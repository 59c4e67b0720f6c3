"""Recipes: how to make a value again at each call, from the program's outputs and the live state.

After the run, everything that was written or returned is turned into a recipe: output number 3, the
object found at ``self.layers[0]``, a new list of two such things, a new instance of a class… New
objects made during the run are templates: each call makes its own.
"""

from __future__ import annotations

import collections
import copyreg
import functools
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from freshjit import _compat
from freshjit.errors import LeakedWriteError, UnsupportedStateError
from freshjit.state.assignment import code_of
from freshjit.state.guards import SourceLine
from freshjit.state.held import held
from freshjit.state.hooks import class_entry, slot_values
from freshjit.state.path import Path
from freshjit.state.values import is_plain, is_value_like
from freshjit.state.views import arrays, ecosystem
from freshjit.state.views.arrays import NumpyView
from freshjit.state.views.modules import Namespace, real_library_value
from freshjit.state.views.numbers import NumberView

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = [
    "Builder",
    "Constant",
    "Copy",
    "Host",
    "Make",
    "Output",
    "Recipe",
    "Reference",
    "Shared",
    "Slice",
    "View",
]


@dataclass(frozen=True, slots=True)
class Output:
    """Output number ``index`` of the compiled program."""

    index: int


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """The real thing at a path, as it was before the call."""

    path: Path


class Constant:
    """A value that cannot be changed, hence can be shared by all calls."""

    __slots__ = ("_held",)
    __match_args__ = ("value",)

    def __init__(self, value: Any) -> None:
        self._held = held(value)

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


@dataclass(frozen=True, eq=False, slots=True)
class Copy:
    """A fresh copy of a concrete NumPy array."""

    array: Any


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """A NumPy array that shares the memory of another one, which a recipe makes."""

    base: Any
    layout: arrays.Layout


@dataclass(eq=False, slots=True)
class Make:
    """A new object: created first, filled afterwards, so that cycles are possible.

    Attributes:
        kind: what to create: list, dict, set, deque, tuple, object, reduced, cell, function.
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

Recipe = Output | Reference | Constant | Host | Slice | Copy | View | Make | Shared

# Recipes that each stand for one thing, however often it appears.
_WHOLE = (Constant, Copy, Reference, View)


class Builder:
    """Turns values of the run into recipes, and collects the program's outputs on the way."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._made: dict[int, tuple[Any, Any]] = {}
        self._output_index: dict[int, int] = {}
        self.outputs: list[Any] = []

    def build(self, value: Any, label: str, where: SourceLine | None) -> Recipe:
        """The recipe for ``value``; ``label`` and ``where`` say in errors what it was meant for."""
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
            return done[1] if isinstance(done[1], _WHOLE) else Shared(done[1])
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
            line = f" (written at {where})" if where else ""
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
        if isinstance(value, np.void):
            return Copy(value.copy())  # a record can be changed in place
        if isinstance(value, (jax.Array, np.generic, type, types.ModuleType)):
            return Constant(value)
        if kind is types.BuiltinFunctionType and not self._is_method_of_container(value):
            return Constant(value)
        if is_value_like(value) or isinstance(value, (int, float, complex, str, bytes)):
            return Constant(value)
        if kind is np.ndarray:
            array = self._array(value, label, where)
            if array is not None:
                return array
        # A subclass of a namedtuple has a __dict__ as well, mostly with nothing in it.
        if kind in (tuple, frozenset) or (isinstance(value, tuple) and not getattr(value, "__dict__", None)):
            parts = [(i, self.build(v, f"{label}[{i}]", where)) for i, v in enumerate(value)]
            if all(isinstance(part, Constant) for _, part in parts):
                return Constant(value)
            return Make("tuple" if isinstance(value, tuple) else "frozenset", Constant(kind), parts)
        maker = ecosystem.maker(value)
        if maker is not None:
            return Make("reduced", Constant(maker), [("call", [])])
        make = Make("", Constant(kind), [])
        self._made[id(value)] = (value, make)
        self._capture.keep(value)
        self._fill(make, value, label, where)
        return make

    def _array(self, value: Any, label: str, where: SourceLine | None) -> Recipe | None:
        """A NumPy array: a captured one, a view of one, a new one, or a view of a new one."""
        owner = arrays.owner_of(value)
        known = arrays.captured_by_owner(self._capture, owner)
        if known is not None:
            if known.array is value:
                return Reference(known.path)
            if value.size and known.array.strides == known.original.strides:
                self._capture.guard(known.path.attr("strides"), "value", known.original.strides)
                return View(Reference(known.path), arrays.Layout.of(value, known.array))
        if value.dtype.hasobject:
            return None
        contiguous = owner.flags.c_contiguous or owner.flags.f_contiguous
        if owner is value or type(owner) is not np.ndarray or not contiguous or not value.size:
            return Copy(value.copy(order="K"))
        return View(self.build(owner, label, where), arrays.Layout.of(value, owner))

    def _is_method_of_container(self, function: types.BuiltinFunctionType) -> bool:
        """Whether it is ``items.append`` or the like, of a container that is another one at each call."""
        owner = function.__self__
        return isinstance(owner, _CONTAINERS) or self._capture.original_of(owner) is not None

    def _fill(self, make: Make, value: Any, label: str, where: SourceLine | None) -> None:
        kind = type(value)
        if kind is np.ndarray:
            make.kind, make.cls = "objects", value.shape
            make.parts = [(i, self.build(v, label, where)) for i, v in enumerate(value.flat)]
        elif kind in (list, set, collections.deque):
            make.kind = "list" if kind is list else "set" if kind is set else "deque"
            if kind is collections.deque:
                make.cls = value.maxlen
            make.parts = [(i, self.build(v, f"{label}[{i}]", where)) for i, v in enumerate(value)]
        elif kind in (dict, collections.OrderedDict):
            make.kind = "dict"
            make.parts = self._pairs(value, label, where)
        elif kind is collections.defaultdict:
            make.kind = "defaultdict"
            make.cls = self.build(value.default_factory, label, where)
            make.parts = self._pairs(value, label, where)
        elif kind is types.FunctionType:
            self._fill_function(make, value, label, where)
        elif kind is types.CellType:
            make.kind = "cell"
            try:
                make.parts = [(None, self.build(value.cell_contents, label, where))]
            except ValueError:
                make.parts = []
        elif kind is types.MethodType:
            make.kind = "method"
            make.parts = [
                (0, self.build(value.__func__, label, where)),
                (1, self.build(value.__self__, label, where)),
            ]
        elif kind is functools.partial:
            make.kind = "partial"
            make.parts = [
                (0, self.build(value.func, label, where)),
                (1, self.build(value.args, label, where)),
                (2, self.build(value.keywords, label, where)),
            ]
        elif kind is types.SimpleNamespace:
            make.kind = "namespace"
            make.parts = [(n, self.build(v, f"{label}.{n}", where)) for n, v in vars(value).items()]
        elif (
            class_entry(kind, "__reduce_ex__") is object.__reduce_ex__
            and kind.__reduce__ is object.__reduce__
        ):
            self._fill_object(make, value, label, where)
        else:
            self._fill_reduced(make, value, label, where)

    def _pairs(self, value: Any, label: str, where: SourceLine | None) -> list[tuple[Any, Any]]:
        return [
            (self.build(k, label, where), self.build(v, f"{label}[{k!r}]", where))
            for k, v in dict.items(value)
        ]

    def _fill_object(self, make: Make, value: Any, label: str, where: SourceLine | None) -> None:
        kind = type(value)
        contents: list[tuple[str, Any]] = []
        if isinstance(value, dict):
            contents = [("dict", self._pairs(value, label, where))]
        elif isinstance(value, list):
            parts = [self.build(v, f"{label}[{i}]", where) for i, v in enumerate(list.__iter__(value))]
            contents = [("list", parts)]
        elif not _made_by_python(kind):
            raise UnsupportedStateError(
                f"{label} was given a new {kind.__module__}.{kind.__qualname__}, made during the call, "
                "which freshjit cannot make again at each call.\n"
                "Create it outside the jitted function, or keep its contents in plain attributes."
            )
        make.kind = "object"
        attributes: list[tuple[str, Any]] = []
        with self._capture.paused():
            namespace = getattr(value, "__dict__", {})
            attributes += namespace.items()
            slots = slot_values(value)
        make.parts = [("attr", (n, self.build(v, f"{label}.{n}", where))) for n, v in attributes]
        make.parts += [("slot", (n, self.build(v, f"{label}.{n}", where))) for n, v in slots.items()]
        make.parts += contents

    def _fill_reduced(self, make: Make, value: Any, label: str, where: SourceLine | None) -> None:
        try:
            with self._capture.paused():
                reduced = value.__reduce_ex__(4)
        except Exception as error:
            raise UnsupportedStateError(
                f"{label} was given a new {type(value).__qualname__}, made during the call, which freshjit "
                f"cannot make again at each call ({error}).\nCreate it outside the jitted function."
            ) from error
        if isinstance(reduced, str):
            make.kind, make.cls = "constant", Constant(value)
            return
        function, args, *rest = reduced
        make.kind = "reduced"
        if function is copyreg.__newobj__:  # pyright: ignore[reportAttributeAccessIssue]
            make.cls = self.build(args[0], label, where)
            args = args[1:]
            make.parts = [("new", [self.build(a, label, where) for a in args])]
        else:
            make.cls = self.build(function, label, where)
            make.parts = [("call", [self.build(a, label, where) for a in args])]
        state, items, pairs = (*rest, None, None, None)[:3]
        if state is not None:
            make.parts.append(("state", self.build(state, label, where)))
        if items is not None:
            make.parts.append(("extend", [self.build(i, label, where) for i in items]))
        if pairs is not None:
            made = [(self.build(k, label, where), self.build(v, label, where)) for k, v in pairs]
            make.parts.append(("update", made))

    def _fill_function(self, make: Make, value: Any, label: str, where: SourceLine | None) -> None:
        make.kind = "function"
        namespace: Any = value.__globals__
        real_globals = namespace.real if isinstance(namespace, Namespace) else namespace
        make.cls = (code_of(value), real_globals, value.__name__)
        cells = value.__closure__ or ()
        make.parts = [
            ("closure", [self.build(c, label, where) for c in cells]),
            ("defaults", self.build(value.__defaults__, label, where)),
            ("kwdefaults", self.build(value.__kwdefaults__, label, where)),
            ("dict", self._pairs(value.__dict__, label, where)),
            ("qualname", Constant(value.__qualname__)),
        ]


def _made_by_python(cls: type) -> bool:
    """Whether instances hold nothing but attributes, so that a bare one can be made and filled."""
    try:
        object.__new__(cls)
    except TypeError:
        return False
    return True
