"""Capture: one recorded run of the user's function under trace.

The capture owns the record (guards, slots, mutable things and what they held), runs the function,
and ends with a ``Record`` from which ``programs/`` builds a program. What traced code
sees of each kind of value is decided in ``views/``; this module only keeps the books.
"""

from __future__ import annotations

import enum
import inspect
import random
import threading
import types
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import jax
import numpy as np

from freshjit import _compat
from freshjit.errors import StateMismatchError, UnstableStateError, UnsupportedStateError
from freshjit.state import distinct, recipes
from freshjit.state.active import thread
from freshjit.state.arguments import Argument, arranged
from freshjit.state.guards import Frozen, Guard, Kind, SourceLine, user_line
from freshjit.state.held import all_classes
from freshjit.state.hooks import GAP, Hooks
from freshjit.state.libraries import is_installed
from freshjit.state.overrides import Overrides
from freshjit.state.path import Path, alike
from freshjit.state.record import KEYED, Entry, Mutable, Record, Slot, Write
from freshjit.state.values import same_value
from freshjit.state.views import (
    appending,
    arrays,
    attributes,
    classdict,
    modules,
    numbers,
    objects,
    outside,
    pybuiltins,
    unseen,
    view_of,
)

__all__ = ["Capture"]

T = TypeVar("T")

_MADE_BY_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE

_WATCHES = (outside.watched_paths, unseen.watched_interpreter)


