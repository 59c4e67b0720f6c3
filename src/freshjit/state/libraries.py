"""Which code belongs to a library whose functions are run as they are.

Functions of JAX, NumPy and the standard library are never cloned: they hold no state of the user's.
Everything else, installed packages included, is treated like the user's own code.
"""

from __future__ import annotations

import sys
import types
from typing import Any

__all__ = ["is_library_class", "is_library_function", "is_library_module"]

_LIBRARIES = frozenset(
    (
        "freshjit",
        "jax",
        "jaxlib",
        "numpy",
        "ml_dtypes",
        "opt_einsum",
        "scipy",
        "typing_extensions",
        "pytest",
        "_pytest",
        "pluggy",
        "hypothesis",
        "rich",
    )
) | (sys.stdlib_module_names - {"__main__"})


def is_library_module(name: Any) -> bool:
    return isinstance(name, str) and name.partition(".")[0] in _LIBRARIES


def is_library_function(function: types.FunctionType) -> bool:
    # __module__ is copied by functools.wraps; the namespace the code runs in cannot lie.
    return is_library_module(function.__globals__.get("__name__"))


_UNHOOKED_MODULES = frozenset(("enum", "abc", "typing", "types", "builtins", "re", "threading"))


def is_library_class(cls: type) -> bool:
    """Whether instances of the class are taken as they are, without watching their attributes."""
    package = str(cls.__module__).partition(".")[0]
    if package in _UNHOOKED_MODULES:
        return True
    return package in _LIBRARIES and package not in sys.stdlib_module_names
