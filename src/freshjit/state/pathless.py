"""What a run has used that no path leads to: answers from outside, random numbers, arrays of unknown origin.

It is looked at when the run has ended: what can be asked again at each call becomes a guard, the rest is
reported.
"""

from __future__ import annotations

import inspect
import random
import sys
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax

from freshjit import _compat
from freshjit.state import bytecode, draws
from freshjit.state.guards import SourceLine, user_line
from freshjit.state.path import Path
from freshjit.state.values import same_value

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["Pathless"]


@dataclass(eq=False, slots=True)
class _Watched:
    """A random generator, what it held when the run met it, and the line that met it, if that is known."""

    generator: Any
    path: Path
    before: Any
    where: SourceLine | None


class Pathless:
    """The books on such things for one capture.

    Parameters:
        drawn: where to note what random generators held before the call.
    """

    def __init__(self, capture: Capture, drawn: draws.Draws) -> None:
        self._capture, self._drawn = capture, drawn
        self._asked: dict[Any, tuple[Path, Any, SourceLine | None]] = {}
        self._random: list[_Watched] = []
        self._names: frozenset[str] = frozenset()  # in the code that this run goes through
        self._there_before: dict[int, Any] = {}  # arrays, by id
        self._settings: dict[str, Any] = {}  # JAX's, where the call is made

    def begin(self) -> None:
        self._drawn.put_back()  # what an earlier run for the same call has drawn
        self.watch_modules()
        self._there_before = {id(array): array for array in jax.live_arrays()}
        self._settings = _compat.read_settings()

    def watch_modules(self) -> None:
        """Notice if the generators of the modules ``random`` and ``numpy.random`` move."""
        self.watch_random(draws.of_python, Path.constant(draws.of_python, "Python's random module"))
        self.watch_random(draws.of_numpy, Path.constant(draws.of_numpy, "numpy.random"))

    def code_is_run(self, code: types.CodeType) -> None:
        """Note what the code of a function that this run goes through has names of."""
        self._names |= bytecode.names(code)

    def watch_random(self, generator: Any, path: Path) -> None:
        """Notice if a random generator of NumPy or Python, which is read now, moves during the run."""
        if isinstance(generator, random.SystemRandom):  # it holds nothing that moves
            self._capture.report_frozen(f"{path}, a source of random numbers, was read", _REMEDY)
            return
        known = next((w for w in self._random if w.generator is generator), None)
        if known is None:
            before = self._drawn.watch(generator)
            self._random.append(_Watched(generator, path, before, self._line_inside()))
        elif not draws.has_moved(generator, known.before):
            known.where = self._line_inside()

    def _line_inside(self) -> SourceLine | None:
        """The line of the function, or of one that it calls, that runs now; None if none does as yet."""
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while frame is not None:
            if any(frame.f_globals is namespace for namespace in self._capture.namespaces.values()):
                return SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
            frame = frame.f_back
        return None

    def asked(self, function: Any, question: tuple[Any, ...], answer: Any, shown: str) -> None:
        """Note what a function outside gave: the program is valid as long as it gives the same.

        Parameters:
            question: the arguments, plain values.
            shown: how the call is written.
        """
        if self._capture.outer is not None:
            self._capture.outer.pathless.asked(function, question, answer, shown)
        else:
            path = Path.constant(function, shown).to("call", question, shown)
            self._asked.setdefault((function, question), (path, answer, user_line()))

    def is_set_inside(self, name: str, value: Any) -> bool:
        """Whether it is the run that has given one of JAX's settings this value, by what else it reads."""
        if self._capture.outer is not None:
            return self._capture.outer.pathless.is_set_inside(name, value)
        return not same_value(self._settings.get(name, value), value)

    def account_for(self, array: Any) -> None:
        """Note that it does no harm if this array becomes a constant: its contents are guarded."""
        self._there_before.pop(id(array), None)

    def constant(self, array: Any) -> None:
        """Traced code has used an array that is neither an input nor computed."""
        if self._there_before.get(id(array)) is array:
            self._capture.report_frozen(
                f"an array {array.aval.str_short()} was used that was there before, but to which no path "
                "leads that freshjit knows",
                "Keep it in an attribute, a variable or a container, or pass it as an argument.",
            )

    def finish(self) -> None:
        """Make guards of the answers, unless this run has changed what is asked for; report the rest."""
        for watched in self._random:
            if draws.has_moved(watched.generator, watched.before):
                self._capture.report_frozen(
                    f"{watched.path} gave random numbers",
                    _REMEDY,
                    watched.where or _first_line(self._capture.function),
                )
            elif self._may_ask(watched):
                self._capture.guard(watched.path, "undrawn", watched.before, watched.where)
        for path, answer, where in self._asked.values():
            assert path.parent is not None
            if same_value(path.parent.key()(*path.key), answer):
                self._capture.guard(path, "value", answer, where)
            else:
                self._capture.report_frozen(
                    f"{path} was read and has changed",
                    "Read it outside and pass the result as an argument.",
                    where,
                )

    def _may_ask(self, watched: _Watched) -> bool:
        """Whether the run may depend on what a generator holds, which has not moved.

        No hook sees what is asked of a generator. Most code that has one at hand asks nothing, or draws; what
        else there is shows in the names that it uses. To put back what a generator of a module has held is
        common, around code that gives it a seed of its own.
        """
        of_module = watched.generator is draws.of_python or watched.generator is draws.of_numpy
        if of_module and (not self._names & _OF_MODULES or "seed" in self._names):
            return False
        return not self._names.isdisjoint(draws.names_asking(watched.generator))

    def clear(self) -> None:
        """Hold no arrays any longer."""
        self._there_before.clear()


_OF_MODULES = frozenset(("getstate", "get_state"))
_REMEDY = "Use jax.random with a key, or draw outside and pass the numbers as arguments."


def _first_line(function: Any) -> SourceLine | None:
    """Where a function is written, for what cannot be told of any line in it."""
    wrapped = inspect.unwrap(function)
    code = getattr(getattr(wrapped, "__func__", wrapped), "__code__", None)
    return None if code is None else SourceLine(code.co_filename, code.co_firstlineno, code.co_name)
