"""State: arrays and numbers of real objects as a pytree, keyed by path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from freshjit import _compat, live
from freshjit.errors import StateMismatchError
from freshjit.state.active import thread
from freshjit.state.arguments import root_of
from freshjit.state.capture import Capture
from freshjit.state.path import Path
from freshjit.state.run import directly
from freshjit.state.seeing import Seeing
from freshjit.state.values import is_plain
from freshjit.state.views import kinds, places
from freshjit.tracebacks import boundary

__all__ = ["State", "as_found", "check_shape", "some_of"]


@jax.tree_util.register_pytree_with_keys_class
class State(Mapping[str, Any]):
    """Arrays and numbers by the paths at which they are found: ``state["self.layers[0].w"]``.

    A ``State`` is an immutable mapping and a pytree, so ``jax.tree.map``, ``optax``, ``pickle``, ``jax.jit``
    and checkpointing libraries take it as it is. Its keys are sorted: two states with the same paths have
    the same tree structure. Python values that are no numbers (flags, strings, None) belong to the
    structure; arrays and Python numbers are its leaves.

    Parameters:
        values: arrays and Python values, by path.

    Raises:
        KeyError: when a path is looked up that it does not have.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from freshjit import State
        >>> class Model:
        ...     def __init__(self):
        ...         self.w, self.layers = jnp.ones(2), [{"b": jnp.zeros(3)}]
        >>> model = Model()
        >>> state = State.read(lambda: model)
        >>> state
        State({'model.layers[0]['b']': float32[3], 'model.w': float32[2]})
        >>> jax.tree.map(lambda a: a + 1, state).commit(lambda: model)
        >>> model.w
        Array([2., 2.], dtype=float32)
    """

    __slots__ = ("__weakref__", "_values")
    __hash__ = None  # pyright: ignore[reportAssignmentType] - it holds arrays

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = {k: values[k] for k in sorted(values)} if values else {}

    # -- a mapping --------------------------------------------------------------------------------

    def __getitem__(self, path: str) -> Any:
        return self._values[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __or__(self, other: Mapping[str, Any]) -> State:
        return State({**self._values, **other})

    def __repr__(self) -> str:
        items = (f"'{path}': {_short(value)}" for path, value in self._values.items())
        return f"State({{{', '.join(items)}}})"

    def __reduce__(self) -> Any:
        return State, (self._values,)

    # -- a pytree ---------------------------------------------------------------------------------

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], Any]:
        leaves = [(k, v) for k, v in self._values.items() if not _is_structure(v)]
        fixed = tuple((k, v) for k, v in self._values.items() if _is_structure(v))
        keyed = [(jax.tree_util.DictKey(k), v) for k, v in leaves]
        return keyed, (tuple(k for k, _ in leaves), fixed)

    @classmethod
    def tree_unflatten(cls, structure: Any, leaves: Any) -> State:
        names, fixed = structure
        state = cls.__new__(cls)
        values = {**dict(zip(names, leaves, strict=True)), **dict(fixed)}
        state._values = {k: values[k] for k in sorted(values)} if fixed else values
        return state

    # -- the real objects -------------------------------------------------------------------------

    @classmethod
    @boundary
    def read(cls, of: Any) -> State:
        """The arrays under some objects, as they are now. Inside a jitted function they are inputs of it.

        Parameters:
            of: a function without parameters that names what is to be read (``lambda: self.model``, or
                several things in a list), whose paths then begin as it says; or an object, or a list of
                objects, whose paths begin with the name of the class.

        Returns:
            A state with every array in their attributes and containers (JAX's and NumPy's). A Python
            number is included if it is named itself: ``lambda: self.scale``.

        Raises:
            StateMismatchError: if there is nothing at a path.
            UnsupportedStateError: if a function names something that is not part of any state.

        Example:
            >>> import jax.numpy as jnp
            >>> from freshjit import State
            >>> layers, rate = [jnp.ones(2), jnp.zeros(3)], 0.1
            >>> State.read(lambda: [layers, rate])
            State({'layers[0]': float32[2], 'layers[1]': float32[3], 'rate': 0.1})
        """

        def look(capture: Capture) -> State:
            return cls({leaf.label: leaf.value for leaf in places.select(capture, of)})

        if thread.capture is not None:
            return look(thread.capture)
        return directly(
            Capture(_nothing, root_of(_nothing), Seeing(plain_numpy=True, plain_numbers=True)), look
        )

    @boundary
    def commit(self, of: Any) -> None:
        """Put the values into the real objects, all or none of them.

        Parameters:
            of: what ``State.read`` was given. The state may have a part of its paths only.

        A jax array is replaced by the value; a NumPy array is written in place, for whoever shares it, and
        keeps its shape and dtype; a Python number stays one.

        Raises:
            StateMismatchError: if ``of`` has no array at one of the paths, or a NumPy array of another shape.

        Example:
            >>> import numpy as np
            >>> from freshjit import State
            >>> table = np.zeros(2)
            >>> rows = table[:1]
            >>> State({"table": np.array([1.0, 2.0])}).commit(lambda: table)
            >>> table, rows
            (array([1., 2.]), array([1.]))
        """

        def change(capture: Capture) -> None:
            leaves = {leaf.label: leaf for leaf in places.select(capture, of)}
            unknown = [path for path in self if path not in leaves]
            if unknown:
                raise StateMismatchError(
                    f"there is no array at {some_of(unknown)}; there are arrays at {some_of(leaves)}.\n"
                    "Commit what State.read of the same things has given, or what was made of it, or leave "
                    "these paths out."
                )
            replaced: list[tuple[places.Leaf, Any]] = []
            for path, value in self._values.items():
                leaf = leaves[path]
                if isinstance(leaf.value, np.ndarray):
                    check_shape(path, leaf.value, value)
                    leaf.value[...] = value  # NumPy arrays are written in place, for whoever shares them
                else:
                    replaced.append((leaf, as_found(leaf.value, value)))
            places.put([leaf for leaf, _ in replaced], [value for _, value in replaced])

        if thread.capture is not None:
            change(thread.capture)
        else:
            live.run(_nothing, (), {}, lambda *_: change(_active()))


def _active() -> Capture:
    assert thread.capture is not None
    return thread.capture


def _nothing() -> None:
    """What runs where only places are looked at."""


def as_found(old: Any, new: Any) -> Any:
    """``new`` as the kind of thing that ``old`` is: a Python number, or an array on the device."""
    if isinstance(old, jax.Array) and isinstance(new, (np.ndarray, np.generic)):
        return jnp.asarray(new)
    if type(old) in (int, float, complex) and type(new) not in (int, float, complex):
        if isinstance(new, _compat.Tracer):
            return new
        return type(old)(np.asarray(new).item())
    return new


def check_shape(path: str, array: np.ndarray[Any, Any], value: Any) -> None:
    """A NumPy array cannot be given another shape in place, and broadcasting would hide a mistake."""
    if np.shape(value) != array.shape:
        raise StateMismatchError(
            f"{path} is a NumPy array of shape {array.shape}, and the state has the shape {np.shape(value)} "
            "for it: it is written in place, and keeps its shape.\n"
            "Give it a value of its shape, or make it a jax array (jnp.asarray), which is replaced."
        )


def some_of(paths: Iterable[str], most: int = 8) -> str:
    """Paths as a message names them: not hundreds."""
    names = list(paths)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more or "no path"


def _is_structure(value: Any) -> bool:
    return is_plain(value) and type(value) not in (int, float, complex)


def _short(value: Any) -> str:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    return repr(value) if shape is None or dtype is None else f"{dtype}{list(shape)}"


def _view_state(capture: Capture, value: State, path: Path) -> Any:
    """A ``State`` inside captured state (the moments of an optimizer): read like a fixed dict."""
    capture.guard(path, "type", State)
    capture.guard(path, "keys", tuple(value))
    view = State({key: capture.view(item, path.item(key)) for key, item in value.items()})
    return capture.remember(value, view, path)


kinds.register(State, _view_state)
