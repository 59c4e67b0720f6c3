"""Making: recipes as expressions of generated code, and statements for what one expression cannot say.

A new object gets a variable of its own if it is needed more than once, if it leads back to itself, or if
it lies so deep that its expression would be nested too deeply for Python to read. Nothing here calls
itself once for each level of what is made: a linked list may be as long as it likes.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from freshjit.errors import UnsupportedStateError
from freshjit.programs.writer import Writer
from freshjit.state import recipes

__all__ = ["Maker", "walk"]

# New objects inside one another in one expression; Python reads up to 200 brackets, some four for each.
_DEEPEST = 12


def walk(roots: Sequence[Any]) -> Iterator[Any]:
    """Every recipe inside the given ones; each new object's parts once."""
    todo, seen = list(roots), set[int]()
    while todo:
        item = todo.pop()
        if isinstance(item, (list, tuple)):
            todo += cast(list[Any], item)
            continue
        yield item
        if isinstance(item, recipes.Shared):
            todo.append(item.make)
        elif isinstance(item, recipes.Make) and id(item) not in seen:
            seen.add(id(item))
            todo += [item.cls, item.parts]


def _inside(part: Any) -> Iterator[recipes.Make]:
    """The new objects that are directly part of something, as often as they are."""
    todo = [part]
    while todo:
        item = todo.pop()
        if isinstance(item, (list, tuple)):
            todo += reversed(cast(list[Any], item))
        elif isinstance(item, recipes.Shared):
            yield item.make
        elif isinstance(item, recipes.Make):
            yield item


class _Order:
    """Which new objects need a variable, and which of these lead back to themselves.

    Attributes:
        named: by id, those that need one.
        cyclic: those that lead back to themselves, or are on a way between such.
        leading: those that lead to such.
    """

    def __init__(self, roots: Sequence[Any]) -> None:
        self._parts: dict[int, list[int]] = {}
        self._users: dict[int, list[int]] = collections.defaultdict(list)
        needed: collections.Counter[int] = collections.Counter()
        todo = list(_inside(roots))
        needed.update(map(id, todo))
        while todo:
            make = todo.pop()
            if id(make) not in self._parts:
                inside = list(_inside([make.cls, make.parts]))
                self._parts[id(make)] = list(map(id, inside))
                needed.update(map(id, inside))
                for part in inside:
                    self._users[id(part)].append(id(make))
                todo += inside
        upwards = self._sorted(set(self._parts), self._parts, self._users)
        rest = set(self._parts) - set(upwards)
        downwards = self._sorted(rest, self._users, self._parts)
        self.leading, self.cyclic = rest, rest - set(downwards)
        self.named = {make for make, count in needed.items() if count > 1} | self.cyclic
        self._name_the_deep([*upwards, *reversed(downwards)])

    @staticmethod
    def _sorted(among: set[int], first: dict[int, list[int]], then: dict[int, list[int]]) -> list[int]:
        """These objects, each after the ``first`` ones of it, up to where they lead back to themselves."""
        waiting = {make: sum(other in among for other in first[make]) for make in among}
        found = [make for make, count in waiting.items() if not count]
        for make in found:
            for other in then[make]:
                if other in among:
                    waiting[other] -= 1
                    if not waiting[other]:
                        found.append(other)
        return found

    def _name_the_deep(self, parts_first: Sequence[int]) -> None:
        height: dict[int, int] = {}
        for make in parts_first:
            height[make] = 1 + max((height.get(p, 0) for p in self._parts[make]), default=0)
            if height[make] > _DEEPEST:
                self.named.add(make)
            if make in self.named:
                height[make] = 0


