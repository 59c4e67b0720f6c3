"""Naming: places in state as users write them and messages print them, such as ``self.layers[0].scale``.

A place is a name followed by attributes and items with constant keys. What it leads to is not known here.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Place", "normal", "parsed", "without_prefix"]

# What a message puts before the name of a variable that is not reached from an argument.
_PREFIXES = ("closure ", "default of ")


@dataclass(frozen=True, slots=True)
class Place:
    """A place that was written in a form that is understood.

    Attributes:
        text: the place in the form that places are compared in.
        root: the name that it starts from.
        steps: what follows, each with its name or key; ``type(x)`` is a step from ``x`` without a key.
    """

    text: str
    root: str
    steps: tuple[tuple[Literal["attr", "item", "type"], Any], ...]


def parsed(text: str) -> Place | None:
    """What a user has written, None if it is no place."""
    steps: list[tuple[Literal["attr", "item", "type"], Any]] = []
    try:
        whole = ast.parse(without_prefix(text).strip(), mode="eval").body
        node: Any = whole
        while not isinstance(node, ast.Name):
            match node:
                case ast.Attribute(value=inner, attr=name):
                    steps.append(("attr", name))
                case ast.Subscript(value=inner, slice=key):
                    steps.append(("item", _constant(key)))
                case ast.Call(func=ast.Name("type"), args=[inner], keywords=[]):
                    steps.append(("type", None))
                case _:
                    return None
            node = inner
    except (SyntaxError, TypeError, ValueError):
        return None
    return Place(ast.unparse(whole), node.id, tuple(reversed(steps)))


def _constant(key: Any) -> Any:
    """The key that an expression says; TypeError or ValueError if it says none that can be a key."""
    value = ast.literal_eval(key)
    hash(value)
    return value


def without_prefix(label: str) -> str:
    """A label as the function itself would write it: without the kind of variable that it starts from."""
    for prefix in _PREFIXES:
        label = label.removeprefix(prefix)
    return label


@functools.lru_cache(maxsize=4096)
def normal(label: str) -> str:
    """A label in the form that places are compared in: quotes and spaces as Python would write them."""
    label = without_prefix(label)
    try:
        return ast.unparse(ast.parse(label, mode="eval").body)
    except SyntaxError:
        return label
