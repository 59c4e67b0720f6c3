# pyright: reportPrivateUsage=false
"""The only module that touches JAX internals; each use says why public API does not do.

* ``Recorder``: captured arrays become inputs of the jaxpr under construction *while* the user's
  function runs, so that the function runs once per compilation. Public API fixes the inputs of a
  trace before it starts.
* ``_SlotTracer``: a traced value that depends on captured arrays alone can still be asked for its
  concrete value (``if self.flag:``), because the arrays are known. Public tracers always refuse.
* ``_SlotTrace._new_const``: where an array enters a trace as a constant; public API shows the constants
  only when all is over, and not the scalar ones.
* ``Direct``: the same questions answered where a function runs in the trace that is current.
* ``is_mapped``: which values have the mapped axis; public ``vmap`` complains of one of them, as text.
* ``varies``: which values differ from device to device; the name of this fact has changed between versions.
* ``NUMBERS_OF_JAX``: how JAX hands on Python numbers and NumPy arrays; public API says nothing of it.
* ``eval_jaxpr``, ``trace_is_clean``, ``JitFunction``: small facts that JAX does not export.

Tested by ``tests/test_compat.py`` against every supported JAX version.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import array as _array
from jax._src import config as _config
from jax._src import core as _core
from jax._src import dtypes as _dtypes
from jax._src import literals as _literals
from jax._src import source_info_util as _source_info
from jax._src.interpreters import batching as _batching
from jax._src.interpreters import partial_eval as _pe
from jax._src.numpy import array_methods as _array_methods

__all__ = [
    "NUMBERS_OF_JAX",
    "ArrayImpl",
    "Direct",
    "JitFunction",
    "OpaqueTraceState",
    "Recorder",
    "Tracer",
    "as_numpy",
    "constants_of",
    "current_trace_state",
    "eval_jaxpr",
    "inner_jaxpr",
    "is_extended_dtype",
    "is_jaxpr",
    "is_literal",
    "is_mapped",
    "jax_jit",
    "jit_is_disabled",
    "only_checks_overflow",
    "open_jaxpr",
    "read_settings",
    "shown",
    "trace_context",
    "trace_is_clean",
    "varies",
    "x64_is_enabled",
]

Tracer: type = _core.Tracer

# The class of concrete arrays. Public API only has the abstract jax.Array; making an array to ask it for
# its class would start the backend at import.
ArrayImpl: type = _array.ArrayImpl

# jax.extend.core has these in public, but importing it costs as much as all of freshjit. Newer versions of
# JAX have one class for open and closed jaxprs.
_ClosedJaxpr: type = getattr(_core, "ClosedJaxpr", _core.Jaxpr)
OpaqueTraceState: type = _core.OpaqueTraceState

# What JAX's transforms put in the place of numbers and NumPy arrays that they hand on: subclasses of Python's
# and NumPy's own, with a dtype that stays.
NUMBERS_OF_JAX: tuple[type, ...] = (*_literals.typed_scalar_types, _literals.TypedNdArray)

jax_jit: Any = jax.jit
"""JAX's own, whatever somebody puts in its place later."""

# jax.jit's result is a C++ object; its class is only reachable through an instance.
JitFunction: type = type(jax.jit(lambda x: x))  # pyright: ignore[reportUnknownLambdaType]


def open_jaxpr(closed: Any) -> Any:
    """The jaxpr with its constants as leading inputs, holding none of them itself."""
    return _pe.convert_constvars_jaxpr(closed.jaxpr)


def eval_jaxpr(jaxpr: Any, *inputs: Any) -> list[Any]:
    """Run a jaxpr that holds no constants."""
    return _core.eval_jaxpr(jaxpr, (), *inputs)


def trace_is_clean() -> bool:
    """Whether no JAX transform is active in this thread: arrays computed now are concrete."""
    return _core.trace_ctx.is_top_level()


def is_mapped(value: Any) -> bool:
    """Whether a value has one entry per lane of the ``vmap`` whose function runs now."""
    trace = _core.trace_ctx.trace
    return isinstance(trace, _batching.BatchTrace) and trace.to_batch_info(value)[1] is not None


