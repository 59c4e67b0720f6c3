"""Store: the programs of one code object, and how the right one is found for a call.

Most functions have one program, or a few that differ in a flag: they are tried in order of their last
use, each by its own probe. Once JAX has asked to trace a program again (another shape, another
configuration), programs are looked up by the signature of the traced arguments first.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from freshjit.errors import warn
from freshjit.programs.call import Call
from freshjit.programs.probe import Miss
from freshjit.programs.program import Disabled, Program, Retrace
from freshjit.state.active import thread
from freshjit.state.guards import Frozen, Guard, Kind, at, user_line
from freshjit.state.held import GONE
from freshjit.state.path import Path, alike
from freshjit.state.values import NUMBERS

__all__ = ["Store", "store_for"]

MAX_PROGRAMS = 256
"""How many programs a store keeps; beyond that the one that was not used for longest goes."""

STORM = 16
"""After how many programs that one place has made a warning is given."""

COMPARED = 8
"""With how many programs the numbers in state are compared when none serves a call; the latest come first."""

_ANOTHER_VALUE = (
    "different values of",
    "Read it outside and pass on what matters of it, or keep its values few. A number that only takes part "
    "in arithmetic can be an array (jnp.asarray).",
)
_IN_AN_ARGUMENT = (
    "different values of",
    "An argument that holds a string, or anything else that is no array and no number, is read as a whole. "
    "Leave it out of the argument if the function does not need it, or keep its values few.",
)
_IN_WHOLE = (
    "A container that is looked at is read as a whole. If it only collects values, let the function do "
    "nothing but append to it (append, extend, +=), and look at it outside: its length, an item, a loop over "
    "it, passing it on and a new one in its place (log = log + [x]) all read it."
)
_ALL_KEYS = (
    "A dict is read with all its keys. Give it the same ones before the first call, or collect values in "
    "lists under a few keys, to which the function does nothing but append (history['loss'].append(x))."
)
_STORMS = {
    "outcome": (
        "different values of",
        "Its value is needed while tracing (as a shape, an index, a key, in a format or by NumPy). Make it "
        "an array (jnp.asarray) if it only takes part in arithmetic, or keep its values few.",
    ),
    "len": ("different lengths of", _IN_WHOLE),
    "keys": ("different keys of", _ALL_KEYS),
    "aval": ("different shapes or dtypes of", "Pad it to a few fixed shapes, as with jax.jit."),
    "content": (
        "different contents of",
        "NumPy or Python needs its numbers while tracing. Compute with jax.numpy, or do it outside.",
    ),
    "undrawn": (
        "different states of",
        "What the random generator holds is read while tracing. Read it outside and pass it as an argument.",
    ),
    "is": ("different objects at", "Such an object is told by its identity: keep one and use it again."),
}
"""By the kind of a guard: what was different, and what to do."""

_TELLING = frozenset(("value", "equal", "subvalue", "buffer", *_STORMS))
"""The kinds of guards that can be told apart by what they have found."""

MAX_STORES = 4096
"""How many stores are kept for functions that may be created again."""


class Store:
    """The programs of one function.

    Parameters:
        name: the function's name, for messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.RLock()  # for a moment, while the fields below change
        self._turn = threading.RLock()  # for the whole of a trace
        self.programs: tuple[Program, ...] = ()
        self.latest: Program | None = None
        """The program that served last, unless programs must be looked up by signature."""
        self._by_signature: dict[Any, tuple[Program, ...]] | None = None
        self._warned = False
        self._warned_about: set[str] = set()
        self._reported: set[Frozen] = set()
        # Numbers in state (trails of their paths) that have changed between calls, and those
        # among them that the function cannot be traced with as numbers that change.
        self.changing: frozenset[Any] = frozenset()
        self.rigid: frozenset[Any] = frozenset()

    def turn(self) -> AbstractContextManager[Any]:
        """For the time of a trace, so that two threads which need one program compile it once.

        Code that is traced may call other functions for real (``lru_cache``). A thread that has the turn at
        one function does not wait for that at another, or two threads could wait for each other.
        """
        return contextlib.nullcontext() if thread.turns else self._turn

    def note_changes(self, call: Call) -> None:
        """Remember which numbers kept the programs from serving this call."""
        failed: list[Program] = []
        found: set[Any] = set()
        for program in self.programs[: 4 * STORM]:
            guard = program.why_not(call.function, call.args, call.kwargs)
            # One program for each class or function that a piece of code serves is no surprise.
            if guard is None or guard.kind in _WHAT_IT_IS:
                continue
            failed.append(program)
            if len(failed) <= COMPARED:
                if guard.kind == "value" and type(guard.value) in NUMBERS:
                    found.add(guard.path.trail)
                # Whatever failed first: what changes together is learnt together.
                changed = program.changed_numbers(call.function, call.args, call.kwargs)
                found.update(g.path.trail for g in changed)
        self.changing |= found - self.rigid
        # Where two of a kind have changed (the scores of two players), the others may be expected to.
        kinds = Counter(alike(trail) for trail in self.changing)
        self.changing |= {kind for kind, count in kinds.items() if count > 1}
        self._warn_about_storm(failed)

    def _warn_about_storm(self, programs: Sequence[Program]) -> None:
        """Say once per place that it makes a program again and again.

        What counts is how many programs have found something else there, whatever it was that kept them from
        serving this call: where a flag and a length change, each is the first to fail for some of them only.
        """
        if len(programs) < STORM:
            return
        places: dict[tuple[str, Kind], dict[Any, Guard]] = {}
        for program in programs:
            for place, guards in _telling_guards(program).items():
                places.setdefault(place, {})[tuple(map(_what_it_was, guards))] = guards[0]
        stormy = {
            label: (kind, [*found.values()])
            for (label, kind), found in places.items()
            if len(found) >= STORM and label not in self._warned_about
        }
        if not stormy:
            return
        self._warned_about.update(stormy)
        (label, (kind, found)), *others = stormy.items()
        in_argument = all(_is_in_an_argument(guard.path) for guard in found)
        what, remedy = _STORMS.get(kind, _IN_AN_ARGUMENT if in_argument else _ANOTHER_VALUE)
        warn(
            f"{self.name} has been compiled {len(found)} times for {what} {label}"
            f"{at(found[0].where, 'read at')}.\n{remedy}{_as_well([other for other, _ in others])}",
            user_line(),
        )

    def report(self, frozen: Iterable[Frozen]) -> None:
        """Say once per place what has become part of a program though later calls may find it changed."""
        for what in frozen:
            if what not in self._reported:
                warn(what.message(self.name), what.where)  # which may be an error: then it is said again
                self._reported.add(what)

    def give_up(self, trails: Iterable[Any]) -> None:
        """Treat these numbers by value again: the function could not be traced with them changing."""
        self.rigid |= frozenset(trails)
        self.changing -= self.rigid

    def find(self, call: Call) -> Any:
        """The result of the first program whose guards hold, or a Miss."""
        candidates, by_signature = self.programs, self._by_signature
        if by_signature is not None:
            candidates = by_signature.get(call.signature, ())
        for program in candidates:
            try:
                result = program.run(call.function, call.args, call.kwargs)
            except Disabled:
                return _MISS
            except Retrace:
                with self.lock:
                    program.check_avals(True)
                    if self._by_signature is None:
                        self._index()
                        return self.find(call)
                continue
            except TypeError:
                if call.is_of_form(program.arguments):
                    raise
                continue  # an argument was traced, and is now of a kind that cannot be
            except OverflowError:  # an int of the state or of the arguments is too large for an input
                continue
            if type(result) is Miss:
                continue
            if program is not candidates[0]:
                self._to_front(program)
            return result
        return _MISS

    def add(self, program: Program) -> None:
        with self.lock:
            programs = (program, *self.programs)
            if len(programs) > MAX_PROGRAMS:
                programs = programs[:MAX_PROGRAMS]
                if not self._warned:
                    self._warned = True
                    warn(
                        f"{self.name} has been compiled for more than {MAX_PROGRAMS} different states; the "
                        "programs used least recently are dropped.\nState that changes at every call should "
                        "be an array (jnp.asarray) rather than a Python value.",
                        user_line(),
                    )
            self.programs = programs
            if self._by_signature is not None:
                self._index()
            else:
                self.latest = program

    def clear(self) -> None:
        with self.lock:
            self.programs = ()
            self.latest = self._by_signature = None

    def _to_front(self, program: Program) -> None:
        with self.lock:
            if program not in self.programs:
                return
            self.programs = (program, *(p for p in self.programs if p is not program))
            if self._by_signature is None:
                self.latest = program
            else:
                group = self._by_signature.get(program.signature, ())
                self._by_signature[program.signature] = (program, *(p for p in group if p is not program))

    def _index(self) -> None:
        groups: dict[Any, tuple[Program, ...]] = {}
        for program in self.programs:
            groups[program.signature] = (*groups.get(program.signature, ()), program)
        self._by_signature = groups
        self.latest = None