class Maker:
    """Turns recipes into expressions. What needs statements of its own gets them first."""

    def __init__(self, writer: Writer, roots: Sequence[Any]) -> None:
        self._writer = writer
        self._order = _Order(roots)
        self._names: dict[int, str] = {}
        self._started: set[int] = set()
        self._unfilled: list[recipes.Make] = []
        self._unrestored: list[recipes.Make] = []

    def code(self, recipe: Any) -> str:
        """The expression for a recipe, all of whose statements have been written."""
        cyclic = self._order.cyclic
        running: list[tuple[bool, Iterator[recipes.Make]]] = [(False, self._named_in(recipe))]
        while running:
            inside_cycle, statements = running[-1]
            make = next(statements, None)
            if make is None:
                running.pop()
            elif id(make) not in self._started:
                self._started.add(id(make))
                running.append((id(make) in cyclic, self._written(make, not inside_cycle)))
        return self._code(recipe)

    def _named_in(self, part: Any) -> Iterator[recipes.Make]:
        """The nearest new objects with a variable that something consists of."""
        todo = list(_inside(part))[::-1]
        while todo:
            make = todo.pop()
            if id(make) in self._order.named:
                yield make
            else:
                todo += list(_inside([make.cls, make.parts]))[::-1]

    def _written(self, make: recipes.Make, first_of_cycle: bool) -> Iterator[recipes.Make]:
        """Writes the statements that make an object; gives what has to be written before."""
        if id(make) not in self._order.cyclic:
            yield from self._named_in([make.cls, make.parts])
            self._assign(make, self._expression(make))
            return
        # Things that lead back to one another are all made before the first of them is filled, but are
        # filled before anything else looks at them (a set, say, at their hash).
        first, second = self._stages(make)
        unfilled, unrestored = len(self._unfilled), len(self._unrestored)
        yield from self._named_in(first)
        self._assign(make, self._created(make))
        if make.kind == "reduced":  # which takes its contents out of other things, so these come first
            yield from self._named_in(second)
            self._unrestored.append(make)
        else:
            self._unfilled.append(make)
        if first_of_cycle:
            while len(self._unfilled) > unfilled:
                other = self._unfilled.pop()
                yield from self._named_in(self._stages(other)[1])
                self._write_contents(other)
            for other in self._unrestored[unrestored:]:
                self._write_contents(other)
            del self._unrestored[unrestored:]

    def _stages(self, make: recipes.Make) -> tuple[Any, Any]:
        """What an object that leads back to itself is created of, and what it is filled with afterwards."""
        if make.kind in _IN_TWO_STEPS:
            return [], [make.cls, make.parts]
        if make.kind == "object":
            early = [part for kind, part in make.parts if kind == "base" or not self._leads_back(part)]
            return [make.cls, early], make.parts
        if make.kind in ("function", "reduced"):
            first = [part for kind, part in make.parts if kind in _GIVEN_FIRST]
            return [make.cls, first], [part for kind, part in make.parts if kind not in _GIVEN_FIRST]
        return [make.cls, make.parts], []

    def _leads_back(self, part: Any) -> bool:
        return any(id(make) in self._order.leading for make in _inside(part))

    def _assign(self, make: recipes.Make, expression: str) -> None:
        name = self._names[id(make)] = self._writer.temporary()
        self._writer.line(f"{name} = {expression}")

    def _write_contents(self, make: recipes.Make) -> None:
        for statement in self._filled(make, self._names[id(make)]):
            self._writer.line(statement)

    def _code(self, recipe: Any) -> str:
        writer = self._writer
        match recipe:
            case recipes.Output(index):
                return f"o[{index}]"
            case recipes.Reference(path):
                return writer.read(path)
            case recipes.Constant(value, keep):
                return writer.constant(value, keep)
            case recipes.Host(expression):
                return writer.number(expression)
            case recipes.Slice(path, steps):
                return writer.read(path) + "".join(f"[{writer.constant(step)}]" for step in steps)
            case recipes.Shared(make):
                return self._code(make)
            case recipes.Make():
                if id(recipe) not in self._order.named:
                    return self._expression(recipe)
                if id(recipe) not in self._names:
                    raise UnsupportedStateError(
                        f"a new {_kind_of(recipe)}, made during the call, was made of something that it is "
                        "itself part of, which freshjit cannot make again at each call.\nCreate it outside "
                        "the jitted function."
                    )
                return self._names[id(recipe)]
            case _:
                raise AssertionError(f"not a recipe: {recipe!r}")

    # -- in one expression ----------------------------------------------------------------------

    def _expression(self, make: recipes.Make) -> str:
        writer = self._writer
        match make.kind:
            case "list":
                return f"[{self._items(make)}]"
            case "tuple":
                items = f"({self._items(make)}{',' if make.parts else ''})"
                if make.cls.value is tuple:
                    return items
                return f"tuple.__new__({self._code(make.cls)}, {items})"
            case "frozenset":
                return f"frozenset([{self._items(make)}])"
            case "slice":
                return f"slice({self._items(make)})"
            case "array":
                order = "" if isinstance(make.cls, np.void) else "'K'"
                return f"{writer.bind(make.cls, 'k')}.copy({order})"
            case "view":
                return f"{writer.bind(make.cls, 'layout')}.on({self._code(make.parts[0][1])})"
            case "objects":
                return f"fill_objects({self._created(make)}, [{self._items(make)}])"
            case "weakref":
                return f"weak_reference({self._items(make)})"
            case "set":
                return f"{{*[{self._items(make)}]}}"
            case "deque":
                return f"deque([{self._items(make)}], {make.cls!r})"
            case "dict":
                pairs = self._pairs(make.parts)
                return pairs if make.cls.value is dict else f"{self._code(make.cls)}({pairs})"
            case "defaultdict":
                return f"defaultdict({self._code(make.cls)}, {self._pairs(make.parts)})"
            case "object":
                return f"fill_object({self._created(make)}, {self._object_parts(make)})"
            case "namespace":
                return f"Namespace(**{self._attributes(make.parts)})"
            case "partial":
                function, args, keywords = (self._code(part) for _, part in make.parts)
                return f"Partial({function}, *{args}, **{keywords})"
            case "method":
                function, instance = (self._code(part) for _, part in make.parts)
                return f"Method({function}, {instance})"
            case "cell":
                parts = "".join(f"{self._code(part)}," for _, part in make.parts)
                return f"new_cell(({parts}))"
            case "function":
                return f"fill_function({self._created(make)}, {self._function_parts(make)})"
            case "reduced":
                return f"fill_reduced({self._created(make)}, {self._reduced_parts(make)})"
            case "constant":
                return writer.constant(make.cls.value, make.cls.keep)
            case _:
                raise AssertionError(f"unknown kind of new object: {make.kind}")

    # -- in two steps ---------------------------------------------------------------------------

    def _created(self, make: recipes.Make) -> str:
        """The object without the contents that can be given to it later."""
        parts = make.parts
        match make.kind:
            case "list":
                return "[]"
            case "objects":
                return f"new_objects({make.cls!r})"
            case "deque":
                return f"deque((), {make.cls!r})"
            case "set":
                return "set()"
            case "dict":
                return f"{self._code(make.cls)}()"
            case "defaultdict":
                return "defaultdict()"
            case "namespace":
                return "Namespace()"
            case "cell":
                return "new_cell(())"
            case "object":
                base = "".join(f", {self._code(part)}" for kind, part in parts if kind == "base")
                new = f"new_object({self._code(make.cls)}{base})"
                if id(make) not in self._order.cyclic:
                    return new
                # Its hash may be asked for before it is complete: what does not lead back is there at once.
                # Attributes keep their order; slots have none.
                missing = recipes.Constant(None)
                attributes = [(n, missing if self._leads_back(p) else p) for n, p in _of("attr", parts)]
                slots = [(n, p) for n, p in _of("slot", parts) if not self._leads_back(p)]
                known = f"{self._attributes(attributes)}, {self._attributes(slots)}"
                return f"fill_object({new}, {known}, [], [])"
            case "function":
                code, namespace, name = make.cls
                closure = ", ".join(map(self._code, dict(parts)["closure"]))
                bind = self._writer.bind
                return (
                    f"new_function({bind(code, 'code')}, {bind(namespace, 'globals')}, {name!r}, [{closure}])"
                )
            case "reduced":
                new = parts[0][0] == "new"
                return (
                    f"new_reduced({self._code(make.cls)}, [{', '.join(map(self._code, parts[0][1]))}], {new})"
                )
            case _:
                return self._expression(make)

    def _filled(self, make: recipes.Make, name: str) -> list[str]:
        """The statements that give an object its contents."""
        match make.kind:
            case "list" | "deque":
                return [f"{name}.extend([{self._items(make)}])"]
            case "objects":
                return [f"fill_objects({name}, [{self._items(make)}])"]
            case "set":
                return [f"{name}.update([{self._items(make)}])"]
            case "dict":
                return [f"{name}.update({self._pairs(make.parts)})"]
            case "defaultdict":
                factory = f"{name}.default_factory = {self._code(make.cls)}"
                return [factory, f"{name}.update({self._pairs(make.parts)})"]
            case "namespace":
                return [f"{name}.__dict__.update({self._attributes(make.parts)})"]
            case "cell":
                return [f"{name}.cell_contents = {self._code(part)}" for _, part in make.parts]
            case "object":
                return [f"fill_object({name}, {self._object_parts(make)})"]
            case "function":
                return [f"fill_function({name}, {self._function_parts(make)})"]
            case "reduced":
                return [f"fill_reduced({name}, {self._reduced_parts(make)})"]
            case _:
                return []

    # -- parts ----------------------------------------------------------------------------------

    def _items(self, make: recipes.Make) -> str:
        return ", ".join(self._code(part) for _, part in make.parts)

    def _pairs(self, parts: Sequence[Any]) -> str:
        return "{" + ", ".join(f"{self._code(k)}: {self._code(v)}" for k, v in parts) + "}"

    def _list(self, parts: Sequence[Any]) -> str:
        return "[" + ", ".join(map(self._code, parts)) + "]"

    def _list_of_pairs(self, parts: Sequence[Any]) -> str:
        return "[" + ", ".join(f"({self._code(k)}, {self._code(v)})" for k, v in parts) + "]"

    def _attributes(self, parts: Sequence[Any]) -> str:
        return "{" + ", ".join(f"{name!r}: {self._code(v)}" for name, v in parts) + "}"

    def _object_parts(self, make: recipes.Make) -> str:
        attributes = self._attributes(_of("attr", make.parts))
        slots = self._attributes(_of("slot", make.parts))
        contents = dict(make.parts)
        pairs = self._list_of_pairs(contents.get("dict", []))
        own = "".join(f", {self._code(part)}" for part in _of("own", make.parts))
        return f"{attributes}, {slots}, {pairs}, {self._list(contents.get('list', []))}{own}"

    def _function_parts(self, make: recipes.Make) -> str:
        parts = dict(make.parts)
        named = ", ".join(self._code(parts[name]) for name in ("defaults", "kwdefaults", "qualname"))
        return f"{named}, {self._pairs(parts['dict'])}"

    def _reduced_parts(self, make: recipes.Make) -> str:
        parts = dict(make.parts)
        state = self._code(parts["state"]) if "state" in parts else "None"
        items, pairs = parts.get("extend", []), parts.get("update", [])
        return f"{state}, {self._list(items)}, {self._list_of_pairs(pairs)}"


def _of(kind: str, parts: Sequence[Any]) -> list[Any]:
    return [part for what, part in parts if what == kind]


_IN_TWO_STEPS = frozenset(("list", "objects", "deque", "set", "dict", "defaultdict", "namespace", "cell"))
_GIVEN_FIRST = frozenset(("closure", "new", "call"))


def _kind_of(make: recipes.Make) -> str:
    if isinstance(make.cls, recipes.Constant):
        return str(getattr(make.cls.value, "__qualname__", make.kind))
    return make.kind
