"""The probe: guards, inputs, outputs and writes of one program as one generated Python function.

``run(fn, args, kwargs)`` checks the guards in the order in which they were recorded, collects the
slots, calls the compiled function, makes the new values, writes them back and returns the result; or
it returns a ``Miss`` that says which guard failed. It is straight-line code: a call costs what its
reads cost.
"""

from __future__ import annotations

import collections
import functools
import itertools
import math
import operator
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from freshjit import _compat
from freshjit.programs import checks, commit
from freshjit.state import hooks, recipes
from freshjit.state.arguments import Argument
from freshjit.state.capture import Record, Slot, Write
from freshjit.state.guards import Guard
from freshjit.state.held import may_die
from freshjit.state.path import Path
from freshjit.state.values import same_value
from freshjit.state.views.numbers import NumberView

__all__ = ["Miss", "Probe", "generate", "read"]


@dataclass(frozen=True, slots=True)
class Miss:
    """A call that the program does not serve.

    Attributes:
        guard: the guard that failed, None if a path could not be read at all.
    """

    guard: Guard | None


@dataclass(frozen=True, slots=True)
class Probe:
    """The generated function and its source."""

    run: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    source: str


_HEADER = "def run(fn, args, kwargs):"
_INLINE = (type(None), bool, int, str)
# Stores that cannot fail or be interrupted half-way; anything else goes through commit.apply.
_SIMPLE_ACTIONS = frozenset(("setattr", "setdict", "setcell", "setglobal", "setitem"))


# What generated code calls by name.
_HELPERS: dict[str, Any] = {
    "Miss": Miss,
    "ndarray": np.ndarray,
    "object_setattr": object.__setattr__,
    "same_value": same_value,
    "class_entry": checks.class_entry,
    "other_aval": checks.other_aval,
    "is_array": checks.is_array,
    "is_empty": checks.is_empty,
    "nth": checks.nth,
    "overlap": checks.overlap,
    "has_entry": checks.has_entry,
    "default_setattr": checks.default_setattr,
    "subvalue": checks.subvalue,
    "device_copy": checks.device_copy,
    "refuse_tracers": checks.refuse_tracers,
    "trace_is_clean": _compat.trace_is_clean,
    "apply": commit.apply,
    "hooked": hooks.hooked_classes,
    "note_elsewhere": hooks.note_elsewhere,
    "new_object": commit.new_object,
    "fill_object": commit.fill_object,
    "new_objects": commit.new_objects,
    "fill_objects": commit.fill_objects,
    "new_cell": commit.new_cell,
    "new_function": commit.new_function,
    "new_reduced": commit.new_reduced,
    "Partial": functools.partial,
    "Method": types.MethodType,
    "Namespace": types.SimpleNamespace,
    "deque": collections.deque,
    "defaultdict": collections.defaultdict,
}


class _Writer:
    """Collects the lines of the function and the objects they refer to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = dict(_HELPERS)
        self._constants: dict[int, str] = {}
        self._paths: dict[int, str] = {}
        self._numbers: dict[int, str] = {}
        self._temporaries = 0

    def line(self, text: str, indent: int = 1) -> None:
        self.lines.append("    " * indent + text)

    def bind(self, value: Any, stem: str) -> str:
        """A name for an object, held strongly."""
        name = f"{stem}{len(self.names)}"
        self.names[name] = value
        return name

    def constant(self, value: Any) -> str:
        """An expression for an object. What can die with the user's program is held weakly."""
        if type(value) in _INLINE:
            return repr(value)
        known = self._constants.get(id(value))
        if known is None:
            known = self.bind(weakref.ref(value), "weak") + "()" if may_die(value) else self.bind(value, "k")
            self._constants[id(value)] = known
        return known

    def read(self, path: Path) -> str:
        """The variable that holds what is at ``path``, reading it now if need be."""
        name = self._paths.get(id(path))
        if name is None:
            if path.step == "root":
                name = path.key
            elif path.step == "constant":
                name = self.constant(path.key())
            else:
                assert path.parent is not None
                expression = path.code(self.read(path.parent), self.constant)
                name = f"v{len(self._paths)}"
                self.line(f"{name} = {expression}", 2)
            self._paths[id(path)] = name
        return name

    def number(self, expression: Any) -> str:
        """The variable that holds a number computed from numbers in state."""
        if type(expression) is float and not math.isfinite(expression):
            return self.bind(expression, "k")
        if type(expression) is not NumberView:
            return f"({expression!r})" if type(expression) in (int, float) else self.constant(expression)
        if expression.function is None:
            return self.read(expression.path)
        name = self._numbers.get(id(expression))
        if name is None:
            operands = [self.number(o) for o in expression.operands]
            name = f"n{len(self._numbers)}"
            self._numbers[id(expression)] = name
            symbol = _SYMBOLS.get(expression.function)
            if symbol is not None and len(operands) == 2:
                self.line(f"{name} = {operands[0]} {symbol} {operands[1]}", 2)
            else:
                self.line(f"{name} = {self.function(expression.function)}({', '.join(operands)})", 2)
        return name

    def function(self, function: Any) -> str:
        """A name for a function that an expression over numbers uses; those live for ever."""
        stem = getattr(function, "__name__", "").strip("_")
        name = f"{stem if stem.isidentifier() else 'function'}_{id(function)}"
        self.names[name] = function
        return name

    def temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"


