"""JAX's transforms as traced code finds them: the same, with the state of the function threaded through.

They are found under every spelling: ``jax.grad``, ``from jax import grad``, ``partial(jax.checkpoint,
…)``… They are also made from functions that JAX's own transforms returned earlier (``g =
jax.grad(f)`` outside). Beyond JAX's parameters ``vmap`` and ``shard_map`` say here what becomes of state that
differs along the mapped axis.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from freshjit import _compat
from freshjit.errors import LeakedWriteError, UnsupportedStateError
from freshjit.state.active import thread
from freshjit.state.guards import user_line
from freshjit.state.naming import normal, without_prefix
from freshjit.state.path import Path, is_within
from freshjit.state.views import arrays, places, rules
from freshjit.state.views.apart import Apart, called_like, named
from freshjit.state.views.replacements import replace_in_captures

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = [
    "checkpoint",
    "eval_shape",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "make_jaxpr",
    "shard_map",
    "value_and_grad",
    "vjp",
    "vmap",
]

Function = Callable[..., Any]


# -- differentiation ------------------------------------------------------------------------------


def _with_aux(apart: Apart, has_aux: bool) -> Function:
    """The function in the form ``value, (aux, traced changes)`` that differentiation wants."""

    def inner(*args: Any, **kwargs: Any) -> tuple[Any, tuple[Any, list[Any]]]:
        result, traced = apart.as_it_is(*args, **kwargs)
        value, aux = result if has_aux else (result, None)
        return value, (aux, traced)

    return named(inner, apart.function)


def _taken_apart(args: tuple[Any, ...], argnums: Any, others: bool = False) -> tuple[Any, ...]:
    """The arguments as JAX is to see them: it takes apart those at ``argnums``, or all but those."""
    numbers = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    chosen = {operator.index(i) % len(args) for i in numbers if hasattr(i, "__index__")} if args else ()
    return tuple(
        arrays.to_jax(a) if (i in chosen) is others else arrays.leaves_to_jax(a) for i, a in enumerate(args)
    )


def value_and_grad(fun: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
    def value_and_grad_f(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _taken_apart(args, argnums), arrays.to_jax(kwargs)
        capture = thread.capture
        if capture is None:
            return jax.value_and_grad(fun, argnums, has_aux, **options)(*args, **kwargs)
        apart = Apart(capture, fun)
        transformed = jax.value_and_grad(_with_aux(apart, has_aux), argnums, has_aux=True, **options)
        (value, (aux, traced)), gradient = transformed(*args, **kwargs)
        apart.apply(traced)
        return ((value, aux) if has_aux else value), gradient

    return named(value_and_grad_f, fun)


def grad(fun: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
    return named(_gradient_of(value_and_grad(fun, argnums, has_aux, **options), has_aux), fun)


def _gradient_of(both: Function, has_aux: bool) -> Function:
    def grad_f(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return named(grad_f, both)


def _jacobian(transform: Function) -> Function:
    def jacobian(fun: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
        def jacfun(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = _taken_apart(args, argnums), arrays.to_jax(kwargs)
            capture = thread.capture
            if capture is None:
                return transform(fun, argnums, has_aux=has_aux, **options)(*args, **kwargs)
            apart = Apart(capture, fun)
            jac, (aux, traced) = transform(_with_aux(apart, has_aux), argnums, has_aux=True, **options)(
                *args, **kwargs
            )
            apart.apply(traced)
            return (jac, aux) if has_aux else jac

        return named(jacfun, fun)

    return jacobian


jacfwd, jacrev = _jacobian(jax.jacfwd), _jacobian(jax.jacrev)


def hessian(fun: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
    return jacfwd(jacrev(fun, argnums, has_aux, **options), argnums, has_aux, **options)


def _along(transform: Function) -> Function:
    """``vjp`` and ``linearize``: ``transform(fun, *primals, has_aux=...) -> (out, function[, aux])``."""

    def call(fun: Function, *primals: Any, has_aux: bool = False, **options: Any) -> Any:
        primals = arrays.leaves_to_jax(primals)
        capture = thread.capture
        if capture is None:
            return transform(fun, *primals, has_aux=has_aux, **options)
        apart = Apart(capture, fun)
        out, function, (aux, traced) = transform(_with_aux(apart, has_aux), *primals, has_aux=True, **options)
        apart.apply(traced)
        return (out, function, aux) if has_aux else (out, function)

    return call


vjp, linearize = _along(jax.vjp), _along(jax.linearize)


def jvp(fun: Function, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    primals, tangents = arrays.leaves_to_jax(primals), arrays.leaves_to_jax(tangents)
    capture = thread.capture
    if capture is None:
        return jax.jvp(fun, primals, tangents, has_aux=has_aux)
    apart = Apart(capture, fun)
    out, tangent, (aux, traced) = jax.jvp(_with_aux(apart, has_aux), primals, tangents, has_aux=True)
    apart.apply(traced)
    return (out, tangent, aux) if has_aux else (out, tangent)


# -- mapping and rematerialisation --------------------------------------------------------------------

Reducer = Callable[[Any], Any]

_REDUCERS: dict[str, Reducer] = {
    "mean": lambda a: jnp.mean(a, axis=0).astype(a.dtype),
    "sum": lambda a: jnp.sum(a, axis=0).astype(a.dtype),
    "max": lambda a: jnp.max(a, axis=0),
    "min": lambda a: jnp.min(a, axis=0),
    "first": lambda a: a[0],
    "last": lambda a: a[-1],
}


class _PerLane:
    """What ``state_axes`` says about state that differs from lane to lane of a ``vmap``."""

    def __init__(self, state_axes: Mapping[str, Any]) -> None:
        self.entering: dict[str, int | None] = {}
        self.leaving: dict[str, Any] = {}
        for path, meaning in state_axes.items():
            enter, leave = meaning if isinstance(meaning, tuple) else (meaning, meaning)
            if not (leave is None or type(leave) is int or callable(leave) or leave in _REDUCERS):
                raise ValueError(
                    f"state_axes[{path!r}] is {leave!r}; it must be an axis, a pair of axes (in, out), a "
                    f"function of the stacked values, or one of {', '.join(map(repr, _REDUCERS))}."
                )
            self.entering[path] = enter if type(enter) is int else None
            self.leaving[path] = leave

    def rule(self, label: str, owner: str | None) -> str | None:
        """Which entry speaks of the location with this label.

        Parameters:
            owner: how the ``self`` of the mapped method is called here.
        """
        for path, leave in self.leaving.items():
            if leave is not None:
                of_self = owner is not None and (path == "self" or path.startswith(("self.", "self[")))
                if _covers(path, label) or (of_self and _covers(f"{owner}{path[4:]}", label)):
                    return path
        return None

    def entered(self, capture: Capture, fun: Function, size: int) -> tuple[list[places.Leaf], list[int]]:
        """The leaves that each lane sees its own slice of, and their axes.

        With one axis for both ways a value that does not have the lanes yet is the same for all.
        """
        leaves: list[places.Leaf] = []
        axes: list[int] = []
        for path, axis in self.entering.items():
            if axis is None:
                continue
            for leaf in places.select(capture, path, fun):
                shape = np.shape(leaf.value)
                if -len(shape) <= axis < len(shape) and shape[axis] == size:
                    leaves.append(leaf)
                    axes.append(axis)
        return leaves, axes

    def leave(self, path: str, stacked: Any) -> Any:
        meaning = self.leaving[path]
        if type(meaning) is int:
            return jnp.moveaxis(stacked, 0, meaning)
        return (_REDUCERS[meaning] if isinstance(meaning, str) else meaning)(stacked)


def _owner(capture: Capture, fun: Any) -> str | None:
    entry = capture.original_of(fun.__self__) if isinstance(fun, types.MethodType) else None
    return None if entry is None else str(entry.path)


def _covers(path: str, label: str) -> bool:
    """Whether the location that is printed as ``label`` is at ``path`` or below it."""
    return is_within(normal(label), normal(path))


def _grouped(apart: Apart, traced: list[Any], rule: Callable[[str], str | None]) -> dict[int, str]:
    """Which traced changes differ along the axis on purpose: by position, the rule for each."""
    found: dict[int, str] = {}
    for index, changes in apart.changes.holes(apart.capture).items():
        rules = {rule(change.label) for change in changes}
        if rules != {None}:
            if len(rules) > 1:
                labels = ", ".join(change.label for change in changes)
                raise UnsupportedStateError(
                    f"{labels} were given one value, but only some of them are to differ along the mapped "
                    f"axis (at {user_line()}).\nName all of them, or none."
                )
            found[index] = str(rules.pop())
    return found


def vmap(
    fun: Function,
    in_axes: Any = 0,
    out_axes: Any = 0,
    *positional: Any,
    state_axes: Mapping[str, Any] | None = None,
    **options: Any,
) -> Function:
    lanes = _PerLane(state_axes or {})

    def vmap_f(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = arrays.to_jax(args), arrays.to_jax(kwargs)
        capture = thread.capture
        if capture is None:
            return jax.vmap(fun, in_axes, out_axes, *positional, **options)(*args, **kwargs)
        leaves: list[places.Leaf] = []
        axes: list[int] = []
        if any(axis is not None for axis in lanes.entering.values()):
            leaves, axes = lanes.entered(capture, fun, _size(args, kwargs, in_axes, options))
        differing: dict[int, str] = {}

        def inner(state: list[Any], args: Any, kwargs: Any) -> Any:
            with places.entered(leaves, state):
                result, traced = apart(*args, **kwargs)
            differing.update(_grouped(apart, traced, lambda label: lanes.rule(label, _owner(capture, fun))))
            mapped = [i for i, v in enumerate(traced) if i not in differing and _compat.is_mapped(v)]
            _refuse_mapped(apart, mapped, lanes)
            same = [None if i in differing else value for i, value in enumerate(traced)]
            stacked = [value if i in differing else None for i, value in enumerate(traced)]
            return result, same, stacked

        apart = Apart(capture, fun)
        in_all = (axes, tuple(in_axes) if isinstance(in_axes, list) else in_axes, 0)
        batched = jax.vmap(named(inner, fun), in_all, (out_axes, None, 0), *positional, **options)
        values = [jnp.asarray(arrays.to_jax(leaf.value)) for leaf in leaves]
        result, same, stacked = batched(values, args, kwargs)
        traced = [
            lanes.leave(differing[i], value) if i in differing else same[i] for i, value in enumerate(stacked)
        ]
        apart.apply(traced)
        return result

    return named(vmap_f, fun)


def _refuse_mapped(apart: Apart, mapped: list[int], lanes: _PerLane) -> None:
    """Raise if some of the traced changes have a value per lane; the others are not to blame."""
    if mapped:
        labels = _labels(apart, mapped)
        named = f" It names only {', '.join(lanes.leaving)} now." if lanes.leaving else ""
        raise LeakedWriteError(
            f"{', '.join(labels)} is written inside jax.vmap with one value per mapped element (called "
            f"at {apart.changes.where}): it is computed from what is mapped, so it may differ, and plain "
            "Python has one value to put there.\n"
            "Return the values from the mapped function and combine them outside (a mean, the last…), or say "
            f"what it means: freshjit.vmap(..., state_axes={{{without_prefix(labels[0])!r}: 'mean'}}), "
            f"'last', or an axis.{named}"
        )


def _labels(apart: Apart, positions: Iterable[int]) -> list[str]:
    """Where the traced values at these positions are written."""
    holes = apart.changes.holes(apart.capture)
    return list(dict.fromkeys(change.label for i in positions for change in holes[i]))


def _size(args: Any, kwargs: Any, in_axes: Any, options: Mapping[str, Any]) -> int:
    """How many lanes a ``vmap`` has."""
    if options.get("axis_size") is not None:
        return options["axis_size"]
    sizes: list[int] = []

    def note(axis: Any, part: Any) -> None:
        if axis is not None:
            sizes.extend(np.shape(leaf)[axis] for leaf in jax.tree_util.tree_leaves(part))

    axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    jax.tree_util.tree_map(note, axes, args, is_leaf=lambda a: a is None)
    sizes.extend(np.shape(leaf)[0] for leaf in jax.tree_util.tree_leaves(kwargs))
    if not sizes:
        raise ValueError("vmap needs at least one mapped argument, or axis_size")
    return sizes[0]


def shard_map(f: Any = None, /, *, out_specs: Any, **options: Any) -> Any:
    if f is None:
        return lambda function: shard_map(function, out_specs=out_specs, **options)
    spread: Mapping[str, Any] = options.pop("state_specs", None) or {}

    def rule(label: str) -> str | None:
        return next((path for path in spread if _covers(path, label)), None)

    def sharded(*args: Any) -> Any:
        args = arrays.to_jax(args)
        capture = thread.capture
        if capture is None:
            return jax.shard_map(f, out_specs=out_specs, **options)(*args)
        apart = Apart(capture, f)
        order: dict[str, list[int]] = {}
        varying: list[int] = []

        def inner(*args: Any) -> Any:
            result, traced = apart(*args)
            differing = _grouped(apart, traced, rule)
            varying[:] = [i for i, v in enumerate(traced) if i not in differing and _compat.varies(v)]
            order.clear()
            for i in range(len(traced)):
                order.setdefault(differing.get(i, ""), []).append(i)
            return result, {path: [traced[i] for i in order.get(path, [])] for path in specs}

        specs = {"": jax.sharding.PartitionSpec(), **spread}
        try:
            result, groups = jax.shard_map(named(inner, f), out_specs=(out_specs, specs), **options)(*args)
        except ValueError as error:
            if not varying or "out_specs" not in str(error):
                raise
            raise LeakedWriteError(
                f"{', '.join(_labels(apart, varying))} is written inside jax.shard_map with a value that may "
                f"differ from device to device (called at {apart.changes.where}).\n"
                "Reduce it over the mesh axis first (jax.lax.pmean), or say how it is laid out with "
                "freshjit.shard_map(..., state_specs={path: PartitionSpec})."
            ) from error
        traced: dict[int, Any] = {}
        for path, values in groups.items():
            traced.update(zip(order.get(path, []), values, strict=True))
        apart.apply([traced[i] for i in range(len(traced))])
        return result

    return named(sharded, f)


def checkpoint(fun: Any = None, **options: Any) -> Any:
    if fun is None:
        return lambda function: checkpoint(function, **options)

    def fun_remat(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = (
            _taken_apart(args, options.get("static_argnums", ()), others=True),
            arrays.to_jax(kwargs),
        )
        capture = thread.capture
        if capture is None:
            return jax.checkpoint(fun, **options)(*args, **kwargs)
        apart = Apart(capture, fun)
        # A new function each time: JAX keeps traces of checkpointed functions by identity.
        inner = named(lambda *a, **k: apart(*a, **k), fun)
        result, traced = jax.checkpoint(inner, **options)(*args, **kwargs)
        apart.apply(traced)
        return result

    return named(fun_remat, fun)


# -- looking without running ----------------------------------------------------------------------------


def eval_shape(fun: Function, *args: Any, **kwargs: Any) -> Any:
    """As ``jax.eval_shape``: nothing is computed, hence nothing is written."""
    args, kwargs = arrays.to_jax(args), arrays.to_jax(kwargs)
    capture = thread.capture
    if capture is None:
        return jax.eval_shape(fun, *args, **kwargs)
    apart = Apart(capture, fun)
    return jax.eval_shape(apart.dropping_changes(), *args, **kwargs)


def make_jaxpr(fun: Function, **options: Any) -> Function:
    """As ``jax.make_jaxpr``: nothing is computed, hence nothing is written."""

    def make_jaxpr_f(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = arrays.to_jax(args), arrays.to_jax(kwargs)
        capture = thread.capture
        if capture is None:
            return jax.make_jaxpr(fun, **options)(*args, **kwargs)
        apart = Apart(capture, fun)
        return jax.make_jaxpr(apart.dropping_changes(), **options)(*args, **kwargs)

    return named(make_jaxpr_f, fun)


def _plain_jit(fun: Any = None, **options: Any) -> Any:
    """``jax.jit`` inside a captured function: its body belongs to the program that is being captured."""
    if fun is None:
        return lambda function: _plain_jit(function, **options)
    return functools.wraps(fun)(lambda *args, **kwargs: fun(*args, **kwargs))


# -- functions that JAX's transforms returned before the capture ----------------------------------------

_GRAD_WITH_AUX = "grad.<locals>.grad_f_aux"

_KNOWN: dict[str, tuple[Function, tuple[str, ...]]] = {
    "grad.<locals>.grad_f": (grad, ()),
    _GRAD_WITH_AUX: (grad, ()),
    "value_and_grad.<locals>.value_and_grad_f": (
        value_and_grad,
        ("argnums", "has_aux", "holomorphic", "allow_int"),
    ),
    "vmap.<locals>.vmap_f": (vmap, ("in_axes", "out_axes", "axis_name", "axis_size", "spmd_axis_name")),
    "checkpoint.<locals>.fun_remat": (checkpoint, ("policy", "prevent_cse", "static_argnums")),
    "jacfwd.<locals>.jacfun": (jacfwd, ("argnums", "has_aux", "holomorphic")),
    "jacrev.<locals>.jacfun": (jacrev, ("argnums", "has_aux", "holomorphic", "allow_int")),
    # Its own code assigns to its variables: a clone of it would write them as state.
    "_shard_map.<locals>.wrapped": (
        shard_map,
        ("mesh", "in_specs", "out_specs", "axis_names", "check_vma"),
    ),
}


def view_transformed(capture: Capture, function: types.FunctionType, path: Path) -> Any:
    """The same transform of the view of the user's function, if JAX made ``function``; else None."""
    code, place, cells = function.__code__, path, _cells(function)
    if code.co_name == "reraise_with_filtered_traceback" and isinstance(cells.get("fun"), types.FunctionType):
        inner = cells["fun"]
        place = path.to("cell", code.co_freevars.index("fun"), str(path)).to("contents", None, str(path))
        view = view_transformed(capture, inner, place)
        if view is None:
            return None
        capture.guard(path, "code", code)
        return view
    known = _KNOWN.get(code.co_qualname)
    if known is None:
        return None
    transform, names = known
    capture.guard(path, "code", code)

    def variable(name: str) -> Any:
        cell = place.to("cell", code.co_freevars.index(name), str(path))
        return capture.view(cells[name], cell.to("contents", None, str(path)))

    if transform is grad:
        return _gradient_of(variable("value_and_grad_f"), code.co_qualname == _GRAD_WITH_AUX)
    options = {name: variable(name) for name in names if name in cells}
    return transform(variable("fun" if "fun" in cells else "f"), **options)


def _cells(function: types.FunctionType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def install() -> None:
    """Let traced code find these in place of JAX's own."""
    replacements: list[tuple[Any, Any]] = [
        (jax.value_and_grad, value_and_grad),
        (jax.grad, grad),
        (jax.jacfwd, jacfwd),
        (jax.jacrev, jacrev),
        (jax.hessian, hessian),
        (jax.vjp, vjp),
        (jax.linearize, linearize),
        (jax.jvp, jvp),
        (jax.vmap, vmap),
        (jax.shard_map, shard_map),
        (jax.checkpoint, checkpoint),
        (jax.custom_jvp, rules.StatefulJvp),
        (jax.custom_vjp, rules.StatefulVjp),
        (jax.custom_batching.custom_vmap, rules.StatefulVmap),
        (jax.custom_derivatives.linear_call, rules.linear_call),
        (jax.eval_shape, eval_shape),
        (jax.make_jaxpr, make_jaxpr),
        (jax.jit, _plain_jit),
    ]
    for original, replacement in replacements:
        is_class = isinstance(replacement, type)
        replace_in_captures(original, replacement if is_class else called_like(original, replacement))
