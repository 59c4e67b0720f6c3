"""JAX's transforms as traced code finds them: the same, with the state of the function threaded through.

Importing this module tells ``modules.library_value`` about the replacements, so that they are found
under every spelling: ``jax.grad``, ``from jax import grad``, ``jax.lax.scan``, ``lax.scan``… They are
also made from functions that JAX's own transforms returned earlier (``g = jax.grad(f)`` outside).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback as jax_io_callback

from freshjit import _compat
from freshjit.errors import LeakedWriteError, UnsupportedStateError
from freshjit.state.active import thread
from freshjit.state.path import Path
from freshjit.state.views import arrays
from freshjit.state.views.apart import Change, Changes, run_apart
from freshjit.state.views.modules import Namespace, replace_in_captures
from freshjit.state.views.numbers import plain_number

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

Function = Callable[..., Any]


def _named(function: Function, like: Any) -> Function:
    name = getattr(like, "__name__", None)
    function.__name__ = name if isinstance(name, str) else type(like).__name__  # Equinox has odd ones
    function.__wrapped__ = like  # pyright: ignore[reportFunctionMemberAccess] - JAX's errors name it
    return function


class _Apart:
    """A function prepared for a transform: called by it, it returns its result and its traced changes."""

    def __init__(self, capture: Capture, function: Function) -> None:
        self.capture, self.function = capture, function
        self.changes: Changes = Changes([], None)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        result, self.changes, traced = run_apart(self.capture, self.function, args, kwargs)
        return result, traced

    def with_aux(self, has_aux: bool) -> Function:
        """The function in the form ``value, (aux, traced changes)`` that differentiation wants."""

        def inner(*args: Any, **kwargs: Any) -> tuple[Any, tuple[Any, list[Any]]]:
            result, traced = self(*args, **kwargs)
            value, aux = result if has_aux else (result, None)
            return value, (aux, traced)

        return _named(inner, self.function)

    def apply(self, values: list[Any]) -> None:
        self.changes.apply(self.capture, values)


# -- differentiation ------------------------------------------------------------------------------


def _value_and_grad(fun: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
    def value_and_grad_f(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = arrays.to_jax(args), arrays.to_jax(kwargs)
        capture = thread.capture
        if capture is None:
            return jax.value_and_grad(fun, argnums, has_aux, **options)(*args, **kwargs)
        apart = _Apart(capture, fun)
        transformed = jax.value_and_grad(apart.with_aux(has_aux), argnums, has_aux=True, **options)
        (value, (aux, traced)), gradient = transformed(*args, **kwargs)
        apart.apply(traced)
        return ((value, aux) if has_aux else value), gradient

    return _named(value_and_grad_f, fun)


def _grad(fun: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
    both = _value_and_grad(fun, argnums, has_aux, **options)

    def grad_f(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return _named(grad_f, fun)


def _jacobian(transform: Function) -> Function:
    def jacobian(fun: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
        def jacfun(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = arrays.to_jax(args), arrays.to_jax(kwargs)
            capture = thread.capture
            if capture is None:
                return transform(fun, argnums, has_aux=has_aux, **options)(*args, **kwargs)
            apart = _Apart(capture, fun)
            jac, (aux, traced) = transform(apart.with_aux(has_aux), argnums, has_aux=True, **options)(
                *args, **kwargs
            )
            apart.apply(traced)
            return (jac, aux) if has_aux else jac

        return _named(jacfun, fun)

    return jacobian


_jacfwd, _jacrev = _jacobian(jax.jacfwd), _jacobian(jax.jacrev)


def _hessian(fun: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
    return _jacfwd(_jacrev(fun, argnums, has_aux, **options), argnums, has_aux, **options)


def _along(transform: Function) -> Function:
    """``vjp`` and ``linearize``: ``transform(fun, *primals, has_aux=...) -> (out, function[, aux])``."""

    def call(fun: Function, *primals: Any, has_aux: bool = False, **options: Any) -> Any:
        primals = arrays.to_jax(primals)
        capture = thread.capture
        if capture is None:
            return transform(fun, *primals, has_aux=has_aux, **options)
        apart = _Apart(capture, fun)
        out, function, (aux, traced) = transform(apart.with_aux(has_aux), *primals, has_aux=True, **options)
        apart.apply(traced)
        return (out, function, aux) if has_aux else (out, function)

    return call


def _jvp(fun: Function, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    primals, tangents = arrays.to_jax(primals), arrays.to_jax(tangents)
    capture = thread.capture
    if capture is None:
        return jax.jvp(fun, primals, tangents, has_aux=has_aux)
    apart = _Apart(capture, fun)
    out, tangent, (aux, traced) = jax.jvp(apart.with_aux(has_aux), primals, tangents, has_aux=True)
    apart.apply(traced)
    return (out, tangent, aux) if has_aux else (out, tangent)


# -- mapping and rematerialisation --------------------------------------------------------------------


def _vmap(fun: Function, in_axes: Any = 0, out_axes: Any = 0, **options: Any) -> Function:
    def vmap_f(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = arrays.to_jax(args), arrays.to_jax(kwargs)
        capture = thread.capture
        if capture is None:
            return jax.vmap(fun, in_axes, out_axes, **options)(*args, **kwargs)
        apart = _Apart(capture, fun)
        batched = jax.vmap(_named(lambda *a, **k: apart(*a, **k), fun), in_axes, (out_axes, None), **options)
        try:
            result, traced = batched(*args, **kwargs)
        except ValueError as error:
            if "out_axes" not in str(error) or not apart.changes:
                raise
            raise LeakedWriteError(
                f"{apart.changes.labels()} is written inside jax.vmap with a value that differs along the "
                f"mapped axis (called at {apart.changes.where}): plain Python has one value to put there.\n"
                "Return the values from the mapped function and combine them outside (a mean, the last…)."
            ) from error
        apart.apply(traced)
        return result

    return _named(vmap_f, fun)


def _checkpoint(fun: Any = None, **options: Any) -> Any:
    if fun is None:
        return lambda function: _checkpoint(function, **options)

    def fun_remat(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = arrays.to_jax(args), arrays.to_jax(kwargs)
        capture = thread.capture
        if capture is None:
            return jax.checkpoint(fun, **options)(*args, **kwargs)
        apart = _Apart(capture, fun)
        # A new function each time: JAX keeps traces of checkpointed functions by identity.
        inner = _named(lambda *a, **k: apart(*a, **k), fun)
        result, traced = jax.checkpoint(inner, **options)(*args, **kwargs)
        apart.apply(traced)
        return result

    return _named(fun_remat, fun)


def _plain_jit(fun: Any = None, **options: Any) -> Any:
    """``jax.jit`` inside a captured function: its body belongs to the program that is being captured."""
    if fun is None:
        return lambda function: _plain_jit(function, **options)
    return functools.wraps(fun)(lambda *args, **kwargs: fun(*args, **kwargs))


# -- loops --------------------------------------------------------------------------------------------


class _Carried:
    """State that a loop body changes, carried through the loop: its locations and how they look."""

    def __init__(self, kind: str, changes: Sequence[Changes]) -> None:
        self.kind = kind
        self.places: dict[tuple[int, Any], Change] = {}
        for group in changes:
            for change in group.changes:
                self.places.setdefault((id(change.thing), change.key), change)

    def start(self) -> list[Any]:
        """The present contents of every location, as arrays."""
        return [self._arrays(_contents(c), c.label) for c in self.places.values()]

    def enter(self, values: list[Any]) -> None:
        for change, value in zip(self.places.values(), values, strict=True):
            change.thing.apply({change.key: value})

    @contextmanager
    def inside(self, capture: Capture, values: list[Any]) -> Generator[None, None, None]:
        """State as the body finds it; afterwards as it was, with nothing of the loop's left in it."""
        before = [(thing, thing.snapshot()) for thing in capture.mutables]
        self.enter(values)
        try:
            yield
        finally:
            for thing, snapshot in before:
                thing.restore(snapshot)

    def leave(self, capture: Capture, changes: Changes, traced: list[Any], entered: list[Any]) -> list[Any]:
        """The contents after one run of the body, with the types that the loop carries."""
        values = changes.filled(capture, traced)
        new = {(id(c.thing), c.key): v for c, v in zip(changes.changes, values, strict=True)}
        unknown = [c.label for c in changes.changes if (id(c.thing), c.key) not in self.places]
        if unknown:
            raise UnsupportedStateError(
                f"the body of jax.lax.{self.kind} writes {', '.join(unknown)} only in some rounds; a "
                "compiled loop carries the same state in all of them.\nWrite it in every round."
            )
        left: list[Any] = []
        for (key, change), old in zip(self.places.items(), entered, strict=True):
            value = self._arrays(new[key], change.label) if key in new else old
            left.append(self._same_type(value, old, change.label))
        return left

    def _arrays(self, value: Any, label: str) -> Any:
        value = arrays.to_jax(value)
        leaves = jax.tree_util.tree_leaves(value)
        if all(
            isinstance(leaf, (jax.Array, _compat.Tracer, np.ndarray, int, float, complex)) for leaf in leaves
        ):
            return jax.tree_util.tree_map(jnp.asarray, value)
        raise UnsupportedStateError(
            f"{label} is written in the body of jax.lax.{self.kind} and holds a "
            f"{type(value).__name__}: a compiled loop can only carry arrays and numbers from round to "
            "round.\nWrite it after the loop."
        )

    def _same_type(self, value: Any, first: Any, label: str) -> Any:
        leaves, tree = jax.tree_util.tree_flatten(value)
        wanted, wanted_tree = jax.tree_util.tree_flatten(first)
        same = tree == wanted_tree and all(a.shape == b.shape for a, b in zip(leaves, wanted, strict=True))
        if same:
            same = all(a.dtype == b.dtype or a.weak_type for a, b in zip(leaves, wanted, strict=True))
        if not same:
            raise UnsupportedStateError(
                f"{label} changes its form in the body of jax.lax.{self.kind}: it is "
                f"{_form(first)} before a round and {_form(value)} after it; a compiled loop carries state "
                "of one shape and dtype.\nGive it its final shape and dtype before the loop."
            )
        cast = [
            a if a.aval == b.aval else jax.lax.convert_element_type(a, b.dtype)
            for a, b in zip(leaves, wanted, strict=True)
        ]
        return jax.tree_util.tree_unflatten(tree, cast)


