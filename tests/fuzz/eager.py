"""JAX's transforms as plain Python: what a generated program means when nothing is jitted.

Un-jitted JAX is no oracle where a transform's function writes state: a loop of ``jax.lax`` runs its body
once, leaves tracers in the state, and keeps the trace by function, so that later changes are not seen. Here
a loop is a Python loop, a branch an ``if``, and a gradient is taken on the side and the function then run
once for its writes.
"""

import collections
import functools
import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["plain_jax"]


def scan(f: Any, init: Any, xs: Any = None, length: int | None = None) -> Any:
    n = length if xs is None else len(jax.tree.leaves(xs)[0])
    carry, rows = init, []
    for i in range(n):
        carry, row = f(carry, jax.tree.map(lambda x, i=i: x[i], xs))
        rows.append(row)
    return carry, jax.tree.map(lambda *parts: jnp.stack([jnp.asarray(p) for p in parts]), *rows)


def fori_loop(lower: int, upper: int, body: Any, init: Any) -> Any:
    for i in range(lower, upper):
        init = body(jnp.int32(i), init)
    return init


def while_loop(condition: Any, body: Any, init: Any) -> Any:
    while condition(init):
        init = body(init)
    return init


def cond(which: Any, yes: Any, no: Any, *operands: Any) -> Any:
    if isinstance(which, jax.core.Tracer):  # of vmap: its branches only read
        return jax.lax.cond(which, yes, no, *operands)
    return yes(*operands) if which else no(*operands)


def switch(index: Any, branches: Any, *operands: Any) -> Any:
    if isinstance(index, jax.core.Tracer):
        return jax.lax.switch(index, branches, *operands)
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


def loop_map(f: Any, xs: Any) -> Any:
    return scan(lambda carry, x: (carry, f(x)), None, xs)[1]


def same(f: Any = None, **options: Any) -> Any:
    """A transform that changes nothing of what is computed: checkpoint, jit."""
    return f if f is not None else functools.partial(same, **options)


def _on_the_side(transform: Any) -> Any:
    """The transform's result with the state put back, then one run for the writes."""

    def transformed(f: Any, *options: Any, **named: Any) -> Any:
        def call(*args: Any) -> Any:
            put_back = _state_of(f)
            try:
                result = transform(f, *options, **named)(*args)
            finally:
                put_back()
            f(*args)
            return result

        return call

    return transformed


def _vjp(f: Any, *args: Any) -> Any:
    put_back = _state_of(f)
    try:
        value, pull = jax.vjp(f, *args)
    finally:
        put_back()
    f(*args)
    return value, pull


def _jvp(f: Any, primals: Any, tangents: Any) -> Any:
    put_back = _state_of(f)
    try:
        result = jax.jvp(f, primals, tangents)
    finally:
        put_back()
    f(*primals)
    return result


def plain_jax() -> Any:
    """A module like jax with the transforms above. vmap is JAX's own: it runs the function once."""
    lax = types.SimpleNamespace(
        scan=scan, fori_loop=fori_loop, while_loop=while_loop, cond=cond, switch=switch, map=loop_map
    )
    return types.SimpleNamespace(
        lax=lax,
        grad=_on_the_side(jax.grad),
        value_and_grad=_on_the_side(jax.value_and_grad),
        vjp=_vjp,
        jvp=_jvp,
        checkpoint=same,
        vmap=jax.vmap,
        random=jax.random,
        nn=jax.nn,
        Array=jax.Array,
        numpy=jnp,
        tree=jax.tree,
        jit=same,
    )


# ---------------------------------------------------------------- putting state back


def _state_of(f: Any) -> Any:
    """Notes everything reachable from f; calling the answer puts it back, in place."""
    undo: list[Any] = []
    seen: set[int] = set()
    held: list[Any] = []
    todo = [f]
    while todo:
        value = todo.pop()
        if id(value) in seen or isinstance(value, (str, int, float, jax.Array, types.ModuleType, type(None))):
            continue
        seen.add(id(value))
        held.append(value)
        todo += _note(value, undo, f)

    def put_back() -> None:
        for step in undo:
            step()

    return put_back


def _note(value: Any, undo: list[Any], f: Any) -> list[Any]:
    if isinstance(value, types.FunctionType):
        return _note_function(value, undo)
    if isinstance(value, (types.MethodType, functools.partial)):
        return (
            [value.__func__, value.__self__]
            if isinstance(value, types.MethodType)
            else [value.func, *value.args]
        )
    if isinstance(value, np.ndarray):
        undo.append(functools.partial(np.copyto, value, value.copy()))
        return []
    if isinstance(value, dict):
        ordered = isinstance(value, collections.OrderedDict)
        fill = collections.OrderedDict.update if ordered else dict.update
        return _note_container(value, dict(value), undo, fill)
    if isinstance(value, (list, collections.deque)):
        found = _note_container(value, list(value), undo, type(value).extend)
        own = getattr(value, "__dict__", None)
        return found if own is None else [*found, *_note_container(own, dict(own), undo, dict.update)]
    if isinstance(value, set):
        return _note_container(value, set(value), undo, set.update)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, (staticmethod, classmethod)):
        return [value.__func__]
    if isinstance(value, property):
        return [p for p in (value.fget, value.fset) if p is not None]
    if isinstance(value, type):
        return _note_class(value, undo)
    if "_fuzz" in type(value).__module__:
        return _note_instance(value, undo)
    return []


def _note_container(value: Any, contents: Any, undo: list[Any], fill: Any) -> list[Any]:
    def put_back() -> None:
        value.clear()
        fill(value, contents)

    undo.append(put_back)
    return list(contents.values()) if isinstance(contents, dict) else list(contents)


def _note_function(value: types.FunctionType, undo: list[Any]) -> list[Any]:
    found: list[Any] = list(value.__defaults__ or ())
    for cell in value.__closure__ or ():
        try:
            contents = cell.cell_contents
        except ValueError:
            continue
        undo.append(functools.partial(setattr, cell, "cell_contents", contents))
        found.append(contents)
    if "_fuzz" in (value.__module__ or ""):
        found += _note_container(vars(value), dict(vars(value)), undo, dict.update)
        variables = {k: v for k, v in value.__globals__.items() if not k.startswith("__")}
        undo.append(functools.partial(value.__globals__.update, variables))
        found += variables.values()
    return found


def _note_class(value: type, undo: list[Any]) -> list[Any]:
    if "_fuzz" not in value.__module__:
        return []
    entries = {k: v for k, v in vars(value).items() if not k.startswith("__") or k == "__call__"}
    data = {k: v for k, v in entries.items() if not hasattr(v, "__get__")}

    def put_back() -> None:
        for name, entry in data.items():
            setattr(value, name, entry)

    undo.append(put_back)
    return [*entries.values(), *value.__mro__[1:]]


def _note_instance(value: Any, undo: list[Any]) -> list[Any]:
    found: list[Any] = [type(value)]
    own = getattr(value, "__dict__", None)
    if own is not None:
        found += _note_container(own, dict(own), undo, dict.update)
    for cls in type(value).__mro__:
        for member in vars(cls).values():
            if isinstance(member, types.MemberDescriptorType):
                try:
                    contents = member.__get__(value)
                except AttributeError:
                    undo.append(functools.partial(_forget, member, value))
                    continue
                undo.append(functools.partial(member.__set__, value, contents))
                found.append(contents)
    return found


def _forget(member: Any, value: Any) -> None:
    try:
        member.__delete__(value)
    except AttributeError:
        return