class Capture:
    """The record of one run, and the run itself.

    Parameters:
        function: the function as the user gave it (bound methods and the like included).
        root: its path.
        plain_numpy: show NumPy arrays as plain copies guarded by their contents.
        changing: where Python numbers are known to change from call to call (trails of paths).
        rigid: where the function could not be traced with a number that changes.
        overrides: where the user knows better.
        plain_numbers: show all numbers by value.
        whole: read lists that the function only appends to whole, like any others.
        given: values to be read in place of the real arrays and numbers, by the trails of their paths.
        flatten_result: note the result as a pytree, which not every result can be.
        joined: show arrays among the arguments that are one array as one tracer.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        root: Path,
        plain_numpy: bool = False,
        changing: frozenset[Any] = frozenset(),
        rigid: frozenset[Any] = frozenset(),
        overrides: Overrides | None = None,
        plain_numbers: bool = False,
        whole: bool = False,
        given: Mapping[Any, Any] | None = None,
        flatten_result: bool = False,
        joined: bool = False,
    ) -> None:
        self.flatten_result = flatten_result
        self.plain_numbers = plain_numbers
        self.changing, self.rigid, self.overrides = changing, rigid, overrides
        self.whole = whole
        self.given = given
        self.outer: Capture | None = None
        self.bases: Mapping[str, Path] = {}
        self.argument_containers: list[Path] = []
        self.argument_leaves: dict[int, tuple[Path, Any]] = {}  # by id: their arrays and tuples
        self._argument_numbers: list[tuple[Path, type]] = []
        self._joined = joined
        self._leaves_coincide = False
        self.frozen: list[Frozen] = []
        self.unseen = unseen.Unseen()
        self._asked: dict[Any, tuple[Path, Any, SourceLine | None]] = {}
        self._at_end: list[Callable[[Capture], None]] = []
        self._random: list[tuple[str, Any, Any]] = []
        self._there_before: dict[int, Any] = {}  # arrays, by id
        self._classes_before: dict[int, type] = {}
        self.used_numbers: dict[Path, None] = {}  # in the order of reading
        self.number_views: list[numbers.NumberView] = []
        self._computed: list[numbers.NumberView] = []
        self.plain_numpy = plain_numpy
        self.function = function
        self.root = root
        self.guards: list[Guard] = []
        self.slots: list[Slot] = []
        self.entries: dict[int, Entry] = {}  # by id of the original
        self.views: dict[int, Entry] = {}  # by id of the view
        self.objects: dict[int, objects.ObjectState] = {}  # by id of the view; the hooks ask here
        self.owner_of_dict: dict[int, objects.ObjectState] = {}  # by id of the instance dictionary
        self.mutables: list[Mutable] = []
        self.made: dict[int, tuple[Any, list[Mutable]]] = {}  # by id: what the run itself has made
        self.growing: dict[int, appending.GrowingCopy] = {}  # by id of the original
        self.namespaces: dict[int, modules.Namespace] = {}
        self.cells: dict[int, Any] = {}
        self.functions = attributes.Functions()
        self.class_attributes = classdict.ClassAttributes()
        self.hooks = Hooks(lambda cls: self.mutable(objects.ClassState(self, cls)))
        self.builtins = pybuiltins.Builtins(self)
        self._guarded: set[tuple[int, str, Any]] = set()
        self._slot_of: dict[int, Slot] = {}  # by id of the jax array
        self._saw_numpy = False
        self.sees_identity = False
        self.deleted_names: set[str] = set()  # attributes that code of the function deletes somewhere
        self._alone = threading.active_count() == 1
        self.disturbed: str | None = None  # what another thread has changed under this run's eyes
        self.late_rules = False
        self._keep: list[Any] = []
        self.recorder: _compat.Recorder | _compat.Direct | None = None

    # -- what views call ------------------------------------------------------------------------

    def view(self, value: Any, path: Path) -> Any:
        """What traced code sees of ``value``, found at ``path``; the reading is recorded."""
        known = self.views.get(id(value))
        if known is not None and known.view is value and known.original is not value:
            return value
        entry = self.entries.get(id(value))
        if entry is not None:
            if entry.path is not path:
                self.guard(path, "alias", entry.path)
            return entry.view
        return view_of(self, value, path)

    def remember(self, original: Any, view: Any, path: Path) -> Any:
        """Note that ``view`` stands for ``original``, whose first path is ``path``."""
        entry = Entry(original, view, path)
        self.entries[id(original)] = entry
        self.views[id(view)] = entry
        return view

    def alias_view(self, original: Any, view: Any, path: Path) -> None:
        """Note that ``original`` is seen as the view of something else (a wrapper entered)."""
        self.entries[id(original)] = Entry(original, view, path)

    def argument_leaf(self, seen: Any, original: Any, path: Path) -> Any:
        """What traced code is to hold for an array, number or tuple among the traced arguments."""
        if type(original) in (bool, *numbers.NUMBERS):
            self._argument_numbers.append((path, type(original)))
            return seen
        known = self.argument_leaves.get(id(original))
        if known is None:
            self.argument_leaves[id(original)] = path, original
            if self._joined:
                self.alias_view(original, seen, path)
            return seen
        self._leaves_coincide = True
        if not self._joined:
            return seen
        self.guard(path, "alias", known[0])
        return self.entries[id(original)].view

    def _must_join(self) -> bool:
        """Whether code that can tell was shown two tracers for what is one array outside."""
        captured = not self.argument_leaves.keys().isdisjoint(self.entries)
        return self.sees_identity and not self._joined and (self._leaves_coincide or captured)

    def enter(self, function: Any, made: Callable[[], Capture | None] | None = None) -> Any:
        """A function called inside this capture through a wrapper, seen as any other function.

        Parameters:
            made: the capture in which the wrapper was made (``active.present``). If it is this one, the
                function is what traced code holds already.
        """
        if made is not None and made() is self:
            return function
        plain = getattr(function, "__func__", function)
        if isinstance(plain, types.FunctionType) and isinstance(plain.__globals__, modules.Namespace):
            return function  # made during this run
        return self.view(function, Path.constant(function, getattr(function, "__name__", "function")))

    def assigned_to_class(self, cls: type, name: str) -> tuple[Any] | None:
        """What traced code has put in place of an entry of this class (a gap if it has deleted it)."""
        capture: Capture | None = self
        while capture is not None:
            changes = capture.hooks.changes(cls)
            if name in changes:
                return (changes[name],)
            capture = capture.outer
        return None

    def may_have_put_on_class(self, name: str, value: Any) -> bool:
        """Whether it was this run that wrote ``name`` to a class, or deleted it there, past the hooks."""
        if (self._alone and threading.active_count() == 1) or isinstance(value, _compat.Tracer):
            return True
        return value is GAP and name in self.deleted_names

    def original_of(self, view: Any) -> Entry | None:
        entry = self.views.get(id(view))
        return entry if entry is not None and entry.view is view else None

    def guard(self, path: Path, kind: Kind, value: Any, where: SourceLine | None = None) -> None:
        mark = (
            id(path),
            kind,
            value if kind in ("absent", "present", "classless", "contains", "missing", "unset") else None,
        )
        if kind == "alias":
            mark = (id(path), kind, id(value))
        elif kind == "subclass":
            mark = (id(path), kind, id(value[0]))
            self.keep(value)
        if mark in self._guarded:
            return
        self._guarded.add(mark)
        self.guards.append(Guard(path, kind, value, where or user_line()))
        if self.outer is not None:
            self.outer.guard(path.on(self.bases), kind, value.on(self.bases) if kind == "alias" else value)

    def only_appended_to(self, value: Any, path: Path, name: str) -> Any:
        """What stands for a list if the instruction that now reads ``name`` only appends to it, else GAP."""
        return appending.for_read(self, value, path, name)

    def growing_copy(self, value: Any, path: Path) -> appending.GrowingCopy | None:
        """What this run has appended to ``value`` without looking at it, if it has."""
        copy = self.growing.get(id(value))
        if copy is not None and copy.path is not path:
            self.guard(path, "alias", copy.path)
        return copy

    def input(self, array: Any, path: Path, device_array: Any = None) -> Any:
        """Make an input of the array found at ``path``; returns the tracer that stands for it.

        Parameters:
            array: the array in the user's state (jax or NumPy).
            path: where it was found.
            device_array: for a NumPy array, the jax array with its contents.
        """
        assert self.recorder is not None
        is_numpy = device_array is not None
        concrete = device_array if is_numpy else array
        self.guard(path, "aval", jax.typeof(concrete) if not is_numpy else (array.shape, array.dtype))
        slot = Slot(path, concrete, "numpy" if is_numpy else "array", user_line())
        self.slots.append(slot)
        if self.given is not None:
            return self.given_at(path)
        self._slot_of[id(concrete)] = slot
        if self.outer is not None:
            return arrays.to_jax(self.outer.view(array, path.on(self.bases)))
        return self.recorder.input(concrete)

    def given_at(self, path: Path) -> Any:
        """The value given for an array of the state."""
        assert self.given is not None
        value = self.given.get(path.trail, GAP)
        if value is GAP:
            raise StateMismatchError(
                f"{path} is read, but the given state does not have it.\nRead the state with arguments for "
                "which the function reads the same things."
            )
        return value

    @property
    def saw_numpy(self) -> bool:
        """Whether a NumPy array was shown as a stand-in that a library might not take."""
        return self._saw_numpy

    def number_changes(self, path: Path) -> bool:
        """Whether the Python number at ``path`` is to be seen as one that changes."""
        if self.plain_numbers:
            return False
        kind = None if self.overrides is None else self.overrides.kind(path)
        if kind == "dynamic":
            return path.trail not in self.rigid
        # A number at a root is a static argument: the user has asked for its value.
        if kind == "static" or path.parent is None or not self.changing:
            return False
        trail = path.trail
        return trail not in self.rigid and (trail in self.changing or alike(trail) in self.changing)

    def number_input(self, view: numbers.NumberView) -> Any:
        """Make an input of a Python number that may differ at each call; returns its tracer."""
        assert self.recorder is not None
        array = numbers.as_input(view)
        slot = Slot(view.path, array, "number", user_line(), view)
        self.slots.append(slot)
        self._slot_of[id(array)] = slot
        self.keep(array)
        return self.recorder.input(array)

    def guard_outcome(self, view: numbers.NumberView, result: Any) -> None:
        """The program is valid as long as this expression over numbers in state gives this result."""
        self.keep(view)
        mark = (id(view), "outcome", None)
        if mark not in self._guarded:
            self._guarded.add(mark)
            self.guards.append(Guard(view.path, "outcome", (view, result), user_line()))

    def must_not_fail(self, view: numbers.NumberView) -> None:
        """This has given a result: a call in which Python would raise an error instead is not served."""
        self._computed.append(view)

    def needs_content(self, path: Path, array: Any) -> None:
        """The traced code needed the value itself: the program is valid for these contents only."""
        self.account_for(array)
        contents = np.array(_compat.as_numpy(array), copy=True, order="C")
        self.guard(path, "content", contents)

    def account_for(self, array: Any) -> None:
        """Note that it does no harm if this array becomes a constant: its contents are guarded."""
        self._there_before.pop(id(array), None)

    def mutable(self, thing: Mutable) -> None:
        self.mutables.append(thing)
        self._saw_numpy |= isinstance(thing, arrays.Source)

    def watch_random(self, generator: Any, label: str) -> None:
        """Notice if a random generator of NumPy or Python moves during the run."""
        self._random.append((label, generator, _random_state(generator)))

    def at_end(self, check: Callable[[Capture], None]) -> None:
        """Have something looked at when the function has run, outside of the trace."""
        self._at_end.append(check)

    def report_frozen(self, what: str, remedy: str, where: SourceLine | None = None) -> None:
        """Note that traced code did something whose result can be neither guarded nor made an input.

        Parameters:
            where: the user's line, if it is not the one that runs now.
        """
        self.frozen.append(Frozen(what, remedy, where or user_line()))
        if self.outer is not None:
            self.outer.report_frozen(what, remedy, where)

    def asked(self, function: Any, question: tuple[Any, ...], answer: Any, shown: str) -> None:
        """Note what a function outside gave: the program is valid as long as it gives the same.

        Parameters:
            question: the arguments, plain values.
            shown: how the call is written.
        """
        if self.outer is not None:
            self.outer.asked(function, question, answer, shown)
        else:
            path = Path.constant(function, shown).to("call", question, shown)
            self._asked.setdefault((function, question), (path, answer, user_line()))

    def _guard_answers(self) -> None:
        """Make guards of the answers, unless this run has changed what is asked for."""
        for path, answer, where in self._asked.values():
            assert path.parent is not None
            if same_value(path.parent.key()(*path.key), answer):
                self.guard(path, "value", answer, where)
            else:
                self.report_frozen(
                    f"{path} was read and has changed",
                    "Read it outside and pass the result as an argument.",
                    where,
                )

    def _report_random(self) -> None:
        for label, generator, before in self._random:
            if _random_state(generator) != before:
                self.report_frozen(
                    f"{label} gave random numbers",
                    "Use jax.random with a key, or draw outside and pass the numbers as arguments.",
                    self._first_line(),
                )

    def _first_line(self) -> SourceLine | None:
        """Where the function is written, for what cannot be told of any line in it."""
        wrapped = inspect.unwrap(self.function)
        code = getattr(getattr(wrapped, "__func__", wrapped), "__code__", None)
        return None if code is None else SourceLine(code.co_filename, code.co_firstlineno, code.co_name)

    def _on_constant(self, array: Any) -> None:
        if self._there_before.get(id(array)) is array:
            self.report_frozen(
                f"an array {array.aval.str_short()} was used that was there before, but to which no path "
                "leads that freshjit knows",
                "Keep it in an attribute, a variable or a container, or pass it as an argument.",
            )

    def has_made(self, cls: type) -> bool:
        """Whether this run has made the class: then nobody but what comes of the run holds it."""
        return id(cls) not in self._classes_before and bool(cls.__flags__ & _MADE_BY_PYTHON)

    def in_installed_package(self, path: Path) -> bool:
        """Whether the path is a global of an installed package rather than of the user's code."""
        for namespace in self.namespaces.values():
            if namespace.path is path.parent:
                return is_installed(namespace.real.get("__file__"))
        return False

    def keep(self, thing: Any) -> None:
        """Hold a reference until the capture ends, so that no id is used twice."""
        self._keep.append(thing)

    # -- what the hooks call --------------------------------------------------------------------

    def read_attribute(self, known: objects.ObjectState, name: str) -> Any:
        return objects.read(self, known, name)

    def enum_member(self, member: enum.Enum) -> objects.ObjectState | None:
        return objects.known_member(self, member)

    def read_missing(self, cls: type, name: str) -> Any:
        return objects.read_missing(self, cls, name)

    def write_attribute(self, known: objects.ObjectState, name: str, value: Any) -> None:
        objects.write(self, known, name, value)

    def delete_attribute(self, known: objects.ObjectState, name: str) -> None:
        objects.delete(self, known, name)

    def read_class_entry(self, owner: type, name: str, raw: Any, instance: Any, cls: type | None) -> Any:
        return objects.read_class_entry(self, owner, name, raw, instance, cls)

    def write_class(self, cls: type, name: str, value: Any) -> None:
        objects.write_class(self, cls, name, value)

    def write_class_entry(self, owner: type, name: str, raw: Any, instance: Any, value: Any) -> None:
        objects.write_class_entry(self, owner, name, raw, instance, value)

    # -- the run --------------------------------------------------------------------------------

    def run_directly(self, call: Callable[[Capture], T], bases: Mapping[str, Path] | None = None) -> T:
        """Run ``call`` with this capture watching, in the trace that is current, on the arrays themselves.

        What is written is held apart; ``call`` may ask ``written`` for it before it returns.

        Parameters:
            bases: inside another capture, where that one finds the roots of this one. It then guards what is
                read here.
        """
        outer = self.outer = thread.capture
        self.bases = bases or {}
        self.recorder = _compat.Direct()
        self._classes_before = all_classes()
        try:
            thread.capture = self
            return call(self)
        finally:
            thread.capture = outer
            try:
                self._release()
            except BaseException:
                self._release()
                raise

    def written(self, result: Any = None) -> tuple[Record, list[Any]]:
        """What a direct run has written so far, as a record without guards, and the values in it.

        Parameters:
            result: what the record is to give as the result, made of the real things.
        """
        finished: dict[str, Any] = {}
        outputs = self._finish(result, finished)
        self._check_undisturbed()
        record = Record(
            jaxpr=None,
            out_avals=(),
            guards=[],
            slots=[],
            constants=[],
            writes=finished["writes"],
            output=finished["output"],
            n_outputs=len(outputs),
            distinct=distinct.Distinct(),
            result_tree=finished.get("tree"),
            result_outputs=finished.get("leaves", ()),
        )
        return record, outputs

    def run(
        self,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        arguments: Sequence[Argument],
    ) -> Record:
        """Run the function once under trace and say what it read, wrote and returned.

        Parameters:
            args, kwargs: the arguments of the call.
            arguments: how each of them takes part, positional ones first.
        """
        finished: dict[str, Any] = {}
        outer = thread.capture

        def traced(*values: Any) -> list[Any]:
            try:
                self.watch_random(random, "Python's random module")
                self.watch_random(np.random, "numpy.random")
                self.recorder = _compat.Recorder(
                    self._on_concrete,
                    arrays.to_index,
                    arrays.to_jax,
                    numbers.plain_number,
                    modules.call_library,
                    self._on_constant,
                )
                self.recorder.start()  # known here before it changes anything
                self._there_before = {id(array): array for array in jax.live_arrays()}
                self._classes_before = all_classes()
                for watch in _WATCHES:
                    watch.need(self)
                thread.capture = self
                call_args, call_kwargs = self._arguments(values, args, kwargs, arguments)
                function = self.view(self.function, self.root)
                result = function(*call_args, **call_kwargs)
                return self._finish(result, finished)
            except BaseException:
                if self.recorder is not None:
                    self.recorder.abandon()
                raise
            finally:
                # Before this function returns: JAX's leak checker looks for tracers right afterwards.
                thread.capture = outer
                try:
                    self._release()
                except BaseException:  # Ctrl-C in the middle of it: once more, however far it got
                    self._release()
                    raise

        wrapped = inspect.unwrap(self.function)
        if hasattr(wrapped, "__name__"):
            traced.__name__ = wrapped.__name__
        if hasattr(getattr(wrapped, "__func__", wrapped), "__code__"):
            traced.__wrapped__ = wrapped  # pyright: ignore[reportFunctionMemberAccess] - JAX's errors name it
        inputs = [a.of(args, kwargs) for a in arguments if a.kind == "traced"]
        jaxpr = jax.make_jaxpr(traced)(*inputs)
        self._check_undisturbed()
        if finished["must join"]:
            return self._again_joined().run(args, kwargs, arguments)
        self._report_random()
        self._guard_answers()
        for check in self._at_end:
            check(self)
        self.unseen.finish(self)
        return self._record(jaxpr, finished)

    def _again_joined(self) -> Capture:
        return Capture(
            self.function,
            self.root,
            self.plain_numpy,
            self.changing,
            self.rigid,
            self.overrides,
            self.plain_numbers,
            self.whole,
            flatten_result=self.flatten_result,
            joined=True,
        )

    def _arguments(
        self,
        values: Sequence[Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        arguments: Sequence[Argument],
    ) -> tuple[list[Any], dict[str, Any]]:
        recorder = self.recorder
        assert recorder is not None
        traced = iter(values)

        def seen(argument: Argument) -> Any:
            original = argument.of(args, kwargs)
            if argument.kind != "traced":
                return self.view(original, argument.path)
            value = next(traced)
            for leaf in jax.tree_util.tree_leaves(value):
                recorder.take_over(leaf)
            return objects.adopt_argument(self, value, original, argument.path)

        return arranged(arguments, seen)

    def view_arguments(
        self, arguments: Sequence[Argument], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a direct run: objects as views, JAX's own kinds as they are."""

        def seen(argument: Argument) -> Any:
            value = argument.of(args, kwargs)
            return self.view(value, argument.path) if argument.kind == "state" else value

        return arranged(arguments, seen)

    def _finish(self, result: Any, finished: dict[str, Any]) -> list[Any]:
        if inspect.isgenerator(result) or inspect.iscoroutine(result) or inspect.isasyncgen(result):
            name = getattr(self.function, "__qualname__", repr(self.function))
            raise UnsupportedStateError(
                f"{name} is a generator or coroutine function: its body would run after tracing has ended.\n"
                "Return the values in a list, or jit the function that the generator calls for each item."
            )
        self.functions.finish(self)
        self.class_attributes.finish(self)
        builder = recipes.Builder(self)
        writes = [w for thing in list(self.mutables) for w in thing.writes(self)]
        for write in writes:
            if write.action not in ("delattr", "delitem", "delglobal", "delclass"):
                write.value = builder.build(write.value, write.label, write.where)
            if write.action in KEYED:
                write.key = builder.build(write.key, f"a key of {write.path}", write.where)
        finished["output"] = builder.build(result, "the result", None)
        builder.finish()
        finished["writes"] = writes
        if self.sees_identity:
            # A number that is passed twice is not looked at by its identity; an array in its place would be.
            for path, kind in self._argument_numbers:
                self.guard(path, "type", kind)
        finished["must join"] = self._must_join()
        finished["distinct"] = distinct.find(self, writes)
        if self.flatten_result:
            leaves, finished["tree"] = jax.tree_util.tree_flatten(result)
            finished["leaves"] = [builder.output_index(leaf) for leaf in leaves]
        return builder.outputs

    def _check_undisturbed(self) -> None:
        if self.disturbed is not None:
            raise UnstableStateError(
                f"{self.disturbed} was assigned while {self.root} was traced, by another thread, or by code "
                "of a library or of C.\nAssign it in the function itself, by a statement; or see that no "
                "other thread does while the function is traced."
            )

    def _record(self, jaxpr: Any, finished: dict[str, Any]) -> Record:
        writes: list[Write] = finished["writes"]
        constants: list[Any] = []
        for constant in jaxpr.consts:
            slot = self._slot_of.get(id(constant))
            constants.append(constant if slot is None else slot)
        used = {id(c) for c in constants if isinstance(c, Slot)}
        slots = [s for s in self.slots if id(s) in used]
        for slot in self.slots:
            slot.array = None  # a program holds no array of the user's
        self._slot_of.clear()
        return Record(
            jaxpr=_compat.open_jaxpr(jaxpr),
            out_avals=jaxpr.out_avals,
            guards=self.guards,
            slots=slots,
            constants=constants,
            writes=writes,
            output=finished["output"],
            n_outputs=len(jaxpr.out_avals),
            distinct=finished["distinct"],
            result_tree=finished.get("tree"),
            result_outputs=finished.get("leaves", ()),
            frozen=self.frozen,
            computed=self._computed,
            late_rules=self.late_rules,
        )

    def _on_concrete(self, array: Any) -> None:
        slot = self._slot_of.get(id(array))
        if slot is None:
            return
        if slot.number is not None:
            slot.number.concrete()
        else:
            self.needs_content(slot.path, slot.array)

    def _release(self) -> None:
        """Let go of hooks and of everything that refers to tracers, whatever happened."""
        try:
            objects.roll_back(self)
        except BaseException:  # Ctrl-C: once more, while the books still say what there was
            objects.roll_back(self)
            raise
        finally:
            self._close_books()

    def _close_books(self) -> None:
        for watch in _WATCHES:
            watch.leave(self)
        self.hooks.remove()
        if self.recorder is not None:
            self.recorder.close()
        self.recorder = None
        for namespace in self.namespaces.values():
            namespace.close()
        self.builtins.close()
        for view in self.number_views:
            view.detach()
        self.number_views.clear()
        for thing in (self.entries, self.views, self.objects, self.mutables, self.namespaces, self.made):
            thing.clear()
        self.cells.clear()
        self.owner_of_dict.clear()
        self.functions.clear()
        self.growing.clear()
        self._there_before.clear()
        self._classes_before = {}
        self._keep.clear()

    @contextmanager
    def paused(self) -> Generator[None, None, None]:
        """Run real code on real things for a moment: no hook sees anything."""
        before, thread.capture = thread.capture, None
        try:
            yield
        finally:
            thread.capture = before


def _random_state(generator: Any) -> str:
    if isinstance(generator, np.random.Generator):
        return str(generator.bit_generator.state)
    if isinstance(generator, np.random.RandomState) or generator is np.random:
        return str([np.asarray(part).tolist() for part in generator.get_state()])
    return str(generator.getstate())
