"""Loops and branches as traced code finds them: ``scan``, ``fori_loop``, ``cond``, ``switch``…

A body is first run apart to see what it writes. State that it writes is then carried through the
loop (or returned by every branch) beside the user's own values, and written after it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from freshjit import _compat
from freshjit.errors import UnsupportedStateError
from freshjit.state.active import thread
from freshjit.state.guards import at, user_line
from freshjit.state.values import is_plain, same_value
from freshjit.state.views import arrays, made, transforms
from freshjit.state.views.apart import Apart, Change, Changes, called_like, named, run_apart
from freshjit.state.views.library_calls import call_library
from freshjit.state.views.numbers import NumberView, plain_number
from freshjit.state.views.replacements import real_library_value, replace_in_captures

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = [
    "associative_scan",
    "cond",
    "fori_loop",
    "map_",
    "platform_dependent",
    "scan",
    "switch",
    "while_loop",
]

Function = Callable[..., Any]


_VARIES: Any = object()


class _Place:
    """One location that a loop body changes: which of its leaves are carried, and what the others are.

    A leaf is left alone if it is a plain value (a Python number, a string) and every run of the body finds
    and leaves the same one.
    """

    def __init__(self, kind: str, change: Change, results: Sequence[Any]) -> None:
        self.kind, self.thing, self.key, self.label = kind, change.thing, change.key, change.label
        leaves, self.tree = jax.tree_util.tree_flatten(_contents(change))
        after = [jax.tree_util.tree_flatten(result) for result in results]
        comparable = all(tree == self.tree for _, tree in after)
        self.fixed: list[Any] = [
            leaf if comparable and all(_is_same(leaf, new[i]) for new, _ in after) else _VARIES
            for i, leaf in enumerate(leaves)
        ]
        self.first = self._arrays(leaves)

    def enter(self, arrays: Sequence[Any]) -> None:
        """Make the carried leaves what is given."""
        varying = iter(arrays)
        leaves = [next(varying) if leaf is _VARIES else leaf for leaf in self.fixed]
        self.thing.apply({self.key: jax.tree_util.tree_unflatten(self.tree, leaves)})

    def left(self, value: Any) -> list[Any]:
        """The carried leaves of what a run of the body has left here, in the types that the loop carries."""
        leaves, tree = jax.tree_util.tree_flatten(value)
        same = tree == self.tree and all(
            fixed is _VARIES or _is_same(fixed, leaf) for fixed, leaf in zip(self.fixed, leaves, strict=True)
        )
        varying = self._arrays(leaves) if same else []
        if not same or not all(map(_fits, varying, self.first)):
            raise UnsupportedStateError(
                f"{self.label} changes its form in {_body_of(self.kind)}: it is "
                f"{_form(_contents(self))} before and {_form(value)} after it; {_carries(self.kind)} state "
                "of one shape and dtype.\n"
                f"Give it its final shape and dtype before jax.lax.{self.kind}."
            )
        return [
            new if new.aval == old.aval else jax.lax.convert_element_type(new, old.dtype)
            for new, old in zip(varying, self.first, strict=True)
        ]

    def _arrays(self, leaves: Sequence[Any]) -> list[Any]:
        varying = [
            arrays.to_jax(leaf) for leaf, fixed in zip(leaves, self.fixed, strict=True) if fixed is _VARIES
        ]
        for leaf in varying:
            if not isinstance(leaf, (jax.Array, _compat.Tracer, np.ndarray, int, float, complex)):
                raise UnsupportedStateError(
                    f"{self.label} is written in {_body_of(self.kind)} and holds a {type(leaf).__name__}: "
                    f"{_carries(self.kind)} arrays and numbers only.\nWrite it after jax.lax.{self.kind}."
                )
        return [jnp.asarray(leaf) for leaf in varying]


def _body_of(kind: str) -> str:
    body = "a branch" if kind in _BRANCHES else "the body"
    return f"{body} of jax.lax.{kind}{at(user_line(), 'called at')}"


def _carries(kind: str) -> str:
    return "all branches leave" if kind in _BRANCHES else "a compiled loop carries"


_BRANCHES = ("cond", "switch", "platform_dependent")


def _is_same(old: Any, new: Any) -> bool:
    return old is new if type(old) is NumberView else is_plain(old) and same_value(old, new)


def _fits(new: Any, old: Any) -> bool:
    return new.shape == old.shape and (new.dtype == old.dtype or new.weak_type)


class _Carried:
    """State that a loop body changes, carried through the loop."""

    def __init__(self, kind: str, changes: Sequence[Changes]) -> None:
        self.kind = kind
        found: dict[tuple[int, Any], list[Change]] = {}
        for group in changes:
            for change in group.changes:
                found.setdefault((id(change.thing), change.key), []).append(change)
        self.places = {where: _Place(kind, same[0], [c.value for c in same]) for where, same in found.items()}

    def start(self) -> list[list[Any]]:
        """The present contents of every location, as arrays."""
        return [place.first for place in self.places.values()]

    def enter(self, values: list[list[Any]]) -> None:
        for place, value in zip(self.places.values(), values, strict=True):
            place.enter(value)

    @contextmanager
    def inside(self, capture: Capture, values: list[list[Any]]) -> Generator[None, None, None]:
        """State as the body finds it; afterwards as it was, with nothing of the loop's left in it."""
        before = [(thing, thing.snapshot()) for thing in capture.mutables]
        self.enter(values)
        try:
            yield
        finally:
            for thing, snapshot in before:
                thing.restore(snapshot)

    def leave(
        self, capture: Capture, changes: Changes, traced: list[Any], entered: list[list[Any]]
    ) -> list[list[Any]]:
        """The contents after one run of the body, with the types that the loop carries."""
        values = changes.filled(capture, traced)
        new = {(id(c.thing), c.key): v for c, v in zip(changes.changes, values, strict=True)}
        unknown = [c.label for c in changes.changes if (id(c.thing), c.key) not in self.places]
        if unknown:
            raise UnsupportedStateError(
                f"{', '.join(unknown)} is written only at some times in {_body_of(self.kind)}; "
                f"{_carries(self.kind)} the same state each time.\nWrite it always, the old value if need be."
            )
        return [
            place.left(new[where]) if where in new else old
            for (where, place), old in zip(self.places.items(), entered, strict=True)
        ]


