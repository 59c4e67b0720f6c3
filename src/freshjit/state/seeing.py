"""Seeing: in what form a capture shows traced code what it reads, where there is a choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from freshjit.errors import StateMismatchError
from freshjit.state.guards import at, user_line
from freshjit.state.hooks import GAP
from freshjit.state.overrides import Overrides
from freshjit.state.path import Path, alike

__all__ = ["SEEING", "Seeing"]


@dataclass(frozen=True, slots=True)
class Seeing:
    """Chosen before the run, and the same for all of it.

    Attributes:
        plain_numpy: NumPy arrays are plain copies, guarded by their contents.
        plain_numbers: all numbers are seen by value.
        changing: where Python numbers are known to change from call to call (trails of paths).
        rigid: where the function could not be traced with a number that changes.
        overrides: where the user knows better.
        whole: lists that the function only appends to are read whole, like any others.
        given: values to be read in place of the real arrays and numbers, by the trails of their paths.
        joined: arrays among the arguments that are one array are one tracer.
    """

    plain_numpy: bool = False
    plain_numbers: bool = False
    changing: frozenset[Any] = frozenset()
    rigid: frozenset[Any] = frozenset()
    overrides: Overrides | None = None
    whole: bool = False
    given: Mapping[Any, Any] | None = None
    joined: bool = False

    def changes(self, path: Path, expected: bool = False) -> bool:
        """Whether the Python number at ``path`` is to be seen as one that changes.

        Parameters:
            expected: whether that can be told before it has changed.
        """
        if self.plain_numbers:
            return False
        kind = None if self.overrides is None else self.overrides.kind(path)
        if kind == "dynamic":
            return path.trail not in self.rigid
        # A number at a root is a static argument: the user has asked for its value.
        if kind == "static" or path.parent is None or not (self.changing or expected):
            return False
        trail = path.trail
        changes = expected or trail in self.changing or alike(trail) in self.changing
        return changes and trail not in self.rigid

    def has_given(self, path: Path) -> bool:
        """Whether a value was given for what is at ``path``."""
        return self.given is not None and path.trail in self.given

    def given_at(self, path: Path) -> Any:
        """The value given for an array of the state."""
        value = GAP if self.given is None else self.given.get(path.trail, GAP)
        if value is GAP:
            raise StateMismatchError(
                f"{path} is read{at(user_line())}, but the given state does not have it.\n"
                "Read the state with arguments for which the function reads the same things."
            )
        return value


SEEING = Seeing()
"""The usual form."""
