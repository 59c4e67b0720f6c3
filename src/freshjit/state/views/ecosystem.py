"""Things of libraries that need a view of their own: traces in flax, the environment, imports."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, NoReturn

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


class _Environment(MutableMapping[str, str]):
    """``os.environ`` as traced code sees it: every variable that is asked for is read, now and later."""

    def _read(self, name: Any) -> Any:
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

    def __contains__(self, name: object) -> bool:
        return self._read(name) is not None

    def __iter__(self) -> Iterator[str]:
        if thread.capture is not None:
            thread.capture.guard(Path.constant(os.environ, "os.environ"), "keys", tuple(os.environ))
        return iter(list(os.environ))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __setitem__(self, name: str, value: str) -> None:
        _refuse_change(name, "set")

    def __delitem__(self, name: str) -> None:
        _refuse_change(name, "deleted")

    def copy(self) -> dict[str, str]:
        return dict(self)

    def __or__(self, other: Any) -> dict[str, str]:
        return {**self, **other}

    def __ror__(self, other: Any) -> dict[str, str]:
        return {**other, **self}


def _refuse_change(name: str, what: str) -> NoReturn:
    raise UnsupportedStateError(
        f"os.environ[{name!r}] is {what} inside a jitted function (at {user_line()}); that would happen "
        "once, while tracing.\nDo it outside."
    )


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