def _is_in_an_argument(path: Path) -> bool:
    """Whether it is an item of a container that was passed, or of one in it."""
    place = path
    while place.parent is not None:
        if place.step != "item":
            return False
        place = place.parent
    return place is not path and place.step == "root" and place.key.startswith(("args[", "kwargs["))


def _telling_guards(program: Program) -> dict[tuple[str, Kind], list[Guard]]:
    """The guards that tell what a program has found, by place and kind."""
    places: dict[tuple[str, Kind], list[Guard]] = {}
    for guard in program.guards:
        if guard.kind in _TELLING:
            places.setdefault((guard.place, guard.kind), []).append(guard)
    return places


def _as_well(labels: list[str]) -> str:
    """The other places, of which the first few are named."""
    if not labels:
        return ""
    named, rest = labels[:3], len(labels[3:])
    return f"\nThe same goes for {', '.join(named)}{f' and {rest} more' if rest else ''}."


def _what_it_was(guard: Guard) -> Any:
    """Something that tells apart what programs found at one place."""
    value = guard.value[1] if guard.kind == "outcome" else guard.value
    if value is GONE:  # nothing else can be that object
        return id(guard)
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return repr(value) if guard.kind in ("value", "outcome", "keys", "len", "aval") else id(value)


_MISS = Miss(None)

# Guards that fail for another kind of thing, whose numbers are not the same ones at another time.
_WHAT_IT_IS = ("type", "code")


_lock = threading.RLock()
_stores: OrderedDict[Any, tuple[list[weakref.ref[Any]], Store]] = OrderedDict()


def store_for(codes: tuple[Any, ...], options: Hashable, name: str) -> Store:
    """The store of a function, the same for every function made from the same code with equal options.

    Parameters:
        codes: the code objects that identify the function (held weakly).
        options: whatever else tells two jitted functions apart.
        name: the function's name, for messages.
    """
    key = (tuple(map(id, codes)), options)
    with _lock:
        known = _stores.get(key)
        if known is not None:
            _stores.move_to_end(key)
            return known[1]
        store = Store(name)

        def forget(_: Any) -> None:
            _stores.pop(key, None)

        _stores[key] = ([weakref.ref(code, forget) for code in codes], store)
        if len(_stores) > MAX_STORES:
            _stores.popitem(last=False)
        return store
