"""Things of libraries that need a view of their own: traces in flax, the environment, imports."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, NoReturn

import jax

from freshjit import _compat
from freshjit.errors import UnsupportedStateError
from freshjit.state.active import thread
from freshjit.state.guards import user_line
from freshjit.state.path import Path
from freshjit.state.values import is_plain
from freshjit.state.views.arrays import to_jax
from freshjit.state.views.modules import library_value
from freshjit.state.views.namespaces import imported
from freshjit.state.views.replacements import replace_in_captures

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["special_view", "view_node"]


def special_view(kind: type) -> Any:
    """How values of this class are seen, if the class needs its own way, else None."""
    return _SPECIAL.get((kind.__module__, kind.__qualname__))


def view_node(capture: Capture, value: Any, path: Path) -> Any:
    """A pytree node of a library's (a sparse array): the same with views of its leaves."""
    capture.guard(path, "type", type(value))
    leaves, form = jax.tree_util.tree_flatten(value)
    capture.guard(path.to("form"), "equal", form)
    place = path.to("leaves")
    parts = [capture.view(leaf, place.to("item", i, f"{path}: leaf {i}")) for i, leaf in enumerate(leaves)]
    return capture.remember(value, jax.tree_util.tree_unflatten(form, parts), path)


def _trace_state(capture: Capture, value: Any, path: Path) -> Any:
    """flax.nnx: a Variable may only be changed at the trace level it was made at, which is ours."""
    capture.guard(path, "type", type(value))
    return capture.remember(value, type(value)(), path)


_SPECIAL = {("flax.nnx.tracers", "TraceState"): _trace_state}


class _Environment(MutableMapping[Any, Any]):
    """``os.environ`` as traced code sees it: every variable that is asked for is read, now and later.

    Parameters:
        real: ``os.environ``, or ``os.environb``.
    """

    def __init__(self, real: MutableMapping[Any, Any], label: str) -> None:
        self._real, self._label = real, label
        self._path = Path.constant(real, label)  # one, so that what is read twice is one guard

    def _read(self, name: Any) -> Any:
        capture = thread.capture
        if capture is None:
            return self._real.get(name)
        getter = self._path.attr("get")
        return capture.view(self._real.get(name), getter.to("call", (name,), f"{self._label}[{name!r}]"))

    def __getitem__(self, name: Any) -> Any:
        value = self._read(name)
        if value is None:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return self._read(name) is not None

    def __iter__(self) -> Iterator[Any]:
        if thread.capture is not None:
            thread.capture.guard(self._path, "keys", tuple(self._real))
        return iter(list(self._real))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __setitem__(self, name: Any, value: Any) -> None:
        self._refuse(name, "set")

    def __delitem__(self, name: Any) -> None:
        self._refuse(name, "deleted")

    def _refuse(self, name: Any, what: str) -> NoReturn:
        raise UnsupportedStateError(
            f"{self._label}[{name!r}] is {what} inside a jitted function (at {user_line()}); that would "
            "happen once, while tracing.\nDo it outside."
        )

    def copy(self) -> dict[Any, Any]:
        return dict(self)

    def __or__(self, other: Any) -> dict[Any, Any]:
        return {**self, **other}

    def __ror__(self, other: Any) -> dict[Any, Any]:
        return {**other, **self}

    def __repr__(self) -> str:
        return f"environ({dict(self)!r})"


def _with_default_impl(make: Any) -> Any:
    """``jax.random.key`` without ``impl``: which generator that is, is configuration JAX's cache ignores."""

    @functools.wraps(make)
    def made(seed: Any, *, impl: Any = None) -> Any:
        if impl is None:
            _note_setting("jax_default_prng_impl", _setting_of_jax("jax_default_prng_impl"))
        return make(to_jax(seed), impl=impl)

    return made


for _make in (jax.random.key, jax.random.PRNGKey):
    replace_in_captures(_make, _with_default_impl(_make))


class _Configuration:
    """``jax.config`` as traced code sees it: what is read decides which program is used."""

    def __getattr__(self, name: str) -> Any:
        value = _setting_of_jax(name)
        _note_setting(name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(jax.config, name, value)

    def __repr__(self) -> str:
        return repr(jax.config)


def _note_setting(name: str, value: Any) -> None:
    """One of JAX's settings was read: it decides which program is used, unless the function has set it."""
    pathless = None if thread.capture is None else thread.capture.pathless
    if pathless is not None and is_plain(value) and not pathless.is_set_inside(name, value):
        pathless.asked(_setting_of_jax, (name,), value, f"jax.config.{name}")


def _setting_of_jax(name: str) -> Any:
    return getattr(jax.config, name)


replace_in_captures(jax.config, _Configuration())


def _view_replaced(capture: Capture, value: Any, path: Path) -> Any:
    capture.guard(path, "is", value)
    return capture.remember(value, library_value(value), path)


def _replace_environment(real: MutableMapping[Any, Any], label: str, getter: Any) -> None:
    environment = _Environment(real, label)

    def get(key: Any, default: Any = None) -> Any:
        return environment.get(key, default)

    replace_in_captures(real, environment)
    replace_in_captures(getter, get)


_replace_environment(os.environ, "os.environ", os.getenv)
if os.supports_bytes_environ:
    _replace_environment(os.environb, "os.environb", os.getenvb)


def _import_module(name: str, package: str | None = None) -> Any:
    capture = thread.capture
    if capture is None:
        return importlib.import_module(name, package)
    with capture.paused():
        module = importlib.import_module(name, package)
    return capture.view(module, imported(module))


replace_in_captures(importlib.import_module, _import_module)
for _kind in (type(os.environ), type(jax.config)):
    _SPECIAL[_kind.__module__, _kind.__qualname__] = _view_replaced


def _opaque_trace(capture: Capture, value: Any, path: Path) -> Any:
    """The identity of a trace that flax keeps in its objects: traced code sees that of its own trace."""
    return capture.remember(value, _compat.current_trace_state(), path)


_SPECIAL[_compat.OpaqueTraceState.__module__, _compat.OpaqueTraceState.__qualname__] = _opaque_trace


_COUNTERS_OF_TRACES = (("chex._src.asserts_internal", "TRACE_COUNTER"),)


def counters_of_traces() -> Iterator[tuple[Any, Path]]:
    """What libraries count traces with, as ``chex.assert_max_traces`` does: traced code sees it as it is.

    It counts while a function is traced, as it is meant to, and not again at each call.
    """
    for module, name in _COUNTERS_OF_TRACES:
        counter = getattr(sys.modules.get(module), name, None)
        if counter is not None:
            yield counter, Path.constant(counter, f"{module}.{name}")


def maker(value: Any) -> Any:
    """A function that makes such a value anew at the commit, for values that belong to a trace; or None."""
    return _compat.current_trace_state if type(value) is _compat.OpaqueTraceState else None
