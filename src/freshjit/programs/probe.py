"""The probe: guards, inputs, outputs and writes of one program as one generated Python function.

``run(fn, args, kwargs)`` checks the guards in the order in which they were recorded, collects the
slots, calls the compiled function, makes the new values, writes them back and returns the result; or
it returns a ``Miss`` that says which guard failed. It is straight-line code: a call costs what its
reads cost.
"""

from __future__ import annotations

import collections
import functools
import gc
import itertools
import math
import types
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import jax
import numpy as np

from freshjit import _compat
from freshjit.programs import checks, commit
from freshjit.programs.making import Maker
from freshjit.programs.writer import Writer
from freshjit.state import hooks, recipes
from freshjit.state.arguments import Argument
from freshjit.state.draws import has_moved
from freshjit.state.guards import Guard
from freshjit.state.path import Path, is_name
from freshjit.state.record import KEYED, Record, Slot, Write
from freshjit.state.values import is_plain, same_value
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
    "overlap": checks.overlap,
    "referents": gc.get_referents,
    "OrderedDict": collections.OrderedDict,
    "has_entry": checks.has_entry,
    "has_moved": has_moved,
    "has_own_entry": checks.has_own_entry,
    "slot_is_set": checks.slot_is_set,
    "default_setattr": checks.default_setattr,
    "subvalue": checks.subvalue,
    "device_copy": checks.device_copy,
    "refuse_tracers": checks.refuse_tracers,
    "trace_is_clean": _compat.trace_is_clean,
    "tree_leaves": jax.tree_util.tree_leaves,
    "tree_structure": jax.tree_util.tree_structure,
    "apply": commit.apply,
    "hooked": hooks.hooked_classes,
    "note_elsewhere": hooks.note_elsewhere,
    "new_object": commit.new_object,
    "fill_object": commit.fill_object,
    "fill_function": commit.fill_function,
    "fill_reduced": commit.fill_reduced,
    "new_objects": commit.new_objects,
    "fill_objects": commit.fill_objects,
    "new_cell": commit.new_cell,
    "new_function": commit.new_function,
    "new_reduced": commit.new_reduced,
    "Partial": functools.partial,
    "weak_reference": weakref.ref,
    "Method": types.MethodType,
    "Namespace": types.SimpleNamespace,
    "deque": collections.deque,
    "defaultdict": collections.defaultdict,
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
    writer = Writer(_HELPERS, record.argument_dicts, Miss(None))
    writer.names["jitted"] = jitted
    writer.line("try:")
    shape_miss = writer.miss
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
    for number in (*numbers, *record.computed):
        writer.number(number)
    writer.line(f"except ({', '.join(error.__name__ for error in UNREADABLE)}):")
    writer.line(f"return {shape_miss}", 2)
    outputs = f"jitted({', '.join([slots, *traced])})"
    _write_results(writer, record, outputs)
    source = "\n".join([_HEADER, *writer.lines]) + "\n"
    code = compile(source, "<freshjit program>", "exec")
    writer.names["__name__"] = __name__  # whose code it is, for who looks for the user's line
    exec(code, writer.names)
    return Probe(cast(Callable[..., Any], writer.names["run"]), source)


# What reading a path raises if the thing is no longer there, or no longer what it was.
UNREADABLE = (
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    StopIteration,
    ReferenceError,
    Warning,  # made an error by the user: NumPy's, where it computes a number
)