def varies(value: Any) -> bool:
    """Whether a value may differ from device to device of a ``shard_map`` whose function runs now."""
    aval: Any = jax.typeof(value)
    kind = getattr(aval, "manual_axis_type", None)
    return bool(getattr(aval, "vma", ()) if kind is None else kind.varying)


def is_extended_dtype(dtype: Any) -> bool:
    """Whether an array of this dtype has no NumPy form (typed PRNG keys, for one)."""
    return bool(jnp.issubdtype(dtype, jax.dtypes.extended))


# Code of these packages that asks something of a tracer means the tracer.
_MEANS_TRACERS = frozenset(("jax", "jaxlib", "freshjit"))
# Where the stand-ins of ``getattr`` and its kin are: who calls them is the one who asks.
_BUILTINS = "freshjit.state.views.pybuiltins"
# What these are told is for the eyes of a person: nothing in the program depends on it.
_SHOWS = frozenset(("logging", "pdb", "bdb", "traceback", "IPython", "pydevd", "_pydevd_bundle", "debugpy"))


def _asker(depth: int = 2) -> str:
    """The package whose code called the method that calls this, directly or by ``getattr`` and the like."""
    frame: Any = sys._getframe(depth)
    while (name := str(frame.f_globals.get("__name__", ""))) == _BUILTINS and frame.f_back is not None:
        frame = frame.f_back
    return name.partition(".")[0]


