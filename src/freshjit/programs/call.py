"""Call: one call of a jitted function, and what is found out about it if its latest program misses."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

import jax
import numpy as np

from freshjit import _compat
from freshjit.state.arguments import Argument, plan
from freshjit.state.draws import Draws

__all__ = ["Call"]


class Call:
    """One call.

    Parameters:
        function: the function as the user gave it.
        parameters: the function's own.
        static: positions and names of the arguments that are Python values.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parameters: list[inspect.Parameter],
        static: Collection[int | str],
    ) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self._parameters, self._static = parameters, static

    @functools.cached_property
    def drawn(self) -> Draws:
        """What random generators held before it."""
        return Draws()

    @functools.cached_property
    def plan(self) -> list[Argument]:
        """How each argument takes part."""
        return plan(self._parameters, self.args, self.kwargs, self._static)

    def is_of_form(self, arguments: Sequence[Argument]) -> bool:
        """Whether as many arguments are given, under the same names, of the same kinds."""
        return [(a.name, a.kind) for a in self.plan] == [(a.name, a.kind) for a in arguments]

    @functools.cached_property
    def signature(self) -> Hashable:
        """What JAX's own cache distinguishes in the traced arguments, and the configuration."""
        leaves, tree = jax.tree_util.tree_flatten((self.args, self.kwargs))
        return tuple(map(_leaf_signature, leaves)), tree.num_nodes, _tree_key(tree), _compat.trace_context()


def _tree_key(tree: Any) -> Hashable:
    # Auxiliary data may hold the user's own unhashable objects: such trees are told apart by their form.
    try:
        hash(tree)
    except (TypeError, ValueError):
        return str(tree.num_leaves)
    return tree


def _leaf_signature(leaf: Any) -> Hashable:
    aval = getattr(leaf, "aval", None)
    if aval is not None:
        return aval
    if isinstance(leaf, (np.ndarray, np.generic, jax.ShapeDtypeStruct)):
        return leaf.shape, leaf.dtype
    # Anything else is read like state and has its own guards; its class must not be kept alive here.
    return type(leaf) if type(leaf) in (bool, int, float, complex) else "state"