_SYMBOLS: dict[Any, str] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}


def generate(
    record: Record,
    arguments: Sequence[Argument],
    jitted: Callable[..., Any],
    check_avals: bool = True,
) -> Probe:
    """The function that serves calls of one program.

    Parameters:
        record: what the capture found.
        arguments: how each argument takes part.
        jitted: the compiled pure function: ``jitted(slots, *traced) -> tuple of arrays``.
        check_avals: check shapes and dtypes of the slots here. Otherwise that is left to ``jitted``,
            which checks them anyway and raises ``Retrace``.
    """
    keywords = [a.name for a in arguments if isinstance(a.name, str)]
    n_args = len(arguments) - len(keywords)
    writer = _Writer()
    writer.names["jitted"] = jitted
    writer.line("try:")
    shape_miss = writer.bind(Miss(None), "miss")
    writer.line(f"if len(args) != {n_args} or len(kwargs) != {len(keywords)}: return {shape_miss}", 2)
    if record.late_rules:
        writer.line(f"if not trace_is_clean(): return {shape_miss}", 2)
    traced = [_argument_code(a) for a in arguments if a.kind == "traced"]
    if sum(a.loose for a in arguments) > 1:  # the function may go by their order
        writer.line(f"if (*kwargs,) != {tuple(keywords)}: return {shape_miss}", 2)
    else:
        for keyword in keywords:
            writer.line(f"if {keyword!r} not in kwargs: return {shape_miss}", 2)
    arrays = [s.path for s in record.slots if s.kind == "array"]
    inputs = set(map(id, arrays))
    for guard in record.guards:
        if guard.kind == "aval" and id(guard.path) in inputs and not check_avals:
            writer.read(guard.path)
        else:
            _write_guard(writer, guard)
    if arrays:
        writer.line(f"arrays = ({_items(writer, arrays)})", 2)
        if not check_avals:
            others = _other_types(writer, arrays)
            writer.line(f"if ({others}) and not all(map(is_array, arrays)): return {shape_miss}", 2)
    for things in record.distinct.groups:
        writer.line(f"if {_coincide(writer, things)}: return {shape_miss}", 2)
    for one, other in record.distinct.memory:
        overlap = f"overlap({writer.read(one)}, {writer.read(other)})"
        writer.line(f"if {overlap}: return {shape_miss}", 2)
    if len(arrays) == len(record.slots):
        slots = "arrays" if arrays else "()"
    else:
        slots = "(" + "".join(f"{_slot_code(writer, s)}, " for s in record.slots) + ")"
    paths, numbers = _needed(record)
    for path in paths:
        writer.read(path)
    for number in numbers:
        writer.number(number)
    writer.line(f"except ({', '.join(error.__name__ for error in UNREADABLE)}):")
    writer.line(f"return {shape_miss}", 2)
    outputs = f"jitted({', '.join([slots, *traced])})"
    _write_results(writer, record, outputs)
    source = "\n".join([_HEADER, *writer.lines]) + "\n"
    code = compile(source, "<freshjit program>", "exec")
    exec(code, writer.names)
    return Probe(cast(Callable[..., Any], writer.names["run"]), source)


# What reading a path raises if the thing is no longer there, or no longer what it was.
UNREADABLE = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, StopIteration)


