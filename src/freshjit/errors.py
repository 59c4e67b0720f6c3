"""What freshjit raises and warns about: one base class and a few named kinds.

Every message says what happened, names the path of the state concerned (``self.layers[1].w``) and
the user's source line where one is known, and says what to do. JAX's own errors about arguments
pass through unchanged. ``docs/errors.md`` has each kind with code that meets it, and code that does not.
"""

from __future__ import annotations

import warnings

__all__ = [
    "CapturedNumpyWriteError",
    "FreshjitError",
    "FreshjitWarning",
    "FrozenValueError",
    "LeakedWriteError",
    "StaleCompiledError",
    "StateMismatchError",
    "UnstableStateError",
    "UnsupportedStateError",
]


class FreshjitError(Exception):
    """Base class of every error raised by freshjit.

    When it is raised during a call, state is exactly as it was before the call.

    Example:
        >>> from freshjit import FreshjitError, jit
        >>> class Log:
        ...     def __init__(self):
        ...         self.calls, self.lines = 0, iter(["a", "b"])
        ...
        ...     @jit
        ...     def add(self, x):
        ...         self.calls += 1
        ...         return x * len(next(self.lines))
        >>> log = Log()
        >>> try:
        ...     log.add(1.0)
        ... except FreshjitError as error:
        ...     print(type(error).__name__, log.calls)
        UnsupportedStateError 0
    """


class UnsupportedStateError(FreshjitError, TypeError):
    """State of a kind that compiled code can neither read nor write (an iterator, a generator…).

    Also raised for state that changes its form in a compiled loop, and for objects that are made inside and
    cannot be made again at each call. What helps is in the message: mostly to do this part outside.

    Example:
        >>> from freshjit import UnsupportedStateError, jit
        >>> data = iter([1.0, 2.0])
        >>> @jit
        ... def step(x):
        ...     return x * next(data)
        >>> try:
        ...     step(10.0)
        ... except UnsupportedStateError as error:
        ...     print(error)  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
        data is a list_iterator (read at ...): it moves when it is read, and compiled code cannot move it.
        Keep a list and an index in its place, or take the next item outside and pass it as an argument.
    """


class CapturedNumpyWriteError(FreshjitError, TypeError):
    """A traced value was written into a NumPy array and is needed at once, or the write would not be seen.

    NumPy arrays hold concrete numbers only. A write alone is replayed after the call; this is raised when
    the array is read as NumPy in the same call, when a slice of it is written, when it shares memory with
    another array that is read, and when it is to get another dtype or size in place.

    Example:
        >>> import numpy as np
        >>> from freshjit import CapturedNumpyWriteError, jit
        >>> log = np.zeros(3)
        >>> @jit
        ... def note(x):
        ...     log[0] = x
        ...     return float(log.sum())
        >>> try:
        ...     note(2.5)
        ... except CapturedNumpyWriteError as error:
        ...     print(error)  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
        the NumPy array log is read as NumPy at ... after a traced value has been written into it
        at ...: NumPy can only hold concrete numbers.
        Make log a jax array (jnp.asarray) and assign a new one: log = log.at[...].set(...).
    """


class LeakedWriteError(FreshjitError, RuntimeError):
    """A value that is written belongs to a JAX transform, and would be a leaked tracer outside of it.

    Met when a jitted function that writes state is called under a plain ``jax.grad``, ``jax.vmap`` or
    ``jax.jit``, and when state is written inside ``vmap`` or ``shard_map`` with a value for each element or
    device.

    Example:
        >>> import jax
        >>> from freshjit import LeakedWriteError, jit
        >>> class Model:
        ...     seen = 0.0
        ...
        ...     @jit
        ...     def loss(self, w):
        ...         self.seen = w
        ...         return w * w
        >>> model = Model()
        >>> try:
        ...     jax.grad(model.loss)(3.0)
        ... except LeakedWriteError as error:
        ...     print(str(error).partition(" (called at")[0])
        self.seen would be given a value that belongs to a JAX transform around this call
        >>> float(jit(jax.grad(model.loss))(3.0)), float(model.seen)
        (6.0, 3.0)
    """


