"""Program: one compiled specialisation of a function: guards, slots, the jitted pure function, writes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from freshjit import _compat
from freshjit.programs.probe import UNREADABLE, Miss, Probe, generate, read
from freshjit.programs.same import same_computation
from freshjit.state.arguments import Argument, signature_of
from freshjit.state.guards import Guard
from freshjit.state.path import Path
from freshjit.state.recipes import Constant
from freshjit.state.record import Record, Slot
from freshjit.state.values import NUMBERS, same_value

__all__ = ["Disabled", "Program", "Retrace"]


class Retrace(Exception):
    """JAX wants to trace a program again: its arguments or the configuration are of another kind."""


class Disabled(Retrace):
    """``jax.disable_jit`` is on: the user wants the plain function to run."""


class Program:
    """What is compiled for one record.

    Attributes:
        record: what the capture found.
        arguments: how each argument takes part.
        probe: the generated function that serves calls.
        jitted: the pure function ``jitted(slots, *traced)`` under ``jax.jit``.
        signature: the kinds of the traced arguments, and the configuration.

    Parameters:
        others: programs of the same function, whose compiled code is used again if it fits.
    """

    def __init__(
        self,
        record: Record,
        arguments: Sequence[Argument],
        signature: Any,
        name: str,
        options: dict[str, Any],
        others: Sequence[Program] = (),
    ) -> None:
        self.record = record
        self.arguments = tuple(arguments)
        self.signature = signature
        twin = self._twin(others)
        self.jitted: Any = _jax_jit(self._pure(name), options) if twin is None else twin.jitted
        self.probe: Probe
        self._checker: Probe | None = None
        self.check_avals(False)

    @property
    def guards(self) -> list[Guard]:
        return self.record.guards

    def _twin(self, others: Sequence[Program]) -> Program | None:
        """A program of the same function that computes the same thing, though its guards differ."""
        form = [(a.name, a.kind) for a in self.arguments]
        for other in others:
            same_call = [(a.name, a.kind) for a in other.arguments] == form
            if (
                same_call
                and other.signature == self.signature
                and same_computation(self.record, other.record)
            ):
                return other
        return None

    def check_avals(self, check: bool) -> None:
        """Generate the probe. At first JAX's own check of the inputs does; see ``Store``."""
        self.probe = generate(self.record, self.arguments, self.jitted, check)
        self.run = self.probe.run

    def _pure(self, name: str) -> Any:
        """The user's function as a pure one: slots and traced arguments in, outputs and writes out."""
        position = {id(slot): i for i, slot in enumerate(self.record.slots)}
        constants = [
            (position[id(c)], None) if isinstance(c, Slot) else (None, c) for c in self.record.constants
        ]
        structure = None
        context = None

        def pure(slots: tuple[Any, ...], *traced: Any) -> tuple[Any, ...]:
            nonlocal structure, context
            if _compat.jit_is_disabled():
                raise Disabled
            leaves, tree = jax.tree_util.tree_flatten(traced)
            if not any(isinstance(value, _compat.Tracer) for value in (*leaves, *slots)) and (
                leaves or slots
            ):
                # jax_debug_nans runs the function again without compiling it, to find the operation.
                return self._evaluate(slots, leaves, constants)
            found = (tree, tuple(leaf.aval for leaf in leaves), tuple(s.aval for s in slots))
            now = _compat.trace_context()
            if structure is None:
                structure, context = found, now
            elif structure != found or context != now:
                raise Retrace
            return self._evaluate(slots, leaves, constants)

        pure.__name__ = pure.__qualname__ = name
        pure.__signature__ = signature_of(self.arguments, "state")
        return pure

    def _evaluate(
        self, slots: Sequence[Any], leaves: Sequence[Any], constants: Sequence[tuple[int | None, Any]]
    ) -> tuple[Any, ...]:
        values = [const if place is None else slots[place] for place, const in constants]
        return tuple(_compat.eval_jaxpr(self.record.jaxpr, *values, *leaves))

    def changed_numbers(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Guard]:
        """The guards on numbers that have another value of the same type now.

        Numbers that are read by calling a memoised function are left out: this program is not the one that
        fits, and nobody would have made that call.
        """
        changed: list[Guard] = []
        for guard in self.guards:
            if guard.kind != "value" or type(guard.value) not in NUMBERS:
                continue
            if any(step == "callwith" or (step == "call" and key) for step, key in _steps(guard.path)):
                continue
            try:
                now = read(guard.path, function, args, kwargs)
            except UNREADABLE:
                continue
            if type(now) is type(guard.value) and not same_value(now, guard.value):
                changed.append(guard)
        return changed

    def why_not(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Guard | None:
        """The first guard that does not hold for a call, None if the call's form differs."""
        if self._checker is None:
            dry = self.record.without_writes(Constant(None))
            self._checker = generate(dry, self.arguments, lambda *_: ())
        result = self._checker.run(function, args, kwargs)
        return result.guard if type(result) is Miss else None


def _jax_jit(pure: Any, options: dict[str, Any]) -> Any:
    if options.keys().isdisjoint(("backend", "device")):
        return _compat.jax_jit(pure, **options)
    with warnings.catch_warnings():  # JAX has told the user, when these options were given
        warnings.simplefilter("ignore", DeprecationWarning)
        return _compat.jax_jit(pure, **options)


def _steps(path: Path) -> Iterator[tuple[str, Any]]:
    """The steps of a path and their keys, last one first."""
    place: Path | None = path
    while place is not None:
        yield place.step, place.key
        place = place.parent