def _concretely(name: str) -> Callable[..., Any]:
    """A method that answers from the concrete value if there is one, else as JAX does."""
    parent = getattr(_pe.DynamicJaxprTracer, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        value = _concrete_value(self)
        if value is None:
            return parent(self, *args, **kwargs)
        return getattr(value, name)(*args, **kwargs)

    method.__name__ = name
    return method


def _shown(name: str) -> Callable[..., Any]:
    """A method that gives a text: of the concrete value if there is one, else that of the tracer."""
    parent = getattr(_pe.DynamicJaxprTracer, name)

    def method(self: Any, *args: Any) -> Any:
        asker = _asker()
        known = None if asker in _MEANS_TRACERS else _follow(self)
        if known is None:
            return parent(self, *args)
        if asker not in _SHOWS:
            known.needed()
        return getattr(known.value, name)(*args)

    method.__name__ = name
    return method


# What a concrete array says about itself beside its contents: where it lies, and what has become of it.
_ATTRIBUTES_ASKED = (
    "sharding",
    "device",
    "committed",
    "format",
    "is_fully_addressable",
    "is_fully_replicated",
    # Methods that tracers do not have.
    "is_ready",
    "platform",
    "__dlpack_device__",
)
_METHODS_ASKED = ("devices", "is_deleted", "on_device_size_in_bytes", "delete", "unsafe_buffer_pointer")
# The parts of it that lie on each device: with its contents.
_PARTS = ("addressable_shards", "global_shards")
_METHODS_OF_PARTS = ("addressable_data",)
_UNKNOWN: Any = object()


def _answer(tracer: Any, name: str) -> Any:
    """What the concrete value has under this name, ``_UNKNOWN`` if there is none or a tracer is meant."""
    known = None if _asker(3) in _MEANS_TRACERS else _follow(tracer)
    if known is None:
        return _UNKNOWN
    if name in (*_PARTS, *_METHODS_OF_PARTS):
        known.needed()
    known.asked(name)
    return getattr(known.value, name)


def _attribute_asked(name: str) -> property:
    def get(self: Any) -> Any:
        answer = _answer(self, name)
        return getattr(super(_SlotTracer, self), name) if answer is _UNKNOWN else answer

    return property(get)


def _method_asked(name: str) -> Callable[..., Any]:
    parent = getattr(_pe.DynamicJaxprTracer, name)

    def method(self: Any, *args: Any) -> Any:
        answer = _answer(self, name)
        return parent(self, *args) if answer is _UNKNOWN else answer(*args)

    method.__name__ = name
    return method


class _SlotTracer(_pe.DynamicJaxprTracer):
    """A tracer of the captured function's own trace; concrete on demand if no argument is involved."""

    __slots__ = ()

    __bool__ = _concretely("__bool__")
    __int__ = _concretely("__int__")
    __float__ = _concretely("__float__")
    __complex__ = _concretely("__complex__")
    __index__ = _concretely("__index__")
    __hex__ = _concretely("__hex__")
    __oct__ = _concretely("__oct__")
    __array__ = _concretely("__array__")
    tolist = _concretely("tolist")
    tobytes = _concretely("tobytes")
    __dlpack__ = _concretely("__dlpack__")
    __reduce__ = _concretely("__reduce__")
    __repr__ = _shown("__repr__")
    __str__ = _shown("__str__")
    __format__ = _shown("__format__")

    def __bytes__(self) -> bytes:
        value = _concrete_value(self)
        return bytes(list(self)) if value is None else np.asarray(value).tobytes()

    def block_until_ready(self) -> Any:
        """Nothing: compiled code has nothing to wait for."""
        return self

    def copy_to_host_async(self) -> None:
        """Nothing: it changes no value."""

    def __getitem__(self, key: Any) -> Any:
        recorder = _recorders.get(id(self._trace))
        return super().__getitem__(key if recorder is None else recorder.as_index(key))

    @property
    def at(self) -> Any:
        recorder = _recorders.get(id(self._trace))
        return super().at if recorder is None else _At(super().at, recorder)

    def __setitem__(self, key: Any, value: Any) -> None:  # of a mutable array
        recorder = _recorders.get(id(self._trace))
        if recorder is not None:
            key, value = recorder.as_index(key), recorder.as_value(value)
        super().__setitem__(key, value)

    def item(self, *args: Any) -> Any:
        value = _concrete_value(self)
        if value is None:
            return super().__getattr__("item")(*args)
        return value.item(*args)

    def __pow__(self, other: Any) -> Any:
        recorder = _recorders.get(id(self._trace))
        if recorder is not None and jnp.issubdtype(self.dtype, jnp.integer):
            other = recorder.as_exponent(other)  # JAX refuses a negative one if it sees its value
        return super().__pow__(other)

    def to_concrete_value(self) -> Any:
        # JAX also asks out of curiosity (core.is_concrete) to take short cuts; an answer then would
        # turn an input into a constant for nothing. Only a caller that *needs* the value gets it: one that
        # would raise otherwise, or the code that makes indices of a mask.
        frame: Any = sys._getframe(1)
        if frame.f_code is _core.concrete_or_error.__code__:
            return _concrete_value(self)
        for function in (_core.to_concrete_value, _core.is_concrete):
            frame = frame.f_back if frame is not None and frame.f_code is function.__code__ else None
        if frame is not None and frame.f_code.co_name == "expand_bool_indices":
            return _concrete_value(self)
        return None

    def argsort(self, *args: Any, **options: Any) -> Any:
        # NumPy's function hands on its own defaults. Eager JAX refuses this one, and NumPy then sorts itself;
        # under a trace it would only be refused when all is compiled.
        if options.get("stable", True) is None:
            raise TypeError("stable must be True or False")
        recorder, sort = _recorders.get(id(self._trace)), _pe.DynamicJaxprTracer.argsort
        return (
            sort(self, *args, **options) if recorder is None else recorder.call(sort, (self, *args), options)
        )


# JAX looks tracers up by their exact class where it deals with views of mutable arrays.
_core.pytype_aval_mappings[_SlotTracer] = _core.pytype_aval_mappings[_pe.DynamicJaxprTracer]


def _converting(name: str, parent: Callable[..., Any]) -> Callable[..., Any]:
    """A method of arrays that takes what stands for captured NumPy arrays and numbers."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = _recorders.get(id(self._trace))
        return (
            parent(self, *args, **kwargs)
            if recorder is None
            else recorder.call(parent, (self, *args), kwargs)
        )

    method.__name__ = name
    return method


for _name in (*_ATTRIBUTES_ASKED, *_PARTS):
    setattr(_SlotTracer, _name, _attribute_asked(_name))
for _name in (*_METHODS_ASKED, *_METHODS_OF_PARTS):
    setattr(_SlotTracer, _name, _method_asked(_name))

# JAX's operators ask other operands for __jax_array__; x.clip, x.dot and the like do not.
for _name, _method in vars(_core.Tracer).items():
    _is_method = isinstance(_method, types.FunctionType) and _name not in vars(_SlotTracer)
    if _is_method and not _name.startswith("_") and _method.__code__.co_filename.endswith("array_methods.py"):
        setattr(_SlotTracer, _name, _converting(_name, _method))


def shown(value: Any) -> Any:
    """What is to be printed of a value: a captured array, for the tracer that stands for it."""
    known = _follow(value) if type(value) is _SlotTracer else None
    return value if known is None else known.value


_IndexUpdate: type = _array_methods._IndexUpdateRef


class _At:
    """``x.at`` that takes what stands for captured NumPy arrays and numbers."""

    def __init__(self, at: Any, recorder: Recorder) -> None:
        self._at, self._recorder = at, recorder

    def __getitem__(self, key: Any) -> Any:
        part = self._at[self._recorder.as_index(key)]
        # Of a mutable array it is a view, which JAX's functions have to know as such.
        return _Update(part, self._recorder) if type(part) is _IndexUpdate else part


class _Update:
    """``x.at[i]``: its methods (``set``, ``add``, ``get``…) take the same."""

    def __init__(self, update: Any, recorder: Recorder) -> None:
        self._update, self._recorder = update, recorder

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._update, name)
        return lambda *args, **options: method(*map(self._recorder.as_value, args), **options)


class _SlotTrace(_pe.DynamicJaxprTrace):
    """The trace that a Recorder has taken over: its new tracers are ``_SlotTracer``."""

    __slots__ = ()

    def var_to_tracer(self, var: Any, source_info: Any, parent: Any = None) -> Any:
        if getattr(var.aval, "has_qdd", False):
            return super().var_to_tracer(var, source_info, parent)
        return _SlotTracer(self, var.aval, var, source_info, parent)

    def _new_const(self, aval: Any, c: Any, source_info: Any) -> Any:
        recorder = _recorders.get(id(self))
        if recorder is not None:
            recorder.on_constant(c)
        return super()._new_const(aval, c, source_info)


class Recorder:
    """Makes inputs of captured arrays, at the level of the trace that is current at construction.

    Parameters:
        on_concrete: called with each captured array whose concrete value the traced code needed.
        as_index: turns what stands for a captured NumPy array or number in an index into what JAX knows.
        as_value: the same for an operand.
        as_exponent: the same for the exponent of an array of integers.
        call: calls a function of JAX's with such arguments, given as a tuple and a dictionary.
        on_constant: called with each array that becomes a constant, as no input stands for it.
        on_asked: called with each captured array that was asked something beside its contents, and what.
    """

    def __init__(
        self,
        on_concrete: Callable[[Any], None],
        as_index: Callable[[Any], Any],
        as_value: Callable[[Any], Any],
        as_exponent: Callable[[Any], Any] = lambda value: value,
        call: Callable[[Any, Any, Any], Any] = lambda function, args, kwargs: function(*args, **kwargs),
        on_constant: Callable[[Any], None] = lambda array: None,
        on_asked: Callable[[Any, str], None] = lambda array, name: None,
    ) -> None:
        self.on_concrete, self.on_constant, self.on_asked = on_concrete, on_constant, on_asked
        self.as_index, self.as_value = as_index, as_value
        self.as_exponent, self.call = as_exponent, call
        self._trace: Any = _core.trace_ctx.trace
        if type(self._trace) is not _pe.DynamicJaxprTrace:
            raise AssertionError(f"expected a fresh jaxpr trace, found {self._trace!r}")
        # Traces of loop bodies and branches. Weakly: JAX's leak checker wants them gone when they end.
        self._inner: dict[int, weakref.ref[Any]] = {}

    def start(self) -> None:
        """Begin to record; whoever calls this has to call ``close``, even if it is interrupted."""
        # The trace object was made by JAX; both classes have the same layout, so it can change class.
        self._trace.__class__ = _SlotTrace
        _recorders[id(self._trace)] = self

    def close(self) -> None:
        for key in (*self._inner, id(self._trace)):
            _recorders.pop(key, None)
        self._trace = None

    def abandon(self) -> None:
        """An error ends the trace: let go of its tracers, and of those of traces inside that it has ended."""
        for trace in (*(inner() for inner in self._inner.values()), self._trace):
            if trace is not None:
                _abandon(trace)

    def input(self, array: Any) -> Any:
        """The tracer that stands for ``array``: the array will be among the jaxpr's constants."""
        trace = self._trace
        known = trace.frame.constid_to_tracer.get(id(array))
        if known is not None:
            return known
        aval = jax.typeof(array)
        var = trace.frame.newvar(aval)
        tracer = _SlotTracer(trace, aval, var, _source_info.current())
        trace.frame.constid_to_tracer[id(array)] = tracer
        trace.frame.constvar_to_val[var] = array
        return tracer

    @property
    def is_current(self) -> bool:
        """Whether what is computed now is recorded here, and not by a transform inside."""
        return _core.trace_ctx.trace is self._trace

    @contextmanager
    def inside(self) -> Generator[None, None, None]:
        """Within the trace of a loop's body or a branch: captured arrays have their values there as well."""
        trace: Any = _core.trace_ctx.trace
        if type(trace) is not _pe.DynamicJaxprTrace or id(trace) in _recorders:
            yield
            return
        key = id(trace)
        self._inner[key] = weakref.ref(trace)  # first: an interrupt may leave the rest to ``close``
        trace.__class__ = _SlotTrace
        _recorders[key] = self
        try:
            yield
        except BaseException:
            _abandon(trace)
            raise
        finally:
            _recorders.pop(key, None)

    def take_over(self, tracer: Any) -> None:
        """Let an argument's tracer, which JAX made, behave like those made from now on."""
        if type(tracer) is _pe.DynamicJaxprTracer and tracer._trace is self._trace:
            tracer.__class__ = _SlotTracer

    def is_input(self, tracer: Any) -> Any:
        """The captured array that ``tracer`` stands for unchanged, or None."""
        if not isinstance(tracer, _pe.DynamicJaxprTracer) or tracer._trace is not self._trace:
            return None
        return self._trace.frame.constvar_to_val.get(tracer.val) if _is_var(tracer.val) else None

    def owns(self, tracer: Any) -> bool:
        """Whether ``tracer`` belongs to this trace (and not to a transform inside it)."""
        return isinstance(tracer, _pe.DynamicJaxprTracer) and tracer._trace is self._trace


class Direct:
    """Takes the place of a Recorder where a function runs in the trace that is current anyway.

    Captured arrays are then themselves. Which traced values belong to a transform inside is told by
    the traces that were there before; public API does not name the trace of a tracer.
    """

    def __init__(self) -> None:
        self._traces: list[Any] = []
        trace: Any = _core.trace_ctx.trace
        while trace is not None:
            self._traces.append(trace)
            trace = getattr(trace, "parent_trace", None)

    def start(self) -> None:
        """Nothing: nothing is recorded."""

    def close(self) -> None:
        self._traces.clear()

    def abandon(self) -> None:
        """Nothing: the trace goes on for others."""

    @property
    def is_current(self) -> bool:
        """Never: nothing is recorded."""
        return False

    @contextmanager
    def inside(self) -> Generator[None, None, None]:
        """Nothing: values are what they are."""
        yield

    def input(self, array: Any) -> Any:
        """The array itself."""
        return array

    def take_over(self, tracer: Any) -> None:
        """Nothing: tracers from outside stay what they are."""

    def is_input(self, tracer: Any) -> Any:
        """The captured array that ``tracer`` stands for: none, captured arrays are themselves."""

    def owns(self, tracer: Any) -> bool:
        """Whether ``tracer`` comes from outside (and not from a transform inside)."""
        return any(tracer._trace is trace for trace in self._traces)


_recorders: dict[int, Recorder] = {}


def _abandon(trace: Any) -> None:
    """Let go of the tracers of a trace that an error has ended.

    JAX drops them when a trace ends well. Otherwise a finalizer of each constant keeps the trace, and so
    every tracer of it, alive for ever.
    """
    trace.frame.tracing_eqns.clear()
    trace.frame.constid_to_tracer.clear()


def _is_var(atom: Any) -> bool:
    return isinstance(atom, _core.Var)


class _Known(NamedTuple):
    """The value of a tracer that follows from captured arrays alone, and these arrays."""

    value: Any
    leaves: list[Any]
    recorder: Recorder

    def needed(self) -> None:
        """Traced code needs the value."""
        for leaf in self.leaves:
            self.recorder.on_concrete(leaf)

    def asked(self, name: str) -> None:
        for leaf in self.leaves:
            self.recorder.on_asked(leaf, name)


def _concrete_value(tracer: Any) -> Any:
    """The value of ``tracer``, for code that needs it; None if it does not follow from captured arrays."""
    known = _follow(tracer)
    if known is None:
        return None
    known.needed()
    return known.value


def _follow(tracer: Any) -> _Known | None:
    recorder = _recorders.get(id(tracer._trace))
    if recorder is None:
        return None
    values: dict[int, Any] = {}
    leaves: list[Any] = []
    todo: list[Any] = [tracer]
    while todo:  # depth first, without recursion: programs can be thousands of operations long
        this = todo[-1]
        if id(this) in values:
            todo.pop()
            continue
        if not _is_var(this.val):
            values[id(this)] = this.val.val
            continue
        const = this._trace.frame.constvar_to_val.get(this.val)
        if isinstance(const, _core.Tracer):  # of the trace around this one
            if not isinstance(const, _SlotTracer) or id(const._trace) not in _recorders:
                return None
            if id(const) in values:
                values[id(this)] = values[id(const)]
            else:
                todo.append(const)
            continue
        if const is not None:
            leaves.append(const)
            values[id(this)] = const
            continue
        equation = this.parent
        if equation is None or equation.effects:
            return None
        missing = [t for t in equation.in_tracers if id(t) not in values]
        if missing:
            todo.extend(missing)
            continue
        outputs = _evaluate(equation, [values[id(t)] for t in equation.in_tracers])
        if outputs is None:
            return None
        values[id(this)] = outputs[equation.outvars.index(this.val)]
    return _Known(values[id(tracer)], leaves, recorder)


def _evaluate(equation: Any, inputs: Sequence[Any]) -> list[Any] | None:
    with jax.ensure_compile_time_eval(), suppress(jax.errors.ConcretizationTypeError):
        params = equation.primitive.get_bind_params(equation.params)
        result = equation.primitive.bind(*inputs, **params)
        return list(result) if equation.primitive.multiple_results else [result]
    return None


def as_numpy(array: Any) -> np.ndarray[Any, Any]:
    """The contents of a concrete array as NumPy, typed PRNG keys by their bits."""
    if is_extended_dtype(array.dtype):
        with jax.ensure_compile_time_eval():
            array = jax.random.key_data(array)
    return np.asarray(array)


def trace_context() -> Any:
    """The configuration that a trace depends on (x64, matmul precision, default device, mesh…)."""
    return _config.trace_context()


def jit_is_disabled() -> bool:
    """Whether ``jax.disable_jit`` is on in this thread."""
    return bool(_config.disable_jit.value)


def x64_is_enabled() -> bool:
    """Whether 64-bit types are on in this thread."""
    return bool(_config.enable_x64.value)


def only_checks_overflow(frame: Any) -> bool:
    """Whether this frame, which wants a number as NumPy, is ``jnp.array`` looking if the number fits.

    It does so with everything that is an int or a float, drops the result, and goes on with what it was
    given: the value has no part in the program. There is no way to tell it that.
    """
    caller = frame.f_back
    return (
        frame.f_code is _dtypes.coerce_to_array.__code__
        and caller is not None
        and caller.f_code.co_name == "array"
        and caller.f_globals.get("__name__") == "jax._src.numpy.array_constructors"
    )


def is_literal(atom: Any) -> bool:
    """Whether an operand in a jaxpr is a literal rather than a variable."""
    return isinstance(atom, _core.Literal)


def is_jaxpr(value: Any) -> bool:
    """Whether a parameter of an equation is a jaxpr, open or closed."""
    return isinstance(value, (_core.Jaxpr, _ClosedJaxpr))


def inner_jaxpr(value: Any) -> Any:
    """The open form of a jaxpr that may be closed."""
    return value.jaxpr if isinstance(value, _ClosedJaxpr) else value


def constants_of(value: Any) -> Sequence[Any]:
    """The constants that a jaxpr holds, none if it is open."""
    return getattr(value, "consts", ())


def read_settings() -> dict[str, Any]:
    """All of JAX's settings by name, as they are in this thread; type checkers do not see them."""
    return {name: getattr(jax.config, name, None) for name in jax.config.values}


def current_trace_state() -> Any:
    """What flax.nnx takes for the identity of the trace that is current in this thread."""
    return _core.get_opaque_trace_state(convention="nnx")
