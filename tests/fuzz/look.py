"""What a generated program shows: each result as it is returned, and the whole state at the end.

Everything is described as plain data: values, dtypes, Python types, and which places hold one and the same
thing. The description is made at once, since the program goes on changing what it has returned.
"""

import collections
import traceback
import types
from typing import Any

import jax
import numpy as np

__all__ = ["Look", "differences", "user_instance"]

_PLAIN = (str, bool, int, float, complex, bytes, type(None))


def user_instance(value: Any, module: str) -> bool:
    """Whether the value is an instance of a class of the program."""
    return type(value).__module__ == module


class Look:
    """The observations of one run. ``look(f, *args)`` notes the result of the call, or the error's class."""

    def __init__(self, module: str = "") -> None:
        self.module = module
        self.array_aliases = True
        self.rows: list[Any] = []
        self.calls: list[int] = []  # compilations, per call
        self.errors: list[tuple[str, str]] = []  # tracebacks of what was raised
        self.count = lambda: 0

    def __call__(self, f: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.count()
        try:
            result = f(*args, **kwargs)
        except Exception as error:
            self.rows.append(("raised", type(error).__name__))
            self.errors.append((f"{type(error).__name__}: {error}", traceback.format_exc()))
            result = None
        else:
            self.rows.append(_Walk(self.module, self.array_aliases).describe(result))
        self.calls.append(self.count() - before)
        return result

    def value(self, value: Any) -> None:
        """Notes something that is no call."""
        self.rows.append(_Walk(self.module, self.array_aliases).describe(value))

    def state(self, module: dict[str, Any], local: dict[str, Any]) -> Any:
        """Everything reachable from the module's variables and those of ``program``."""
        walk = _Walk(self.module, self.array_aliases)
        skip = {"jit", "look", "program", "jax"}  # jax is another thing in the eager run
        found = [
            (name, walk.describe(value))
            for scope in (module, local)
            for name, value in sorted(scope.items())
            if name not in skip and not name.startswith("__") and not _of_no_interest(value)
        ]
        return ("state", found)


def _of_no_interest(value: Any) -> bool:
    return isinstance(value, types.ModuleType) or getattr(value, "__module__", "").startswith("tests.")


class _Walk:
    """One walk over values; what is met again is described as a reference to where it was first met."""

    def __init__(self, module: str, array_aliases: bool) -> None:
        self.module, self.array_aliases = module, array_aliases
        self.met: dict[int, int] = {}
        self.held: list[Any] = []  # an id is good as long as its owner lives

    def describe(self, value: Any) -> Any:
        if isinstance(value, jax.core.Tracer):
            raise TracerFound(type(value).__name__)
        if type(value) in _PLAIN:
            return (type(value).__name__, value)
        if isinstance(value, np.generic):
            return ("numpy " + type(value).__name__, value.item())
        value = _unwrapped(value)
        if isinstance(value, jax.Array) and not self.array_aliases:
            return self._contents(value)
        if id(value) in self.met and not isinstance(value, tuple):
            return ("same as", self.met[id(value)])
        self.met[id(value)] = len(self.met)
        self.held.append(value)
        return self._contents(value)

    def _contents(self, value: Any) -> Any:
        name = type(value).__name__
        if isinstance(value, jax.Array):
            if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
                return ("key", value.shape, np.asarray(jax.random.key_data(value)).tolist())
            weak = "weak" if value.aval.weak_type else "strong"
            return ("array", str(value.dtype), weak, value.shape, np.asarray(value, np.float64).tolist())
        if isinstance(value, np.ndarray):
            return ("ndarray", str(value.dtype), value.shape, value.tolist())
        if isinstance(value, dict):
            return (name, [(self.describe(k), self.describe(v)) for k, v in value.items()])
        if isinstance(value, collections.deque):
            return (name, value.maxlen, [self.describe(v) for v in value])
        if isinstance(value, (list, tuple)):
            return (name, [self.describe(v) for v in value])
        if isinstance(value, (set, frozenset)):
            return (name, sorted(map(repr, value)))
        if isinstance(value, types.MethodType):
            return ("method", self.describe(value.__func__), self.describe(value.__self__))
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return ("class", value.__name__, self._class_attributes(value))
        if user_instance(value, self.module):
            attributes = sorted(_attributes(value).items())
            return (name, [(key, self.describe(v)) for key, v in attributes])
        if isinstance(value, (staticmethod, classmethod)):
            return (name, self.describe(value.__func__))
        return ("other", name)

    def _function(self, value: types.FunctionType) -> Any:
        if value.__module__ != self.module:
            return ("function", value.__name__)
        cells = []
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            if name not in ("jit", "look", "__class__"):
                try:
                    cells.append((name, self.describe(cell.cell_contents)))
                except ValueError:
                    cells.append((name, "empty"))
        defaults = [self.describe(v) for v in value.__defaults__ or ()]
        attributes = [(n, self.describe(v)) for n, v in sorted(vars(value).items()) if n != "__wrapped__"]
        return ("function", value.__code__.co_name, defaults, cells, attributes)

    def _class_attributes(self, cls: type) -> Any:
        if cls.__module__ != self.module:
            return []
        return [
            (name, self.describe(value))
            for name, value in sorted(vars(cls).items())
            if not name.startswith("_") and not isinstance(value, (property, types.MemberDescriptorType))
        ]


class TracerFound(Exception):
    """A tracer was left in a result or in the state."""


def _unwrapped(value: Any) -> Any:
    """The user's function behind jit, so that both runs are walked alike."""
    if isinstance(value, types.MethodType):
        inner = _unwrapped(value.__func__)
        return value if inner is value.__func__ else types.MethodType(inner, value.__self__)
    wrapped = None
    if not isinstance(value, (type, types.FunctionType)) and type(value).__module__.startswith("freshjit"):
        wrapped = getattr(value, "__wrapped__", None)
    return value if wrapped is None else _unwrapped(wrapped)


def _attributes(value: Any) -> dict[str, Any]:
    found = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                try:
                    found[name] = cls.__dict__[name].__get__(value)
                except AttributeError:
                    continue
    return found


def differences(a: Any, b: Any, loose: bool = False, where: str = "") -> list[str]:
    """Where two descriptions differ, in words; floats within rounding.

    With ``loose``, a number and an array without axes are the same: loops of JAX make arrays of the numbers
    that they carry.
    """
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if loose and (number := _numbers(a, b)):
            a, b = number
        if len(a) != len(b):
            return [f"{where}: eager {_short(a)}, jitted {_short(b)}"]
        found = []
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            step = f".{a[0]}" if isinstance(a[0], str) and i else f"[{i}]"
            found += differences(x, y, loose, where + step)
        return found
    if isinstance(a, float) and isinstance(b, float):
        same = a == b or (a != a and b != b) or abs(a - b) <= 1e-5 + 1e-4 * max(abs(a), abs(b))
    else:
        same = type(a) is type(b) and a == b
    return [] if same else [f"{where}: eager {_short(a)}, jitted {_short(b)}"]


def _numbers(a: Any, b: Any) -> Any:
    sides = []
    for side in (a, b):
        match side:
            case ("int" | "float" | "bool", value):
                sides.append(float(value))
            case ("array", _, _, (), value):
                sides.append(float(value))
            case _:
                return None
    return ("number", sides[0]), ("number", sides[1])


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 160 else text[:157] + "..."