class _Form(str):
    """How a leaf looks in an error, without quotes."""

    __repr__ = str.__str__


def _form(value: Any) -> str:
    def form(leaf: Any) -> _Form:
        return _Form(repr(leaf) if is_plain(leaf) else f"{leaf.dtype}{list(leaf.shape)}")

    return str(jax.tree_util.tree_map(form, value))


def _contents(change: Change | _Place) -> Any:
    try:
        return change.thing.content(change.key)
    except KeyError:
        raise UnsupportedStateError(
            f"{change.label} {'changes its length' if change.key == 'all' else 'is first given a value'} "
            f"inside a loop of jax.lax{at(user_line(), 'called at')}: a compiled loop carries state "
            "of one shape.\nGive it its final form before the loop, or let the loop return the values (the "
            "second result of scan)."
        ) from None


def _loop(kind: str, body: Function, at: int, init: Any, run: Function) -> Any:
    """A loop whose body may change state.

    Parameters:
        kind: its name in ``jax.lax``.
        body: the user's body. Of ``scan`` it returns ``(carry, y)``, of the others the new carry.
        at: which of its arguments is the carry.
        init: the first carry.
        run: ``run(body, init, inside)`` performs the loop. ``inside(carry)`` is for a condition: a
            context in which state is as the carry has it, giving the user's part of the carry.
    """
    capture = thread.capture
    assert capture is not None
    apart = Apart(capture, body)

    @contextmanager
    def plain(carry: Any) -> Generator[Any, None, None]:
        yield carry

    before = made.snapshots(capture, [body])
    result = run(apart.dropping_changes(), init, plain)
    if not apart.changes:
        return result
    after = made.snapshots(capture, [])
    made.put_back(capture, before)
    carried = _Carried(kind, [apart.changes])
    start = carried.start()

    @contextmanager
    def inside(carry: Any) -> Generator[Any, None, None]:
        value, state = carry
        with carried.inside(capture, state):
            yield value

    def with_state(*args: Any) -> Any:
        with inside(args[at]) as value:
            result, changes, traced = run_apart(capture, body, (*args[:at], value, *args[at + 1 :]), {})
            result = arrays.leaves_to_jax(result)
            left = carried.leave(capture, changes, traced, args[at][1])
        return ((result[0], left), result[1]) if kind == "scan" else (result, left)

    result = run(named(with_state, body), (init, start), inside)
    made.put_arrays_back(capture, after)  # each of these runs has left state as it found it
    (value, state), *rest = result if kind == "scan" else (result,)
    carried.enter(state)
    return (value, *rest) if kind == "scan" else value


