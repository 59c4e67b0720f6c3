"""What freshjit raises and warns about: one base class and a few named kinds.

Every message says what happened, names the path of the state concerned (``self.layers[1].w``) and
the user's source line where one is known, and says what to do. JAX's own errors about arguments
pass through unchanged.
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

    State is exactly as it was before the call whenever this is raised.
    """


class UnsupportedStateError(FreshjitError, TypeError):
    """State of a kind that cannot be read or written under a trace (a generator, a coroutine…)."""


class CapturedNumpyWriteError(FreshjitError, TypeError):
    """A traced value was written into a NumPy array, which can only hold concrete numbers."""


class LeakedWriteError(FreshjitError, RuntimeError):
    """State was written under a foreign transform (``jax.grad``, ``jax.jit``…), which would leak a tracer."""


class StaleCompiledError(FreshjitError, RuntimeError):
    """An ahead-of-time compiled function was called after the state it was compiled for had changed."""


class UnstableStateError(FreshjitError, RuntimeError):
    """State changed while the function was traced, each time that it was tried."""


class FrozenValueError(FreshjitError, RuntimeError):
    """With ``jit(strict=True)``: something was read while tracing that later calls would not read again."""


class StateMismatchError(FreshjitError, LookupError):
    """A ``State`` does not fit the real objects: a path is missing, unknown, or cannot be written."""


def warn(message: str, where: tuple[str, int, str] | None) -> None:
    """Give a ``FreshjitWarning`` as from a line of the user's (file, line, function), if it is known."""
    if where is None:
        warnings.warn(message, FreshjitWarning, stacklevel=3)
    else:
        warnings.warn_explicit(message, FreshjitWarning, where[0], where[1])


class FreshjitWarning(UserWarning):
    """Something worth knowing that does not make a result wrong."""
