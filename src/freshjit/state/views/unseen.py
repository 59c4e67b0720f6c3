"""What only the interpreter can show: functions that run without a clone, and names that a class lacks.

A function that C code calls (one registered with JAX as a rule for a container, or held by a C extension)
runs on its real variables. The globals that its code names are guarded as they are; what cannot be guarded
is told of. ``sys.monitoring`` costs nothing that could be measured; CPython 3.11 does not have it, and what
it has instead doubles the time of tracing, so nothing is noticed there.
"""

from __future__ import annotations

import atexit
import functools
import re
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.monitoring
import numpy as np

from freshjit import _compat
from freshjit.state import bytecode, hooks
from freshjit.state.active import thread
from freshjit.state.guards import SourceLine
from freshjit.state.hooks import GAP
from freshjit.state.libraries import is_installed, is_library_module, is_user_class
from freshjit.state.path import Path
from freshjit.state.values import identity, is_plain, same_value
from freshjit.state.views import classes, namespaces, objects
from freshjit.state.watches import WhileNeeded

if TYPE_CHECKING:
    from freshjit.state.capture import Capture

__all__ = ["Unseen", "watched_interpreter"]

_REMEDY = (
    "Pass it to the function as an argument, or keep it in an attribute of an object that the function gets."
)
# Who calls functions that only look on: what those read has no bearing on what is computed.
_OBSERVERS = frozenset(
    ("logging", "warnings", "weakref", "threading", "traceback", jax.monitoring.record_event.__module__)
)


class Unseen:
    """What ran without a clone during one capture, and what it may have read beside its arguments."""

    def __init__(self) -> None:
        self._codes: set[types.CodeType] = set()
        # (where, how to read it again, what was there, in whose code, what it is called)
        self._reads: list[tuple[Path | None, Callable[[], Any], Any, types.CodeType, str]] = []

    def note(self, capture: Capture, frame: types.FrameType) -> None:
        """A function that is no clone has started."""
        code, namespace = frame.f_code, frame.f_globals
        if code in self._codes or not code.co_flags & 0x2:  # not CO_NEWLOCALS: a module, the body of a class
            return
        if code.co_name == "__del__" or _is_observer(frame):
            return
        self._codes.add(code)
        module = sys.modules.get(namespace.get("__name__", ""))
        importable = module is not None and vars(module) is namespace
        place = namespaces.imported(module).to("dict") if module is not None and importable else None
        watched = capture.namespaces.get(id(namespace))
        for name in bytecode.global_names(code):
            if name in namespace:
                path = None if place is None else place.to("item", name, name)
                if watched is not None and watched.assigned(name):
                    path = None  # it reads what was there before
                again = functools.partial(namespace.get, name, GAP)
                self._note_read(capture, path, again, code, f"the global {name}")
        for name in code.co_freevars:
            value = frame.f_locals.get(name)
            self._note_read(capture, None, lambda value=value: value, code, f"the closure variable {name}")

    def _note_read(
        self, capture: Capture, path: Path | None, again: Callable[[], Any], code: types.CodeType, what: str
    ) -> None:
        value = again()
        if isinstance(value, (_compat.Tracer, type, types.ModuleType, types.BuiltinFunctionType)):
            return
        if isinstance(value, (np.ndarray, jax.Array)):
            if path is not None:
                capture.pathless.account_for(value)
        elif not _can_be_guarded(value) or path is None:
            if id(value) in capture.entries or not _may_hold_state(value):
                return
            path = None
        self._reads.append((path, again, _copy(value), code, what))

    def finish(self, capture: Capture) -> None:
        """Guard what was read, or tell of it; but what has changed is the books that such functions keep."""
        for path, again, before, code, what in self._reads:
            value = again()
            if not _same(value, before):
                continue
            if path is not None:
                _guard(capture, value, path)
            elif not is_installed(code.co_filename):
                capture.report_frozen(
                    f"{code.co_name} ran out of sight and may have read {what}",
                    _REMEDY,
                    SourceLine(code.co_filename, code.co_firstlineno, code.co_name),
                )
        self._reads.clear()


def _is_observer(frame: types.FrameType) -> bool:
    caller = frame.f_back
    while caller is not None and not isinstance(caller.f_globals, namespaces.Namespace):
        name = caller.f_globals.get("__name__")
        if name in _OBSERVERS:
            return True
        if not is_library_module(name):
            return False
        caller = caller.f_back
    return False


_NAMED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
_DEEPEST = 8  # containers within containers, which may lead back to themselves


def _parts(value: Any) -> list[Any] | None:
    """What a container of Python's own holds; None if it is none."""
    if type(value) is dict:
        return list(cast("dict[Any, Any]", value).values())
    return list(value) if type(value) in (list, tuple, set, frozenset) else None


def _may_hold_state(value: Any, depth: int = 0) -> bool:
    """Whether it is a value that may be another one at the next call, or holds one; not a mere mark."""
    if is_plain(value) or isinstance(value, (np.ndarray, jax.Array)) or depth > _DEEPEST:
        return True
    parts = _parts(value)
    if parts is not None:
        return any(_may_hold_state(part, depth + 1) for part in parts)
    kind = type(value)
    if not hooks.can_hook(kind) or not is_user_class(kind):
        return False
    return bool(objects.instance_dict(value)) or bool(hooks.slot_values(value))