def _form(value: Any) -> str:
    return str(jax.tree_util.tree_map(lambda a: f"{a.dtype}{list(a.shape)}", value))


def _contents(change: Change) -> Any:
    snapshot = change.thing.snapshot()
    key = change.key
    if isinstance(snapshot, tuple) and len(snapshot) == 3 and isinstance(snapshot[0], dict):
        kind, name = key
        contents = snapshot[0] if kind == "attr" else snapshot[1]
        key = name
        if key not in contents and key in getattr(change.thing, "initial", {}):
            return change.thing.initial[key]  # pyright: ignore[reportAttributeAccessIssue]
        if key not in contents:
            return _from_real(change, name)
        return contents[key]
    if isinstance(snapshot, tuple) and isinstance(snapshot[0], dict):
        contents = snapshot[0]
        if key not in contents:
            return change.thing[key]  # pyright: ignore[reportIndexIssue] - a namespace
        return contents[key]
    if key is None:
        return snapshot
    try:
        return snapshot[key]
    except (KeyError, IndexError, TypeError):
        raise UnsupportedStateError(
            f"{change.label} is made, or grows, inside a loop of jax.lax: a compiled loop carries state of "
            "one shape.\nGive it its final form before the loop, or let the loop return the values (the "
            "second result of scan)."
        ) from None


