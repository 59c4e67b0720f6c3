"""Code that runs later: callbacks get the original function with its real variables.

What traced code holds (clones whose cells hold tracers) means nothing once the capture has ended. A
function handed to ``jax.pure_callback`` and the like runs on the host, at each call of the program.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
from jax.experimental import io_callback as jax_io_callback

from freshjit.state.active import thread
from freshjit.state.assignment import code_of
from freshjit.state.views import arrays
from freshjit.state.views.namespaces import Namespace
from freshjit.state.views.replacements import replace_in_captures

if TYPE_CHECKING:
    from freshjit.state.capture import Capture


def _on_the_real_thing(call: Callable[..., Any]) -> Callable[..., Any]:
    """Callbacks run later, on the host: they get the original function with its real variables."""

    @functools.wraps(call)
    def wrapped(callback: Any, *args: Any, **kwargs: Any) -> Any:
        capture = thread.capture
        if capture is None:
            return call(callback, *args, **kwargs)
        return call(_real(capture, callback), *arrays.to_jax(args), **arrays.to_jax(kwargs))

    return wrapped


def _real(capture: Capture, value: Any) -> Any:
    """The real counterpart of something that traced code holds; the program is bound to it."""
    entry = capture.original_of(value)
    if entry is not None:
        capture.guard(entry.path, "is", entry.original)
        return entry.original
    if isinstance(value, types.MethodType):
        return types.MethodType(_real(capture, value.__func__), _real(capture, value.__self__))
    if isinstance(value, types.BuiltinFunctionType) and capture.original_of(value.__self__) is not None:
        return getattr(_real(capture, value.__self__), value.__name__)
    if isinstance(value, functools.partial):
        keywords = {k: _real(capture, v) for k, v in value.keywords.items()}
        return functools.partial(
            _real(capture, value.func), *(_real(capture, a) for a in value.args), **keywords
        )
    if isinstance(value, types.FunctionType) and isinstance(value.__globals__, Namespace):
        cells = tuple(_real_cell(capture, cell) for cell in value.__closure__ or ())
        real = types.FunctionType(
            code_of(value), value.__globals__.real, value.__name__, value.__defaults__, cells
        )
        real.__kwdefaults__ = value.__kwdefaults__
        return real
    return value


def _real_cell(capture: Capture, cell: types.CellType) -> types.CellType:
    entry = capture.original_of(cell)
    if entry is not None:
        capture.guard(entry.path, "is", entry.original)
        return entry.original
    try:
        return types.CellType(_real(capture, cell.cell_contents))
    except ValueError:
        return types.CellType()


def inspect_array_sharding(value: Any, *, callback: Callable[..., Any]) -> None:
    """``jax.debug.inspect_array_sharding``: its callback runs when the program is compiled."""
    capture = thread.capture
    if capture is not None:
        value, callback = arrays.to_jax(value), _real(capture, callback)
    jax.debug.inspect_array_sharding(value, callback=callback)


def install() -> None:
    """Let traced code find these in place of JAX's own."""
    replace_in_captures(jax.debug.inspect_array_sharding, inspect_array_sharding)
    for original in (jax.pure_callback, jax_io_callback, jax.debug.callback):
        replace_in_captures(original, _on_the_real_thing(original))
