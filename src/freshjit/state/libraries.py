"""Which code belongs to a library whose functions are run as they are.

Functions of JAX, NumPy and the standard library are never cloned: they hold no state of the user's.
Everything else, installed packages included, is treated like the user's own code.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
import types
from collections.abc import Iterator
from typing import Any, cast

from freshjit import _compat

__all__ = [
    "is_installed",
    "is_jax_module",
    "is_library_class",
    "is_library_function",
    "is_library_module",
    "is_user_class",
    "raised_by_the_user",
    "runs_user_code",
]

_COMPUTING = ("jax", "jaxlib", "numpy", "ml_dtypes", "opt_einsum", "scipy")
_TOOLS = ("freshjit", "typing_extensions", "pytest", "_pytest", "pluggy", "hypothesis", "rich")
_LIBRARIES = frozenset((*_COMPUTING, *_TOOLS))
_STANDARD_FOLDERS = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})


def is_library_module(name: Any) -> bool:
    if not isinstance(name, str):
        return False
    package = name.partition(".")[0]
    return package in _LIBRARIES or _in_standard_library(package)


@functools.lru_cache(maxsize=1024)
def _in_standard_library(package: str) -> bool:
    """Whether this is the standard library's module, and not the user's own of the same name."""
    if package not in sys.stdlib_module_names or package == "__main__":
        return False
    file = getattr(sys.modules.get(package), "__file__", None)
    return file is None or file.startswith(_STANDARD_FOLDERS)


def is_jax_module(name: Any) -> bool:
    return isinstance(name, str) and name.partition(".")[0] == "jax"


def is_library_function(function: types.FunctionType) -> bool:
    # __module__ is copied by functools.wraps; the namespace the code runs in cannot lie.
    name = function.__globals__.get("__name__")
    if _is_ours(name):  # doctests of our own modules run in their namespaces, but are the user's
        return function.__code__.co_filename.startswith(_OUR_FOLDER)
    return is_library_module(name)


def is_installed(file: Any) -> bool:
    """Whether a source file belongs to an installed package rather than to the user."""
    return "site-packages" in str(file)


def raised_by_the_user(error: BaseException) -> bool:
    """Whether the error comes from a line of the user's own code, and from no library called by it."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    frame = traceback.tb_frame
    name = frame.f_globals.get("__name__")
    return not (_is_ours(name) or is_library_module(name) or is_installed(frame.f_code.co_filename))


_OUR_FOLDER = __file__.removesuffix("state/libraries.py")


def _is_ours(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "freshjit"


_UNHOOKED_MODULES = frozenset(("enum", "abc", "typing", "types", "builtins", "re", "threading"))


def is_library_class(cls: type) -> bool:
    """Whether instances of the class are taken as they are, without watching their attributes."""
    if _is_ours(cls.__module__):
        return getattr(sys.modules.get(cls.__module__), cls.__name__, None) is cls
    package = str(cls.__module__).partition(".")[0]
    if package in _UNHOOKED_MODULES and _in_standard_library(package):
        return True
    return package in _LIBRARIES


def is_user_class(cls: type) -> bool:
    """Whether the class's own methods and attributes are state (not only those of its instances)."""
    return not is_library_module(cls.__module__) or (_is_ours(cls.__module__) and not is_library_class(cls))


def runs_user_code(value: Any) -> bool:
    """Whether calling this runs a function or method of the user's, as far as can be seen from outside."""
    seen: set[int] = set()
    todo: list[Any] = [value]
    while todo:
        this = todo.pop()
        if id(this) in seen:
            continue
        seen.add(id(this))
        if isinstance(this, types.FunctionType) and not is_library_function(this):
            return True
        if callable(this) and not isinstance(this, type) and is_user_class(type(this)):
            return True
        todo.extend(_carried(this))
    return False


def _carried(value: Any) -> Iterator[Any]:
    """What a function, or an object of a library's, holds and may call."""
    if isinstance(value, types.FunctionType):
        for cell in value.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:
                continue
    elif isinstance(value, types.MethodType):
        yield value.__func__
        yield value.__self__
    elif isinstance(value, functools.partial):
        yield value.func
        yield from value.args
        yield from value.keywords.values()
    elif isinstance(value, (tuple, list)):
        yield from cast("list[Any]", value)
    elif isinstance(value, dict):
        yield from cast("dict[Any, Any]", value).values()
    elif isinstance(value, _compat.JitFunction):
        yield getattr(value, "__wrapped__", None)
    elif callable(value) and not isinstance(value, type) and is_library_class(type(value)):
        yield from getattr(value, "__dict__", {}).values()
