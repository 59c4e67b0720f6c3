"""Counting what XLA compiles, as JAX itself reports it."""

from functools import cache

import jax.monitoring

__all__ = ["compilations"]

_COMPILED = "backend_compile_duration"


class _Counter:
    """A listener for JAX's events."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, event: str, duration_secs: float, **kwargs: str | int | float) -> None:
        del duration_secs, kwargs
        self.count += event.endswith(_COMPILED)


@cache
def _counter() -> _Counter:
    # Registered once and for good: not every supported JAX can take a listener off again.
    counter = _Counter()
    jax.monitoring.register_event_duration_secs_listener(counter)
    return counter


def compilations() -> int:
    """How many programs were compiled in this process since the first call of this function.

    Eager operations count too: JAX compiles each of them at first use.

    >>> import jax
    >>> triple = jax.jit(lambda x: x * 3)
    >>> before = compilations()
    >>> triple(2.0), triple(3.0)
    (Array(6., dtype=float32, weak_type=True), Array(9., dtype=float32, weak_type=True))
    >>> compilations() - before
    1
    """
    return _counter().count