class StaleCompiledError(FreshjitError, RuntimeError):
    """A function compiled ahead of time no longer serves the state: what it depends on has changed.

    Only from the result of ``lower(...).compile()``, which cannot compile again. Arrays may change.

    Example:
        >>> from freshjit import StaleCompiledError, jit
        >>> class Model:
        ...     def __init__(self):
        ...         self.training = True
        ...
        ...     @jit
        ...     def predict(self, x):
        ...         return 2 * x if self.training else x
        >>> model = Model()
        >>> compiled = Model.predict.lower(model, 1.0).compile()
        >>> float(compiled(model, 1.0))
        2.0
        >>> model.training = False
        >>> try:
        ...     compiled(model, 1.0)
        ... except StaleCompiledError as error:
        ...     print(error)  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
        the program compiled ahead of time does not serve this call: self.training has changed (it was read
        at ...).
        Lower and compile again, or call the jitted function itself, which does so when needed.
    """


class UnstableStateError(FreshjitError, RuntimeError):
    """What the function reads is another thing each time that it is read, so no program can serve a call.

    The function has been traced several times by then. A memoised function that remembers nothing is one
    reason, a thread that writes without a pause another.

    Example:
        >>> import functools, itertools
        >>> from freshjit import UnstableStateError, jit
        >>> numbers = itertools.count()
        >>> @functools.lru_cache(maxsize=0)
        ... def next_name(stem):
        ...     return f"{stem} {next(numbers)}"
        >>> @jit
        ... def count(x):
        ...     return x * len(next_name("run"))
        >>> try:
        ...     count(1.0)
        ... except UnstableStateError as error:
        ...     print(error)  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
        state read by count changes by itself: next_name('run') (read at ...) was different directly after
        it had been read, ... times in a row.
        It must be the same when it is read twice. ...
    """


class FrozenValueError(FreshjitError, RuntimeError):
    """With ``jit(strict=True)``: something was read while tracing that later calls would not read again.

    The clock, a file, random numbers of Python and NumPy… Without ``strict`` the same is a
    ``FreshjitWarning``.

    Example:
        >>> import time
        >>> from freshjit import FrozenValueError, jit
        >>> @jit(strict=True)
        ... def stamped(x):
        ...     return x, time.perf_counter()
        >>> try:
        ...     stamped(1.0)
        ... except FrozenValueError as error:
        ...     print(error)  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
        time.perf_counter() was called while stamped was traced (at ...): what came of it is a
        constant of the compiled program, the same at every call.
        Call it outside and pass the result as an argument, or keep it in an attribute.
    """


class StateMismatchError(FreshjitError, LookupError):
    """A ``State`` or a place does not fit the real objects: a path is missing, unknown, or cannot be written.

    From ``State.read`` and ``commit``, ``functionalize``, and the parameters ``wrt`` and ``state_axes``.

    Example:
        >>> import jax.numpy as jnp
        >>> from freshjit import State, StateMismatchError
        >>> class Model:
        ...     def __init__(self):
        ...         self.w = jnp.ones(2)
        >>> model = Model()
        >>> try:
        ...     State({"model.v": jnp.zeros(2)}).commit(lambda: model)
        ... except StateMismatchError as error:
        ...     print(error)  # doctest: +NORMALIZE_WHITESPACE
        there is no array at model.v; there are arrays at model.w.
        Commit what State.read of the same things has given, or what was made of it, or leave these paths
        out.
    """


class FreshjitWarning(UserWarning):
    """Something that a user wants to know: a function compiled very often, or what later calls do not see.

    The clock, files, and random numbers of Python and NumPy are read while tracing only: a result that
    depends on them stays the same. It is given once per place, at the line that did it; with
    ``jit(strict=True)`` it is a ``FrozenValueError``.

    Example:
        >>> import random, warnings
        >>> from freshjit import jit
        >>> @jit
        ... def noisy(x):
        ...     return x + random.random()
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     _ = noisy(1.0)
        >>> print(caught[0].message)  # doctest: +NORMALIZE_WHITESPACE
        Python's random module gave random numbers while noisy was traced: what came of it is a constant of
        the compiled program, the same at every call.
        Use jax.random with a key, or draw outside and pass the numbers as arguments.
    """


def warn(message: str, where: tuple[str, int, str] | None) -> None:
    """Give a ``FreshjitWarning`` as from a line of the user's (file, line, function), if it is known."""
    if where is None:
        warnings.warn(message, FreshjitWarning, stacklevel=3)
    else:
        warnings.warn_explicit(message, FreshjitWarning, where[0], where[1])