def _from_real(change: Change, name: str) -> Any:
    """An attribute that the body only writes: what it holds before the loop is read now."""
    thing: Any = change.thing
    try:
        return getattr(thing.view, name)
    except AttributeError:
        raise UnsupportedStateError(
            f"{change.label} is first given a value inside a loop of jax.lax.\n"
            "Give it its shape and dtype before the loop."
        ) from None


def _scan(f: Function, init: Any, xs: Any = None, length: int | None = None, **options: Any) -> Any:
    init, xs, length = arrays.to_jax(init), arrays.to_jax(xs), plain_number(length)
    capture = thread.capture
    if capture is None:
        return jax.lax.scan(f, init, xs, length, **options)
    apart = _Apart(capture, f)
    result = jax.lax.scan(_named(lambda c, x: apart(c, x)[0], f), init, xs, length, **options)
    if not apart.changes:
        return result
    carried = _Carried("scan", [apart.changes])
    start = carried.start()

    def body(carry: Any, x: Any) -> Any:
        carry, state = carry
        with carried.inside(capture, state):
            (carry, y), changes, traced = run_apart(capture, f, (carry, x), {})
            return (carry, carried.leave(capture, changes, traced, state)), y

    (carry, state), ys = jax.lax.scan(_named(body, f), (init, start), xs, length, **options)
    carried.enter(state)
    return carry, ys


