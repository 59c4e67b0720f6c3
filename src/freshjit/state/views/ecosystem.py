"""Objects of other libraries that hold facts about JAX's traces, which a capture must answer itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from freshjit.state.path import Path

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["special_view"]


def special_view(kind: type) -> Any:
    """How values of this class are seen, if the class needs its own way, else None."""
    return _SPECIAL.get((kind.__module__, kind.__qualname__))


def _trace_state(capture: Capture, value: Any, path: Path) -> Any:
    """flax.nnx: a Variable may only be changed at the trace level it was made at, which is ours."""
    capture.guard(path, "type", type(value))
    return capture.remember(value, type(value)(), path)


_SPECIAL = {("flax.nnx.tracers", "TraceState"): _trace_state}
