"""Making: recipes as expressions of generated code, and statements for what one expression cannot say.

A new object gets a variable of its own if it is needed more than once, if it leads back to itself, or if
it lies so deep that its expression would be nested too deeply for Python to read. Nothing here calls
itself once for each level of what is made: a linked list may be as long as it likes.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from freshjit.errors import UnsupportedStateError
from freshjit.programs.writer import Writer
from freshjit.state import recipes
from freshjit.state.recipes import Constant, New, Pairs, Recipe

__all__ = ["Maker"]

# New objects inside one another in one expression; Python reads up to 200 brackets, some four for each.
_DEEPEST = 12


def _new_among(some: Iterable[Recipe]) -> list[New]:
    return [recipe for recipe in some if isinstance(recipe, New)]


class _Order:
    """Which new objects need a variable, and which of these lead back to themselves.

    Attributes:
        named: those that need one.
        cyclic: those that lead back to themselves, or are on a way between such.
        leading: those that lead to such.
    """

    def __init__(self, roots: Iterable[Recipe]) -> None:
        self._parts: dict[New, list[New]] = {}
        self._users: dict[New, list[New]] = collections.defaultdict(list)
        todo = _new_among(roots)
        needed = collections.Counter(todo)
        while todo:
            new = todo.pop()
            if new not in self._parts:
                inside = self._parts[new] = _new_among(new.inside())
                needed.update(inside)
                for part in inside:
                    self._users[part].append(new)
                todo += inside
        upwards = self._sorted(set(self._parts), self._parts, self._users)
        rest = set(self._parts) - set(upwards)
        downwards = self._sorted(rest, self._users, self._parts)
        self.leading, self.cyclic = rest, rest - set(downwards)
        self.named = {new for new, count in needed.items() if count > 1} | self.cyclic
        self._name_the_deep([*upwards, *reversed(downwards)])

    @staticmethod
    def _sorted(among: set[New], first: dict[New, list[New]], then: dict[New, list[New]]) -> list[New]:
        """These objects, each after the ``first`` ones of it, up to where they lead back to themselves."""
        waiting = {new: sum(other in among for other in first[new]) for new in among}
        found = [new for new, count in waiting.items() if not count]
        for new in found:
            for other in then[new]:
                if other in among:
                    waiting[other] -= 1
                    if not waiting[other]:
                        found.append(other)
        return found

    def _name_the_deep(self, parts_first: Sequence[New]) -> None:
        height: dict[New, int] = {}
        for new in parts_first:
            height[new] = 1 + max((height.get(p, 0) for p in self._parts[new]), default=0)
            if height[new] > _DEEPEST:
                self.named.add(new)
            if new in self.named:
                height[new] = 0


class Maker:
    """Turns recipes into expressions. What needs statements of its own gets them first."""

    def __init__(self, writer: Writer, roots: Iterable[Recipe]) -> None:
        self._writer = writer
        self._order = _Order(roots)
        self._names: dict[New, str] = {}
        self._started: set[New] = set()
        self._unfilled: list[New] = []
        self._unrestored: list[New] = []

    def code(self, recipe: Recipe) -> str:
        """The expression for a recipe, all of whose statements have been written."""
        running: list[tuple[bool, Iterator[New]]] = [(False, self._named_in([recipe]))]
        while running:
            inside_cycle, statements = running[-1]
            new = next(statements, None)
            if new is None:
                running.pop()
            elif new not in self._started:
                self._started.add(new)
                running.append((new in self._order.cyclic, self._written(new, not inside_cycle)))
        return self._code(recipe)

    def _named_in(self, some: Iterable[Recipe]) -> Iterator[New]:
        """The nearest new objects with a variable among recipes and inside them."""
        todo = _new_among(some)[::-1]
        while todo:
            new = todo.pop()
            if new in self._order.named:
                yield new
            else:
                todo += _new_among(new.inside())[::-1]

    def _written(self, new: New, first_of_cycle: bool) -> Iterator[New]:
        """Writes the statements that make an object; gives what has to be written before."""
        if new not in self._order.cyclic:
            yield from self._named_in(new.inside())
            self._assign(new, self._whole(new))
            return
        # Things that lead back to one another are all made before the first of them is filled, but are
        # filled before anything else looks at them (a set, say, at their hash).
        unfilled, unrestored = len(self._unfilled), len(self._unrestored)
        yield from self._named_in(self._created_of(new))
        self._assign(new, self._created(new))
        if isinstance(new, recipes.Reduced):  # takes its contents out of other things: these come first
            yield from self._named_in(new.inside())
            self._unrestored.append(new)
        else:
            self._unfilled.append(new)
        if first_of_cycle:
            while len(self._unfilled) > unfilled:
                other = self._unfilled.pop()
                yield from self._named_in(other.inside())
                self._write_contents(other)
            for other in self._unrestored[unrestored:]:
                self._write_contents(other)
            del self._unrestored[unrestored:]

    def _assign(self, new: New, expression: str) -> None:
        name = self._names[new] = self._writer.temporary()
        self._writer.line(f"{name} = {expression}")

    def _write_contents(self, new: New) -> None:
        for statement in self._fill_statements(new, self._names[new]):
            self._writer.line(statement)

    def _code(self, recipe: Recipe) -> str:
        writer = self._writer
        match recipe:
            case recipes.Output(index):
                return f"o[{index}]"
            case recipes.Reference(path):
                return writer.read(path)
            case Constant(value, keep):
                return writer.constant(value, keep)
            case recipes.Host(expression):
                return writer.number(expression)
            case recipes.Slice(path, steps):
                return writer.read(path) + "".join(f"[{writer.constant(step)}]" for step in steps)
            case New():
                if recipe not in self._order.named:
                    return self._whole(recipe)
                if recipe not in self._names:
                    raise UnsupportedStateError(
                        f"a new {_shown(recipe)}, made during the call, was made of something that it is "
                        "itself part of, which freshjit cannot make again at each call.\nCreate it outside "
                        "the jitted function."
                    )
                return self._names[recipe]

    # -- in one expression ----------------------------------------------------------------------

    def _whole(self, new: New) -> str:
        """The object with all that it contains."""
        code, writer = self._code, self._writer
        match new:
            case recipes.NewList(items):
                return self._list(items)
            case recipes.NewSet(items):
                return f"{{*{self._list(items)}}}"
            case recipes.NewDeque(maxlen, items):
                return f"deque({self._list(items)}, {maxlen!r})"
            case recipes.NewTuple(cls, items):
                elements = f"({self._several(items)}{',' if items else ''})"
                return elements if cls.value is tuple else f"tuple.__new__({code(cls)}, {elements})"
            case recipes.NewFrozenSet(items):
                return f"frozenset({self._list(items)})"
            case recipes.NewSlice(start, stop, step):
                return f"slice({self._several([start, stop, step])})"
            case recipes.NewDict(cls, pairs):
                elements = self._dict(pairs)
                return elements if cls.value is dict else f"{code(cls)}({elements})"
            case recipes.NewDefaultDict(pairs=pairs):
                return f"defaultdict({code(new.factory)}, {self._dict(pairs)})"
            case recipes.ArrayCopy(array):
                order = "" if isinstance(array, np.void) else "'K'"
                return f"{writer.bind(array, 'k')}.copy({order})"
            case recipes.ArrayView(layout, base):
                return f"{writer.bind(layout, 'layout')}.on({code(base)})"
            case recipes.NewNamespace(attributes):
                return f"Namespace(**{self._attributes(attributes)})"
            case recipes.NewWeakReference(reference, target):
                return code(reference) if target is None else f"weak_reference({code(target)})"
            case recipes.NewCell(content):
                return f"new_cell({'()' if content is None else f'({code(content)},)'})"
            case recipes.NewMethod():
                return f"Method({code(new.function)}, {code(new.instance)})"
            case recipes.NewPartial():
                return f"Partial({code(new.function)}, *{code(new.args)}, **{code(new.keywords)})"
            case recipes.NewObject():
                return self._fill_call(new, self._bare(new))
            case recipes.ObjectArray() | recipes.NewFunction() | recipes.Reduced():
                return self._fill_call(new, self._created(new))
            case _:
                raise AssertionError(f"unknown kind of new object: {type(new)}")

    # -- in two steps ---------------------------------------------------------------------------

    def _created_of(self, new: New) -> Iterable[Recipe]:
        """What an object that leads back to itself is created of, before it is filled."""
        match new:
            case (
                recipes.NewList()
                | recipes.NewSet()
                | recipes.NewDeque()
                | recipes.NewDict()
                | recipes.NewDefaultDict()
                | recipes.ObjectArray()
                | recipes.NewNamespace()
                | recipes.NewCell()
            ):
                return ()
            case recipes.NewObject(base=base):
                known = (*self._known(new.attributes).values(), *self._known_slots(new.slots).values())
                return known if base is None else (base, *known)
            case recipes.NewFunction(closure=closure):
                return closure
            case recipes.Reduced(arguments=arguments):
                return (new.maker, *arguments)
            case _:
                return new.inside()

    def _created(self, new: New) -> str:
        """The object without the contents that can be given to it later."""
        bind = self._writer.bind
        match new:
            case recipes.NewList():
                return "[]"
            case recipes.NewSet():
                return "set()"
            case recipes.NewDeque(maxlen):
                return f"deque((), {maxlen!r})"
            case recipes.NewDict(cls):
                return f"{self._code(cls)}()"
            case recipes.NewDefaultDict():
                return "defaultdict()"
            case recipes.ObjectArray(shape):
                return f"new_objects({shape!r})"
            case recipes.NewNamespace():
                return "Namespace()"
            case recipes.NewCell():
                return "new_cell(())"
            case recipes.NewObject():
                # Its hash may be asked for before it is complete: what does not lead back is there at once.
                attributes = self._attributes(self._known(new.attributes))
                slots = self._attributes(self._known_slots(new.slots))
                return f"fill_object({self._bare(new)}, {attributes}, {slots}, [], [])"
            case recipes.NewFunction(code, namespace, name):
                closure = self._list(new.closure)
                return (
                    f"new_function({bind(code, 'code')}, {bind(namespace, 'globals')}, {name!r}, {closure})"
                )
            case recipes.Reduced(is_new):
                return f"new_reduced({self._code(new.maker)}, {self._list(new.arguments)}, {is_new})"
            case _:
                return self._whole(new)

    def _bare(self, new: recipes.NewObject) -> str:
        """An instance without any attributes."""
        base = "" if new.base is None else f", {self._code(new.base)}"
        return f"new_object({self._code(new.cls)}{base})"

    def _known(self, attributes: Mapping[str, Recipe]) -> dict[str, Recipe]:
        """What can be given to an object at once: None, which keeps the order, for what leads back."""
        leading = self._order.leading
        return {name: Constant(None) if part in leading else part for name, part in attributes.items()}

    def _known_slots(self, slots: Mapping[str, Recipe]) -> dict[str, Recipe]:
        """The same for slots, which have no order."""
        return {name: part for name, part in slots.items() if part not in self._order.leading}

    def _fill_statements(self, new: New, name: str) -> list[str]:
        """The statements that give an object its contents."""
        match new:
            case recipes.NewList(items) | recipes.NewDeque(_, items):
                return [f"{name}.extend({self._list(items)})"]
            case recipes.NewSet(items):
                return [f"{name}.update({self._list(items)})"]
            case recipes.NewDict(_, pairs):
                return [f"{name}.update({self._dict(pairs)})"]
            case recipes.NewDefaultDict(pairs=pairs):
                factory = f"{name}.default_factory = {self._code(new.factory)}"
                return [factory, f"{name}.update({self._dict(pairs)})"]
            case recipes.NewNamespace(attributes):
                return [f"{name}.__dict__.update({self._attributes(attributes)})"]
            case recipes.NewCell(content):
                return [] if content is None else [f"{name}.cell_contents = {self._code(content)}"]
            case recipes.ObjectArray() | recipes.NewObject() | recipes.NewFunction() | recipes.Reduced():
                return [self._fill_call(new, name)]
            case _:
                return []

    def _fill_call(
        self, new: recipes.ObjectArray | recipes.NewObject | recipes.NewFunction | recipes.Reduced, bare: str
    ) -> str:
        """The call that gives an object its contents; its value is the object."""
        match new:
            case recipes.ObjectArray(_, items):
                return f"fill_objects({bare}, {self._list(items)})"
            case recipes.NewObject():
                attributes, slots = self._attributes(new.attributes), self._attributes(new.slots)
                contents = f"{self._list_of_pairs(new.pairs)}, {self._list(new.items)}"
                namespace = "" if new.namespace is None else f", {self._code(new.namespace)}"
                return f"fill_object({bare}, {attributes}, {slots}, {contents}{namespace})"
            case recipes.NewFunction():
                defaults = f"{self._code(new.defaults)}, {self._code(new.kwdefaults)}"
                name = self._writer.constant(new.qualname)
                return f"fill_function({bare}, {defaults}, {name}, {self._attributes(new.attributes)})"
            case recipes.Reduced():
                state = "None" if new.state is None else self._code(new.state)
                contents = f"{self._list(new.items)}, {self._list_of_pairs(new.pairs)}"
                return f"fill_reduced({bare}, {state}, {contents})"

    # -- parts ----------------------------------------------------------------------------------

    def _several(self, items: Iterable[Recipe]) -> str:
        return ", ".join(map(self._code, items))

    def _list(self, items: Iterable[Recipe]) -> str:
        return f"[{self._several(items)}]"

    def _dict(self, pairs: Pairs) -> str:
        return "{" + ", ".join(f"{self._code(k)}: {self._code(v)}" for k, v in pairs) + "}"

    def _list_of_pairs(self, pairs: Pairs) -> str:
        return "[" + ", ".join(f"({self._code(k)}, {self._code(v)})" for k, v in pairs) + "]"

    def _attributes(self, attributes: Mapping[str, Recipe]) -> str:
        return "{" + ", ".join(f"{name!r}: {self._code(v)}" for name, v in attributes.items()) + "}"


def _shown(new: New) -> str:
    """What an object is called in messages."""
    match new:
        case recipes.NewObject(cls) | recipes.NewTuple(cls) | recipes.Reduced(maker=Constant() as cls):
            return str(getattr(cls.value, "__qualname__", "object"))
        case _:
            return type(new).__name__.removeprefix("New").lower()
