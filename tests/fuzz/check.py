"""Run a program twice, as plain Python and jitted, and say what differs."""

import gc
import itertools
import linecache
import re
import signal
import sys
import traceback
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
from tests.fuzz.eager import plain_jax
from tests.fuzz.look import differences
from tests.fuzz.write import Program

from freshjit import jit

__all__ = ["Failure", "Invalid", "check", "checked", "clean", "fails_as", "report"]

_serial = itertools.count()
_compiled = 0


def _count(event: str, duration: float, **kw: Any) -> None:
    global _compiled
    _compiled += event.endswith("backend_compile_duration")


jax.monitoring.register_event_duration_secs_listener(_count)


@dataclass
class Failure:
    """What is wrong with the jitted run. `kind` is short, and stays the same while a program gets smaller."""

    kind: str
    text: str


class Invalid(Exception):
    """The program does not even run as plain Python: a mistake of the generator."""


class _Run:
    def __init__(self, program: Program, eager: bool) -> None:
        source = program.source
        name = f"_fuzz_{next(_serial)}"
        file = f"/fuzz/{name}.py"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        module = types.ModuleType(name)
        module.__file__ = file
        sys.modules[name] = module
        try:
            exec(compile(source, file, "exec"), vars(module))
            look = module.look  # type: ignore[attr-defined]
            look.count = lambda: _compiled
            # A branch or loop of JAX gives new arrays, for state that it leaves as it is as well.
            look.array_aliases = not program.transforms
            if eager:
                module.jax = _eager_jax(module)  # type: ignore[attr-defined]
            with warnings.catch_warnings(), jax.numpy_rank_promotion("allow"):
                warnings.simplefilter("ignore")
                self.shown = module.program(plain_jit if eager else jit)  # type: ignore[attr-defined]
            self.calls, self.errors = look.calls, look.errors
        finally:
            del sys.modules[name]
            linecache.cache.pop(file, None)


def _eager_jax(module: Any) -> Any:
    shim = plain_jax()
    shim.clear_caches = lambda: None
    return shim


def plain_jit(f: Any = None, **options: Any) -> Any:
    return f if f is not None else lambda g: g


def checked(program: Program) -> Failure | None:
    """The same as ``check``, where a program that plain Python cannot run is a failure, too."""
    try:
        return check(program)
    except Invalid as error:
        return Failure(_invalid_kind(error), str(error))


def _invalid_kind(error: Invalid) -> str:
    return "invalid program: " + str(error).strip().splitlines()[-1][:100]


def check(program: Program) -> Failure | None:
    """What is wrong, or None."""
    try:
        right = _Run(program, eager=True)
    except Exception as error:
        raise Invalid(traceback.format_exc()) from error
    if right.shown is None:
        raise Invalid("the program returns nothing")
    for message, trace in right.errors:
        if not message.startswith("ValueError: bad"):
            raise Invalid(trace)
    try:
        fresh = _Run(program, eager=False)
    except Exception as error:
        return Failure(f"raises {type(error).__name__}", traceback.format_exc())
    found = differences(right.shown["seen"], fresh.shown["seen"], program.loose, "seen")
    if found:
        known = [message.partition(":")[0] for message, _ in right.errors]
        for message, trace in fresh.errors:
            if message.partition(":")[0] not in known:
                return Failure(f"raises {message.partition(':')[0]}", f"{trace}\n{message}")
        return Failure(_kind("result", found), "\n".join(found))
    found = differences(right.shown["state"], fresh.shown["state"], program.loose, "state")
    if found:
        return Failure(_kind("state", found), "\n".join(found))
    return _compilations(program, fresh.calls)


def _kind(what: str, found: list[str]) -> str:
    """The first difference without places and numbers, which change as the program gets smaller."""
    where, _, values = found[0].partition(": eager ")
    steps = re.findall(r"[A-Za-z_ ]+", where)[-2:]
    words = re.sub(r"[-\d.]+(e-?\d+)?", "#", values)[:60]
    return f"{what} {' '.join(steps)}: {words}"


def _compilations(program: Program, calls: list[int]) -> Failure | None:
    """At most three compilations for each call or edit; a program that goes on as before compiles nothing.

    One for a call, and few more: where Python needs the value of an expression over captured arrays, its
    operations are run one by one.
    """
    if sum(calls) > 3 * len(calls) + 5:
        return Failure("compilations", f"compilations per call: {calls}")
    if program.steady and any(calls[-2:]):
        return Failure("steady", f"the last calls compile still: {calls}")
    return None


def fails_as(program: Program, kind: str) -> bool:
    """Whether the program fails in this way; for a program that is being made smaller."""
    if kind.startswith(("compil", "steady")):
        clean()
    try:
        with _at_most(seconds=10):
            failure = checked(program)
    except (_TooLong, SyntaxError, RecursionError):
        return False
    return failure is not None and failure.kind == kind


class _TooLong(BaseException):
    """Without its `i += 1`, a loop does not end."""


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def report(program: Program, failure: Failure) -> str:
    """The text of a file for the program: what is wrong, the source, and what plain Python shows."""
    try:
        shown = _Run(program, eager=True).shown["seen"]
    except Exception as error:
        shown = repr(error)
    text = f"{failure.kind}\n\n{failure.text.strip()}\n\nPlain Python shows:\n{shown}"
    comment = "\n".join(f"# {line}".rstrip() for line in text.split("\n"))
    return f"{comment}\n\n{program.source}"


def clean() -> None:
    """Forget what was compiled, so that memory stays bounded."""
    jax.clear_caches()
    gc.collect()
