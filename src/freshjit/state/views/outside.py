"""Reads of the world outside Python's objects: the clock, files, the system's random numbers, settings.

Traced code finds stand-ins for the functions and classes that read it. Where asking again is cheap, the
answer is a guard (``os.getcwd()``). Where it is not, what came of it is part of the program, and the
stand-in says so. Libraries that ask for purposes of their own (to log, to name a file) are left alone.
"""

from __future__ import annotations

import builtins
import datetime
import functools
import glob
import io
import locale
import os
import pathlib
import random
import secrets
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from freshjit.state.active import thread
from freshjit.state.guards import user_line
from freshjit.state.hooks import GAP
from freshjit.state.libraries import is_installed
from freshjit.state.values import is_plain
from freshjit.state.views.namespaces import Namespace
from freshjit.state.views.replacements import replace_class_in_captures, replace_in_captures
from freshjit.state.watches import WhileNeeded

__all__ = ["install", "watched_paths"]

_OUTSIDE = "Call it outside and pass the result as an argument, or keep it in an attribute."
_RANDOM = "Use jax.random with a key, or draw outside and pass the numbers as arguments."

_CLOCKS = (
    *("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime"),
    *("time_ns", "monotonic_ns", "perf_counter_ns", "process_time_ns", "thread_time_ns", "clock_gettime_ns"),
)
# Functions of a time; without one (so many arguments, or fewer) they ask the clock.
_TIMES = {"localtime": 0, "gmtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}
_READING: tuple[tuple[Any, str, tuple[str, ...]], ...] = (
    (os, "os", ("listdir", "scandir", "walk", "stat", "lstat", "times", "getloadavg")),
    (glob, "glob", ("glob", "iglob")),
    (np, "np", ("load", "loadtxt", "genfromtxt", "fromfile", "geterr", "get_printoptions")),
    (jnp, "jnp", ("load",)),
    (subprocess, "subprocess", ("run", "call", "check_call", "check_output", "getoutput")),
)
_DRAWING: tuple[tuple[Any, str, tuple[str, ...]], ...] = (
    (secrets, "secrets", ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "choice", "randbits")),
    (uuid, "uuid", ("uuid1", "uuid4")),
    (os, "os", ("urandom", "getrandom")),
)
# Quick to ask at each call, and with an answer that is plain data.
_ASKED_AGAIN: tuple[tuple[Any, str, tuple[str, ...]], ...] = (
    (os, "os", ("getcwd", "getpid", "getppid", "cpu_count")),
    (os.path, "os.path", ("exists", "lexists", "isfile", "isdir", "islink", "getsize", "getmtime")),
    (os.path, "os.path", ("expanduser", "expandvars", "abspath", "realpath")),
    (sys, "sys", ("getrecursionlimit", "getswitchinterval")),
    (threading, "threading", ("get_ident", "get_native_id", "active_count")),
    (locale, "locale", ("getlocale",)),
)
_PATH_READS = ("read_text", "read_bytes", "open", "stat", "lstat", "iterdir", "glob", "rglob", "walk")
# What to ask at each call, of the path as a string, to know that these methods would answer the same.
_PATH_QUESTIONS: dict[str, Callable[[str], Any]] = {
    "exists": os.path.exists,
    "is_file": os.path.isfile,
    "is_dir": os.path.isdir,
    "is_symlink": os.path.islink,
    "absolute": os.path.abspath,
    "resolve": os.path.realpath,
    "expanduser": os.path.expanduser,
}


def _for_a_library() -> bool:
    where = user_line()
    return where is not None and is_installed(where.file)


# -- functions ----------------------------------------------------------------------------------------


def _always(*args: Any, **kwargs: Any) -> bool:
    return True


def _with_up_to(count: int) -> Callable[..., bool]:
    return lambda *args, **kwargs: len(args) <= count


def _unseeded(seed: Any = None, *args: Any, **kwargs: Any) -> bool:
    return seed is None


def _reporting(original: Any, name: str, remedy: str, concerned: Callable[..., bool] = _always) -> Any:
    """The function, saying that what it gives is frozen."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if thread.capture is not None and concerned(*args, **kwargs) and not _for_a_library():
            thread.capture.report_frozen(f"{name}() was called", remedy)
        return original(*args, **kwargs)

    return call


def _asking_again(original: Any, name: str) -> Any:
    """The function, whose answer is asked for again at each call."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        answer = original(*args, **kwargs)
        if thread.capture is not None and not _for_a_library():
            question = tuple(str(a) if isinstance(a, pathlib.PurePath) else a for a in args)
            if not kwargs and all(map(is_plain, question)):
                shown = f"{name}({', '.join(map(repr, question))})"
                thread.capture.pathless.asked(original, question, answer, shown)
            else:
                thread.capture.report_frozen(f"{name}() was called", _OUTSIDE)
        return answer

    return call


def _replace_all(
    table: Sequence[tuple[Any, str, tuple[str, ...]]], make: Callable[..., Any], *options: Any
) -> None:
    for module, label, names in table:
        for name in names:
            original = getattr(module, name, None)
            if original is not None:  # some are not on every system
                replace_in_captures(original, make(original, f"{label}.{name}", *options))


# -- classes ------------------------------------------------------------------------------------------


