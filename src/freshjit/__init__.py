"""freshjit: a drop-in for ``jax.jit`` that is never stale."""

from freshjit.errors import (
    CapturedNumpyWriteError,
    FreshjitError,
    FreshjitWarning,
    LeakedWriteError,
    StaleCompiledError,
    UnsupportedStateError,
)
from freshjit.jit import FreshJit, jit

__all__ = [
    "CapturedNumpyWriteError",
    "FreshJit",
    "FreshjitError",
    "FreshjitWarning",
    "LeakedWriteError",
    "StaleCompiledError",
    "UnsupportedStateError",
    "jit",
]
__version__ = "0.1.0"
