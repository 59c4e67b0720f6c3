"""Things of libraries that need a view of their own: traces in flax, the environment, imports."""

from __future__ import annotations

import functools
import importlib
import os
from typing import TYPE_CHECKING, Any

import jax

from freshjit import _compat
from freshjit.errors import UnsupportedStateError
from freshjit.state.active import thread
from freshjit.state.guards import user_line
from freshjit.state.path import Path
from freshjit.state.views.arrays import to_jax
from freshjit.state.views.modules import imported, replace_in_captures

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


class _Environment(dict[str, str]):
    """``os.environ`` as traced code sees it: every variable that is asked for is read, now and later."""

    def _read(self, name: str) -> Any:
        capture = thread.capture
        if capture is None:
            return os.environ.get(name)
        getter = Path.constant(os.environ, "os.environ").attr("get")
        return capture.view(os.environ.get(name), getter.to("call", (name,), f"os.environ[{name!r}]"))

    def __getitem__(self, name: str) -> str:
        value = self._read(name)
        if value is None:
            raise KeyError(name)
        return value

    def get(self, name: str, default: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        value = self._read(name)
        return default if value is None else value

    def __contains__(self, name: object) -> bool:
        return self._read(str(name)) is not None

    def __setitem__(self, name: str, value: str) -> None:
        raise UnsupportedStateError(
            f"os.environ[{name!r}] is set inside a jitted function (at {user_line()}); that would happen "
            "once, while tracing.\nSet it outside."
        )

    def __iter__(self) -> Any:
        return iter(dict(os.environ))

    def __len__(self) -> int:
        return len(os.environ)


def _with_default_impl(make: Any) -> Any:
    """``jax.random.key`` without ``impl``: which generator that is, is configuration JAX's cache ignores."""

    @functools.wraps(make)
    def made(seed: Any, *, impl: Any = None) -> Any:
        capture = thread.capture
        if capture is not None and impl is None:
            default = Path.constant(jax.config, "jax.config").attr("jax_default_prng_impl")
            capture.view(_compat.read_config("jax_default_prng_impl"), default)
        return make(to_jax(seed), impl=impl)

    return made


for _make in (jax.random.key, jax.random.PRNGKey):
    replace_in_captures(_make, _with_default_impl(_make))

_environment = _Environment()
replace_in_captures(os.environ, _environment)
replace_in_captures(os.getenv, _environment.get)


def _view_environment(capture: Capture, value: Any, path: Path) -> Any:
    capture.guard(path, "is", value)
    return capture.remember(value, _environment, path)


def _import_module(name: str, package: str | None = None) -> Any:
    capture = thread.capture
    if capture is None:
        return importlib.import_module(name, package)
    with capture.paused():
        module = importlib.import_module(name, package)
    return capture.view(module, imported(module))


replace_in_captures(importlib.import_module, _import_module)
_SPECIAL["os", "_Environ"] = _view_environment


def _opaque_trace(capture: Capture, value: Any, path: Path) -> Any:
    """The identity of a trace that flax keeps in its objects: traced code sees that of its own trace."""
    return capture.remember(value, _compat.current_trace_state(), path)


_SPECIAL[_compat.OpaqueTraceState.__module__, _compat.OpaqueTraceState.__qualname__] = _opaque_trace


def maker(value: Any) -> Any:
    """A function that makes such a value anew at the commit, for values that belong to a trace; or None."""
    return _compat.current_trace_state if type(value) is _compat.OpaqueTraceState else None
