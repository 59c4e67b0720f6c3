"""What a capture keeps books in, and what it ends with: plain data, which anyone may import.

While the function runs, ``Entry`` says what stands for what, and a ``Mutable`` is a captured thing that
can change. What is left at the end is a ``Record``: guards, slots, writes, the jaxpr.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import jax

from freshjit.state.guards import Frozen, Guard, SourceLine
from freshjit.state.path import Path, shown

if TYPE_CHECKING:
    from freshjit.state import recipes
    from freshjit.state.capture import Capture
    from freshjit.state.distinct import Distinct
    from freshjit.state.views.numbers import NumberView

__all__ = ["KEYED", "Entry", "Last", "Mutable", "Record", "Slot", "Write"]


@dataclass(eq=False, slots=True)
class Entry:
    """One captured thing: the real one, what traced code sees of it, and where it was found."""

    original: Any
    view: Any
    path: Path


@dataclass(eq=False, slots=True)
class Slot:
    """A captured array: an input of the compiled program.

    Attributes:
        path: where it is found at each call.
        array: the jax array that stood for it during the trace.
        kind: ``array``; ``numpy``, sent to the device when it changes; ``number``, computed at each call.
        number: the expression, for a number.
        host: what a NumPy array held; the jax array may be of another dtype.
        where: the user's line that read it first.
    """

    path: Path
    array: Any
    kind: str
    where: SourceLine | None
    number: NumberView | None = None
    host: Any = None


KEYED = ("setitem", "delitem")
"""The actions whose key is any value; that of the others is a name, if they have one."""


@dataclass(eq=False, slots=True)
class Write:
    """One change of state, made after each call: what to do at which path with which new value.

    During the run key and value are what traced code has, at its end they become recipes.
    """

    path: Path
    action: str
    key: Any
    value: Any
    where: SourceLine | None = None
    label: str = field(init=False)
    """How the location is written."""

    def __post_init__(self) -> None:
        match self.action:
            case "setattr" | "setslot" | "setdict" | "delattr" | "setclass" | "delclass":
                self.label = f"{self.path}.{self.key}"
            case "setitem" | "delitem":
                self.label = f"{self.path}[{shown(self.key)}]"
            case "setglobal" | "delglobal":
                self.label = str(self.key)
            case _:
                self.label = str(self.path)


class Last:
    """The key, among changes, of what has been taken out and put in again: it comes last now.

    Equal to the key alone: a function that finds the thing at that place already makes the same change.
    """

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    @staticmethod
    def plain(key: Any) -> Any:
        """The key alone."""
        return key.key if type(key) is Last else key

    def __eq__(self, other: object) -> bool:
        return bool(self.key == Last.plain(other))

    def __hash__(self) -> int:
        return hash(self.key)


class Mutable(Protocol):
    """A captured thing that can change during the run, seen as a shallow mapping of its contents."""

    def writes(self, capture: Capture) -> Iterator[Write]:
        """The changes since the start, as writes to the real thing. Called once, at the end."""
        ...

    def start(self) -> Any:
        """The contents at the start of the run, in the form of a snapshot."""
        ...

    def snapshot(self) -> Any:
        """The contents now."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Make the contents what they were at ``snapshot``."""
        ...

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        """What differs from ``snapshot``: key to new value, or to ``GAP`` where something went away.

        Where there is an order, a key can be a ``Last``; then the changes are in the order of their making.
        """
        ...

    def apply(self, changes: dict[Any, Any]) -> None:
        """Make these changes."""
        ...

    def content(self, key: Any) -> Any:
        """What is at ``key`` now; KeyError if there is nothing."""
        ...

    def place(self, key: Any) -> Path:
        """Where ``key`` is in the real thing."""
        ...


@dataclass(eq=False, slots=True)
class Record:
    """What one capture found: all that a program is built from."""

    jaxpr: Any
    out_avals: Sequence[Any]
    guards: list[Guard]
    slots: list[Slot]
    constants: list[Any]  # per constant of the jaxpr: a Slot, or the constant itself
    writes: list[Write]
    output: recipes.Recipe
    n_outputs: int
    distinct: Distinct
    result_tree: Any  # of a capture with ``flatten_result``, like the next
    result_outputs: Sequence[int | None]  # per leaf of the result: which output it is, if any
    frozen: Sequence[Frozen] = ()
    computed: Sequence[NumberView] = ()  # to be computed at each call, used or not: errors count
    argument_dicts: Sequence[Path] = ()  # among the traced arguments; JAX is to see whether their keys fit
    late_rules: bool = False
    """Whether rules of custom derivatives that read state are left for JAX to run, should it
    differentiate the program from outside: then, and under any transform, it must not be used."""

    def without_writes(self, output: recipes.Recipe | None = None) -> Record:
        """The same record for a run that only looks."""
        return replace(self, writes=[], output=self.output if output is None else output)

    def spread_over_outputs(self, prefix: Any) -> tuple[Any, ...]:
        """A per-result setting (a pytree prefix) as one value per output of the program."""
        spread: list[Any] = [None] * self.n_outputs
        # Not by the outputs themselves: None has no leaves, be it a result's or an output that is not there.
        result = jax.tree_util.tree_unflatten(self.result_tree, range(len(self.result_outputs)))
        try:
            values = jax.tree_util.tree_map(
                lambda value, part: [value] * len(jax.tree_util.tree_leaves(part)),
                prefix,
                result,
                is_leaf=_is_none,
            )
        except ValueError as error:
            raise ValueError(
                f"out_shardings {prefix} does not fit what the function returns, which has the form "
                f"{self.result_tree}: {error}"
            ) from None
        flat = jax.tree_util.tree_leaves(values, is_leaf=_is_none)
        for value, index in zip(flat, self.result_outputs, strict=True):
            if index is not None:
                spread[index] = value
        return tuple(spread)


def _is_none(value: Any) -> bool:
    return value is None
