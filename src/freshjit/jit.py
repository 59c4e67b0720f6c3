"""``jit``: a drop-in for ``jax.jit`` that is never stale. The decorator, its surface, and the hit path."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

import jax

from freshjit.aot import Lowered, Traced
from freshjit.compile import Compiler
from freshjit.errors import UnsupportedStateError
from freshjit.options import UNSPECIFIED, Options
from freshjit.programs.call import Call
from freshjit.programs.probe import Miss, generate
from freshjit.programs.program import Program, Retrace
from freshjit.programs.store import Store, store_for
from freshjit.state.active import present, thread
from freshjit.state.capture import Capture
from freshjit.state.path import Path
from freshjit.state.recipes import Output
from freshjit.state.views import kinds
from freshjit.tracebacks import boundary, hide_own_frames
from freshjit.wrapper import Wrapper

__all__ = ["FreshJit", "jit"]

P = ParamSpec("P")
R = TypeVar("R")


class FreshJit(Wrapper, Generic[P, R]):
    """A function under ``freshjit.jit``. Made by ``jit``; offers what ``jax.jit``'s result offers.

    Example:
        >>> import jax.numpy as jnp
        >>> from freshjit import FreshJit, jit
        >>> weights = jnp.array([1.0, 2.0])
        >>> @jit
        ... def apply(x):
        ...     return weights * x
        >>> isinstance(apply, FreshJit), apply.__wrapped__(2.0)
        (True, Array([2., 4.], dtype=float32))
        >>> apply.eval_shape(2.0)
        ShapeDtypeStruct(shape=(2,), dtype=float32)
        >>> apply.lower(2.0).compile()(5.0)
        Array([ 5., 10.], dtype=float32)
    """

    __slots__ = ("_compiler", "_function", "_made", "_options", "_store")
    __freshjit_method__ = True
    __name__: str

    def __init__(self, function: Callable[P, R], options: Options) -> None:
        super().__init__(function)
        self._function = function
        self._made = present()
        self._options = options
        self._store = _store_of(function, options)
        self._compiler = Compiler(function, self.__name__, options, self._store)

    # The hit path: one look at this thread, then the first program's generated function.
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if thread.capture is not None:
            return thread.capture.enter(self._function, self._made)(*args, **kwargs)
        try:
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
        except Exception as error:
            hide_own_frames(error)
            raise

    def _search(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = self._call(args, kwargs)
        result = self._store.find(call)
        return self._compiler.serve(call) if type(result) is Miss else result

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        return Call(self._function, args, kwargs, self._options.parameters, self._options.static)

    # -- the rest of jax.jit's surface ----------------------------------------------------------

    @boundary
    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """Lower for the given arguments and the present state, as ``jax.jit(f).lower``.

        Arguments may be ``jax.ShapeDtypeStruct``. The result's ``compile()`` gives a function of the
        same arguments that reads state at each call, and raises ``StaleCompiledError`` when a value
        that the program depends on is no longer the same.

        Raises:
            FreshjitError: if some state can be neither read nor written under a trace.
        """
        return FreshJit.trace(self, *args, **kwargs).lower()  # not what the user may have named so

    @boundary
    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Traced:
        """Trace for the given arguments and the present state, as ``jax.jit(f).trace``.

        The inputs of the jaxpr are the captured arrays, and after them the arguments. Errors are those of
        ``lower``.
        """
        program = self._compiler.look(self._call(args, kwargs))
        inputs: list[Any] = []

        def take(*given: Any) -> list[Output]:
            inputs.extend(given)
            return [Output(i) for i in range(program.record.n_outputs)]

        result = self._dry_run(program, take, args, kwargs)
        return Traced(program.jitted.trace(*inputs), program, self._function, result)

    @boundary
    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Shapes and dtypes of the result, without compiling, as ``jax.jit(f).eval_shape``.

        No state is written. Errors are those of ``lower``.
        """
        program = self._compiler.look(self._call(args, kwargs))
        return self._dry_run(program, program.jitted.eval_shape, args, kwargs)

    def clear_cache(self) -> None:
        """Forget all programs of this function (and of functions made from the same code)."""
        self._store.clear()

    def _cache_size(self) -> int:
        return len(self._store.programs)

    def _dry_run(
        self, program: Program, jitted: Callable[..., Sequence[Any]], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """The result of a call with another function in the place of the compiled one; nothing is written.

        Of captured arrays in it, it has their types.
        """
        dry = program.record.without_writes()
        result = generate(dry, program.arguments, jitted).run(self._function, args, kwargs)
        if type(result) is Miss:
            raise self._compiler.unstable(result.guard)
        return jax.tree.map(_type_of_array, result)

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
        qualified: str = getattr(self, "__qualname__", "")
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


def _type_of_array(part: Any) -> Any:
    if not isinstance(part, jax.Array):
        return part
    return jax.ShapeDtypeStruct(part.shape, part.dtype, weak_type=part.weak_type)


def _again(function: Any, given: dict[str, Any]) -> Any:
    return jit(function, **given)


def _view_fresh_jit(capture: Capture, value: FreshJit[Any, Any], path: Path) -> Any:
    """Inside a capture a jitted function is its body: what it reads and writes belongs to the outer call."""
    capture.guard(path, "type", FreshJit)
    function = value._function  # pyright: ignore[reportPrivateUsage]
    view = capture.view(function, path.to("attr", "__wrapped__", str(path)))
    capture.alias_view(value, view, path)
    return view


kinds.register(FreshJit, _view_fresh_jit)


def _store_of(function: Any, options: Options) -> Store:
    codes = tuple(_codes(function))
    return store_for(
        codes, (type(function).__name__, options.key), getattr(function, "__name__", repr(function))
    )


def _codes(function: Any) -> list[Any]:
    """The code objects that identify a function, wrappers and transforms around it included."""
    found: list[Any] = []
    while function is not None and len(found) < 16:
        if isinstance(function, FreshJit):
            function = function.__wrapped__
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
    fun: Any = UNSPECIFIED,
    /,
    *,
    in_shardings: Any = UNSPECIFIED,
    out_shardings: Any = UNSPECIFIED,
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
    if fun is UNSPECIFIED:
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
    return FreshJit(fun, Options(fun, **parameters, others=others))


def _all_default(parameters: dict[str, Any]) -> bool:
    return all(v is None or v is False or v is UNSPECIFIED for v in parameters.values())


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
