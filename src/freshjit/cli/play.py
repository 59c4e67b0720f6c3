"""Running a program of the demo with one kind of `jit`, and judging what it answered."""

import enum
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from freshjit.cli.compilations import compilations
from freshjit.cli.questions import Program

__all__ = ["Answer", "Jit", "Verdict", "judge", "no_jit", "play"]

Jit = Callable[..., Any]


@dataclass(frozen=True)
class Answer:
    """What one step gave: a value or an exception, and how many programs were compiled for it."""

    value: object = None
    error: Exception | None = None
    compiled: int = 0

    def __str__(self) -> str:
        if self.error is not None:
            return f"{type(self.error).__name__}: {_first_words(str(self.error))}"
        return "" if self.value is None else str(np.asarray(self.value))


class Verdict(enum.Enum):
    """How an answer stands beside plain Python's."""

    SILENT = "nothing to compare"
    SAME = "the same"
    STALE = "another value"
    ERROR = "an error"


def no_jit(function: Callable[..., Any], **options: object) -> Callable[..., Any]:
    """Plain Python: the `jit` that does nothing.

    >>> no_jit(len, static_argnums=0) is len
    True
    """
    del options
    return function


def play(program: Program, jit: Jit) -> list[Answer]:
    """Run a program's code, then its steps as typed at a prompt: an error ends a step, not the session."""
    name = f"<demo: {program.title}>"
    # Lets tracebacks and messages show the lines of code that is not in a file.
    linecache.cache[name] = (len(program.code), None, program.code.splitlines(keepends=True), name)
    namespace = _namespace(jit)
    exec(compile(program.code, name, "exec"), namespace)
    return [_answer(step, namespace) for step in program.steps]


def judge(answer: Answer, plain: Answer) -> Verdict:
    """Compare an answer with plain Python's: shape, kind of number, value, and the sign of zero.

    >>> judge(Answer(jnp.int32(6)), Answer(6))
    <Verdict.SAME: 'the same'>
    >>> judge(Answer(0.0), Answer(-0.0))
    <Verdict.STALE: 'another value'>
    """
    if answer.error is not None:
        return Verdict.ERROR
    if answer.value is None and plain.value is None:
        return Verdict.SILENT
    return Verdict.SAME if _same(np.asarray(answer.value), np.asarray(plain.value)) else Verdict.STALE


def _namespace(jit: Jit) -> dict[str, Any]:
    """The globals of a program: what a user's module would import."""
    return {
        "__name__": "demo",
        "dataclass": dataclass,
        "jax": jax,
        "jit": jit,
        "jnp": jnp,
        "lax": lax,
        "partial": partial,
    }


def _answer(step: str, namespace: dict[str, Any]) -> Answer:
    before = compilations()
    try:
        value: object = eval(_compile(step), namespace)
        jax.block_until_ready(value)  # errors of the computation itself belong to this step
    except Exception as error:
        return Answer(error=error, compiled=compilations() - before)
    return Answer(value=value, compiled=compilations() - before)


def _compile(step: str) -> CodeType:
    """An expression if it is one, else a statement (whose `eval` gives None)."""
    try:
        return compile(step, "<demo>", "eval")
    except SyntaxError:
        return compile(step, "<demo>", "exec")


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
        return False
    if one.dtype.kind == "f" and not np.array_equal(np.signbit(one), np.signbit(other)):
        return False
    return np.array_equal(one, other)


def _first_words(message: str, limit: int = 44) -> str:
    line = message.strip().partition("\n")[0]
    if len(line) <= limit:
        return line
    return line[: limit + 1].rpartition(" ")[0].rstrip(",.:;") + "…"