def _fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Any, **options: Any) -> Any:
    lower, upper = plain_number(lower), plain_number(upper)
    init_val = arrays.to_jax(init_val)
    capture = thread.capture
    if capture is None:
        return jax.lax.fori_loop(lower, upper, body_fun, init_val, **options)
    apart = _Apart(capture, body_fun)
    result = jax.lax.fori_loop(
        lower, upper, _named(lambda i, v: apart(i, v)[0], body_fun), init_val, **options
    )
    if not apart.changes:
        return result
    carried = _Carried("fori_loop", [apart.changes])
    start = carried.start()

    def body(i: Any, carry: Any) -> Any:
        value, state = carry
        with carried.inside(capture, state):
            value, changes, traced = run_apart(capture, body_fun, (i, value), {})
            return value, carried.leave(capture, changes, traced, state)

    value, state = jax.lax.fori_loop(lower, upper, _named(body, body_fun), (init_val, start), **options)
    carried.enter(state)
    return value


def _while_loop(cond_fun: Function, body_fun: Function, init_val: Any) -> Any:
    init_val = arrays.to_jax(init_val)
    capture = thread.capture
    if capture is None:
        return jax.lax.while_loop(cond_fun, body_fun, init_val)
    condition, apart = _Apart(capture, cond_fun), _Apart(capture, body_fun)
    result = jax.lax.while_loop(
        _named(lambda v: condition(v)[0], cond_fun), _named(lambda v: apart(v)[0], body_fun), init_val
    )
    if condition.changes:
        raise UnsupportedStateError(
            f"the condition of jax.lax.while_loop writes {condition.changes.labels()}.\nWrite it in the body."
        )
    if not apart.changes:
        return result
    carried = _Carried("while_loop", [apart.changes])
    start = carried.start()

    def test(carry: Any) -> Any:
        value, state = carry
        with carried.inside(capture, state):
            return run_apart(capture, cond_fun, (value,), {})[0]

    def body(carry: Any) -> Any:
        value, state = carry
        with carried.inside(capture, state):
            value, changes, traced = run_apart(capture, body_fun, (value,), {})
            return value, carried.leave(capture, changes, traced, state)

    value, state = jax.lax.while_loop(_named(test, cond_fun), _named(body, body_fun), (init_val, start))
    carried.enter(state)
    return value


def _map(f: Function, xs: Any, **options: Any) -> Any:
    capture = thread.capture
    if capture is None or options.get("batch_size") is not None:
        return jax.lax.map(f, xs, **options)
    return _scan(_named(lambda _, x: ((), f(x)), f), (), xs)[1]


def _choose(branches: Sequence[Function], operands: Any, call: Function) -> Any:
    """``cond`` and ``switch``: each branch returns the new contents of everything any branch writes."""
    capture = thread.capture
    assert capture is not None
    operands = arrays.to_jax(tuple(operands))
    parts = [_Apart(capture, branch) for branch in branches]

    def plain(part: _Apart) -> Function:
        return _named(lambda *a: part(*a)[0], part.function)

    result = call([plain(part) for part in parts], operands)
    if not any(part.changes for part in parts):
        return result
    carried = _Carried("cond", [part.changes for part in parts])
    start = carried.start()

    def threaded(function: Function) -> Function:
        def branch(*args: Any) -> Any:
            value, changes, traced = run_apart(capture, function, args, {})
            return value, carried.leave(capture, changes, traced, start)

        return _named(branch, function)

    value, state = call([threaded(branch) for branch in branches], operands)
    carried.enter(state)
    return value


def _cond(pred: Any, true_fun: Any, false_fun: Any, *operands: Any, **options: Any) -> Any:
    if thread.capture is None or not (callable(true_fun) and callable(false_fun)):
        return jax.lax.cond(pred, true_fun, false_fun, *operands, **options)
    return _choose([true_fun, false_fun], operands, lambda fs, ops: jax.lax.cond(pred, *fs, *ops, **options))


def _switch(index: Any, branches: Sequence[Function], *operands: Any, **options: Any) -> Any:
    if thread.capture is None:
        return jax.lax.switch(index, branches, *operands, **options)
    return _choose(branches, operands, lambda fs, ops: jax.lax.switch(index, fs, *ops, **options))