def scan(f: Function, init: Any, xs: Any = None, length: int | None = None, **options: Any) -> Any:
    init, xs, length = arrays.leaves_to_jax(init), arrays.leaves_to_jax(xs), plain_number(length)
    if thread.capture is None:
        return jax.lax.scan(f, init, xs, length, **options)

    def run(body: Function, init: Any, _: Any) -> Any:
        return jax.lax.scan(body, init, xs, length, **options)

    return _loop("scan", f, 0, init, run)


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Any, **options: Any) -> Any:
    lower, upper, init_val = plain_number(lower), plain_number(upper), arrays.leaves_to_jax(init_val)
    if thread.capture is None:
        return jax.lax.fori_loop(lower, upper, body_fun, init_val, **options)

    def run(body: Function, init: Any, _: Any) -> Any:
        return jax.lax.fori_loop(lower, upper, body, init, **options)

    return _loop("fori_loop", body_fun, 1, init_val, run)


def while_loop(cond_fun: Function, body_fun: Function, init_val: Any) -> Any:
    init_val = arrays.leaves_to_jax(init_val)
    capture = thread.capture
    if capture is None:
        return jax.lax.while_loop(cond_fun, body_fun, init_val)

    def run(body: Function, init: Any, inside: Any) -> Any:
        condition = Apart(capture, cond_fun)

        def test(carry: Any) -> Any:
            with inside(carry) as value:
                return condition(value)[0]

        result = jax.lax.while_loop(named(test, cond_fun), body, init)
        if condition.changes:
            raise UnsupportedStateError(
                f"the condition of jax.lax.while_loop{at(user_line(), 'called at')} writes "
                f"{condition.changes.labels()}.\n"
                "Write it in the body."
            )
        return result

    return _loop("while_loop", body_fun, 0, init_val, run)


def map_(f: Function, xs: Any, *, batch_size: int | None = None) -> Any:
    xs, batch_size = arrays.leaves_to_jax(xs), plain_number(batch_size)
    if thread.capture is None:
        return jax.lax.map(f, xs, batch_size=batch_size)

    def one(_: Any, x: Any) -> Any:
        return (), f(x)

    if batch_size is None:
        return scan(named(one, f), (), xs)[1]
    n = len(jax.tree_util.tree_leaves(xs)[0])
    whole = n - n % batch_size
    many = transforms.vmap(f)
    batches = jax.tree_util.tree_map(lambda a: a[:whole].reshape(-1, batch_size, *a.shape[1:]), xs)
    ys = scan(named(lambda _, x: ((), many(x)), f), (), batches)[1]
    ys = jax.tree_util.tree_map(lambda a: a.reshape(whole, *a.shape[2:]), ys)
    if whole == n:
        return ys
    rest = many(jax.tree_util.tree_map(lambda a: a[whole:], xs))
    return jax.tree_util.tree_map(lambda a, b: jnp.concatenate([a, b]), ys, rest)


