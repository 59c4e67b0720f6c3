"""Building: what a run has written or returned becomes recipes, and its arrays become outputs.

A new object gets its recipe first and its contents later, once the recipes of what it is part of are
there: things can lead back to themselves, and a linked list may be as long as it likes.
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
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np

from freshjit import _compat
from freshjit.errors import LeakedWriteError, UnsupportedStateError
from freshjit.state import recipes
from freshjit.state.assignment import code_of
from freshjit.state.contents import base_of
from freshjit.state.guards import SourceLine, at
from freshjit.state.hooks import can_hook, class_entry, slot_values, slots_of
from freshjit.state.libraries import is_jax_module, is_user_class, runs_user_code
from freshjit.state.path import shown
from freshjit.state.recipes import Constant, New, Pairs, Recipe, Reference
from freshjit.state.values import is_plain, is_value_like
from freshjit.state.views import ecosystem, memory, stand_ins
from freshjit.state.views.arrays import NumpyView
from freshjit.state.views.namespaces import Namespace
from freshjit.state.views.numbers import NumberView
from freshjit.state.views.replacements import real_library_value

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["Builder"]


class Builder:
    """Turns values of the run into recipes, and collects the program's outputs on the way."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._made: dict[int, tuple[Any, Recipe]] = {}
        self._output_index: dict[int, int] = {}
        self._unfilled: collections.deque[tuple[New, Any, str, SourceLine | None]] = collections.deque()
        self._searched: list[type] = []
        self._weak: list[tuple[recipes.NewWeakReference, weakref.ref[Any]]] = []
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
        for new, reference in self._weak:
            target = reference()
            entry, made = self._capture.original_of(target), self._made.get(id(target))
            if entry is not None:
                new.target = Reference(entry.path)
            elif made is not None and isinstance(made[1], New):
                new.target = made[1]

    def _build(self, value: Any, label: str, where: SourceLine | None) -> Recipe:
        """The same, but for the contents of new objects in it."""
        capture = self._capture
        if is_plain(value):
            return Constant(value)
        if type(value) is NumberView:
            return recipes.Host(value)
        if type(value) is NumpyView:
            path, steps = value.place()
            return recipes.Slice(path, steps) if steps else Reference(path)
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
            return done[1]
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
        return recipes.Output(index)

    def _new(self, value: Any, label: str, where: SourceLine | None) -> Recipe:
        kind = type(value)
        if isinstance(value, type):
            return self._class(value, label, where)
        if isinstance(value, np.void):
            return recipes.ArrayCopy(value.copy())  # a record can be changed in place
        if isinstance(value, (jax.Array, np.generic, types.ModuleType)):
            return Constant(value)
        if kind is slice:
            parts = (value.start, value.stop, value.step)
            bounds = [self._build(v, label, where) for v in parts]
            return Constant(value) if _are_kept(bounds, parts) else recipes.NewSlice(*bounds)
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
            reference = recipes.NewWeakReference(Constant(value))
            self._weak.append((reference, value))
            return reference
        # A subclass of a namedtuple has a __dict__ as well, mostly with nothing in it.
        if kind in (tuple, frozenset) or (isinstance(value, tuple) and not getattr(value, "__dict__", None)):
            elements = list(tuple.__iter__(value) if isinstance(value, tuple) else value)
            items = self._items(elements, label, where)
            if _are_kept(items, elements) and not can_hook(kind):
                return Constant(value, True)
            if kind is frozenset:
                return recipes.NewFrozenSet(items)
            return recipes.NewTuple(self._class(kind, label, where), items)
        if isinstance(value, _IMMUTABLE) and not can_hook(kind):
            return Constant(value, True)
        if kind.__module__.startswith("freshjit.state"):
            raise stand_ins.refusal(label, f"a {kind.__name__} of freshjit's own", where)
        maker = ecosystem.maker(value)
        if maker is not None:
            call = recipes.Reduced(is_new=False)
            call.maker = Constant(maker)
            return call
        node = self._node(value, label, where)
        if node is not None:
            return node
        if _is_value_of_jax(value) and not stand_ins.found(self._capture, value):
            return Constant(value, True)
        return self._to_be_filled(value, label, where)

    def _node(self, value: Any, label: str, where: SourceLine | None) -> Recipe | None:
        """A pytree node of JAX's own, such as what ``jax.vjp`` and ``jax.linearize`` return; None for others.

        JAX makes it again of what it contains and of its static part (a jaxpr, say), which is the same at
        each call.
        """
        made_by_jax = is_jax_module(type(value).__module__) and not jax.tree_util.all_leaves([value])
        if not made_by_jax or (isinstance(value, jax.tree_util.Partial) and not _is_of_jax(value.func)):
            return None
        children, structure = jax.tree_util.tree_flatten(value, is_leaf=lambda part: part is not value)
        static = structure.node_data()
        if runs_user_code(static) or stand_ins.found(self._capture, static) is not None:
            raise UnsupportedStateError(
                f"{label} was given what a transform of JAX's has returned{at(where, 'written at')}, with a "
                "function of yours in it that JAX would run when the call is over: a rule of a custom "
                "derivative, a callback.\nUse it inside the jitted function, and return what comes of it."
            )
        new = recipes.Reduced(is_new=False)
        new.maker = Constant(lambda *parts: structure.unflatten(parts), True)
        new.arguments += self._items(children, label, where)
        return new

    def _to_be_filled(self, value: Any, label: str, where: SourceLine | None) -> Recipe:
        """The recipe for a thing that can contain itself: its contents follow."""
        kind, contents = type(value), value
        empty = next((make for cls, make in _EMPTY if cls is kind), None)
        if empty is not None:
            new = empty(value)
        elif isinstance(value, (*_VALUES, BaseException)) or _is_what_it_holds(kind):
            new = recipes.NewObject(self._class(kind, label, where))
            if not isinstance(value, (*_VALUES, *_FILLED, BaseException)):
                _check_made_by_python(kind, label, where)
        else:
            self._class(kind, label, where)  # refused if anything of this run is in it
            contents = self._reduced(value, label, where)
            if isinstance(contents, str):
                home = sys.modules.get(getattr(value, "__module__", ""))
                there_before = getattr(home, contents, None) is value
                return Constant(value, not there_before)
            new = recipes.Reduced(contents[0] is _NEW_OBJECT)
        self._made[id(value)] = (value, new)
        self._capture.keep(value)
        self._unfilled.append((new, contents, label, where))
        return new

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
                return recipes.ArrayView(layout, Reference(known.path))
        if value.dtype.hasobject:
            return None
        contiguous = owner.flags.c_contiguous or owner.flags.f_contiguous
        if owner is value or type(owner) is not np.ndarray or not contiguous or not value.size:
            return recipes.ArrayCopy(value.copy(order="K"))
        base = self._build(owner, label, where)
        return recipes.ArrayView(memory.Layout.of(value, owner), base)

    def _is_method_of_container(self, function: types.BuiltinFunctionType) -> bool:
        """Whether it is ``items.append`` or the like, of a container that is another one at each call."""
        owner = function.__self__
        return isinstance(owner, _CONTAINERS) or self._capture.original_of(owner) is not None

    # -- contents -------------------------------------------------------------------------------

    def _fill(self, new: New, value: Any, label: str, where: SourceLine | None) -> None:
        match new:
            case recipes.NewList(items) | recipes.NewSet(items) | recipes.NewDeque(_, items):
                items += self._items(value, label, where)
            case recipes.NewDict(_, pairs):
                pairs += self._pairs(value, label, where)
            case recipes.NewDefaultDict():
                new.factory = self._build(value.default_factory, label, where)
                new.pairs += self._pairs(value, label, where)
            case recipes.ObjectArray(_, items):
                items += [self._build(v, label, where) for v in value.flat]
            case recipes.NewObject():
                self._fill_object(new, value, label, where)
            case recipes.Reduced():
                self._fill_reduced(new, value, label, where)
            case recipes.NewNamespace(attributes):
                attributes |= self._attributes(vars(value), label, where)
            case recipes.NewFunction():
                new.closure += [self._build(cell, label, where) for cell in value.__closure__ or ()]
                new.defaults = self._build(value.__defaults__, label, where)
                new.kwdefaults = self._build(value.__kwdefaults__, label, where)
                new.attributes |= self._attributes(value.__dict__, label, where)
            case recipes.NewCell():
                new.content = self._content(value, label, where)
            case recipes.NewMethod():
                new.function = self._build(value.__func__, label, where)
                new.instance = self._build(value.__self__, label, where)
            case recipes.NewPartial():
                new.function = self._build(value.func, label, where)
                new.args = self._build(value.args, label, where)
                new.keywords = self._build(value.keywords, label, where)
            case _:
                raise AssertionError(f"is made with its contents: {type(new)}")

    def _items(self, values: Iterable[Any], label: str, where: SourceLine | None) -> list[Recipe]:
        return [self._build(v, f"{label}[{i}]", where) for i, v in enumerate(values)]

    def _pairs(self, value: Any, label: str, where: SourceLine | None) -> Pairs:
        return [
            (self._build(k, label, where), self._build(v, f"{label}[{shown(k)}]", where))
            for k, v in base_of(value).items(value)  # an OrderedDict has an order that dict does not see
        ]

    def _attributes(self, values: dict[str, Any], label: str, where: SourceLine | None) -> dict[str, Recipe]:
        return {name: self._build(v, f"{label}.{name}", where) for name, v in values.items()}

    def _content(self, cell: types.CellType, label: str, where: SourceLine | None) -> Recipe | None:
        try:
            content = cell.cell_contents
        except ValueError:
            return None
        return self._build(content, label, where)

    def _fill_object(self, new: recipes.NewObject, value: Any, label: str, where: SourceLine | None) -> None:
        with self._capture.paused():
            namespace: Any = getattr(value, "__dict__", {})
            attributes, slots = dict(namespace), slot_values(value)
        if isinstance(value, BaseException):
            slots = _of_exception(value, slots)
        base = _as_base(value)
        if base is not None:
            new.base = self._build(base, label, where)
        if isinstance(value, dict):
            new.pairs += self._pairs(value, label, where)
        elif isinstance(value, (list, collections.deque)):
            new.items += self._items(base_of(value).__iter__(value), label, where)
        if self._is_known(namespace):  # self.__dict__ = self, or a dict that something else has
            new.namespace = self._build(namespace, f"{label}.__dict__", where)
        else:
            new.attributes |= self._attributes(attributes, label, where)
        new.slots |= self._attributes(slots, label, where)

    def _is_known(self, value: Any) -> bool:
        """Whether something else leads to this as well."""
        made = self._made.get(id(value))
        return self._capture.original_of(value) is not None or (made is not None and made[0] is value)

    def _reduced(self, value: Any, label: str, where: SourceLine | None) -> Any:
        """What ``copy`` would make the object again from."""
        try:
            with self._capture.paused():
                return value.__reduce_ex__(4)
        except Exception as error:
            raise UnsupportedStateError(
                f"{label} was given a new {type(value).__qualname__}, made during the call"
                f"{at(where, 'written at')}, which freshjit cannot make again at each call ({error}).\n"
                "Create it outside the jitted function."
            ) from error

    def _fill_reduced(
        self, new: recipes.Reduced, reduced: tuple[Any, ...], label: str, where: SourceLine | None
    ) -> None:
        padded: tuple[Any, ...] = (*reduced, None, None, None)
        function, args, state, items, pairs = padded[:5]
        if new.is_new:
            function, *args = args
        new.maker = self._build(function, label, where)
        new.arguments += [self._build(a, label, where) for a in args]
        if state is not None:
            new.state = self._build(state, label, where)
        if items is not None:
            new.items += [self._build(i, label, where) for i in items]
        if pairs is not None:
            new.pairs += [(self._build(k, label, where), self._build(v, label, where)) for k, v in pairs]