def _associative_scan(fn: Function, elems: Any, *args: Any, **options: Any) -> Any:
    return jax.lax.associative_scan(_named(lambda *a: fn(*a), fn), elems, *args, **options)


# -- code that runs later -----------------------------------------------------------------------------


def _on_the_real_thing(call: Function) -> Function:
    """Callbacks run later, on the host: they get the original function with its real variables."""

    @functools.wraps(call)
    def wrapped(callback: Any, *args: Any, **kwargs: Any) -> Any:
        capture = thread.capture
        if capture is None:
            return call(callback, *args, **kwargs)
        return call(_real(capture, callback), *args, **kwargs)

    return wrapped


def _real(capture: Capture, value: Any) -> Any:
    """The real counterpart of something that traced code holds; the program is bound to it."""
    entry = capture.original_of(value)
    if entry is not None:
        capture.guard(entry.path, "is", entry.original)
        return entry.original
    if isinstance(value, types.MethodType):
        return types.MethodType(_real(capture, value.__func__), _real(capture, value.__self__))
    if isinstance(value, functools.partial):
        keywords = {k: _real(capture, v) for k, v in value.keywords.items()}
        return functools.partial(
            _real(capture, value.func), *(_real(capture, a) for a in value.args), **keywords
        )
    if isinstance(value, types.FunctionType) and isinstance(value.__globals__, Namespace):
        cells = tuple(_real_cell(capture, cell) for cell in value.__closure__ or ())
        real = types.FunctionType(
            value.__code__, value.__globals__.real, value.__name__, value.__defaults__, cells
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


# -- functions that JAX's transforms returned before the capture ----------------------------------------

_GRAD_WITH_AUX = "grad.<locals>.grad_f_aux"

_KNOWN: dict[str, tuple[Function, tuple[str, ...]]] = {
    "grad.<locals>.grad_f": (_grad, ()),
    _GRAD_WITH_AUX: (_grad, ()),
    "value_and_grad.<locals>.value_and_grad_f": (
        _value_and_grad,
        ("argnums", "has_aux", "holomorphic", "allow_int"),
    ),
    "vmap.<locals>.vmap_f": (_vmap, ("in_axes", "out_axes", "axis_name", "axis_size", "spmd_axis_name")),
    "checkpoint.<locals>.fun_remat": (_checkpoint, ("policy", "prevent_cse", "static_argnums")),
    "jacfwd.<locals>.jacfun": (_jacfwd, ("argnums", "has_aux", "holomorphic")),
    "jacrev.<locals>.jacfun": (_jacrev, ("argnums", "has_aux", "holomorphic", "allow_int")),
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

    if transform is _grad:
        return _gradient_of(variable("value_and_grad_f"), code.co_qualname == _GRAD_WITH_AUX)
    options = {name: variable(name) for name in names if name in cells}
    return transform(variable("fun"), **options)


def _gradient_of(both: Function, has_aux: bool) -> Function:
    def grad_f(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return _named(grad_f, both)


def _cells(function: types.FunctionType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def _install() -> None:
    replacements: list[tuple[Any, Any]] = [
        (jax.value_and_grad, _value_and_grad),
        (jax.grad, _grad),
        (jax.jacfwd, _jacfwd),
        (jax.jacrev, _jacrev),
        (jax.hessian, _hessian),
        (jax.vjp, _along(jax.vjp)),
        (jax.linearize, _along(jax.linearize)),
        (jax.jvp, _jvp),
        (jax.vmap, _vmap),
        (jax.checkpoint, _checkpoint),
        (jax.jit, _plain_jit),
        (jax.lax.scan, _scan),
        (jax.lax.fori_loop, _fori_loop),
        (jax.lax.while_loop, _while_loop),
        (jax.lax.map, _map),
        (jax.lax.cond, _cond),
        (jax.lax.switch, _switch),
        (jax.lax.associative_scan, _associative_scan),
        (jax.pure_callback, _on_the_real_thing(jax.pure_callback)),
        (jax_io_callback, _on_the_real_thing(jax_io_callback)),
        (jax.debug.callback, _on_the_real_thing(jax.debug.callback)),
    ]
    for original, replacement in replacements:
        replace_in_captures(original, replacement)


_install()