def _can_be_guarded(value: Any, depth: int = 0) -> bool:
    """Whether it is made of plain values, classes and functions alone."""
    parts = _parts(value)
    if parts is None:
        return is_plain(value) or isinstance(value, _NAMED)
    if (type(value) is dict and not all(map(is_plain, value))) or depth > _DEEPEST:
        return False
    if type(value) in (set, frozenset) and not all(map(is_plain, parts)):
        return False
    return all(_can_be_guarded(part, depth + 1) for part in parts)


def _copy(value: Any) -> Any:
    """The containers anew, as far as ``_can_be_guarded`` looks; the rest as it is."""
    if not _can_be_guarded(value) or _parts(value) is None:
        return value
    if type(value) is dict:
        return {key: _copy(part) for key, part in cast("dict[Any, Any]", value).items()}
    return type(value)(map(_copy, value)) if isinstance(value, (list, tuple)) else value.copy()


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if a is b or _parts(a) is None or not _can_be_guarded(b):
        return a is b or (is_plain(a) and same_value(a, b))
    if type(a) in (set, frozenset):
        return {*map(identity, a)} == {*map(identity, b)}
    if type(a) is dict and not same_value(tuple(a), tuple(b)):
        return False
    parts, others = _parts(a) or [], _parts(b) or []
    return len(parts) == len(others) and all(map(_same, parts, others))


def _guard(capture: Capture, value: Any, path: Path) -> None:
    if isinstance(value, types.FunctionType):
        capture.guard(path, "code", value.__code__)
    elif isinstance(value, (np.ndarray, jax.Array)):
        capture.needs_content(path, value)
    elif is_plain(value):
        capture.guard(path, "value", value)
    elif isinstance(value, _NAMED):
        capture.guard(path, "is", value)
    elif isinstance(value, (set, frozenset)):
        capture.guard(path, "keys", tuple(value))
    else:
        capture.guard(path, "type", type(value))
        if isinstance(value, dict):
            capture.guard(path, "keys", tuple(value))
        else:
            capture.guard(path, "len", len(value))
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            _guard(capture, part, path.item(key))


# -- the interpreter's own events ---------------------------------------------------------------------


def _on_start(code: types.CodeType, offset: int) -> Any:
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    namespace, capture = frame.f_globals, thread.capture
    if isinstance(namespace, namespaces.Namespace):
        if capture is None and not namespace.closed:
            namespace.capture.check_thread(code.co_name)
        return None
    if is_library_module(namespace.get("__name__")):
        return _monitoring.DISABLE  # for good: it stays a library's
    if capture is not None:
        while capture.outer is not None:
            capture = capture.outer
        capture.unseen.note(capture, frame)
    return None


def _on_raise(code: types.CodeType, offset: int, error: BaseException) -> None:
    capture = thread.capture
    if capture is None:
        return
    if isinstance(error, AttributeError) and isinstance(error.obj, type) and error.name:
        classes.note_classless(capture, error.obj, error.name)
    elif type(error) is TypeError and isinstance(
        sys._getframe(1).f_globals,  # pyright: ignore[reportPrivateUsage]
        namespaces.Namespace,
    ):
        _note_unable(capture, error)


_WORDS = re.compile(r"\w+")


def _note_unable(capture: Capture, error: TypeError) -> None:
    """What an object cannot do (``'Model' object is not iterable``), it can once its class has the method."""
    text = error.args[0] if error.args else None
    named = _WORDS.findall(text) if isinstance(text, str) else ()
    for cls in list(capture.hooks) if named else ():
        if cls.__name__ in named:
            for base in cls.__mro__:
                classes.note_names(capture, base)


_monitoring: Any = getattr(sys, "monitoring", None)
_TOOLS = (4, 3)  # the numbers that are not set aside for debuggers, profilers, coverage and optimisers
_NAME = "freshjit"


def _start() -> None:
    if _monitoring is None:
        return
    tools = {tool: _monitoring.get_tool(tool) for tool in _TOOLS}
    tool = next((t for t, name in tools.items() if name == _NAME), None)
    if tool is None:
        tool = next((t for t, name in tools.items() if name is None), None)
        if tool is None:
            return  # others are watching
        _monitoring.use_tool_id(tool, _NAME)
    events = _monitoring.events
    _monitoring.register_callback(tool, events.PY_START, _on_start)
    _monitoring.register_callback(tool, events.RAISE, _on_raise)
    _monitoring.set_events(tool, events.PY_START | events.RAISE)


def _stop() -> None:
    if _monitoring is None:
        return
    for tool in _TOOLS:
        if _monitoring.get_tool(tool) == _NAME:
            _monitoring.set_events(tool, 0)
            _monitoring.free_tool_id(tool)


# At exit Python empties modules while threads may go on: nothing of ours is to be called any more.
atexit.register(_stop)

# The interpreter tells of each function that starts, and of each exception, for the time of a capture.
watched_interpreter = WhileNeeded(_start, _stop)
