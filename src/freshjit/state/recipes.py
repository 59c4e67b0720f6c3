"""Recipes: how to make a value again at each call, from the program's outputs and the live state.

After the run, everything that was written or returned is turned into a recipe: output number 3, the
object found at ``self.layers[0]``, a new list of two such things, a new instance of a class… New
objects made during the run are templates: each call makes its own.

Plain data: ``building`` makes recipes of the values of a run, ``programs/making.py`` makes code of them.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from freshjit.state.held import Kept, held, may_die
from freshjit.state.path import Path

if TYPE_CHECKING:
    from freshjit.state.views.memory import Layout
    from freshjit.state.views.numbers import NumberView

__all__ = [
    "ArrayCopy",
    "ArrayView",
    "Constant",
    "Host",
    "New",
    "NewCell",
    "NewDefaultDict",
    "NewDeque",
    "NewDict",
    "NewFrozenSet",
    "NewFunction",
    "NewList",
    "NewMethod",
    "NewNamespace",
    "NewObject",
    "NewPartial",
    "NewSet",
    "NewSlice",
    "NewTuple",
    "NewWeakReference",
    "ObjectArray",
    "Output",
    "Pairs",
    "Recipe",
    "Reduced",
    "Reference",
    "Slice",
    "walk",
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
class New:
    """A new object: one at each call, wherever this very recipe appears.

    What is created is decided when the recipe is made, what it contains is given later: an object can
    contain itself.
    """

    def inside(self) -> Iterable[Recipe]:
        """The recipes that are directly part of it, as often as they are."""
        raise NotImplementedError


Recipe = Output | Reference | Constant | Host | Slice | New
Pairs = list[tuple[Recipe, Recipe]]


def walk(roots: Iterable[Recipe]) -> Iterator[Recipe]:
    """Every recipe inside the given ones; what is in each new object once."""
    todo, seen = list(roots), set[New]()
    while todo:
        recipe = todo.pop()
        yield recipe
        if isinstance(recipe, New) and recipe not in seen:
            seen.add(recipe)
            todo += recipe.inside()


def _each(pairs: Pairs) -> Iterator[Recipe]:
    return (recipe for pair in pairs for recipe in pair)


# -- containers -------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class NewList(New):
    items: list[Recipe] = field(default_factory=list[Recipe])

    def inside(self) -> Iterable[Recipe]:
        return self.items


@dataclass(eq=False, slots=True)
class NewSet(New):
    items: list[Recipe] = field(default_factory=list[Recipe])

    def inside(self) -> Iterable[Recipe]:
        return self.items


@dataclass(eq=False, slots=True)
class NewDeque(New):
    maxlen: int | None
    items: list[Recipe] = field(default_factory=list[Recipe])

    def inside(self) -> Iterable[Recipe]:
        return self.items


@dataclass(eq=False, slots=True)
class NewTuple(New):
    """A tuple, or an instance of a subclass that has nothing but the elements (a namedtuple)."""

    cls: Constant
    items: list[Recipe]

    def inside(self) -> Iterable[Recipe]:
        return self.items


@dataclass(eq=False, slots=True)
class NewFrozenSet(New):
    items: list[Recipe]

    def inside(self) -> Iterable[Recipe]:
        return self.items


@dataclass(eq=False, slots=True)
class NewSlice(New):
    """A slice of Python, ``start:stop:step``."""

    start: Recipe
    stop: Recipe
    step: Recipe

    def inside(self) -> Iterable[Recipe]:
        return (self.start, self.stop, self.step)


@dataclass(eq=False, slots=True)
class NewDict(New):
    """A dict or an OrderedDict."""

    cls: Constant
    pairs: Pairs = field(default_factory=list[tuple[Recipe, Recipe]])

    def inside(self) -> Iterable[Recipe]:
        return _each(self.pairs)


@dataclass(eq=False, slots=True)
class NewDefaultDict(New):
    factory: Recipe = field(init=False)
    pairs: Pairs = field(default_factory=list[tuple[Recipe, Recipe]])

    def inside(self) -> Iterable[Recipe]:
        return (self.factory, *_each(self.pairs))


# -- NumPy arrays -----------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class ArrayCopy(New):
    """A copy of an array, or of a record, which nobody else has."""

    array: np.ndarray[Any, Any] | np.void

    def inside(self) -> Iterable[Recipe]:
        return ()


@dataclass(eq=False, slots=True)
class ArrayView(New):
    """An array in the memory of another one."""

    layout: Layout
    base: Recipe

    def inside(self) -> Iterable[Recipe]:
        return (self.base,)


@dataclass(eq=False, slots=True)
class ObjectArray(New):
    """An array of Python objects; ``items`` has them in the order of ``array.flat``."""

    shape: tuple[int, ...]
    items: list[Recipe] = field(default_factory=list[Recipe])

    def inside(self) -> Iterable[Recipe]:
        return self.items


# -- objects ----------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class NewObject(New):
    """An instance, made without its ``__init__``.

    Attributes:
        base: of an instance of a subclass of ``str``, ``set`` and the like, its value as the base has it.
        namespace: its ``__dict__``, if that is something else as well.
        attributes: what is in its ``__dict__``.
        slots: what is in its ``__slots__``; of an exception also what Python keeps in it.
        pairs: what a subclass of ``dict`` contains.
        items: what a subclass of ``list`` or ``deque`` contains.
    """

    cls: Constant
    base: Recipe | None = None
    namespace: Recipe | None = None
    attributes: dict[str, Recipe] = field(default_factory=dict[str, Recipe])
    slots: dict[str, Recipe] = field(default_factory=dict[str, Recipe])
    pairs: Pairs = field(default_factory=list[tuple[Recipe, Recipe]])
    items: list[Recipe] = field(default_factory=list[Recipe])

    def inside(self) -> Iterable[Recipe]:
        whole = [part for part in (self.base, self.namespace) if part is not None]
        attributes, slots = self.attributes.values(), self.slots.values()
        return (*whole, *attributes, *slots, *_each(self.pairs), *self.items)


@dataclass(eq=False, slots=True)
class Reduced(New):
    """An object made again the way ``copy`` would make it (see ``object.__reduce_ex__``).

    Attributes:
        maker: what is called to make it, or the class whose ``__new__`` is, if ``is_new``.
        arguments: what that is called with.
        state: what is given to ``__setstate__``, or is its attributes.
        items: what is appended to it.
        pairs: what is set in it, by key.
    """

    is_new: bool
    maker: Recipe = field(init=False)
    arguments: list[Recipe] = field(default_factory=list[Recipe])
    state: Recipe | None = None
    items: list[Recipe] = field(default_factory=list[Recipe])
    pairs: Pairs = field(default_factory=list[tuple[Recipe, Recipe]])

    def inside(self) -> Iterable[Recipe]:
        state = () if self.state is None else (self.state,)
        return (self.maker, *self.arguments, *state, *self.items, *_each(self.pairs))


@dataclass(eq=False, slots=True)
class NewNamespace(New):
    """A ``types.SimpleNamespace``."""

    attributes: dict[str, Recipe] = field(default_factory=dict[str, Recipe])

    def inside(self) -> Iterable[Recipe]:
        return self.attributes.values()


@dataclass(eq=False, slots=True)
class NewWeakReference(New):
    """A weak reference to a thing that each call finds or makes.

    Attributes:
        reference: the one of the run.
        target: what it leads to, None if ``reference`` itself will do: its target is the same for all
            calls, or dies with the run.
    """

    reference: Constant
    target: Reference | New | None = None

    def inside(self) -> Iterable[Recipe]:
        return () if self.target is None else (self.target,)


# -- functions --------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class NewFunction(New):
    """A function made during the call, with the real globals in place of the watched ones.

    Attributes:
        closure: its cells.
        attributes: what is in its ``__dict__``.
    """

    code: types.CodeType
    globals: dict[str, Any]
    name: str
    qualname: str
    closure: list[Recipe] = field(default_factory=list[Recipe])
    defaults: Recipe = field(init=False)
    kwdefaults: Recipe = field(init=False)
    attributes: dict[str, Recipe] = field(default_factory=dict[str, Recipe])

    def inside(self) -> Iterable[Recipe]:
        return (*self.closure, self.defaults, self.kwdefaults, *self.attributes.values())


@dataclass(eq=False, slots=True)
class NewCell(New):
    """A variable of a closure, maybe not assigned yet."""

    content: Recipe | None = None

    def inside(self) -> Iterable[Recipe]:
        return () if self.content is None else (self.content,)


@dataclass(eq=False, slots=True)
class NewMethod(New):
    """A function bound to an instance."""

    function: Recipe = field(init=False)
    instance: Recipe = field(init=False)

    def inside(self) -> Iterable[Recipe]:
        return (self.function, self.instance)


@dataclass(eq=False, slots=True)
class NewPartial(New):
    """A ``functools.partial``; ``args`` is a tuple, ``keywords`` a dict."""

    function: Recipe = field(init=False)
    args: Recipe = field(init=False)
    keywords: Recipe = field(init=False)

    def inside(self) -> Iterable[Recipe]:
        return (self.function, self.args, self.keywords)
