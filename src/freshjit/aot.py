"""Ahead of time: what ``lower`` and ``trace`` return. JAX's own objects, with state read at each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from freshjit.errors import StaleCompiledError, UnsupportedStateError
from freshjit.programs.probe import Miss, generate
from freshjit.programs.program import Program
from freshjit.state.arguments import arranged
from freshjit.state.guards import at
from freshjit.state.recipes import Output
from freshjit.tracebacks import boundary

__all__ = ["Compiled", "Lowered", "Traced"]


class _Stage:
    """One of JAX's stages.

    What it says of each argument, or of each part of the result, it says of those of the user's function, as
    JAX does: captured arrays, arguments that are state, and what is written are left out. Whatever is not
    defined here is JAX's.

    Parameters:
        stage: JAX's own, of the program.
        result: the result of the function, with an ``Output`` in the place of each array.
    """

    def __init__(self, stage: Any, program: Program, function: Any, result: Any) -> None:
        self._stage, self._program, self._function, self._result = stage, program, function, result

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._stage, name)
        if name in _OF_ARGUMENTS:
            return self._of_arguments(found)
        return self._of_result(found) if name in _OF_RESULT else found

    @property
    def in_tree(self) -> Any:
        return jax.tree.structure(self.args_info)

    @property
    def out_tree(self) -> Any:
        return jax.tree.structure(self._result)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        return tuple(i for i, info in enumerate(jax.tree.leaves(self.args_info)) if info.donated)

    def _of_arguments(self, found: Any) -> Any:
        (_, *traced), _ = found
        values = iter(traced)
        args, kwargs = arranged(
            (a for a in self._program.arguments if a.kind == "traced"), lambda _: next(values)
        )
        return tuple(args), kwargs

    def _of_result(self, found: Sequence[Any]) -> Any:
        return jax.tree.map(
            lambda part: found[part.index] if isinstance(part, Output) else part, self._result
        )

    def _next(self, kind: Callable[..., Any], stage: Any) -> Any:
        return kind(stage, self._program, self._function, self._result)


_OF_ARGUMENTS = frozenset(("args_info", "in_avals", "input_formats", "input_shardings"))
_OF_RESULT = frozenset(("out_avals", "out_info", "output_formats", "output_shardings"))


class Traced(_Stage):
    """The result of ``jit(f).trace(...)``: see ``jax.stages.Traced``.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from freshjit import jit
        >>> scale = jnp.float32(2.0)
        >>> traced = jit(lambda x: scale * x).trace(jax.ShapeDtypeStruct((3,), jnp.float32))
        >>> traced.jaxpr.in_avals
        [ShapedArray(float32[]), ShapedArray(float32[3])]
    """

    def lower(self, **options: Any) -> Lowered:
        """Lower to the compiler's input language; ``options`` as for ``jax.stages.Traced.lower``.

        Raises:
            UnsupportedStateError: if it is ``jax.export`` that calls this.
        """
        if getattr(options.get("_private_parameters"), "for_export", False):
            name = getattr(self._function, "__name__", repr(self._function))
            raise UnsupportedStateError(
                f"{name} was given to jax.export: an exported program can neither read state when it is "
                "called nor write it.\nExport the plain function, with the state as it is now: "
                f"jax.export.export(jax.jit({name}.__wrapped__)). Or pass state in and out: "
                f"freshjit.functionalize({name})."
            )
        return self._next(Lowered, self._stage.lower(**options))


class Lowered(_Stage):
    """The result of ``jit(f).lower(...)``: see ``jax.stages.Lowered``.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from freshjit import jit
        >>> scale = jnp.float32(2.0)
        >>> lowered = jit(lambda x: scale * x).lower(jax.ShapeDtypeStruct((3,), jnp.float32))
        >>> "stablehlo.multiply" in lowered.as_text()
        True
    """

    def compile(self, *args: Any, **options: Any) -> Compiled:
        """Compile; the result takes the arguments of the original function.

        Parameters:
            args, options: as for ``jax.stages.Lowered.compile`` (``compiler_options``…).
        """
        return self._next(Compiled, self._stage.compile(*args, **options))


class Compiled(_Stage):
    """The result of ``jit(f).lower(...).compile()``: see ``jax.stages.Compiled``.

    It reads state at each call and writes it back, and it never compiles.

    Raises:
        StaleCompiledError: on call, if a Python value that the program depends on has changed, or the shape
            or dtype of an array in the state.
        TypeError: on call, from JAX, if an argument has another shape or dtype.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from freshjit import jit
        >>> scale = jnp.float32(2.0)
        >>> compiled = jit(lambda x: scale * x).lower(jax.ShapeDtypeStruct((), jnp.float32)).compile()
        >>> x = jnp.float32(5.0)
        >>> float(compiled(x))
        10.0
        >>> scale = jnp.float32(3.0)
        >>> float(compiled(x))
        15.0
    """

    def __init__(self, stage: Any, program: Program, function: Any, result: Any) -> None:
        super().__init__(stage, program, function, result)
        self._run = generate(program.record, program.arguments, stage).run

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self._run(self._function, args, kwargs)
        if type(result) is not Miss:
            return result
        guard = result.guard
        form = "its arguments have another form, or something that was read is gone"
        what = form if guard is None else f"{guard.place} has changed"
        where = "" if guard is None else at(guard.where, "it was read at")
        raise StaleCompiledError(
            f"the program compiled ahead of time does not serve this call: {what}{where}.\n"
            "Lower and compile again, or call the jitted function itself, which does so when needed."
        )
