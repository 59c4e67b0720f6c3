"""Capture: the books on one run of the user's function.

What was read (guards, slots), what stands for what (entries, views), what can change (mutables). Views and
hooks write here while the function runs (``run.py``), and a ``Record`` comes of it. What traced code sees of
each kind of value is decided in ``views/``.
"""

from __future__ import annotations

import enum
import threading
import types
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from freshjit import _compat
from freshjit.errors import UnsupportedStateError
from freshjit.state.active import thread
from freshjit.state.draws import Draws
from freshjit.state.guards import Frozen, Guard, Kind, SourceLine, at, user_line
from freshjit.state.hooks import GAP, Hooks
from freshjit.state.libraries import is_installed
from freshjit.state.path import Path
from freshjit.state.pathless import Pathless
from freshjit.state.record import Entry, Mutable, Slot
from freshjit.state.seeing import SEEING, Seeing
from freshjit.state.views import (
    appending,
    arrays,
    attributes,
    classdict,
    classes,
    growing,
    kinds,
    namespaces,
    numbers,
    objects,
    pybuiltins,
    unseen,
)

__all__ = ["Capture"]

_MADE_BY_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE

# What is narrowed where 64-bit types are off.
_WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))

# The kinds of guards of which one path can have several, each about another name.
_OF_A_NAME = ("absent", "present", "classless", "methodless", "lacks", "contains", "missing", "unset")


