"""Arguments: how each argument of a call takes part in it."""

from __future__ import annotations

import inspect
import itertools
import types
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, cast

import jax
import numpy as np

from freshjit import _compat
from freshjit.state.path import Path

__all__ = [
    "POSITIONAL",
    "Argument",
    "arranged",
    "is_jax_tree",
    "parameters_of",
    "plan",
    "root_of",
    "signature_of",
]

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Argument:
    """How one argument takes part in a call.

    ``traced``: JAX's own kinds, an input of the program. ``state``: a plain object, a callable, a
    string, a static argument: read like captured state, from the root ``path``.

    Attributes:
        loose: it is named by the call alone, not by a parameter (``**kwargs``).
    """

    name: str | int
    kind: str
    path: Path
    loose: bool = False

    def of(self, args: Any, kwargs: dict[str, Any]) -> Any:
        """The argument itself, in a call."""
        return args[self.name] if isinstance(self.name, int) else kwargs[self.name]


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function, none if it does not tell."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def plan(
    parameters: list[inspect.Parameter],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    static: Collection[int | str] = (),
) -> list[Argument]:
    """How each argument takes part in this call, positional ones first.

    Parameters:
        parameters: those of the function, which name its positional arguments.
        static: positions and names of the arguments that are Python values.
    """
    labels = _positional_labels(parameters, len(args))
    arguments: list[Argument] = []
    for i, (label, value) in enumerate(zip(labels, args, strict=True)):
        given = i in static or i - len(args) in static  # of a function with *args they may count from the end
        kind = "state" if given or not is_jax_tree(value) else "traced"
        arguments.append(Argument(i, kind, Path.root(f"args[{i}]", label)))
    named = {p.name for p in parameters}
    for name, value in kwargs.items():
        kind = "state" if name in static or not is_jax_tree(value) else "traced"
        path = Path.root(f"kwargs[{name!r}]", name)
        arguments.append(Argument(name, kind, path, loose=name not in named))
    return arguments


def _positional_labels(parameters: list[inspect.Parameter], count: int) -> list[str]:
    """How the first ``count`` positional arguments are called by the function itself."""
    names = [p.name for p in parameters if p.kind in POSITIONAL]
    rest = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), None)
    first, rest = (0, "args") if rest is None else (len(names), rest)
    return [*names, *(f"{rest}[{i - first}]" for i in range(len(names), count))][:count]


_OF_JAX = (jax.Array, np.generic, *_compat.NUMBERS_OF_JAX)


def is_jax_tree(value: Any) -> bool:
    """Whether ``jax.jit`` would take this argument: an array, a number, or a pytree of such."""
    kind = type(value)
    if kind in (bool, int, float, complex) or isinstance(value, _OF_JAX):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufcV" and kind is np.ndarray
    leaves = jax.tree_util.tree_leaves(value)
    if len(leaves) == 1 and leaves[0] is value:
        return (
            isinstance(value, _compat.Tracer)
            or hasattr(value, "__jax_array__")
            or kind in (jax.ShapeDtypeStruct,)
        )
    return all(map(is_jax_tree, leaves))


def arranged(
    arguments: Iterable[Argument], value: Callable[[Argument], Any]
) -> tuple[list[Any], dict[str, Any]]:
    """A value for each argument, as positional and named ones."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for argument in arguments:
        if isinstance(argument.name, int):
            args.append(value(argument))
        else:
            kwargs[argument.name] = value(argument)
    return args, kwargs


def signature_of(arguments: Iterable[Argument], first: str | None = None) -> inspect.Signature:
    """The parameters of a function of the traced arguments alone, with their names, for JAX's errors.

    ``rest[0]``, ``rest[1]``… are one parameter, as in Python.

    Parameters:
        first: what a parameter before them is called, if no other is called so.
    """
    labels = [str(a.path) for a in arguments if a.kind == "traced"]
    if first is not None:
        while first in labels:
            first += "_"
        labels.insert(0, first)
    names = list(itertools.takewhile(str.isidentifier, labels))
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    others = labels[len(names) :]
    rest = others[0].partition("[")[0] if others else "rest"
    if others == [f"{rest}[{i}]" for i in range(len(others))]:
        parameters.append(inspect.Parameter(rest, inspect.Parameter.VAR_POSITIONAL))
    else:  # no signature has such parameters: they are told by their numbers
        parameters = [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)]
    return inspect.Signature(parameters)


def root_of(function: Callable[..., Any]) -> Path:
    """The root that a function is, called by its name, or ``self`` for an object that is called."""
    while getattr(type(function), "__freshjit_method__", False):
        function = cast(Any, function).__wrapped__
    named = isinstance(function, (types.FunctionType, types.MethodType, type))
    return Path.root("fn", function.__name__ if named else "self")
