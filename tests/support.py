"""What several test files need: counting compilations, and looking at objects, classes and results."""

import types

import jax
import numpy as np

_compiled = []


def _note(event, duration, **details):
    if event.endswith("backend_compile_duration"):
        _compiled.append(str(details.get("fun_name", "")))


jax.monitoring.register_event_duration_secs_listener(_note)


class Compilations:
    """How many programs XLA has compiled for functions of this name since it was made."""

    def __init__(self, name):
        self.names = (name, f"jit({name})", f"jit_{name}")
        self.start = len(_compiled)

    @property
    def count(self):
        return sum(name in self.names for name in _compiled[self.start :])


def same(actual, wanted):
    """Equal structure and, leaf by leaf, equal up to rounding."""
    a, a_tree = jax.tree.flatten(actual)
    b, b_tree = jax.tree.flatten(wanted)
    assert a_tree == b_tree, f"{a_tree} is not {b_tree}"
    for x, y in zip(a, b, strict=True):
        if jax.dtypes.issubdtype(getattr(x, "dtype", np.float32), jax.dtypes.prng_key):
            x, y = jax.random.key_data(x), jax.random.key_data(y)
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-6)
    return True


def class_namespaces(*classes):
    """The entries of classes, to be compared by identity later."""
    return [dict(cls.__dict__) for cls in classes]


def changed_entries(before, *classes):
    """The entries of classes that are other objects than before, have come or have gone."""
    return [
        (cls.__name__, name, then.get(name), now.get(name))
        for cls, then, now in zip(classes, before, class_namespaces(*classes), strict=True)
        for name in {**then, **now}
        if name not in then or name not in now or then[name] is not now[name]
    ]


def contents(value):
    """State as plain data with the identity of every array and container in it."""
    if isinstance(value, (list, tuple)):
        return type(value), id(value), [contents(v) for v in value]
    if isinstance(value, dict):
        return type(value), id(value), [(k, contents(v)) for k, v in value.items()]
    if isinstance(value, np.ndarray):
        return id(value), value.dtype, value.shape, value.tobytes()
    if isinstance(value, jax.Array):
        assert not isinstance(value, jax.core.Tracer), "a tracer was left in the state"
        is_key = jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)
        return (
            id(value),
            str(value.dtype),
            np.asarray(jax.random.key_data(value) if is_key else value).tobytes(),
        )
    if hasattr(value, "__dict__") and not isinstance(value, (type, types.FunctionType)):
        return type(value), id(value), contents(vars(value))
    return type(value), repr(value)