def _is_of_jax(function: Any) -> bool:
    while isinstance(function, functools.partial):
        function = cast("functools.partial[Any]", function).func
    return is_jax_module(getattr(function, "__module__", None))


_CONTAINERS = (list, dict, set, collections.deque)
_IMMUTABLE = (int, float, complex, str, bytes, tuple)
_VALUES = (*_IMMUTABLE, frozenset)
_FILLED = (dict, list, set, collections.deque, bytearray, array.array)
# In this order: giving it a cause says that the context is not to be shown.
_OF_EXCEPTION = ("args", "__cause__", "__context__")
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_NEVER_BARE = 1 << 20 | 1 << 7  # Py_TPFLAGS_IS_ABSTRACT, Py_TPFLAGS_DISALLOW_INSTANTIATION
_NEW_OBJECT: Any = copyreg.__newobj__  # pyright: ignore[reportAttributeAccessIssue]


def _empty_function(function: types.FunctionType) -> New:
    namespace: Any = function.__globals__
    real = namespace.real if isinstance(namespace, Namespace) else namespace
    return recipes.NewFunction(code_of(function), real, function.__name__, function.__qualname__)


# Of exactly these classes; compared by identity, for a metaclass can have a ``__hash__`` of its own.
_EMPTY: tuple[tuple[type, Callable[[Any], New]], ...] = (
    (list, lambda _: recipes.NewList()),
    (set, lambda _: recipes.NewSet()),
    (collections.deque, lambda value: recipes.NewDeque(value.maxlen)),
    (dict, lambda _: recipes.NewDict(Constant(dict))),
    (collections.OrderedDict, lambda _: recipes.NewDict(Constant(collections.OrderedDict))),
    (collections.defaultdict, lambda _: recipes.NewDefaultDict()),
    (np.ndarray, lambda value: recipes.ObjectArray(value.shape)),
    (types.SimpleNamespace, lambda _: recipes.NewNamespace()),
    (types.FunctionType, _empty_function),
    (types.CellType, lambda _: recipes.NewCell()),
    (types.MethodType, lambda _: recipes.NewMethod()),
    (functools.partial, lambda _: recipes.NewPartial()),
)


