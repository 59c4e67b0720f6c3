"""Views of functions: clones whose cells hold views and whose globals are watched.

A clone runs the same code, but for assignments to attributes of classes (see ``assignment``). Its cells are
new ones, shared between sibling closures as the originals are; its globals are the capture's ``Namespace``.
So everything the body reads beside its arguments is seen, and everything it assigns (``nonlocal``,
``global``) stays apart until the commit.
"""

from __future__ import annotations

import contextvars
import functools
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jax

from freshjit.errors import UnsupportedStateError
from freshjit.state import bytecode
from freshjit.state.assignment import assigning
from freshjit.state.guards import SourceLine, user_line
from freshjit.state.hooks import GAP
from freshjit.state.libraries import is_library_function
from freshjit.state.path import Path
from freshjit.state.record import Write
from freshjit.state.values import is_plain
from freshjit.state.views import appending, classdict, copies, modules, transforms
from freshjit.state.views.attributes import FunctionState
from freshjit.state.views.namespaces import Namespace
from freshjit.state.views.numbers import plain_number
from freshjit.state.views.replacements import class_read_by, is_replaced

if TYPE_CHECKING:
    from freshjit.state.capture import Capture


_AS_FOUND: Any = object()


class CellState:
    """One closure variable: the real cell and the one that clones share in its place."""

    def __init__(self, real: types.CellType, path: Path, name: str) -> None:
        self.real, self.path, self.name = real, path, name
        self.cell = types.CellType()
        self.filled = False
        self.stands_for_list = False  # which the functions so far only append to
        self.initial: Any = GAP
        self.where: SourceLine | None = None

    def writes(self, capture: Capture) -> Iterator[Write]:
        now = self.snapshot()
        if now is not _AS_FOUND:
            if now is GAP:
                yield Write(self.path, "delcell", None, None)
            else:
                yield Write(self.path, "setcell", None, now)

    def start(self) -> Any:
        return _AS_FOUND

    def snapshot(self) -> Any:
        now = self._contents()
        return _AS_FOUND if now is self.initial else now

    def restore(self, snapshot: Any) -> None:
        if snapshot is _AS_FOUND:
            snapshot = self.initial
        if snapshot is GAP:
            del self.cell.cell_contents
        else:
            self.cell.cell_contents = snapshot

    def changes(self, snapshot: Any) -> dict[Any, Any]:
        return {} if self.snapshot() is snapshot else {None: self._contents()}

    def apply(self, changes: dict[Any, Any]) -> None:
        for value in changes.values():
            self.restore(value)

    def _contents(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return GAP

    def content(self, key: Any) -> Any:
        value = self._contents()
        if value is GAP:
            raise KeyError(str(self.path))
        return value

    def place(self, key: Any) -> Path:
        return self.path.to("contents", None, self.path.label)


def view_function(capture: Capture, function: types.FunctionType, path: Path) -> Any:
    if is_library_function(function):
        # All that a method of a library's closes over may be its class, for ``super()``.
        if function.__code__.co_freevars in ((), ("__class__",)) or is_replaced(function):
            capture.guard(path, "is", function)
            view = modules.library_value(function)
            return capture.remember(function, view, path)
        transformed = transforms.view_transformed(capture, function, path)
        if transformed is not None:
            return capture.remember(function, transformed, path)
        if hasattr(function, "registry") and hasattr(function, "dispatch"):
            return _view_singledispatch(capture, function, path)
    capture.guard(path, "code", function.__code__)
    classdict.report_reads(capture, function)
    capture.sees_identity = capture.sees_identity or bytecode.compares_identity(function.__code__)
    if is_library_function(function):
        namespace: dict[str, Any] = function.__globals__  # a library's own code runs in its own globals
    else:
        capture.functions.met(capture, function.__code__)
        capture.class_attributes.met(function.__code__)
        namespace = watched_globals(capture, function, path)
    cells = [
        cell_of(capture, cell, path, i, name)
        for i, (name, cell) in enumerate(
            zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        )
    ]
    capture.deleted_names |= bytecode.attributes_deleted(function.__code__)
    capture.pathless.code_is_run(function.__code__)
    clone = types.FunctionType(
        assigning(function.__code__), namespace, function.__name__, None, tuple(c.cell for c in cells)
    )
    capture.remember(function, clone, path)
    clone.__qualname__ = function.__qualname__
    clone.__module__ = function.__module__
    clone.__doc__ = function.__doc__
    clone.__annotations__ = dict(function.__annotations__)
    if function.__defaults__:
        names = function.__code__.co_varnames[: function.__code__.co_argcount][-len(function.__defaults__) :]
        place = path.attr("__defaults__")
        capture.guard(place, "len", len(function.__defaults__))
        clone.__defaults__ = tuple(
            capture.view(value, place.to("item", i, f"default of {name}"))
            for i, (name, value) in enumerate(zip(names, function.__defaults__, strict=True))
        )
    if function.__kwdefaults__:
        place = path.attr("__kwdefaults__")
        capture.guard(place, "keys", tuple(function.__kwdefaults__))
        clone.__kwdefaults__ = {
            name: capture.view(value, place.to("item", name, f"default of {name}"))
            for name, value in function.__kwdefaults__.items()
        }
    state = FunctionState(path, function, clone)
    state.read_dict(capture)
    capture.functions.add(capture, state)
    # Now that the function is known: globals and cells may lead back to it.
    if isinstance(namespace, Namespace):
        namespace.preload(function.__code__)
    for cell in cells:
        fill_cell(capture, cell, function.__code__)
    return clone


def watched_globals(capture: Capture, function: types.FunctionType, path: Path) -> Namespace:
    """The watched globals of a function at ``path``."""
    namespace = function.__globals__
    place = path.to("globals")
    known = capture.namespaces.get(id(namespace))
    if known is None:
        known = Namespace(capture, namespace, place)
        capture.namespaces[id(namespace)] = known
    elif known.path is not place:
        capture.guard(place, "alias", known.path)
    return known


def cell_of(capture: Capture, cell: types.CellType, path: Path, index: int, name: str) -> CellState:
    """The shared stand-in for a cell."""
    place = path.to("cell", index, f"closure {name}")
    known = capture.cells.get(id(cell))
    if known is not None:
        if known.path is not place:
            capture.guard(place, "alias", known.path)
        return known
    state = capture.cells[id(cell)] = CellState(cell, place, name)
    capture.mutable(state)
    capture.remember(cell, state.cell, place)
    return state


def fill_cell(capture: Capture, state: CellState, code: types.CodeType) -> None:
    """Read what is in the real cell, as far as a function of this code needs it."""
    if state.filled and (not state.stands_for_list or appending.is_enough(state.initial, state.name, code)):
        return
    first, state.filled = not state.filled, True
    try:
        value = state.real.cell_contents
    except ValueError:
        capture.guard(state.path, "empty", None)
        return
    place = state.path.to("contents", None, state.path.label)
    growing = appending.for_cell(capture, value, place, state.name, code) if first else GAP
    state.stands_for_list = growing is not GAP
    found = capture.view(value, place) if growing is GAP else growing
    state.initial = class_read_by(found, code)
    state.cell.cell_contents = state.initial


def view_method(capture: Capture, method: types.MethodType, path: Path) -> Any:
    capture.guard(path, "type", types.MethodType)
    function = capture.view(method.__func__, path.attr("__func__"))
    label = "self" if _is_the_function_itself(path) else f"{path}.__self__"
    instance = capture.view(method.__self__, path.to("attr", "__self__", label))
    return capture.remember(method, types.MethodType(function, instance), path)


def _is_the_function_itself(path: Path) -> bool:
    """Whether this is what was called, or what that wraps: a step to what is wrapped changes no label."""
    while path.parent is not None and path.parent.label == path.label:
        path = path.parent
    return path.parent is None


def view_builtin(capture: Capture, function: types.BuiltinFunctionType, path: Path) -> Any:
    owner = function.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        capture.guard(path, "is", function)
        return capture.remember(function, modules.library_value(function), path)
    # A bound method of a C type, say history.append: the same method of the view of its owner.
    capture.guard(path, "type", type(function))
    capture.guard(path.attr("__name__"), "value", function.__name__)
    instance = capture.view(owner, path.to("attr", "__self__", f"{path}.__self__"))
    return capture.remember(function, getattr(instance, function.__name__), path)


def view_partial(capture: Capture, value: Any, path: Path) -> Any:
    capture.guard(path, "type", type(value))
    view = type(value)(
        capture.view(value.func, path.to("attr", "func", str(path))),
        *capture.view(value.args, path.attr("args")),
    )
    keywords = capture.view(value.keywords, path.attr("keywords"))
    if isinstance(value, functools.partialmethod):
        view.keywords = keywords
    else:  # given in a call they would be copied, and what is changed is the dictionary itself
        view.__setstate__((view.func, view.args, keywords, None))
        _view_attributes(capture, value, view, path)
    return capture.remember(value, view, path)


def _view_attributes(capture: Capture, value: Any, view: Any, path: Path) -> None:
    """What a partial carries in its dictionary."""
    if value.__dict__:
        capture.guard(path.to("dict"), "keys", tuple(value.__dict__))
    for name, content in value.__dict__.items():
        view.__dict__[name] = capture.view(content, path.attr(name))
    capture.mutable(copies.MappingCopy(view.__dict__, path, ("setattr", "delattr")))


def view_static(capture: Capture, value: Any, path: Path) -> Any:
    capture.guard(path, "type", type(value))
    view = type(value)(capture.view(value.__func__, path.attr("__func__")))
    return capture.remember(value, view, path)


def view_memoised(capture: Capture, function: Any, path: Path) -> Any:
    """``functools.lru_cache``: what eager code gets is whatever the cache holds, so that is read.

    With plain arguments the real cache is asked, now and again at each call; the answer is state.
    With anything else the body is run, memoised for this capture only: a tracer must not get into
    a cache that outlives it.
    """
    capture.guard(path, "is", function)
    memo: dict[Any, Any] = {}

    @functools.wraps(function.__wrapped__)
    def memoised(*args: Any, **kwargs: Any) -> Any:
        originals = [_real_argument(capture, a) for a in args]
        named = {name: _real_argument(capture, a) for name, a in kwargs.items()}
        if not any(value is GAP for value in (*originals, *named.values())):
            with capture.paused(), jax.ensure_compile_time_eval():
                value = function(*originals, **named)
            if not named:
                return capture.view(value, path.to("call", tuple(originals)))
            return capture.view(value, path.to("callwith", (tuple(originals), tuple(named.items()))))
        key = (args, tuple(kwargs.items()))
        if key not in memo:
            body = capture.view(function.__wrapped__, path.attr("__wrapped__"))
            memo[key] = body(*args, **kwargs)
        return memo[key]

    return capture.remember(function, memoised, path)


def _real_argument(capture: Capture, value: Any) -> Any:
    value = plain_number(value)
    if is_plain(value) or isinstance(value, type):
        return value
    entry = capture.original_of(value)
    if entry is None or not capture.objects.get(id(value)):
        return GAP
    capture.guard(entry.path, "is", entry.original)  # the cache goes by this very object
    return entry.original


def view_context_variable(capture: Capture, variable: Any, path: Path) -> Any:
    """A ``contextvars.ContextVar``: getting its value is a read."""
    return capture.remember(variable, _ContextVariableView(capture, variable, path), path)


class _ContextVariableView:
    def __init__(self, capture: Capture, variable: Any, path: Path) -> None:
        capture.guard(path, "is", variable)
        self._capture, self._variable, self._path = capture, variable, path
        self.name = variable.name

    def get(self, *default: Any) -> Any:
        getter = self._path.attr("get")
        try:
            value = self._variable.get(*default)
        except LookupError:
            self._guard_unset(getter)
            raise
        if not default:
            return self._capture.view(value, getter.to("call", ()))
        if self._variable.get(GAP) is GAP:
            self._guard_unset(getter)
            return default[0]
        return self._capture.view(value, getter.to("call", (GAP,), f"{getter}()"))

    def _guard_unset(self, getter: Path) -> None:
        # It has no value in this context: then the default of the call counts, whatever it is.
        self._capture.guard(getter.to("call", (GAP,), f"{getter}()"), "is", GAP)

    def set(self, value: Any) -> Any:
        raise UnsupportedStateError(
            f"the context variable {self._path} is set inside a jitted function (at {user_line()}); the "
            "change would last only while tracing.\nSet it outside, around the call."
        )


def view_context(capture: Capture, context: contextvars.Context, path: Path) -> Any:
    """A ``contextvars.Context``: what it holds is not followed."""
    capture.guard(path, "is", context)
    return capture.remember(context, _ContextView(path), path)


class _ContextView:
    def __init__(self, path: Path) -> None:
        self._path = path

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedStateError(
            f"{self._path}, a context of contextvars, was used inside a jitted function (at {user_line()}): "
            "the variables that count are those of the context of each call.\n"
            "Run the jitted function in it (context.run(f, x)), or pass the values as arguments."
        )

    get = run = copy = keys = values = items = _refuse
    __getitem__ = __contains__ = __iter__ = __len__ = _refuse


def _view_singledispatch(capture: Capture, function: Any, path: Path) -> Any:
    """``functools.singledispatch``: which implementation a class gets is state."""
    capture.guard(path, "is", function)

    @functools.wraps(function)
    def dispatching(*args: Any, **kwargs: Any) -> Any:
        return dispatch(args[0].__class__)(*args, **kwargs)

    def dispatch(cls: type) -> Any:
        implementation = function.dispatch(cls)
        return capture.view(implementation, path.attr("dispatch").to("call", (cls,)))

    capture.remember(function, dispatching, path)
    dispatching.dispatch = dispatch  # pyright: ignore[reportAttributeAccessIssue]
    return dispatching


def view_weakref(capture: Capture, reference: Any, path: Path) -> Any:
    """A weak reference: following it is a read of what it refers to."""
    capture.guard(path, "type", type(reference))

    def follow() -> Any:
        target = reference()
        place = path.to("call", ())
        return capture.view(target, place)

    return capture.remember(reference, follow, path)