def read(path: Path, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What is at ``path`` for a call, read step by step; for looking at one guard, not for every call."""
    if path.step == "root":
        return eval(path.key, {"fn": function, "args": args, "kwargs": kwargs})
    if path.step == "constant":
        return path.key()
    assert path.parent is not None
    names = {**_HELPERS, "parent": read(path.parent, function, args, kwargs)}

    def constant(value: Any) -> str:
        name = f"k{len(names)}"
        names[name] = value
        return name

    return eval(path.code("parent", constant), names)


def _items(writer: _Writer, paths: Sequence[Path]) -> str:
    return "".join(f"{writer.read(p)}, " for p in paths)


# Up to so many things are compared one by one, which is quicker than going over a tuple of them.
_FEW = 3


def _other_types(writer: _Writer, arrays: Sequence[Path]) -> str:
    """The expression that is true if some array is of another type than JAX's own arrays."""
    kind = writer.bind(_compat.ArrayImpl, "Array")
    if len(arrays) <= _FEW:
        return " or ".join(f"type({writer.read(path)}) is not {kind}" for path in arrays)
    return f"(*map(type, arrays),) != {writer.bind((_compat.ArrayImpl,) * len(arrays), 'array_types')}"


def _coincide(writer: _Writer, things: Sequence[Path]) -> str:
    """The expression that is true if two of the things are one object."""
    if len(things) <= _FEW:
        pairs = itertools.combinations(map(writer.read, things), 2)
        return " or ".join(f"{a} is {b}" for a, b in pairs)
    return f"len({{*map(id, ({_items(writer, things)}))}}) != {len(things)}"


def _argument_code(argument: Argument) -> str:
    return f"args[{argument.name}]" if isinstance(argument.name, int) else f"kwargs[{argument.name!r}]"


def _slot_code(writer: _Writer, slot: Slot) -> str:
    if slot.number is not None:
        return writer.number(slot.number)
    value = writer.read(slot.path)
    return f"device_copy({value})" if slot.kind == "numpy" else value


def _walk(roots: Sequence[Any]) -> Iterator[Any]:
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
        elif isinstance(item, recipes.View):
            todo.append(item.base)
        elif isinstance(item, recipes.Make) and id(item) not in seen:
            seen.add(id(item))
            todo += [item.cls, item.parts]


def _results(record: Record) -> list[Any]:
    return [record.output, *(w.value for w in record.writes)]


def _needed(record: Record) -> tuple[list[Path], list[NumberView]]:
    """Every path and number that results and writes refer to: read before anything changes."""
    paths: dict[Path, None] = dict.fromkeys(w.path for w in record.writes)
    numbers: list[NumberView] = []
    for recipe in _walk(_results(record)):
        if isinstance(recipe, (recipes.Reference, recipes.Slice)):
            paths[recipe.path] = None
        elif isinstance(recipe, recipes.Host):
            numbers.append(recipe.expression)
    return list(paths), numbers


# -- guards -----------------------------------------------------------------------------------------


def _write_guard(writer: _Writer, guard: Guard) -> None:
    if guard.kind == "outcome":
        expression, result = guard.value
        failed = _value_condition(writer, writer.number(expression), result)
    else:
        failed = _condition(writer, guard, writer.read(guard.path))
    if failed:
        writer.line(f"if {failed}: return {writer.bind(Miss(guard), 'miss')}", 2)


def _condition(writer: _Writer, guard: Guard, value: str) -> str:
    """The expression that is true when the guard does not hold."""
    wanted = guard.value
    match guard.kind:
        case "type":
            return f"type({value}) is not {writer.constant(wanted)}"
        case "is":
            return f"{value} is not {writer.constant(wanted)}"
        case "value":
            return _value_condition(writer, value, wanted)
        case "equal":
            known = writer.bind(wanted, "k")
            return f"{value} is not {known} and not same_value({value}, {known})"
        case "code":
            return f"{value}.__code__ is not {writer.constant(wanted)}"
        case "aval":
            if isinstance(wanted, tuple):
                shape, dtype = cast(tuple[Any, Any], wanted)
                known = writer.bind(dtype, "dtype")
                return (
                    f"type({value}) is not ndarray or {value}.shape != {shape!r} or {value}.dtype != {known}"
                )
            known = writer.bind(wanted, "aval")
            return f"{value}.aval is not {known} and other_aval({value}, {known})"
        case "content":
            return f"not {writer.bind(checks.ContentCheck(wanted), 'content')}({value})"
        case "buffer":
            return f"bytes({value}) != {writer.bind(wanted, 'k')}"
        case "len":
            return f"len({value}) != {wanted}"
        case "keys":
            if all(type(k) is str for k in wanted):
                return f"(*{value},) != {writer.bind(wanted, 'keys')}"
            return f"not {writer.bind(checks.KeysCheck(wanted), 'keys')}({value})"
        case "elements":
            return f"not same_value(frozenset({value}), {writer.bind(wanted, 'k')})"
        case "alias":
            return f"{value} is not {writer.read(wanted)}"
        case "absent":
            return f"{wanted!r} in {writer.read(guard.path.to('dict'))}"
        case "present":
            return f"{wanted!r} not in {writer.read(guard.path.to('dict'))}"
        case "classless":
            return f"has_entry({value}, {wanted!r})"
        case "contains":
            return f"{wanted!r} not in {value}"
        case "missing":
            return f"{wanted!r} in {value}"
        case "empty":
            return f"not is_empty({value})"
        case "unset":
            return f"hasattr({value}, {wanted!r})"
        case "subvalue":
            return f"not subvalue({value}, {writer.bind(wanted, 'k')})"
        case "default":
            return f"{value}.__setattr__ is not object_setattr and not default_setattr({value})"
        case "outcome":
            raise AssertionError("the outcome of an expression is checked by itself")


def _value_condition(writer: _Writer, value: str, wanted: Any) -> str:
    kind = type(wanted)
    if isinstance(wanted, type):
        return f"{value} is not {writer.constant(wanted)}"
    if wanted is None or kind is bool or wanted is Ellipsis or wanted is NotImplemented:
        return f"{value} is not {wanted!r}"
    # Mostly it is the very same object, which is the cheapest thing to find out.
    known = writer.bind(wanted, "k")
    if kind in (int, str) or (kind is float and wanted != 0.0 and math.isfinite(wanted)):
        return f"{value} is not {known} and (type({value}) is not {kind.__name__} or {value} != {known})"
    return f"{value} is not {known} and not same_value({value}, {known})"


# -- results and writes -----------------------------------------------------------------------------


class _Maker:
    """Turns recipes into expressions; what needs several statements becomes a temporary."""

    def __init__(self, writer: _Writer, shared: set[int]) -> None:
        self._writer, self._shared = writer, shared
        self._made: dict[int, str] = {}

    def code(self, recipe: Any) -> str:
        writer = self._writer
        match recipe:
            case recipes.Output(index):
                return f"o[{index}]"
            case recipes.Reference(path):
                return writer.read(path)
            case recipes.Constant(value):
                return writer.constant(value)
            case recipes.Host(expression):
                return writer.number(expression)
            case recipes.Slice(path, steps):
                return writer.read(path) + "".join(f"[{writer.constant(step)}]" for step in steps)
            case recipes.Copy(array):
                return self._once(recipe, lambda: f"{writer.bind(array, 'k')}.copy('K')")
            case recipes.View(base, layout):
                return self._once(recipe, lambda: f"{writer.bind(layout, 'layout')}.on({self.code(base)})")
            case recipes.Shared(make):
                return self.code(make)
            case recipes.Make():
                return self._make(recipe)
            case _:
                raise AssertionError(f"not a recipe: {recipe!r}")

    def _once(self, recipe: Any, expression: Callable[[], str]) -> str:
        """What appears in several places is one thing."""
        name = self._made.get(id(recipe))
        if name is None:
            value = expression()
            name = self._made[id(recipe)] = self._writer.temporary()
            self._writer.line(f"{name} = {value}")
        return name

    def _make(self, make: recipes.Make) -> str:
        known = self._made.get(id(make))
        if known is not None:
            return known
        if id(make) not in self._shared:
            return self._expression(make)
        create, fill = self._in_two_steps(make)
        name = self._writer.temporary()
        if create is None:
            expression = self._expression(make)
            self._made[id(make)] = name
            self._writer.line(f"{name} = {expression}")
            return name
        self._made[id(make)] = name
        self._writer.line(f"{name} = {create}")
        for statement in fill():
            self._writer.line(statement.replace("$", name))
        return name

    def _in_two_steps(self, make: recipes.Make) -> tuple[str | None, Callable[[], list[str]]]:
        """Creation of an empty object, and the statements that fill it (``$`` is the object)."""
        match make.kind:
            case "objects":
                return f"new_objects({make.cls!r})", lambda: [f"fill_objects($, [{self._items(make)}])"]
            case "list":
                return "[]", lambda: [f"$.extend([{self._items(make)}])"]
            case "deque":
                return f"deque((), {make.cls!r})", lambda: [f"$.extend([{self._items(make)}])"]
            case "set":
                return "set()", lambda: [f"$.update([{self._items(make)}])"]
            case "dict":
                return f"{self._writer.constant(make.cls.value)}()", lambda: [
                    f"$.update({self._pairs(make.parts)})"
                ]
            case "object":
                create = f"new_object({self._writer.constant(make.cls.value)})"
                return create, lambda: [f"fill_object($, {self._object_parts(make)})"]
            case "namespace":
                return "Namespace()", lambda: [f"$.__dict__.update({self._names(make.parts)})"]
            case "cell":

                def contents():
                    return [f"$.cell_contents = {self.code(part)}" for _, part in make.parts]

                return "new_cell(())", contents
            case _:
                return None, lambda: []

    def _expression(self, make: recipes.Make) -> str:
        writer = self._writer
        match make.kind:
            case "objects":
                return f"fill_objects(new_objects({make.cls!r}), [{self._items(make)}])"
            case "list":
                return f"[{self._items(make)}]"
            case "tuple":
                items = f"({self._items(make)}{',' if make.parts else ''})"
                return (
                    items
                    if make.cls.value is tuple
                    else f"tuple.__new__({writer.constant(make.cls.value)}, {items})"
                )
            case "frozenset":
                return f"frozenset([{self._items(make)}])"
            case "set":
                return f"{{*[{self._items(make)}]}}"
            case "deque":
                return f"deque([{self._items(make)}], {make.cls!r})"
            case "dict":
                pairs = self._pairs(make.parts)
                return pairs if make.cls.value is dict else f"{writer.constant(make.cls.value)}({pairs})"
            case "defaultdict":
                return f"defaultdict({self.code(make.cls)}, {self._pairs(make.parts)})"
            case "object":
                new = f"new_object({writer.constant(make.cls.value)})"
                return f"fill_object({new}, {self._object_parts(make)})"
            case "namespace":
                return f"Namespace(**{self._names(make.parts)})"
            case "partial":
                function, args, keywords = (self.code(part) for _, part in make.parts)
                return f"Partial({function}, *{args}, **{keywords})"
            case "method":
                function, instance = (self.code(part) for _, part in make.parts)
                return f"Method({function}, {instance})"
            case "cell":
                parts = "".join(f"{self.code(part)}," for _, part in make.parts)
                return f"new_cell(({parts}))"
            case "function":
                return self._function(make)
            case "reduced":
                return self._reduced(make)
            case "constant":
                return writer.constant(make.cls.value)
            case _:
                raise AssertionError(f"unknown kind of new object: {make.kind}")

    def _items(self, make: recipes.Make) -> str:
        return ", ".join(self.code(part) for _, part in make.parts)

    def _pairs(self, parts: Sequence[Any]) -> str:
        return "{" + ", ".join(f"{self.code(k)}: {self.code(v)}" for k, v in parts) + "}"

    def _names(self, parts: Sequence[Any]) -> str:
        return "{" + ", ".join(f"{name!r}: {self.code(v)}" for name, v in parts) + "}"

    def _object_parts(self, make: recipes.Make) -> str:
        attributes = self._names([part for kind, part in make.parts if kind == "attr"])
        slots = self._names([part for kind, part in make.parts if kind == "slot"])
        pairs, items = "[]", "[]"
        for kind, part in make.parts:
            if kind == "dict":
                pairs = "[" + ", ".join(f"({self.code(k)}, {self.code(v)})" for k, v in part) + "]"
            elif kind == "list":
                items = "[" + ", ".join(map(self.code, part)) + "]"
        return f"{attributes}, {slots}, {pairs}, {items}"

    def _function(self, make: recipes.Make) -> str:
        writer, parts = self._writer, dict(make.parts)
        code, namespace, name = make.cls
        closure = "[" + ", ".join(map(self.code, parts["closure"])) + "]"
        rest = (
            f"'defaults': {self.code(parts['defaults'])}, 'kwdefaults': {self.code(parts['kwdefaults'])}, "
            f"'qualname': {self.code(parts['qualname'])}, 'dict': {self._pairs(parts['dict'])}"
        )
        return (
            f"new_function({writer.bind(code, 'code')}, {writer.bind(namespace, 'globals')}, {name!r}, "
            f"{{'closure': {closure}, {rest}}})"
        )

    def _reduced(self, make: recipes.Make) -> str:
        parts = dict(make.parts)
        new = "new" in parts
        args = "[" + ", ".join(map(self.code, parts["new" if new else "call"])) + "]"
        state = self.code(parts["state"]) if "state" in parts else "None"
        items = "[" + ", ".join(map(self.code, parts.get("extend", []))) + "]"
        pairs = "[" + ", ".join(f"({self.code(k)}, {self.code(v)})" for k, v in parts.get("update", [])) + "]"
        return f"new_reduced({self.code(make.cls)}, {args}, {new}, {state}, {items}, {pairs})"


def _write_results(writer: _Writer, record: Record, outputs: str) -> None:
    maker = _Maker(writer, _shared_makes(record))
    # Also where it gives nothing: it checks the kinds of the arguments, and may have effects.
    writer.line(f"o = {outputs}")
    plans: list[tuple[Write, str, Any]] = []
    for write in record.writes:
        value = None if write.value is None else maker.code(write.value)
        plans.append((write, writer.read(write.path), value))
    _write_leak_check(writer, record)
    result = maker.code(record.output)
    if record.writes and result != "None":
        writer.line(f"result = {result}")
        result = "result"
    if all(w.action in _SIMPLE_ACTIONS and _exact(record, w) for w in record.writes):
        # Nothing may be called between the writes. An attribute is hooked by its class, or told of here.
        dicts = {id(w): f"d{i}" for i, w in enumerate(record.writes) if w.action == "setdict"}
        for write, target, _ in plans:
            if id(write) in dicts:
                writer.line(f"{dicts[id(write)]} = {target}.__dict__")
                writer.line(f"if hooked: note_elsewhere({target}, {write.key!r})")
        for write, target, value in plans:
            writer.line(_statement(writer, write, dicts.get(id(write), target), value))
    elif record.writes:
        rows = [f"({w.action!r}, {t}, {_key(writer, w)}, {v})" for w, t, v in plans]
        writer.line(f"apply([{', '.join(rows)}])")
    writer.line(f"return {result}")


def _write_leak_check(writer: _Writer, record: Record) -> None:
    labels: dict[int, str] = {}
    for write in record.writes:
        for recipe in _walk([write.value]):
            if isinstance(recipe, recipes.Output):
                labels.setdefault(recipe.index, write.label)
    if not labels:
        return
    written = sorted(labels)
    values = "".join(f"o[{i}]," for i in written)
    names = writer.bind(tuple(labels[i] for i in written), "labels")
    writer.line(f"if not trace_is_clean(): refuse_tracers(({values}), {names})")


def _shared_makes(record: Record) -> set[int]:
    return {id(r.make) for r in _walk(_results(record)) if isinstance(r, recipes.Shared)}


def _exact(record: Record, write: Write) -> bool:
    """Whether ``target[key] = value`` runs no code of the user's."""
    if write.action != "setitem":
        return True
    kinds = [g.value for g in record.guards if g.kind == "type" and g.path is write.path]
    return not kinds or kinds[0] in (list, dict)


def _key(writer: _Writer, write: Write) -> str:
    return writer.constant(write.key) if write.action in ("setitem", "delitem") else repr(write.key)


def _statement(writer: _Writer, write: Write, target: str, value: str) -> str:
    match write.action:
        case "setattr":
            return f"{target}.{write.key} = {value}"
        case "setdict":
            return f"{target}[{write.key!r}] = {value}"
        case "setcell":
            return f"{target}.cell_contents = {value}"
        case "setglobal":
            return f"{target}[{write.key!r}] = {value}"
        case _:
            return f"{target}[{_key(writer, write)}] = {value}"
