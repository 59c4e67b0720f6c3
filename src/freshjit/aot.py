"""Ahead of time: what ``lower`` and ``trace`` return. JAX's own objects, with state read at each call."""

from __future__ import annotations

from typing import Any

from freshjit.errors import StaleCompiledError
from freshjit.programs.probe import Miss, generate
from freshjit.programs.program import Program

__all__ = ["Compiled", "Lowered", "Traced"]


class _Stage:
    """One of JAX's stages; whatever is not defined here is JAX's."""

    def __init__(self, stage: Any, program: Program, function: Any) -> None:
        self._stage, self._program, self._function = stage, program, function

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)


class Traced(_Stage):
    """The result of ``jit(f).trace(...)``: see ``jax.stages.Traced``."""

    def __init__(
        self, program: Program, function: Any, slots: tuple[Any, ...], traced: tuple[Any, ...]
    ) -> None:
        super().__init__(program.jitted.trace(slots, *traced), program, function)

    def lower(self, **options: Any) -> Lowered:
        return Lowered(self._stage.lower(**options), self._program, self._function)


class Lowered(_Stage):
    """The result of ``jit(f).lower(...)``: see ``jax.stages.Lowered``."""

    def compile(self, *args: Any, **options: Any) -> Compiled:
        """Compile; the result takes the arguments of the original function."""
        return Compiled(self._stage.compile(*args, **options), self._program, self._function)


class Compiled(_Stage):
    """The result of ``jit(f).lower(...).compile()``: see ``jax.stages.Compiled``."""

    def __init__(self, stage: Any, program: Program, function: Any) -> None:
        super().__init__(stage, program, function)
        self._run = generate(program.record, program.arguments, stage).run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self._run(self._function, args, kwargs)
        if type(result) is not Miss:
            return result
        guard = result.guard
        form = "its arguments have another form, or something that was read is gone"
        what = form if guard is None else f"{guard.path} has changed"
        where = f" (it was read at {guard.where})" if guard is not None and guard.where else ""
        raise StaleCompiledError(
            f"the program compiled ahead of time does not serve this call: {what}{where}.\n"
            "Lower and compile again, or call the jitted function itself, which does so when needed."
        )