def _choose(kind: str, branches: Sequence[Function], operands: Any, call: Function) -> Any:
    """``cond`` and its kin: each branch returns the new contents of everything any branch writes."""
    capture = thread.capture
    assert capture is not None
    operands = arrays.leaves_to_jax(tuple(operands))
    parts = [Apart(capture, branch) for branch in branches]

    before = made.snapshots(capture, branches)
    result = call([part.dropping_changes() for part in parts], operands)
    if not any(part.changes for part in parts):
        return result
    made.put_back(capture, before)
    carried = _Carried(kind, [part.changes for part in parts])
    start = carried.start()

    def threaded(function: Function) -> Function:
        def branch(*args: Any) -> Any:
            value, changes, traced = run_apart(capture, function, args, {})
            return arrays.leaves_to_jax(value), carried.leave(capture, changes, traced, start)

        return named(branch, function)

    value, state = call([threaded(branch) for branch in branches], operands)
    carried.enter(state)
    return value


def cond(pred: Any, true_fun: Any, false_fun: Any, *operands: Any, **options: Any) -> Any:
    if thread.capture is None or not (callable(true_fun) and callable(false_fun)):
        return jax.lax.cond(pred, true_fun, false_fun, *operands, **options)
    pred = arrays.to_jax(pred)
    both = [true_fun, false_fun]
    return _choose("cond", both, operands, lambda fs, ops: jax.lax.cond(pred, *fs, *ops, **options))


def switch(index: Any, branches: Sequence[Function], *operands: Any, **options: Any) -> Any:
    if thread.capture is None:
        return jax.lax.switch(index, branches, *operands, **options)
    index = arrays.to_jax(index)
    return _choose("switch", branches, operands, lambda fs, ops: jax.lax.switch(index, fs, *ops, **options))


def platform_dependent(*args: Any, default: Function | None = None, **per_platform: Function) -> Any:
    names = list(per_platform)
    if thread.capture is None:
        return jax.lax.platform_dependent(*args, default=default, **per_platform)

    def call(functions: list[Function], operands: tuple[Any, ...]) -> Any:
        for_names, rest = functions[: len(names)], functions[len(names) :]
        chosen = dict(zip(names, for_names, strict=True))
        return jax.lax.platform_dependent(*operands, default=rest[0] if rest else None, **chosen)

    others = [] if default is None else [default]
    return _choose("platform_dependent", [*per_platform.values(), *others], args, call)


def associative_scan(fn: Function, elems: Any, *args: Any, **options: Any) -> Any:
    # A new function each time: JAX keeps traces by identity.
    return jax.lax.associative_scan(
        named(lambda *a: arrays.leaves_to_jax(fn(*a)), fn), arrays.leaves_to_jax(elems), *args, **options
    )


def _knowing_operations(reduce: Function) -> Function:
    """``reduce`` and ``reduce_window``, which tell sums, maxima and the like by the very function given.

    For these they have operations of their own, which can be differentiated, where others cannot.
    """

    @functools.wraps(reduce)
    def call(*args: Any, **kwargs: Any) -> Any:
        capture = thread.capture
        if capture is None:
            return reduce(*args, **kwargs)
        real = functools.partial(_real_operation, capture)
        return call_library(reduce, tuple(map(real, args)), {name: real(v) for name, v in kwargs.items()})

    return call


def _real_operation(capture: Capture, value: Any) -> Any:
    real = real_library_value(capture, value) if callable(value) else None
    return value if real is None else real


def install() -> None:
    """Let traced code find these in place of JAX's own."""
    for reduce in (jax.lax.reduce, jax.lax.reduce_window):
        replace_in_captures(reduce, _knowing_operations(reduce))
    replacements: list[tuple[Any, Any]] = [
        (jax.lax.scan, scan),
        (jax.lax.fori_loop, fori_loop),
        (jax.lax.while_loop, while_loop),
        (jax.lax.map, map_),
        (jax.lax.cond, cond),
        (jax.lax.switch, switch),
        (jax.lax.platform_dependent, platform_dependent),
        (jax.lax.associative_scan, associative_scan),
    ]
    for original, replacement in replacements:
        replace_in_captures(original, called_like(original, replacement))