class _StandIn(type):
    """The class of classes that stand for one of a library's: instances are those of the real one.

    All but ``is`` treats the two alike, so code that compares by identity mostly finds the real class.
    """

    real: type
    concerned: Callable[..., bool]
    label: str

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        if "real" in namespace:
            return super().__new__(cls, name, bases, namespace)
        # A class that traced code derives from a stand-in is derived from the real one.
        return type(name, tuple(b.real if isinstance(b, _StandIn) else b for b in bases), namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if thread.capture is not None and cls.concerned(*args, **kwargs) and not _for_a_library():
            thread.capture.report_frozen(f"{cls.label}() was called", _RANDOM)
        return cls.real(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.real)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.real

    def __hash__(cls) -> int:
        return hash(cls.real)

    def __repr__(cls) -> str:
        return repr(cls.real)


def _never(*args: Any, **kwargs: Any) -> bool:
    return False


def _replace_class(
    real: type, label: str, concerned: Callable[..., bool] = _never, clock: tuple[str, ...] = ()
) -> None:
    """Let traced code find a stand-in that says when its constructor, or these class methods, freeze."""
    namespace: dict[str, Any] = {
        "real": real,
        "label": label,
        "concerned": staticmethod(concerned),
        "__module__": real.__module__,
        "__qualname__": real.__qualname__,
        "__doc__": real.__doc__,
        "__slots__": (),
    }
    for name in clock:
        namespace[name] = staticmethod(_reporting(getattr(real, name), f"{label}.{name}", _OUTSIDE))
    replace_class_in_captures(real, _StandIn(real.__name__, (real,), namespace), frozenset(clock))


# -- paths --------------------------------------------------------------------------------------------


_methods_before: dict[str, Any] = {}


def _from_traced_code(depth: int) -> bool:
    """Whether the caller is a clone: not pathlib itself, a library that uses it, or a debugger."""
    return isinstance(sys._getframe(depth).f_globals, Namespace)  # pyright: ignore[reportPrivateUsage]


def _watched_method(name: str) -> Any:
    plain = getattr(pathlib.Path, name)
    reporting = _reporting(plain, f"Path.{name}", _OUTSIDE)
    question = _PATH_QUESTIONS.get(name)

    @functools.wraps(plain)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if thread.capture is None or not _from_traced_code(2):
            return plain(self, *args, **kwargs)
        if question is None or args or kwargs:
            return reporting(self, *args, **kwargs)
        _asking_again(question, f"os.path.{question.__name__}")(str(self))
        return plain(self)

    return method


def _watched_class_method(name: str, ask: Callable[[], Any]) -> Any:
    plain = getattr(pathlib.Path, name).__func__

    @functools.wraps(plain)
    def method(cls: Any) -> Any:
        if thread.capture is not None and _from_traced_code(2):
            ask()
        return plain(cls)

    return classmethod(method)


def _watch_methods() -> None:
    for name, method in _watched_methods.items():
        if name not in _methods_before:
            _methods_before[name] = pathlib.Path.__dict__.get(name, GAP)
        setattr(pathlib.Path, name, method)


def _restore_methods() -> None:
    for name, before in list(_methods_before.items()):
        if before is not GAP:
            setattr(pathlib.Path, name, before)
        elif name in pathlib.Path.__dict__:
            delattr(pathlib.Path, name)
        del _methods_before[name]


_watched_methods = {
    **{n: _watched_method(n) for n in (*_PATH_READS, *_PATH_QUESTIONS) if hasattr(pathlib.Path, n)},
    "cwd": _watched_class_method("cwd", _asking_again(os.getcwd, "os.getcwd")),
    "home": _watched_class_method(
        "home", functools.partial(_asking_again(os.path.expanduser, "os.path.expanduser"), "~")
    ),
}

# Reads of files through methods of paths, whose class no stand-in can replace: as with classes of the
# user's, the methods are put in place for the time of a capture, and do what they always do in other threads.
watched_paths = WhileNeeded(_watch_methods, _restore_methods)


def install() -> None:
    """Let traced code find functions and classes that say what they freeze."""
    for name in _CLOCKS:
        if hasattr(time, name):  # some are not on every system
            replace_in_captures(
                getattr(time, name), _reporting(getattr(time, name), f"time.{name}", _OUTSIDE)
            )
    for name, count in _TIMES.items():
        original = getattr(time, name)
        replace_in_captures(original, _reporting(original, f"time.{name}", _OUTSIDE, _with_up_to(count)))
    _replace_all(_READING, _reporting, _OUTSIDE)
    _replace_all(_DRAWING, _reporting, _RANDOM)
    _replace_all(_ASKED_AGAIN, _asking_again)
    for function, name in (
        (builtins.open, "open"),
        (builtins.input, "input"),
        (io.open_code, "io.open_code"),
    ):
        replace_in_captures(function, _reporting(function, name, _OUTSIDE))
    make = np.random.default_rng
    replace_in_captures(make, _reporting(make, "np.random.default_rng", _RANDOM, _unseeded))
    _replace_class(datetime.datetime, "datetime.datetime", clock=("now", "utcnow", "today"))
    _replace_class(datetime.date, "datetime.date", clock=("today",))
    _replace_class(random.Random, "random.Random", _unseeded)
    _replace_class(random.SystemRandom, "random.SystemRandom", _always)
    for name in ("RandomState", "SeedSequence", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"):
        _replace_class(getattr(np.random, name), f"np.random.{name}", _unseeded)
