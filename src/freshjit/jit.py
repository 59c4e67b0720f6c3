"""``jit``: a drop-in for ``jax.jit`` that is never stale. The decorator, its surface, and the hit path."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import sys
import threading
import types
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

import jax

from freshjit import _compat, live
from freshjit.aot import Lowered, Traced
from freshjit.errors import (
    FreshjitError,
    FrozenValueError,
    UnstableStateError,
    UnsupportedStateError,
    warn,
)
from freshjit.programs.call import Call
from freshjit.programs.probe import Miss, generate
from freshjit.programs.program import Program, Retrace
from freshjit.programs.store import Store, store_for
from freshjit.state import recipes, views
from freshjit.state.active import present, thread
from freshjit.state.arguments import POSITIONAL, Argument, parameters_of, root_of, wrap
from freshjit.state.capture import Capture
from freshjit.state.guards import Frozen, user_line
from freshjit.state.libraries import raised_by_the_user
from freshjit.state.overrides import Overrides
from freshjit.state.path import Path
from freshjit.state.record import Record

__all__ = ["FreshJit", "jit"]

P = ParamSpec("P")
R = TypeVar("R")

_compat.hide_frames_of(__file__)

MAX_ATTEMPTS = 8
"""How often a function is traced for one call if what it reads is another thing each time."""

MAX_ATTEMPTS_AMONG_THREADS = 64
"""The same while other threads run, who may be writing the state that it reads."""

MAX_SUSPECTS = 4
"""How many numbers are tried by value, each by itself, when a function cannot be traced as they change."""

_UNSPECIFIED: Any = inspect.signature(jax.jit).parameters["in_shardings"].default


class _Options:
    """The parameters of ``jit``, checked, with names and numbers of arguments resolved."""

    def __init__(
        self,
        function: Callable[..., Any],
        in_shardings: Any,
        out_shardings: Any,
        static_argnums: int | Sequence[int] | None,
        static_argnames: str | Iterable[str] | None,
        donate_argnums: int | Sequence[int] | None,
        donate_argnames: str | Iterable[str] | None,
        static: str | Iterable[str] | None,
        dynamic: str | Iterable[str] | None,
        strict: bool,
        others: dict[str, Any],
    ) -> None:
        jax_parameters: dict[str, Any] = {
            "in_shardings": in_shardings,
            "out_shardings": out_shardings,
            "static_argnums": static_argnums,
            "static_argnames": static_argnames,
            "donate_argnums": donate_argnums,
            "donate_argnames": donate_argnames,
            **others,
        }
        jax.jit(function, **jax_parameters)  # raises JAX's own errors about the parameters
        overrides = Overrides(static, dynamic)
        given = {
            **jax_parameters,
            "static": overrides.static or None,
            "dynamic": overrides.dynamic or None,
            "strict": strict,
        }
        # What says that nothing was said is one object, and would be another one in a pickle.
        self.given = {name: value for name, value in given.items() if value is not _UNSPECIFIED}
        self.overrides = overrides if overrides else None
        self.strict = strict
        self.parameters = parameters_of(function)
        self.in_shardings, self.out_shardings = in_shardings, out_shardings
        self.static = self._resolve(static_argnums, static_argnames, "static")
        self.donate = self._resolve(donate_argnums, donate_argnames, "donate")
        self.others = others
        self.key: Hashable = (
            self.static,
            self.donate,
            _frozen(in_shardings),
            _frozen(out_shardings),
            tuple(sorted((k, _frozen(v)) for k, v in others.items())),
            overrides.key,
            strict,
        )

    def _resolve(
        self, numbers: int | Sequence[int] | None, names: str | Iterable[str] | None, what: str
    ) -> frozenset[int | str]:
        found: set[int | str] = set()
        positional = [p.name for p in self.parameters if p.kind in POSITIONAL]
        for number in (numbers,) if isinstance(numbers, int) else (numbers or ()):
            if not isinstance(number, int):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"{what}_argnums must be ints, got {number!r}")
            if number < 0 and positional:
                number += len(positional)
            found.add(number)
            if number < len(positional):
                found.add(positional[number])
        for name in (names,) if isinstance(names, str) else (names or ()):
            if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"{what}_argnames must be strings, got {name!r}")
            has_keywords = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in self.parameters)
            if self.parameters and not has_keywords and name not in [p.name for p in self.parameters]:
                raise ValueError(
                    f"jit got {what}_argnames={name!r}, but the function has no parameter of that name; its "
                    f"parameters are {', '.join(p.name for p in self.parameters)}."
                )
            found.add(name)
            if name in positional:
                found.add(positional.index(name))
        return frozenset(found)

    def in_sharding(self, argument: Argument) -> Any:
        """What ``in_shardings`` says of an argument; as in JAX, static ones are not counted."""
        given = self.in_shardings
        if not isinstance(given, (tuple, list)):
            return given
        names = [p.name for p in self.parameters if p.kind in POSITIONAL]
        at = argument.name if isinstance(argument.name, int) else None
        if at is None and argument.name in names:
            at = names.index(argument.name)
        if at is None:
            return None  # one that only the call names
        at -= sum(isinstance(other, int) and other < at for other in self.static)
        if at >= len(cast(Sequence[Any], given)):
            raise ValueError(
                f"in_shardings has {len(cast(Sequence[Any], given))} entries, but the argument "
                f"{argument.path} is the {at + 1}th that is not static."
            )
        return given[at]


def _frozen(value: Any) -> Hashable:
    """A hashable form of an option, by identity if it has none of its own."""
    if isinstance(value, dict):
        return tuple(sorted((str(k), _frozen(v)) for k, v in cast(dict[Any, Any], value).items()))
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, cast(Sequence[Any], value)))
    try:
        hash(value)
    except TypeError:
        return _ByIdentity(value)
    return value


class _ByIdentity:
    """A key for something that has no hash; it keeps the thing, so that no other gets its id."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class FreshJit(Generic[P, R]):
    """A function under ``freshjit.jit``. Made by ``jit``; offers what ``jax.jit``'s result offers."""

    __freshjit_method__ = True
    __name__: str

    def __init__(self, function: Callable[P, R], options: _Options) -> None:
        if isinstance(function, types.FunctionType):
            vars(self).update(vars(function))
        wrap(self, function)
        self._function = function
        self._made = present()
        self._options = options
        self._store = _store_of(function, options)

    # The hit path: one look at this thread, then the first program's generated function.
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if thread.capture is not None:
            return thread.capture.enter(self._function, self._made)(*args, **kwargs)
        latest = self._store.latest
        if latest is not None:
            try:
                result = latest.run(self._function, args, kwargs)
            except (Retrace, OverflowError):  # OverflowError: an int that no input can hold
                return self._search(args, kwargs)
            except TypeError:
                if self._call(args, kwargs).is_of_form(latest.arguments):
                    raise
                return self._search(args, kwargs)
            if type(result) is not Miss:
                return result
        return self._search(args, kwargs)

    def _search(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = self._call(args, kwargs)
        result = self._store.find(call)
        return self._miss(call) if type(result) is Miss else result

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        return Call(self._function, args, kwargs, self._options.parameters, self._options.static)

    def _miss(self, call: Call) -> Any:
        if _compat.jit_is_disabled():
            return call.function(*call.args, **call.kwargs)
        with self._store.turn():
            try:
                thread.turns += 1
                return self._compile_until_it_holds(call)
            finally:
                thread.turns -= 1

    def _compile_until_it_holds(self, call: Call) -> Any:
        store, guard = self._store, None
        # Another thread may have compiled the same program while this one waited for its turn.
        result = store.find(call)
        attempts = MAX_ATTEMPTS if threading.active_count() == 1 else MAX_ATTEMPTS_AMONG_THREADS
        for attempt in range(attempts):
            if type(result) is not Miss:
                return result
            store.note_changes(call)
            try:
                program = self._capture(call)
            except UnstableStateError:
                if attempt == attempts - 1:
                    raise
                continue
            if program.record.late_rules and not _compat.trace_is_clean():
                return live.call(call.function, call.args, call.kwargs)
            store.add(program)
            result = program.run(call.function, call.args, call.kwargs)
            if type(result) is Miss:
                guard = result.guard
                result = store.find(call)
        if type(result) is not Miss:
            return result
        what = f"{guard.path} ({guard.kind})" if guard is not None else "the form of the call"
        raise UnstableStateError(
            f"state read by {self.__name__} changes by itself: {what} was different directly after it had "
            f"been read, {attempts} times in a row.\nIt must be the same when it is read twice. A "
            "property that makes a new object each time is the usual reason; another one is a thread that "
            "writes it without a pause."
        )

    def _capture(self, call: Call) -> Program:
        args, kwargs, arguments = call.args, call.kwargs, call.plan
        root = root_of(self._function)
        store, overrides = self._store, self._options.overrides
        flatten = self._options.out_shardings is not _UNSPECIFIED
        changing, rigid = store.changing, store.rigid
        capture = Capture(self._function, root, False, changing, rigid, overrides, flatten_result=flatten)
        try:
            record = capture.run(args, kwargs, arguments)
        except FreshjitError:
            raise
        except Exception as error:
            # Some library may have met our stand-in for a NumPy array, or for a number that changes, where
            # only the real thing will do.
            if not (capture.saw_numpy or capture.used_numbers):
                raise
            try:
                record = self._capture_plainly(capture, args, kwargs, arguments)
            except Exception as other:
                # Some things can only be done with stand-ins: where that was not it, the first error counts.
                if type(other) is type(error) or not raised_by_the_user(error):
                    raise
                raise error from None
        self._tell(record.frozen)
        for message in () if overrides is None else overrides.unread():
            warn(f"{self.__name__} {message}", user_line())
        options = self._jax_options(arguments, record)
        others = [] if "out_shardings" in options else self._store.programs
        return Program(record, arguments, call.signature, self.__name__, options, others)

    def _tell(self, frozen: Sequence[Frozen]) -> None:
        """Report what has become part of the program though later calls may find it changed."""
        frozen = list(dict.fromkeys(frozen))
        if frozen and self._options.strict:
            raise FrozenValueError("\n".join(f.message(self.__name__, f" (at {f.where})") for f in frozen))
        self._store.report(frozen)

    def _capture_plainly(
        self, failed: Capture, args: tuple[Any, ...], kwargs: dict[str, Any], arguments: Sequence[Argument]
    ) -> Record:
        """Capture with as few plain things in place of stand-ins as will do."""
        store, overrides = self._store, self._options.overrides
        numbers = [path.trail for path in failed.used_numbers]

        def attempt(rigid: Iterable[Any]) -> Record:
            rigid = store.rigid | set(rigid)
            changing = store.changing - rigid
            capture = Capture(
                self._function,
                failed.root,
                failed.saw_numpy,
                changing,
                rigid,
                overrides,
                flatten_result=failed.flatten_result,
            )
            record = capture.run(args, kwargs, arguments)
            store.give_up(rigid)
            return record

        # Everything plain: if that fails, too, the error is the user's.
        plain = Capture(
            self._function,
            failed.root,
            True,
            overrides=overrides,
            plain_numbers=True,
            flatten_result=failed.flatten_result,
        )
        record = plain.run(args, kwargs, arguments)
        # Which one was it? NumPy arrays alone, or one number; the one that was read last is the likeliest.
        suspects = [[number] for number in reversed(numbers)][:MAX_SUSPECTS]
        for rigid in ([[]] if failed.saw_numpy else []) + suspects:
            with contextlib.suppress(Exception):
                return attempt(rigid)
        store.give_up(numbers)
        return record

    def _jax_options(self, arguments: Sequence[Argument], record: Any) -> dict[str, Any]:
        """The parameters for ``jax.jit`` of the pure function ``(slots, *traced) -> tuple``."""
        options = self._options
        traced = [a for a in arguments if a.kind == "traced"]
        result: dict[str, Any] = dict(options.others)
        donated = [i + 1 for i, a in enumerate(traced) if a.name in options.donate]
        if donated:
            result["donate_argnums"] = tuple(donated)
        if options.in_shardings is not _UNSPECIFIED:
            result["in_shardings"] = (None, *(options.in_sharding(a) for a in traced))
        if options.out_shardings is not _UNSPECIFIED:
            result["out_shardings"] = record.spread_over_outputs(options.out_shardings)
        return result

    # -- the rest of jax.jit's surface ----------------------------------------------------------

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """Lower for the given arguments and the present state, as ``jax.jit(f).lower``.

        Arguments may be ``jax.ShapeDtypeStruct``. The result's ``compile()`` gives a function of the
        same arguments that reads state at each call, and raises ``StaleCompiledError`` when a value
        that the program depends on is no longer the same.
        """
        return self.trace(*args, **kwargs).lower()

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Traced:
        """Trace for the given arguments and the present state, as ``jax.jit(f).trace``."""
        program = self._capture(self._call(args, kwargs))
        return Traced(program, self._function, *self._inputs(program, args, kwargs))

    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Shapes and dtypes of the result, without compiling, as ``jax.jit(f).eval_shape``.

        No state is written.
        """
        program = self._capture(self._call(args, kwargs))
        avals = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in program.record.out_avals]
        dry = program.record.without_writes()
        probe = generate(dry, program.arguments, lambda *_: avals)
        return probe.run(self._function, args, kwargs)

    def clear_cache(self) -> None:
        """Forget all programs of this function (and of functions made from the same code)."""
        self._store.clear()

    def _cache_size(self) -> int:
        return len(self._store.programs)

    def _inputs(
        self, program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The slots and the traced arguments of a call, without running it."""
        taken: list[Any] = []

        def take(slots: tuple[Any, ...], *traced: Any) -> Sequence[Any]:
            taken.append((slots, traced))
            return ()

        dry = program.record.without_writes(recipes.Constant(None))
        generate(dry, program.arguments, take).run(self._function, args, kwargs)
        return taken[0] if taken else ((), ())

    # -- being a function -----------------------------------------------------------------------

    @overload
    def __get__(self, instance: None, owner: type) -> FreshJit[P, R]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<freshjit.jit of {self._function!r}>"

    def __reduce__(self) -> Any:
        home: Any = sys.modules.get(self.__module__)
        qualified: str = vars(self)["__qualname__"]
        for name in qualified.split("."):
            home = getattr(home, name, None)
        if home is self:
            return qualified  # pickled by name, like any function of a module
        return _again, (self._function, self._options.given)

    def __copy__(self) -> FreshJit[P, R]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> FreshJit[P, R]:
        function = copy.deepcopy(self._function, memo)
        return self if function is self._function else _again(function, self._options.given)


# What a wrapper's dictionary has that is not the user's.
_OWN = frozenset((*functools.WRAPPER_ASSIGNMENTS, "__wrapped__", "_function", "_made", "_options", "_store"))


def _again(function: Any, given: dict[str, Any]) -> Any:
    return jit(function, **given)


def _view_fresh_jit(capture: Capture, value: FreshJit[Any, Any], path: Path) -> Any:
    """Inside a capture a jitted function is its body: what it reads and writes belongs to the outer call."""
    capture.guard(path, "type", FreshJit)
    function = value._function  # pyright: ignore[reportPrivateUsage]
    view = capture.view(function, path.to("attr", "__wrapped__", str(path)))
    capture.alias_view(value, view, path)
    state = capture.functions.state_of(view)
    if state is not None and type(function) is types.FunctionType:
        state.wrapped_by(capture, value, path, _OWN)
    return view


views.register(FreshJit, _view_fresh_jit)


def _store_of(function: Any, options: _Options) -> Store:
    codes = tuple(_codes(function))
    return store_for(
        codes, (type(function).__name__, options.key), getattr(function, "__name__", repr(function))
    )


def _codes(function: Any) -> list[Any]:
    """The code objects that identify a function, wrappers and transforms around it included."""
    found: list[Any] = []
    while function is not None and len(found) < 16:
        if isinstance(function, FreshJit):
            function = cast(Any, function.__wrapped__)
        elif isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        elif isinstance(function, types.FunctionType):
            found.append(function.__code__)
            function = getattr(function, "__wrapped__", None)
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        else:
            call = getattr(type(function), "__call__", None)  # noqa: B004 - the entry itself is wanted
            function = call if isinstance(call, (types.FunctionType, FreshJit)) else None
            if function is None:
                found.append(type(call) if call is not None else object)
    return found


@overload
def jit(fun: Callable[P, R], /, **options: Any) -> FreshJit[P, R]: ...
@overload
def jit(**options: Any) -> Callable[[Callable[P, R]], FreshJit[P, R]]: ...
def jit(  # pyright: ignore[reportInconsistentOverload] - the overloads name the options once, here
    fun: Any = None,
    /,
    *,
    in_shardings: Any = _UNSPECIFIED,
    out_shardings: Any = _UNSPECIFIED,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: Any = False,
    compiler_options: dict[str, Any] | None = None,
    static: str | Iterable[str] | None = None,
    dynamic: str | Iterable[str] | None = None,
    strict: bool = False,
) -> Any:
    """Compile a function with JAX so that it always does what the plain function would do now.

    ``jit`` is a drop-in for ``jax.jit``. What the function reads beside its arguments (attributes,
    closure variables, globals, items of containers, NumPy arrays) is read anew at each call: arrays
    become inputs of the compiled program, Python values decide which program is used. What it
    writes is written back after the call, all or nothing.

    Parameters:
        fun: the function: a plain function, method, lambda, ``functools.partial``, callable object,
            classmethod, staticmethod or property. Leave it out to use ``jit(...)`` as a decorator.
        in_shardings, out_shardings, donate_argnums, donate_argnames, keep_unused, device, backend,
            inline, compiler_options: as for ``jax.jit``. They concern the arguments and the result;
            captured state keeps the sharding it has.
        static_argnums, static_argnames: arguments that are Python values rather than arrays. They
            need not be hashable; objects among them are read like captured state. Strings, plain
            objects and callables are static by themselves.
        static, dynamic: places in state whose Python numbers are to be seen in one way from the start, as
            strings such as ``"self.lr"``, ``"self.config"`` (with everything under it), ``"cfg['lr']"``
            or the name of a closure variable or global. A number at a ``static`` place is always
            compiled for its value; one at a ``dynamic`` place is an input from the first compilation on.
            Without them a number is compiled for its value until it has changed once.
        strict: what the function reads while it is traced and later calls would not read again (the clock,
            files, random numbers of Python and NumPy, an array from an unknown origin) is an error.
            Otherwise a ``FreshjitWarning`` tells of it, once per place.

    Returns:
        A function with the same parameters and the methods of ``jax.jit``'s result (``lower``,
        ``trace``, ``eval_shape``, ``clear_cache``).

    Raises:
        FreshjitError: on call, if some state can be neither read nor written under a trace. State is
            then as it was before the call.
        FrozenValueError: on call, with ``strict``. State is then as it was, too.

    Example:
        >>> import jax.numpy as jnp
        >>> from freshjit import jit
        >>> class Scale:
        ...     def __init__(self):
        ...         self.x, self.mul = jnp.float32(2.0), True
        ...
        ...     @jit
        ...     def calc(self, y):
        ...         return self.x * y if self.mul else y
        >>> scale = Scale()
        >>> float(scale.calc(3.0))
        6.0
        >>> scale.mul = False
        >>> float(scale.calc(3.0))
        3.0

        A rate that is known to change, and a number that is known to stay:

        >>> class Decay:
        ...     def __init__(self):
        ...         self.rate, self.power = 1.0, 2
        ...
        ...     @jit(dynamic="self.rate", static="self.power")
        ...     def step(self, x):
        ...         self.rate *= 0.5
        ...         return self.rate * x**self.power
        >>> decay = Decay()
        >>> [float(decay.step(3.0)) for _ in range(3)], decay.rate
        ([4.5, 2.25, 1.125], 0.125)
        >>> Decay.step._cache_size()
        1
    """
    parameters: dict[str, Any] = {
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "static": static,
        "dynamic": dynamic,
        "strict": strict,
    }
    others: dict[str, Any] = {}
    if keep_unused:
        others["keep_unused"] = keep_unused
    if device is not None:
        others["device"] = device
    if backend is not None:
        others["backend"] = backend
    if inline:
        others["inline"] = inline
    if compiler_options is not None:
        others["compiler_options"] = compiler_options
    if fun is None:
        return lambda function: jit(function, **parameters, **others)
    if isinstance(fun, (classmethod, staticmethod)):
        return type(fun)(jit(fun.__func__, **parameters, **others))
    if isinstance(fun, property):
        getter = None if fun.fget is None else jit(fun.fget, **parameters, **others)
        return property(getter, fun.fset, fun.fdel, fun.__doc__)
    if not callable(fun):
        raise TypeError(f"jit expects a callable, got {fun!r}")
    _refuse_generators(fun)
    if isinstance(fun, FreshJit) and not others and _all_default(parameters):
        return cast(Any, fun)
    return FreshJit(fun, _Options(fun, **parameters, others=others))


def _all_default(parameters: dict[str, Any]) -> bool:
    return all(v is None or v is False or v is _UNSPECIFIED for v in parameters.values())


def _refuse_generators(fun: Any) -> None:
    kinds = {
        "a generator function": inspect.isgeneratorfunction,
        "a coroutine function": inspect.iscoroutinefunction,
        "an asynchronous generator function": inspect.isasyncgenfunction,
    }
    for what, test in kinds.items():
        if test(fun):
            raise UnsupportedStateError(
                f"{getattr(fun, '__qualname__', fun)} is {what}: its body runs after the call has returned, "
                "so it cannot be compiled.\nReturn the values in a list, or jit the function that it calls "
                "for each item."
            )
