"""Functions with a derivative, batching or transposition rule of their own, as traced code finds them."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from freshjit.state import bytecode
from freshjit.state.active import thread
from freshjit.state.libraries import (
    is_library_class,
    is_library_function,
    is_library_module,
    runs_user_code,
)
from freshjit.state.views import arrays
from freshjit.state.views.apart import Changes, named, run_apart
from freshjit.state.views.namespaces import Namespace

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["StatefulJvp", "StatefulVjp", "StatefulVmap", "as_kind", "linear_call"]

Function = Callable[..., Any]


def _zero_tangent(value: Any) -> Any:
    if jnp.issubdtype(value.dtype, jnp.inexact):
        return jnp.zeros_like(value)
    return np.zeros(value.shape, jax.dtypes.float0)


def stateless(function: Any, seen: frozenset[int] = frozenset()) -> bool:
    """Whether it is plain that a function reads nothing that could change: no variable, no object."""
    if id(function) in seen:
        return True
    seen |= {id(function)}
    if isinstance(function, (jax.custom_jvp, jax.custom_vjp)):
        return stateless(function.fun, seen)
    if isinstance(function, types.ModuleType):
        return is_library_module(function.__name__)
    if not isinstance(function, types.FunctionType):
        return isinstance(function, types.BuiltinFunctionType) or (
            isinstance(function, type) and is_library_class(function)
        )
    if is_library_function(function):
        return not runs_user_code(function)
    real = function.__globals__.real if isinstance(function.__globals__, Namespace) else function.__globals__
    found = (real[name] for name in bytecode.names(function.__code__) if name in real)
    return not (function.__closure__ or function.__defaults__) and all(stateless(v, seen) for v in found)


class _Rules:
    """The functions of one call of a ``custom_jvp`` and the like, each with its traced changes."""

    def __init__(self, capture: Capture, *rules: Function) -> None:
        self.capture = capture
        self.changes: Changes | None = None
        recorder = capture.recorder
        if recorder is not None and recorder.is_current:
            # Nothing differentiates here. Whoever does so outside makes JAX run the rules, and keep
            # what they read: programs with such rules stay out of there.
            capture.late_rules |= not all(stateless(rule) for rule in rules)

    def run(self, rule: Function, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        if self.capture.recorder is None:
            return rule(*args), []  # differentiated after the capture: nothing is written any more
        result, self.changes, traced = run_apart(self.capture, rule, args, {})
        return arrays.leaves_to_jax(result), traced

    def apply(self, values: list[Any]) -> None:
        if self.changes is not None:
            self.changes.apply(self.capture, values)


class StatefulJvp(jax.custom_jvp):  # pyright: ignore[reportMissingTypeArgument, reportUntypedBaseClass]
    """The view of a ``jax.custom_jvp``: what its function or its rule writes is threaded out."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fun: Any = self.fun
        jvp_rule: Any = self.jvp
        if thread.capture is None or jvp_rule is None:
            return super().__call__(*args, **kwargs)
        rules = _Rules(thread.capture, fun, jvp_rule)

        def with_tangents(*args: Any) -> Any:
            (out, tangent), traced = rules.run(jvp_rule, args)
            return (out, traced), (tangent, [_zero_tangent(t) for t in traced])

        inner = as_kind(self, jax.custom_jvp)
        inner.fun = named(lambda *a: rules.run(fun, a), fun)
        inner.jvp = named(with_tangents, jvp_rule)
        result, traced = inner(*_differentiable(self, args), **arrays.to_jax(kwargs))
        rules.apply(traced)
        return result


class StatefulVjp(jax.custom_vjp):  # pyright: ignore[reportMissingTypeArgument, reportUntypedBaseClass]
    """The view of a ``jax.custom_vjp``: what its function or its forward rule writes is threaded out."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fun: Any = self.fun
        fwd: Any = self.fwd
        bwd: Any = self.bwd
        if thread.capture is None or fwd is None:
            return super().__call__(*args, **kwargs)
        rules = _Rules(thread.capture, fun, fwd, bwd)

        def forward(*args: Any) -> Any:
            (out, residuals), traced = rules.run(fwd, args)
            return (out, traced), residuals

        def backward(*args: Any) -> Any:
            *before, (cotangent, _) = args
            return bwd(*before, cotangent)

        inner = as_kind(self, jax.custom_vjp)
        inner.fun = named(lambda *a: rules.run(fun, a), fun)
        inner.fwd, inner.bwd = named(forward, fwd), named(backward, bwd)
        result, traced = inner(*_differentiable(self, args), **arrays.to_jax(kwargs))
        rules.apply(traced)
        return result


class StatefulVmap(jax.custom_batching.custom_vmap):
    """The view of a ``custom_vmap``: what its function or its rule writes is threaded out."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fun: Any = self.fun
        rule: Any = self.vmap_rule
        if thread.capture is None or rule is None:
            return super().__call__(*args, **kwargs)
        rules = _Rules(thread.capture, fun, rule)

        def batched(*args: Any) -> Any:
            (out, out_batched), traced = rules.run(rule, args)
            return (out, traced), (out_batched, [False] * len(traced))

        inner = as_kind(self, jax.custom_batching.custom_vmap)
        inner.fun = named(lambda *a: rules.run(fun, a), fun)
        inner.vmap_rule = named(batched, rule)
        result, traced = inner(*arrays.to_jax(args), **arrays.to_jax(kwargs))
        rules.apply(traced)
        return result


def linear_call(fun: Function, fun_transpose: Function, residual_args: Any, linear_args: Any) -> Any:
    """``jax.custom_derivatives.linear_call``, whose second function runs if something is transposed."""
    if thread.capture is not None:
        _Rules(thread.capture, fun, fun_transpose)
    args = arrays.to_jax((residual_args, linear_args))
    return jax.custom_derivatives.linear_call(fun, fun_transpose, *args)


def _differentiable(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments as JAX is to see them: only those that are not differentiated stay as they are."""
    fixed = function.nondiff_argnums
    return tuple(a if i in fixed else arrays.to_jax(a) for i, a in enumerate(args))


def as_kind(value: Any, kind: Any) -> Any:
    """The same custom derivative as an object of another class (they differ in methods only)."""
    new = object.__new__(kind)
    new.__dict__.update(vars(value))
    return new