class Capture:
    """The books on one run.

    Parameters:
        function: the function as the user gave it (bound methods and the like included).
        root: its path.
        seeing: in what form traced code sees what it reads.
        flatten_result: note the result as a pytree, which not every result can be.
        drawn: where to note what random generators held before the call.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        root: Path,
        seeing: Seeing = SEEING,
        flatten_result: bool = False,
        drawn: Draws | None = None,
    ) -> None:
        self.function = function
        self.root = root
        self.seeing = seeing
        self.flatten_result = flatten_result
        self.outer: Capture | None = None
        self.bases: Mapping[str, Path] = {}
        self.argument_containers: list[Path] = []
        self.argument_dicts: list[Path] = []
        self.argument_leaves: dict[int, tuple[Path, Any]] = {}  # by id: their arrays and tuples
        self.given: dict[int, tuple[Any, Any]] = {}  # by id of what is seen of them: the same, as given
        self._argument_numbers: list[tuple[Path, type]] = []
        self._leaves_coincide = False
        self.must_join = False
        self.frozen: list[Frozen] = []
        self.unseen = unseen.Unseen()
        self.drawn = Draws() if drawn is None else drawn
        self.pathless = Pathless(self, self.drawn)
        self._at_end: list[Callable[[Capture], None]] = []
        self.classes_before: dict[int, type] = {}
        self.used_numbers: dict[Path, None] = {}  # in the order of reading
        self.number_views: list[numbers.NumberView] = []
        self.computed: list[numbers.NumberView] = []
        self.error_handling = numbers.error_handling()
        self.guards: list[Guard] = []
        self.slots: list[Slot] = []
        self.entries: dict[int, Entry] = {}  # by id of the original
        self.views: dict[int, Entry] = {}  # by id of the view
        self.objects: dict[int, objects.ObjectState] = {}  # by id of the view; the hooks ask here
        self.owner_of_dict: dict[int, objects.ObjectState] = {}  # by id of the instance dictionary
        self.mutables: list[Mutable] = []
        self.made: dict[int, tuple[Any, list[Mutable]]] = {}  # by id: what the run itself has made
        self.growing: dict[int, growing.GrowingCopy] = {}  # by id of the original
        self.partly: dict[int, growing.PartialCopy] = {}  # the same
        self.tallies: set[Path] = set()  # dicts that count: the numbers in them are expected to change
        self.keyed: dict[Path, Path] = {}  # items of dicts: by the path with its position, that with its key
        self.namespaces: dict[int, namespaces.Namespace] = {}
        self.cells: dict[int, Any] = {}
        self.functions = attributes.Functions()
        self.class_attributes = classdict.ClassAttributes()
        self.hooks = Hooks(lambda cls: self.mutable(classes.ClassState(self, cls)))
        self.builtins = pybuiltins.Builtins(self)
        self._guarded: set[tuple[int, str, Any]] = set()
        self._slot_of: dict[int, Slot] = {}  # by id of the jax array
        self._saw_numpy = False
        self.sees_identity = False
        self.deleted_names: set[str] = set()  # attributes that code of the function deletes somewhere
        self._wide = _compat.x64_is_enabled()
        self._alone = threading.active_count() == 1
        self._thread = threading.get_ident()
        self.strayed: UnsupportedStateError | None = None  # that its code has run in another thread
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
            partly = self.partly.pop(id(value), None)
            if partly is not None:
                partly.look_at_all()
            if entry.path is not path:
                self.guard(path, "alias", entry.path)
            return entry.view
        return kinds.view_of(self, value, path)

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
        self.given[id(seen)] = seen, original
        if type(original) in (bool, int, float, complex):
            self._argument_numbers.append((path, type(original)))
            return seen
        known = self.argument_leaves.get(id(original))
        if known is None:
            self.argument_leaves[id(original)] = path, original
            if self.seeing.joined:
                self.alias_view(original, seen, path)
            return seen
        self._leaves_coincide = True
        if not self.seeing.joined:
            return seen
        self.guard(path, "alias", known[0])
        return self.entries[id(original)].view

    def finish_arguments(self) -> None:
        """See whether code that can tell was shown two tracers for what is one array outside."""
        if not self.sees_identity:
            return
        # A number that is passed twice is not looked at by its identity; an array in its place would be.
        for path, kind in self._argument_numbers:
            self.guard(path, "type", kind)
        captured = not self.argument_leaves.keys().isdisjoint(self.entries)
        self.must_join = not self.seeing.joined and (self._leaves_coincide or captured)

    def enter(self, function: Any, made: Callable[[], Capture | None] | None = None) -> Any:
        """A function called inside this capture through a wrapper, seen as any other function.

        Parameters:
            made: the capture in which the wrapper was made (``active.present``). If it is this one, the
                function is what traced code holds already.
        """
        if made is not None and made() is self:
            return function
        plain = getattr(function, "__func__", function)
        if isinstance(plain, types.FunctionType) and isinstance(plain.__globals__, namespaces.Namespace):
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

    def check_thread(self, name: str) -> None:
        """Refuse, now and when the run has ended, that a clone runs in a thread that is not the capture's."""
        if threading.get_ident() == self._thread:
            return
        self.strayed = UnsupportedStateError(
            f"{name} ran in another thread while {self.root} was traced{at(user_line())}: what it reads and "
            "writes there is not seen.\nCall it directly, map it with jax.vmap, or start threads outside of "
            "the jitted function and pass their results in."
        )
        raise self.strayed

    def original_of(self, view: Any) -> Entry | None:
        entry = self.views.get(id(view))
        return entry if entry is not None and entry.view is view else None

    def guard(self, path: Path, kind: Kind, value: Any, where: SourceLine | None = None) -> None:
        mark = (
            id(path),
            kind,
            value if kind in _OF_A_NAME else None,
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

    def only_appended_to(self, value: Any, path: Path, name: str, put_back: bool = False) -> Any:
        """What stands for a list if the instruction that now reads ``name`` only appends to it, else GAP."""
        return appending.for_read(self, value, path, name, put_back)

    def assigned(self, value: Any, now: Any) -> Any:
        """What an assignment puts in the place of ``now``; GAP if that is put back (``log += […]``)."""
        return appending.assigned(value, now)

    def growing_copy(self, value: Any, path: Path) -> growing.GrowingCopy | None:
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
        kind = "numpy" if is_numpy else "array"
        slot = Slot(path, concrete, kind, user_line(), host=array if is_numpy else None)
        self.slots.append(slot)
        if self.seeing.given is not None:
            return self.seeing.given_at(self.by_key(path))
        self._slot_of[id(concrete)] = slot
        if self.outer is not None:
            return arrays.to_jax(self.outer.view(array, path.on(self.bases)))
        return self.recorder.input(concrete)

    def width_differs(self, dtype: np.dtype[Any]) -> bool:
        """Whether JAX would now read this dtype in another width than where the call is made.

        ``jax.enable_x64`` inside the function is the reason. Inputs come in the width of the call.
        """
        return self._wide != _compat.x64_is_enabled() and dtype in _WIDE

    def by_key(self, path: Path) -> Path:
        """The path to use outside of this run, for which positions in dicts mean nothing."""
        return path.by_key(self.keyed)

    @property
    def saw_numpy(self) -> bool:
        """Whether a NumPy array was shown as a stand-in that a library might not take."""
        return self._saw_numpy

    def number_input(self, view: numbers.NumberView) -> Any:
        """Make an input of a number that may differ at each call; returns its tracer."""
        assert self.recorder is not None
        view, array = numbers.as_input(view)
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
        self.computed.append(view)

    def needs_content(self, path: Path, array: Any) -> None:
        """The traced code needed the value itself: the program is valid for these contents only."""
        self.pathless.account_for(array)
        contents = np.array(_compat.as_numpy(array), copy=True, order="C")
        self.guard(path, "content", contents)
        if contents.dtype.kind in "fc" and np.isnan(contents).any():
            # It is not equal to itself, so whether it is the same thing shows in ``a in xs`` and the like.
            self.sees_identity = True

    def mutable(self, thing: Mutable) -> None:
        self.mutables.append(thing)
        self._saw_numpy |= isinstance(thing, arrays.Source)

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

    def has_made(self, cls: type) -> bool:
        """Whether this run has made the class: then nobody but what comes of the run holds it."""
        return id(cls) not in self.classes_before and bool(cls.__flags__ & _MADE_BY_PYTHON)

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
        return classes.read_missing(self, cls, name)

    def write_attribute(self, known: objects.ObjectState, name: str, value: Any) -> None:
        objects.write(self, known, name, value)

    def delete_attribute(self, known: objects.ObjectState, name: str) -> None:
        objects.delete(self, known, name)

    def read_class_entry(self, owner: type, name: str, raw: Any, instance: Any, cls: type | None) -> Any:
        return classes.read_class_entry(self, owner, name, raw, instance, cls)

    def note_copying(self, instance: Any) -> None:
        classes.note_copying(self, instance)

    def write_class(self, cls: type, name: str, value: Any) -> None:
        classes.write_class(self, cls, name, value)

    def write_class_entry(self, owner: type, name: str, raw: Any, instance: Any, value: Any) -> None:
        classes.write_class_entry(self, owner, name, raw, instance, value)

    def delete_class_entry(self, owner: type, name: str, raw: Any, instance: Any) -> None:
        classes.delete_class_entry(self, owner, name, raw, instance)

    # -- the end of the run ---------------------------------------------------------------------

    def joined(self) -> Capture:
        """Another capture of the same function, which is shown one tracer for one array."""
        return Capture(
            self.function, self.root, replace(self.seeing, joined=True), self.flatten_result, self.drawn
        )

    def finish(self) -> None:
        """Look, outside of the trace, at what can only be judged now."""
        self.pathless.finish()
        for check in self._at_end:
            check(self)
        self.unseen.finish(self)

    def give_up_slots(self) -> tuple[dict[int, Slot], list[Slot]]:
        """The slots, by the ids of the arrays that they were inputs for, and all of them.

        They hold no array of the user's any longer, as a program must not.
        """
        slot_of, self._slot_of = self._slot_of, {}
        for slot in self.slots:
            slot.array = slot.host = None
        return slot_of, self.slots

    def on_concrete(self, array: Any) -> None:
        slot = self._slot_of.get(id(array))
        if slot is None:
            return
        if slot.number is not None:
            slot.number.concrete()
        else:
            self.pathless.account_for(array)
            # Without x64 the jax array is of another dtype than the NumPy array, which is what is compared.
            self.needs_content(slot.path, slot.array if slot.host is None else slot.host)

    def on_asked(self, array: Any, name: str) -> None:
        """What was asked is where a captured array lies, or what has become of it, and not what it holds."""
        slot = self._slot_of.get(id(array))
        if slot is not None and slot.kind == "array":  # others have no place of the user's choosing
            arrays.note_asked(self, slot.path, array, name)

    def close(self) -> None:
        """Take the hooks away and let go of everything that refers to tracers. Can be called again."""
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
        self.given.clear()
        self.functions.clear()
        self.growing.clear()
        self.partly.clear()
        self.keyed.clear()
        self.pathless.clear()
        self.classes_before = {}
        self._keep.clear()

    def let_go(self) -> None:
        """Part from what refers back to it, once nothing is asked of it any more.

        So it goes at once, and with it the user's function and all that this refers to, and not when the
        garbage collector comes by: arrays can be large.
        """
        for name in ("pathless", "builtins", "hooks"):
            vars(self).pop(name, None)

    @contextmanager
    def paused(self) -> Generator[None, None, None]:
        """Run real code on real things for a moment: no hook sees anything."""
        before, thread.capture = thread.capture, None
        try:
            yield
        finally:
            thread.capture = before
