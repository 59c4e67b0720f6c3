"""Compiling: what happens when no program of a function serves a call.

The function is captured, in the form that its store has learnt (``Seeing``), the record becomes a program,
and the program serves the call; all this again if state has changed in the meantime.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from freshjit import _compat, live
from freshjit.errors import FreshjitError, FrozenValueError, UnstableStateError, warn
from freshjit.options import UNSPECIFIED, Options
from freshjit.programs.call import Call
from freshjit.programs.probe import Miss
from freshjit.programs.program import Program
from freshjit.programs.store import Store
from freshjit.state.active import thread
from freshjit.state.arguments import root_of
from freshjit.state.capture import Capture
from freshjit.state.guards import Frozen, Guard, at, user_line
from freshjit.state.libraries import raised_by_the_user
from freshjit.state.record import Record
from freshjit.state.run import trace
from freshjit.state.seeing import Seeing

__all__ = ["Compiler"]

MAX_ATTEMPTS = 8
"""How often a function is traced for one call if what it reads is another thing each time."""

MAX_ATTEMPTS_AMONG_THREADS = 64
"""The same while other threads run, who may be writing the state that it reads."""

LONGER_WAIT = 0.0005
"""Seconds by which each attempt among threads waits longer than the one before."""

MAX_SUSPECTS = 4
"""How many numbers are tried by value, each by itself, when a function cannot be traced as they change."""


class Compiler:
    """Compiles one function.

    Parameters:
        function: as the user gave it.
        name: its name, for messages.
        options: the parameters given to ``jit``.
        store: where its programs are kept.
    """

    def __init__(self, function: Callable[..., Any], name: str, options: Options, store: Store) -> None:
        self.function, self.name, self.options, self.store = function, name, options, store

    def serve(self, call: Call) -> Any:
        """The result of a call for which there was no program."""
        if _compat.jit_is_disabled():
            return call.function(*call.args, **call.kwargs)
        with self.store.turn():
            try:
                thread.turns += 1
                return self._compile_until_it_holds(call)
            except BaseException:
                call.drawn.put_back()
                raise
            finally:
                thread.turns -= 1

    def _compile_until_it_holds(self, call: Call) -> Any:
        store, guard = self.store, None
        # Another thread may have compiled the same program while this one waited for its turn.
        result = store.find(call)
        alone = threading.active_count() == 1
        attempts = MAX_ATTEMPTS if alone else MAX_ATTEMPTS_AMONG_THREADS
        for attempt in range(attempts):
            if type(result) is not Miss:
                return result
            store.note_changes(call)
            try:
                program = self.program(call)
            except UnstableStateError:
                if attempt == attempts - 1:
                    raise
                continue
            if program.record.late_rules and not _compat.trace_is_clean():
                call.drawn.put_back()
                return live.call(call.function, call.args, call.kwargs)
            store.add(program)
            result = program.run(call.function, call.args, call.kwargs)
            if type(result) is Miss:
                guard = result.guard
                if not alone:  # who writes in step with the attempts would be missed each time
                    time.sleep(attempt * LONGER_WAIT)
                result = store.find(call)
        if type(result) is not Miss:
            return result
        raise self.unstable(guard, attempts)

    def unstable(self, guard: Guard | None, times: int = 1) -> UnstableStateError:
        """The error for state that is another thing directly after it has been read."""
        what, where = "the form of the call", ""
        if guard is not None:
            what, where = guard.place, at(guard.where, "read at")
        repeated = f", {times} times in a row" if times > 1 else ""
        return UnstableStateError(
            f"state read by {self.name} changes by itself: {what}{where} was different directly after it "
            f"had been read{repeated}.\nIt must be the same when it is read twice. A property that makes a "
            "new object each time is the usual reason; another one is a thread that writes it without a "
            "pause."
        )

    def look(self, call: Call) -> Program:
        """The program for a call that is not made: not even a random generator has moved."""
        try:
            return self.program(call)
        finally:
            call.drawn.put_back()

    def program(self, call: Call) -> Program:
        """Capture the function for a call, as a program that is in no store yet."""
        record = self._record(call)
        self._tell(record.frozen)
        overrides = self.options.overrides
        unread = () if overrides is None else overrides.unread()
        for message in (*unread, *self.options.not_donated(call.plan)):
            warn(f"{self.name} {message}", user_line())
        jax_options = self.options.for_jax(call.plan, record)
        others = [] if "out_shardings" in jax_options else self.store.programs
        return Program(record, call.plan, call.signature, self.name, jax_options, others)

    def _record(self, call: Call) -> Record:
        store = self.store
        capture = self._capture(call, changing=store.changing, rigid=store.rigid)
        try:
            return _traced(capture, call)
        except FreshjitError:
            raise
        except Exception as error:
            # Some library may have met our stand-in for a NumPy array, or for a number that changes, where
            # only the real thing will do.
            if not (capture.saw_numpy or capture.used_numbers):
                raise
            try:
                return self._plain_record(capture, call)
            except Exception as other:
                # Some things can only be done with stand-ins: where that was not it, the first error counts.
                if type(other) is type(error) or not raised_by_the_user(error):
                    raise
                raise error from None

    def _plain_record(self, failed: Capture, call: Call) -> Record:
        """The record with as few plain things in place of stand-ins as will do."""
        store = self.store
        # Everything plain: if that fails, too, the error is the user's.
        record = _traced(self._capture(call, plain_numpy=True, plain_numbers=True), call)
        # Which one was it? NumPy arrays alone, or one number; the one that was read last is the likeliest.
        numbers = [path.trail for path in failed.used_numbers]
        suspects = [{number} for number in reversed(numbers)][:MAX_SUSPECTS]
        for suspected in ([set[Any]()] if failed.saw_numpy else []) + suspects:
            rigid = store.rigid | suspected
            with contextlib.suppress(Exception):
                capture = self._capture(
                    call, plain_numpy=failed.saw_numpy, changing=store.changing - rigid, rigid=rigid
                )
                record = _traced(capture, call)
                store.give_up(rigid)
                return record
        store.give_up(numbers)
        return record

    def _capture(self, call: Call, **seeing: Any) -> Capture:
        return Capture(
            self.function,
            root_of(self.function),
            Seeing(**seeing, overrides=self.options.overrides),
            flatten_result=self.options.out_shardings is not UNSPECIFIED,
            drawn=call.drawn,
        )

    def _tell(self, frozen: Iterable[Frozen]) -> None:
        """Report what has become part of the program though later calls may find it changed."""
        frozen = list(dict.fromkeys(frozen))
        if frozen and self.options.strict:
            raise FrozenValueError("\n".join(f.message(self.name, f" (at {f.where})") for f in frozen))
        self.store.report(frozen)


def _traced(capture: Capture, call: Call) -> Record:
    return trace(capture, call.args, call.kwargs, call.plan)