def read(path: Path, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What is at ``path`` for a call, read step by step; for looking at one guard, not for every call."""
    places: list[Path] = []
    place: Path | None = path
    while place is not None:
        places.append(place)
        place = place.parent
    value = None
    for place in reversed(places):
        value = _read_on(place, value, function, args, kwargs)
    return value


def _read_on(path: Path, parent: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One step of it, from what is at the parent."""
    if path.step == "root":
        return eval(path.key, {"fn": function, "args": args, "kwargs": kwargs})
    if path.step == "constant":
        return path.key()
    names = {**_HELPERS, "parent": parent}

    def constant(value: Any) -> str:
        name = f"k{len(names)}"
        names[name] = value
        return name

    return eval(path.code("parent", constant), names)


def _items(writer: Writer, paths: Sequence[Path]) -> str:
    return "".join(f"{writer.read(p)}, " for p in paths)


# Up to so many things are compared one by one, which is quicker than going over a tuple of them.
_FEW = 3


def _other_types(writer: Writer, arrays: Sequence[Path]) -> str:
    """The expression that is true if some array is of another type than JAX's own arrays."""
    kind = writer.bind(_compat.ArrayImpl, "Array")
    if len(arrays) <= _FEW:
        return " or ".join(f"type({writer.read(path)}) is not {kind}" for path in arrays)
    return f"(*map(type, arrays),) != {writer.bind((_compat.ArrayImpl,) * len(arrays), 'array_types')}"


def _coincide(writer: Writer, things: Sequence[Path]) -> str:
    """The expression that is true if two of the things are one object."""
    if len(things) <= _FEW:
        pairs = itertools.combinations(map(writer.read, things), 2)
        return " or ".join(f"{a} is {b}" for a, b in pairs)
    return f"len({{*map(id, ({_items(writer, things)}))}}) != {len(things)}"


def _argument_code(argument: Argument) -> str:
    return f"args[{argument.name}]" if isinstance(argument.name, int) else f"kwargs[{argument.name!r}]"


def _slot_code(writer: Writer, slot: Slot) -> str:
    if slot.number is not None:
        return writer.number(slot.number)
    value = writer.read(slot.path)
    return f"device_copy({value})" if slot.kind == "numpy" else value


def _results(record: Record) -> list[recipes.Recipe]:
    values = [w.value for w in record.writes if w.value is not None]
    keys = [w.key for w in record.writes if w.action in KEYED]
    return [*values, *keys, record.output]


def _needed(record: Record) -> tuple[list[Path], list[NumberView]]:
    """Every path and number that results and writes refer to: read before anything changes."""
    paths: dict[Path, None] = dict.fromkeys(w.path for w in record.writes)
    numbers: list[NumberView] = []
    for recipe in recipes.walk(_results(record)):
        if isinstance(recipe, (recipes.Reference, recipes.Slice)):
            paths[recipe.path] = None
        elif isinstance(recipe, recipes.Host):
            numbers.append(recipe.expression)
    return list(paths), numbers


# -- guards -----------------------------------------------------------------------------------------


def _write_guard(writer: Writer, guard: Guard) -> None:
    if guard.kind == "outcome":
        expression, result = guard.value
        failed = _value_condition(writer, writer.number(expression), result)
    else:
        failed = _condition(writer, guard, writer.read(guard.path))
    if failed:
        writer.line(f"if {failed}: return {writer.bind(Miss(guard), 'miss')}", 2)


def _condition(writer: Writer, guard: Guard, value: str) -> str:
    """The expression that is true when the guard does not hold."""
    wanted = guard.value
    match guard.kind:
        case "type":
            return f"type({value}) is not {writer.constant(wanted)}"
        case "is":
            return _another(writer, value, wanted)
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
        case "alias":
            return f"{value} is not {writer.read(wanted)}"
        case "absent":
            return f"{wanted!r} in {writer.read(guard.path.to('dict'))}"
        case "present":
            return f"{wanted!r} not in {writer.read(guard.path.to('dict'))}"
        case "classless":
            return f"has_entry({value}, {wanted!r})"
        case "methodless":
            return f"hasattr({value}, {wanted!r}) and has_entry({value}, {wanted!r})"
        case "lacks":  # a hook can stand there, for the time of another thread's capture
            return f"{wanted!r} in {value}.__dict__ and has_own_entry({value}, {wanted!r})"
        case "contains":
            return f"{wanted!r} not in {value}"
        case "missing":
            return f"{wanted!r} in {value}"
        case "empty":
            return f"not is_empty({value})"
        case "unset":
            return f"slot_is_set({value}, {wanted!r})"
        case "subvalue":
            return f"not subvalue({value}, {writer.bind(wanted, 'k')})"
        case "subclass":
            cls, answer = cast(tuple[Any, bool], wanted)
            return f"issubclass({value}, {writer.constant(cls)}) is not {answer}"
        case "default":
            return f"{value}.__setattr__ is not object_setattr and not default_setattr({value})"
        case "undrawn":
            return f"has_moved({value}, {writer.bind(wanted, 'k')})"
        case "there":
            return ""  # it has been read
        case "outcome":
            raise AssertionError("the outcome of an expression is checked by itself")


def _another(writer: Writer, value: str, wanted: Any) -> str:
    """True if it is another object. None is no dead one, though a weak reference to that gives None."""
    known = writer.constant(wanted)
    return f"{value} is not {known} or {value} is None" if known.endswith("()") else f"{value} is not {known}"


def _value_condition(writer: Writer, value: str, wanted: Any) -> str:
    kind = type(wanted)
    if isinstance(wanted, type):
        return _another(writer, value, wanted)
    if wanted is None or kind is bool or wanted is Ellipsis or wanted is NotImplemented:
        return f"{value} is not {wanted!r}"
    # Mostly it is the very same object, which is the cheapest thing to find out.
    known = writer.bind(wanted, "k")
    if kind in (int, str) or (kind is float and wanted != 0.0 and math.isfinite(wanted)):
        return f"{value} is not {known} and (type({value}) is not {kind.__name__} or {value} != {known})"
    return f"{value} is not {known} and not same_value({value}, {known})"


# -- results and writes -----------------------------------------------------------------------------


def _write_results(writer: Writer, record: Record, outputs: str) -> None:
    maker = Maker(writer, _results(record))
    # Also where it gives nothing: it checks the kinds of the arguments, and may have effects.
    writer.line(f"o = {outputs}")
    plans: list[tuple[Write, str, str, Any]] = []
    for write in record.writes:
        value = None if write.value is None else maker.code(write.value)
        key = maker.code(write.key) if write.action in KEYED else repr(write.key)
        plans.append((write, writer.read(write.path), key, value))
    _write_leak_check(writer, record)
    result = maker.code(record.output)
    if record.writes and result != "None":
        writer.line(f"result = {result}")
        result = "result"
    if all(w.action in _SIMPLE_ACTIONS and _exact(record, w) for w in record.writes):
        # Nothing may be called between the writes. An attribute is hooked by its class, or told of here.
        dicts = {id(w): f"d{i}" for i, w in enumerate(record.writes) if w.action == "setdict"}
        for write, target, key, _ in plans:
            if id(write) in dicts:
                writer.line(f"{dicts[id(write)]} = {target}.__dict__")
                writer.line(f"if hooked: note_elsewhere({target}, {key})")
        for write, target, key, value in plans:
            writer.line(_statement(write, dicts.get(id(write), target), key, value))
    elif record.writes:
        rows = [f"({w.action!r}, {t}, {k}, {v})" for w, t, k, v in plans]
        writer.line(f"apply([{', '.join(rows)}])")
    writer.line(f"return {result}")


def _write_leak_check(writer: Writer, record: Record) -> None:
    labels: dict[int, str] = {}
    for write in record.writes:
        for recipe in recipes.walk([] if write.value is None else [write.value]):
            if isinstance(recipe, recipes.Output):
                labels.setdefault(recipe.index, write.label)
    if not labels:
        return
    written = sorted(labels)
    values = "".join(f"o[{i}]," for i in written)
    names = writer.bind(tuple(labels[i] for i in written), "labels")
    writer.line(f"if not trace_is_clean(): refuse_tracers(({values}), {names})")


def _exact(record: Record, write: Write) -> bool:
    """Whether ``target[key] = value`` runs no code of the user's."""
    if write.action != "setitem":
        return True
    if not isinstance(write.key, recipes.Constant) or not is_plain(write.key.value):
        return False  # the key's own __hash__
    kinds = [g.value for g in record.guards if g.kind == "type" and g.path is write.path]
    return not kinds or kinds[0] in (list, dict)


def _statement(write: Write, target: str, key: str, value: str) -> str:
    match write.action:
        case "setattr":
            if not is_name(write.key):
                return f"setattr({target}, {write.key!r}, {value})"
            return f"{target}.{write.key} = {value}"
        case "setcell":
            return f"{target}.cell_contents = {value}"
        case _:
            return f"{target}[{key}] = {value}"
