"""``functionalize``: any callable as a pure function: ``out, new_state = pure(state, *args)``."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, ParamSpec, TypeGuard, TypeVar

import jax
import numpy as np

from freshjit.errors import StateMismatchError, UnsupportedStateError
from freshjit.programs import commit
from freshjit.programs.probe import read as read_path
from freshjit.state.active import thread
from freshjit.state.arguments import parameters_of, plan, root_of
from freshjit.state.capture import Capture
from freshjit.state.guards import user_line
from freshjit.state.held import GONE
from freshjit.state.hooks import GAP
from freshjit.state.path import Path, is_within
from freshjit.state.record import Entry, Mutable
from freshjit.state.run import directly, view_arguments
from freshjit.state.seeing import Seeing
from freshjit.state.values import is_plain
from freshjit.state.views import (
    array_copies,
    arrays,
    elements,
    kinds,
    made,
    places,
)
from freshjit.state.views.apart import Apart, Change
from freshjit.tracebacks import boundary
from freshjit.tree import State, as_found, check_shape, some_of
from freshjit.wrapper import wrap

__all__ = ["Functional", "functionalize"]

P = ParamSpec("P")
R = TypeVar("R")


class Functional(Generic[P, R]):
    """A function as a pure function of its state, ``pure(state, *args)``. Made by ``functionalize``.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from freshjit import functionalize
        >>> class Scale:
        ...     def __init__(self):
        ...         self.w = jnp.float32(2.0)
        ...
        ...     def apply(self, x):
        ...         return self.w * x
        >>> scale = Scale()
        >>> pure = functionalize(scale.apply)
        >>> state = pure.read(3.0)
        >>> float(jax.grad(lambda s: pure(s, 3.0)[0])(state)["self.w"])
        3.0
        >>> pure.commit(jax.tree.map(lambda w: w + 1, state))
        >>> float(scale.apply(3.0))
        9.0
    """

    __freshjit_method__ = True
    __name__: str

    def __init__(self, function: Callable[P, R]) -> None:
        wrap(self, function)
        self._function = function
        self._paths: dict[str, Path] = {}  # where the entries of a state are
        self._names: dict[Any, str] = {}  # and back, by the trail of the path

    @boundary
    def read(self, *args: P.args, **kwargs: P.kwargs) -> State:
        """The state that the function would read and write with these arguments, as it is now.

        The function is traced, not run: arguments may be ``jax.ShapeDtypeStruct``, nothing is written.

        Parameters:
            args, kwargs: the arguments of the call.

        Returns:
            The arrays that JAX is given of the state, and the arrays and Python numbers that are written, by
            path. Of NumPy arrays it has copies.

        Raises:
            FreshjitError: if some state can be neither read nor written under a trace.
        """

        def look(capture: Capture) -> State:
            function, call_args, call_kwargs, traced = self._enter(capture, args, kwargs)
            apart = Apart(capture, function)

            def call(values: list[Any]) -> Any:
                for (container, key, _), value in zip(traced, values, strict=True):
                    container[key] = value
                apart(*call_args, **call_kwargs)

            jax.eval_shape(call, [value for _, _, value in traced])
            read = {id(slot.path) for slot in capture.slots}
            read |= {id(thing.path) for thing in _written_arrays(capture, apart.changes.changes)}
            found = {
                self._name(capture, e.path): _present(capture, e)
                for e in capture.entries.values()
                if id(e.path) in read
            }
            for change in apart.changes.changes:
                if isinstance(change.thing, arrays.Source):
                    continue  # found as a whole
                try:
                    content = change.thing.content(change.key)
                except KeyError:
                    continue
                for path, value in _entries(capture, change.thing.place(change.key), content):
                    found.setdefault(self._name(capture, path), value)
            return State(found)

        return self._run(look, args, kwargs)

    @boundary
    def __call__(self, state: State, *args: P.args, **kwargs: P.kwargs) -> tuple[R, State]:
        """Run the function on the given state; the real objects are neither asked for arrays nor written.

        Python values that the function only reads (flags, strings, numbers, and a NumPy array whose numbers
        NumPy alone computes with) are those of the real objects, as they are when it runs.

        Parameters:
            state: arrays and numbers by path, as ``read`` gives them.
            args, kwargs: the arguments of the function.

        Returns:
            What the function returns, and the state as the function would have left it. Under JAX's
            transforms both are traced.

        Raises:
            StateMismatchError: if the function reads an array that the state does not have, or the state
                has a path that the function has never read.
            UnsupportedStateError: if it puts a new object into the state that JAX does not know as a pytree.
        """
        if any(path not in self._paths for path in state):
            self.read(*args, **kwargs)
        unknown = [path for path in state if path not in self._paths]
        if unknown:
            raise StateMismatchError(
                f"{self.__name__} neither reads nor writes {some_of(unknown)}; with these arguments its "
                f"state has {some_of(self.read(*args, **kwargs))}.\n"
                "Leave these paths out, or read the state again."
            )
        given = {self._paths[path].trail: value for path, value in state.items()}

        def run(capture: Capture) -> tuple[R, State]:
            function, call_args, call_kwargs, _ = self._enter(capture, args, kwargs)
            result = function(*call_args, **call_kwargs)
            return jax.tree_util.tree_map(arrays.to_jax, result), self._after(capture, state)

        return self._run(run, args, kwargs, given)

    @boundary
    def commit(self, state: State, *args: P.args, **kwargs: P.kwargs) -> None:
        """Put the values into the real objects, all or none of them.

        Parameters:
            state: values by path; it may have a part of the function's state only.
            args, kwargs: the arguments of the call, if objects among them hold some of the state.

        Raises:
            StateMismatchError: if one of the paths is unknown or cannot be written, or if a NumPy array has
                another shape there.
            UnsupportedStateError: inside a jitted function, where ``State.commit`` does it.
        """
        if thread.capture is not None:
            raise UnsupportedStateError(
                f"the state of {self.__name__} is committed inside a jitted function (at {user_line()}).\n"
                "Return the new state and commit it outside, or use State.commit, which works inside."
            )
        unknown = [path for path in state if path not in self._paths]
        if unknown:
            raise StateMismatchError(
                f"{some_of(unknown)} is not part of any state that {self.__name__} has read so far.\n"
                "Call read, or the pure function itself, with arguments for which it uses this state, before "
                "the commit."
            )
        writes = _Writes(lambda path: read_path(path, self._function, args, kwargs))
        for name, value in state.items():
            writes.put(self._paths[name], value)
        commit.apply(writes.all())

    # -- the run ----------------------------------------------------------------------------------

    def _run(self, call: Callable[[Capture], Any], args: Any, kwargs: Any, given: Any = None) -> Any:
        capture = Capture(
            self._function, root_of(self._function), Seeing(plain_numbers=True, whole=True, given=given)
        )
        outer = thread.capture
        if outer is None:
            return directly(capture, call)
        entry = outer.original_of(self) or outer.entries.get(id(self))
        if entry is None:
            raise UnsupportedStateError(
                f"functionalize({self.__name__}) was called inside the jitted function that uses it (at "
                f"{user_line()}).\n"
                "Call functionalize outside, for instance in __init__, and use the result inside."
            )
        bases = {"fn": entry.path.attr("__wrapped__")}
        for argument in plan(parameters_of(self._function), args, kwargs):
            value = outer.original_of(argument.of(args, kwargs))
            if value is not None:
                bases[argument.path.key] = value.path
        outer.guard(bases["fn"], "is", self._function)

        def checked(capture: Capture) -> Any:
            result = call(capture)
            _refuse_unseen_writes(outer, capture)
            return result

        return directly(capture, checked, bases)

    def _enter(
        self, capture: Capture, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, list[Any], dict[str, Any], list[tuple[Any, Any, Any]]]:
        """The views of the function and of its arguments, and where among them the traced ones are."""
        arguments = plan(parameters_of(self._function), args, kwargs)
        function = capture.view(self._function, capture.root)
        call_args, call_kwargs = view_arguments(capture, arguments, args, kwargs)
        traced: list[tuple[Any, Any, Any]] = []
        for argument in arguments:
            if argument.kind == "traced":
                container: Any = call_args if isinstance(argument.name, int) else call_kwargs
                value = container[argument.name]
                # The caller's containers are not the function's to change.
                container[argument.name] = jax.tree_util.tree_map(lambda leaf: leaf, value)
                traced.append((container, argument.name, value))
        return function, call_args, call_kwargs, traced

    def _after(self, capture: Capture, state: State) -> State:
        """The state at the end of a run: as given, but for what was written."""
        values = dict(state)
        for thing in list(capture.mutables):
            if isinstance(thing, made.Made):
                continue  # nobody's state
            for path, value in _contents_written(capture, thing):
                name = self._name(capture, path)
                for old in [n for n in values if is_within(n, name)]:
                    del values[old]
                if value is not GAP:
                    values.update({self._name(capture, p): v for p, v in _entries(capture, path, value)})
        return State(values)

    def _name(self, capture: Capture, path: Path) -> str:
        """The key of a path: as it is printed, numbered if two different ones are printed alike."""
        path = capture.by_key(path)
        trail = path.trail
        name = self._names.get(trail)
        if name is None:
            name = label = str(path)
            count = 1
            while name in self._paths:
                count += 1
                name = f"{label} ({count})"
            self._names[trail] = name
            self._paths[name] = path
        return name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else Functional(types.MethodType(self._function, instance))

    def __repr__(self) -> str:
        return f"<freshjit.functionalize of {self._function!r}>"


def functionalize(function: Callable[P, R]) -> Functional[P, R]:
    """A pure function for any callable: its state goes in and comes out as a pytree keyed by path.

    What ``function`` reads and writes beside its arguments (attributes, closure variables, globals,
    items of containers, NumPy arrays) becomes an argument and a result. Use it for checkpoints, for
    optimizers over state, for ``jax.make_jaxpr``, ``jax.export`` and any transform of JAX's.

    Parameters:
        function: a plain function, method, ``functools.partial`` or callable object.

    Returns:
        ``pure``, with ``pure.read(*args) -> state``, ``pure(state, *args) -> (out, new_state)`` and
        ``pure.commit(state)``. The state holds the arrays that the function gives to JAX, and the arrays and
        Python numbers that it writes; a NumPy array is written as a whole.

    Raises:
        TypeError: if ``function`` cannot be called.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from freshjit import functionalize
        >>> class Counter:
        ...     def __init__(self):
        ...         self.total, self.calls = jnp.float32(0.0), 0
        ...
        ...     def add(self, x):
        ...         self.total = self.total + x
        ...         self.calls += 1
        ...         return self.total
        >>> counter = Counter()
        >>> pure = functionalize(counter.add)
        >>> state = pure.read(1.0)
        >>> state
        State({'self.calls': 0, 'self.total': float32[]})
        >>> out, new = jax.jit(pure)(state, 5.0)
        >>> float(out), counter.calls
        (5.0, 0)
        >>> pure.commit(new)
        >>> float(counter.total), counter.calls
        (5.0, 1)
    """
    if isinstance(function, Functional):
        return function
    if not callable(function):
        raise TypeError(f"functionalize expects a callable, got {function!r}")
    return Functional(function)


def _view_functional(capture: Capture, value: Functional[Any, Any], path: Path) -> Any:
    capture.guard(path, "type", Functional)
    return capture.remember(value, value, path)


kinds.register(Functional, _view_functional)


def _is_whole_array(thing: Any) -> TypeGuard[arrays.Source | array_copies.PlainCopy]:
    """Whether it is a NumPy array that changes as a whole, whatever the element that is written."""
    return isinstance(thing, (arrays.Source, array_copies.PlainCopy)) and not isinstance(
        thing, array_copies.ObjectsCopy
    )


def _written_arrays(
    capture: Capture, changes: Sequence[Change]
) -> list[arrays.Source | array_copies.PlainCopy]:
    """The NumPy arrays that a run apart has written, with their contents as they were before it."""
    logged = [change.thing for change in changes]
    written = [m for m in capture.mutables if _is_whole_array(m) and (m.changed() or m in logged)]
    for thing in written:
        thing.restore(thing.start())  # concrete numbers are not taken back by themselves
    return written


def _present(capture: Capture, entry: Entry) -> Any:
    """What is there now, as an entry of a state. A NumPy array may change in place: a copy is taken."""
    if capture.outer is not None:
        return arrays.to_jax(entry.view)
    return entry.original.copy() if isinstance(entry.original, np.ndarray) else entry.original


def _contents_written(capture: Capture, thing: Mutable) -> Iterator[tuple[Path, Any]]:
    """The places of a thing that were written since the start, and what is there now."""
    changes = thing.changes(thing.start())
    if not _is_whole_array(thing):
        for key, value in changes.items():
            yield thing.place(key), value
    elif changes or thing.changed():
        if isinstance(thing, (array_copies.MaskedCopy, array_copies.RecordCopy)):
            raise UnsupportedStateError(
                f"{thing.path} ({type(thing.original).__name__}) is written: the state of a pure function "
                "holds arrays, numbers and containers of them.\nKeep its parts in plain arrays."
            )
        in_numbers = thing.changed()
        yield (
            thing.path,
            np.array(thing.concrete()) if in_numbers else capture.entries[id(thing.original)].view,
        )


def _entries(capture: Capture, path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    """What stands at ``path``, as entries of a state: containers and objects by their parts."""
    if type(value) in arrays.STAND_INS:
        yield path, arrays.to_jax(value)
    elif is_plain(value) or isinstance(value, (jax.Array, np.ndarray, np.generic)):
        yield path, value
    elif isinstance(value, tuple):
        for i, part in enumerate(tuple.__iter__(value)):
            yield from _entries(capture, elements.element(path, value, i), part)
    elif isinstance(value, (list, collections.deque)):
        for i, part in enumerate(value):
            yield from _entries(capture, elements.element(path, value, i), part)
    elif isinstance(value, dict):
        for key, part in dict.items(value):
            yield from _entries(capture, elements.element(path, value, key), part)
    elif id(value) in capture.objects:
        for leaf in places.under(capture, value, path):
            yield leaf.path, arrays.to_jax(leaf.value)
    else:
        yield from _entries_of_node(capture, path, value)


def _entries_of_node(capture: Capture, path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    """The parts of a new instance of a class that JAX knows as a pytree."""
    keyed, _ = jax.tree_util.tree_flatten_with_path(value, is_leaf=lambda part: part is not value)
    if len(keyed) == 1 and keyed[0][1] is value:
        raise UnsupportedStateError(
            f"{path} is given a new {type(value).__name__}: the state of a pure function holds arrays, "
            "numbers and containers of them.\nChange the attributes of the object that is there, or register "
            "the class as a pytree (jax.tree_util.register_dataclass)."
        )
    for (key,), part in keyed:
        if isinstance(key, jax.tree_util.GetAttrKey):
            place = path.attr(key.name)
        else:
            place = path.item(getattr(key, "key", getattr(key, "idx", None)))
        yield from _entries(capture, place, part)


def _refuse_unseen_writes(outer: Capture, inner: Capture) -> None:
    """A pure function inside a jitted one reads real objects: it must not miss what that one wrote."""
    seen = {id(e.original) for e in inner.entries.values()} | {id(n.real) for n in inner.namespaces.values()}
    at = {id(e.path): id(e.original) for e in outer.entries.values()}
    at.update({id(n.path): id(n.real) for n in outer.namespaces.values()})
    for thing in outer.mutables:
        path = getattr(thing, "path", None)
        if at.get(id(path)) in seen and thing.changes(thing.start()):
            raise UnsupportedStateError(
                f"{path} was changed earlier in this call, and a functionalized function now reads it (at "
                f"{user_line()}).\n"
                "Call the function itself in place of the functionalized one, or put the change into the "
                "state that is given to it."
            )


class _Writes:
    """New values for paths, as writes to the real things; nested tuples are made anew."""

    def __init__(self, read: Callable[[Path], Any]) -> None:
        self._read = read
        self._rows: list[tuple[str, Any, Any, Any]] = []
        self._tuples: dict[Path, dict[Any, Any]] = {}

    def put(self, path: Path, value: Any) -> None:
        holder_path = path.parent
        try:
            holder = None if holder_path is None else self._read(holder_path)
            old = self._read(path)
        except (AttributeError, LookupError, TypeError, ValueError):
            holder, old = (None if holder_path is None else self._try(holder_path)), GAP
        if old is value:
            return
        if isinstance(old, np.ndarray):
            check_shape(str(path), old, value)
            self._rows.append(("fill", old, None, np.asarray(value)))
            return
        self._assign(path, holder, as_found(old, value))

    def _try(self, path: Path) -> Any:
        try:
            return self._read(path)
        except (AttributeError, LookupError, TypeError, ValueError):
            return None

    def _assign(self, path: Path, holder: Any, value: Any) -> None:
        if isinstance(holder, tuple) and path.step in ("item", "rawitem") and path.parent is not None:
            self._tuples.setdefault(path.parent, {})[path.index] = value
            return
        action = _ACTIONS.get(path.step)
        if isinstance(holder, type):
            action = "setclass"
        if action is None or holder is None or path.index is GONE:
            raise StateMismatchError(
                f"{path} cannot be written: there is nothing, or nothing that can change, to hold it.\n"
                "Leave it out of the state that is committed."
            )
        self._rows.append((action, holder, path.index, value))

    def all(self) -> list[tuple[str, Any, Any, Any]]:
        """The writes, in the form that ``commit.apply`` takes."""
        while self._tuples:
            path = max(self._tuples, key=lambda p: len(p.trail))
            new = self._tuples.pop(path)
            old = self._read(path)
            gone = [i for i in new if i >= len(old)]
            if gone:
                raise StateMismatchError(
                    f"{path} is a tuple of {len(old)} now: there is no [{gone[0]}] to write.\n"
                    "Read the state again, or leave this path out."
                )
            items = [new.get(i, item) for i, item in enumerate(tuple.__iter__(old))]
            holder = None if path.parent is None else self._read(path.parent)
            self._assign(path, holder, tuple.__new__(type(old), items))
        return self._rows


_ACTIONS = {
    "attr": "setattr",
    "dictitem": "setdict",
    "item": "setitem",
    "rawitem": "setitem",
    "contents": "setcell",
}