def _are_kept(found: Iterable[Recipe], parts: Iterable[Any]) -> bool:
    """Whether what holds these parts can itself be kept: they are no views, and all are held strongly."""
    return all(
        isinstance(recipe, Constant) and recipe.keep and recipe.value is part
        for recipe, part in zip(found, parts, strict=True)
    )


def _as_base(value: Any) -> Any:
    """What Python's own class makes of an instance of the user's kind of string, set…; None if nothing."""
    if isinstance(value, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", value)
        return group.message, group.exceptions
    if isinstance(value, collections.deque):
        return collections.deque[Any](maxlen=value.maxlen)
    if isinstance(value, (tuple, set, frozenset)):
        base = base_of(value)
        return base(base.__iter__(value))
    if isinstance(value, array.array):
        return array.array(value.typecode, bytes(memoryview(cast(Any, value))))
    if isinstance(value, bytearray):
        return bytearray(bytes(memoryview(value)))
    kind: Any = next((kind for kind in _IMMUTABLE if isinstance(value, kind)), None)
    return None if kind is None else kind(*kind.__getnewargs__(value))


def _of_exception(error: BaseException, slots: dict[str, Any]) -> dict[str, Any]:
    """What an exception holds, which may be other things than its ``__init__`` was given; no traceback."""
    held = {name: BaseException.__dict__[name].__get__(error) for name in _OF_EXCEPTION}
    members = slots_of(type(error))
    return held | {n: v for n, v in slots.items() if not _is_there_anyway(members[n], error)}


def _is_there_anyway(member: types.MemberDescriptorType, error: BaseException) -> bool:
    """Whether a new exception has this already, or nothing at this place."""
    if can_hook(member.__objclass__):
        return False
    return member.__get__(error) is None or member.__objclass__ is BaseExceptionGroup


def _is_what_it_holds(cls: type) -> bool:
    """Whether an instance is made again from what it holds, and not as the class wants itself copied.

    What the user's own class does for ``copy`` and ``pickle`` (leave something out, count, call ``__init__``)
    has not happened to the object.
    """
    if class_entry(cls, "__reduce_ex__") is object.__reduce_ex__ and cls.__reduce__ is object.__reduce__:
        return True
    return is_user_class(cls) and (issubclass(cls, _FILLED) or _made_by_python(cls))


def _is_value_of_jax(value: Any) -> bool:
    """Whether it is one that JAX describes things with: the type of an array, a mesh, a device, a jaxpr.

    There is one object for all that are equal, or none can be made from outside: a copy is another thing.
    """
    kind = type(value)
    of_jax = kind.__module__.partition(".")[0] in ("jax", "jaxlib")
    hashed = class_entry(kind, "__hash__") is not None
    return isinstance(value, np.finfo) or (of_jax and hashed and not callable(value))


def _check_made_by_python(cls: type, label: str, where: SourceLine | None) -> None:
    if not _made_by_python(cls):
        raise UnsupportedStateError(
            f"{label} was given a new {cls.__module__}.{cls.__qualname__}, made during the call"
            f"{at(where, 'written at')}, which freshjit cannot make again at each call.\n"
            "Create it outside the jitted function, or keep its contents in plain attributes."
        )


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
