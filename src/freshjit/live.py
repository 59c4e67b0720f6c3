"""Live runs: a function run in the trace that is current, on the real arrays, its writes committed after.

``jit`` records a program once and runs it often. A transform outside ``jit`` (``freshjit.grad(f)(x)``)
has nothing to keep: the function runs under the same views, now, and what it wrote is committed at the
end, all or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from freshjit.errors import FreshjitError
from freshjit.programs.probe import Miss, generate
from freshjit.state.arguments import parameters_of, plan, root_of
from freshjit.state.capture import Capture
from freshjit.state.run import directly, view_arguments, written
from freshjit.state.seeing import Seeing

__all__ = ["call", "run"]


def run(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    transformed: Callable[[Any, Sequence[Any], dict[str, Any]], Any],
) -> Any:
    """``transformed(view of the function, views of the arguments)``; state that it changes is written back.

    The result is handed out as it is: it must hold no views, which results of JAX's transforms do not.
    """

    def inside(capture: Capture, view: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        result = transformed(view, args, kwargs)
        return result, *written(capture)

    return _run(function, args, kwargs, inside)[0]


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function itself, run live."""

    def inside(capture: Capture, view: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return None, *written(capture, view(*args, **kwargs))

    return _run(function, args, kwargs, inside)[1]


def _run(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], inside: Callable[..., Any]
) -> tuple[Any, Any]:
    """What ``inside`` gives first, and the result of the record that it gives with it."""
    arguments = plan(parameters_of(function), args, kwargs)

    def enter(capture: Capture) -> Any:
        view = capture.view(function, capture.root)
        return inside(capture, view, *view_arguments(capture, arguments, args, kwargs))

    capture = Capture(function, root_of(function), Seeing(plain_numpy=True, plain_numbers=True))
    capture.pathless.watch_modules()
    try:
        first, record, outputs = directly(capture, enter)
        result = generate(record, arguments, lambda *_: outputs).run(function, args, kwargs)
        if type(result) is Miss:
            raise FreshjitError(
                f"what {capture.root} wrote could not be written back: something on the way to it was "
                "replaced during the call.\nKeep the objects in place that hold what the function writes."
            )
    except BaseException:
        capture.drawn.put_back()
        raise
    return first, result
