"""Live runs: a function run in the trace that is current, on the real arrays, its writes committed after.

``jit`` records a program once and runs it often. A transform outside ``jit`` (``freshjit.grad(f)(x)``)
has nothing to keep: the function runs under the same views, now, and what it wrote is committed at the
end, all or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from freshjit.errors import FreshjitError
from freshjit.programs.probe import Miss, generate
from freshjit.state.arguments import parameters_of, plan, root_of
from freshjit.state.capture import Capture

__all__ = ["run", "view_arguments"]


def run(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    call: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any],
) -> Any:
    """``call(view of the function, views of the arguments)``; state that it changes is written back.

    The result is handed out as it is: it must hold no views, which results of JAX's transforms do not.
    """
    arguments = plan(parameters_of(function), args, kwargs)

    def inside(capture: Capture) -> Any:
        view = capture.view(function, capture.root)
        result = call(view, *view_arguments(capture, arguments, args, kwargs))
        return result, *capture.written()

    capture = Capture(function, root_of(function), plain_numpy=True)
    result, record, outputs = capture.run_directly(inside)
    if record.writes:
        done = generate(record, arguments, lambda *_: outputs).run(function, args, kwargs)
        if type(done) is Miss:
            raise FreshjitError(
                f"the state that {capture.root} wrote could not be written back: its way there is gone."
            )
    return result


def view_arguments(
    capture: Capture, arguments: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as the function is to get them: objects as views, JAX's own kinds as they are."""
    call_args: list[Any] = []
    call_kwargs: dict[str, Any] = {}
    for argument in arguments:
        value = argument.of(args, kwargs)
        if argument.kind == "state":
            value = capture.view(value, argument.path)
        if isinstance(argument.name, int):
            call_args.append(value)
        else:
            call_kwargs[argument.name] = value
    return tuple(call_args), call_kwargs
