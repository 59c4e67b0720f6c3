"""What must stay different things for a program to be valid.

Two paths that led to one object are guarded to lead to one object. The other way round, too: where two
things were two, they must not be one at a later call, for what is written into the one would then have to
be seen in the other. Things of different types cannot be one, so they come in groups of one type.

That is so for everything that can change, and for what is looked up by identity. Arrays, tuples and the
like never change: with them it matters only where code can tell one from an equal other one.
"""

from __future__ import annotations

import collections
import types
import weakref
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from freshjit import _compat
from freshjit.state.hooks import class_entry
from freshjit.state.path import Path
from freshjit.state.record import Entry, Write
from freshjit.state.views import copies, dicts
from freshjit.state.views.memory import CapturedArray

if TYPE_CHECKING:
    from freshjit.state.capture import Capture
    from freshjit.state.views.objects import ObjectState

__all__ = ["Distinct", "find"]


@dataclass(eq=False, slots=True)
class Distinct:
    """What must be different.

    Attributes:
        groups: of paths that must lead to different objects, each group by itself.
        memory: pairs of paths of NumPy arrays, of which one is written: they must not share memory.
    """

    groups: list[list[Path]] = field(default_factory=list[list[Path]])
    memory: list[tuple[Path, Path]] = field(default_factory=list[tuple[Path, Path]])


_ARRAY = "array"
_GROWABLE = "list or deque"  # what is only appended to is not asked for its type
# The same for any code that does not compare identities.
_UNCHANGING = (
    tuple,
    slice,
    frozenset,
    jax.Array,
    np.ndarray,
    types.MethodType,
    types.BuiltinFunctionType,
    types.MappingProxyType,
    weakref.ref,
    _compat.Tracer,
    *dicts.DICT_VIEWS,
)
# Seen as such by no code.
_NEVER = (types.ModuleType, types.CellType, staticmethod, classmethod)
# Guarded to be one certain object or value.
_CERTAIN = ("is", "equal", "value", "subvalue")


def find(capture: Capture, writes: Sequence[Write]) -> Distinct:
    """What must be different for the run that has just ended."""
    groups = [*_by_kind(capture, writes), *_cells(capture, writes), *_dicts(capture)]
    return Distinct([group for group in groups if len(group) > 1], list(_memory(capture, writes)))


def _by_kind(capture: Capture, writes: Sequence[Write]) -> Iterator[list[Path]]:
    arguments = {id(path) for path in capture.argument_containers}
    read = {id(guard.path) for guard in capture.guards} | arguments
    arguments -= {id(e.path) for e in capture.entries.values() if _equal_by_identity(e.original)}
    certain = {id(guard.path) for guard in capture.guards if guard.kind in _CERTAIN}
    groups: dict[Any, dict[int, Path]] = collections.defaultdict(dict)
    for entry in capture.entries.values():
        if id(entry.path) in certain or id(entry.path) not in read:
            continue
        if capture.original_of(entry.view) is not entry or isinstance(entry.original, _NEVER):
            continue  # a wrapper, say: what is in it is looked at
        if capture.sees_identity or not isinstance(entry.original, _UNCHANGING):
            groups[_kind(capture, entry)].setdefault(id(entry.path), entry.path)
    for number, copy in capture.growing.items():
        if number not in capture.entries:
            groups[_GROWABLE][id(copy.path)] = copy.path
    if capture.sees_identity:
        for path, _ in capture.argument_leaves.values():
            groups[_ARRAY].setdefault(id(path), path)
    written = {id(write.path) for write in writes}
    for group in groups.values():
        if capture.sees_identity or not written.isdisjoint(group):
            yield list(group.values())
        else:  # no argument is another one than it was, and nobody can tell them apart
            yield [path for number, path in group.items() if number not in arguments]


def _equal_by_identity(original: Any) -> bool:
    """Whether ``a == b``, ``a in xs`` and ``d[a]`` tell it from any other thing, as ``is`` does."""
    return class_entry(type(original), "__eq__") is object.__eq__


def _kind(capture: Capture, entry: Entry) -> Any:
    """The same for all things that could be one."""
    original = entry.original
    if isinstance(original, types.FunctionType):
        return original.__code__
    if isinstance(original, (jax.Array, np.ndarray, _compat.Tracer)):
        return _ARRAY
    if type(original) in (list, collections.deque) and capture.growing:
        return _GROWABLE
    return type(original)


def _cells(capture: Capture, writes: Sequence[Write]) -> Iterator[list[Path]]:
    """Variables of closures: two functions can share only one of the same name."""
    written = {id(w.path) for w in writes if w.action in ("setcell", "delcell")}
    by_name: dict[str, list[Path]] = collections.defaultdict(list)
    for state in capture.cells.values():
        by_name[state.name].append(state.path)
    for paths in by_name.values():
        if not written.isdisjoint(map(id, paths)):
            yield paths


def _dicts(capture: Capture) -> Iterator[list[Path]]:
    """Two objects can share their attributes (``b.__dict__ = a.__dict__``), or one can have a dict for them.

    Those of one name matter, if one of them is written.
    """
    states = [s for s in capture.objects.values() if s.real is not None and not s.shares_dict]
    names = {name for state in states for name in state.written()}
    absent: dict[int, set[str]] = collections.defaultdict(set)
    for guard in capture.guards:
        if guard.kind == "absent":
            absent[id(guard.path)].add(guard.value)

    def uses(state: ObjectState, names: Set[str]) -> bool:
        used = state.attrs.keys() | absent[id(state.path)]
        return bool(names) and (state.complete or not names.isdisjoint(used))

    yield [state.path.to("dict") for state in states if uses(state, names)]
    for mapping in capture.mutables:
        if isinstance(mapping, copies.MappingCopy) and mapping.is_dict:
            if capture.original_of(mapping.contents) is None:
                continue
            written = {name for name in mapping.written() if isinstance(name, str)}
            keys = written.union(name for name in mapping.initial if isinstance(name, str))
            sharing = [s for s in states if uses(s, written) or not keys.isdisjoint(s.written())]
            yield [mapping.path, *(state.path.to("dict") for state in sharing)]


def _memory(capture: Capture, writes: Sequence[Write]) -> Iterator[tuple[Path, Path]]:
    things = [m for m in capture.mutables if isinstance(m, CapturedArray) and m.used]
    written = {id(write.path) for write in writes}
    changed = [thing.path for thing in things if id(thing.path) in written]
    others = [thing.path for thing in things if id(thing.path) not in written]
    others += [p for p, leaf in capture.argument_leaves.values() if isinstance(leaf, np.ndarray)]
    for i, path in enumerate(changed):
        yield from ((path, other) for other in (*changed[i + 1 :], *others))
