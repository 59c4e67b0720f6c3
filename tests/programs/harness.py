"""Load, run, compare and count: what test_programs.py needs, and a small command line for authors.

    python tests/programs/harness.py                            every program, eager, three times
    python tests/programs/harness.py own_slots_counter case_003 only these
    python tests/programs/harness.py --jit freshjit:jit own_…   one line per program for that jit

The eager check runs each program twice, with equal results and without a tracer left behind (a write
inside grad leaves one even in eager code), and once more with JAX's caches cleared before each call of
a "jitted" function.  That run finds programs whose eager value is itself stale, because a scan or cond
body kept an old trace; such a program must state `EXPECTED`.
"""

import ast
import functools
import gc
import importlib
import importlib.util
import inspect
import os
import sys
import time
import types
import warnings
import weakref
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

HERE = Path(__file__).resolve().parent
OPTIONAL = {"chex", "equinox", "flax", "haiku", "optax"}
_KEEP = "__keep_locals__"


def program_files():
    """Every program of this folder, own ones last."""
    return [p for kind in ("case", "inner", "own") for p in sorted(HERE.glob(f"{kind}_*.py"))]


def identity(f=None, **kw):
    """The jit that does nothing: it defines the right value."""
    return f if f is not None else (lambda g: g)


# ---------------------------------------------------------------- compilations

_compiled = 0


def _count(event, duration, **kw):
    global _compiled
    if event.endswith("backend_compile_duration"):
        _compiled += 1


jax.monitoring.register_event_duration_secs_listener(_count)


# ---------------------------------------------------------------- loading and running

_serial = 0


class Loaded:
    """One fresh copy of a program: its module, and the local variables `program` ended with."""

    def __init__(self, path):
        global _serial
        _serial += 1
        self.path = Path(path)
        self.name = f"{self.path.stem}__{_serial}"
        self.kept = {}
        self._before = frozenset(sys.modules)
        spec = importlib.util.spec_from_file_location(self.name, self.path)
        self.module = importlib.util.module_from_spec(spec)
        vars(self.module)[_KEEP] = self.kept.update
        sys.modules[self.name] = self.module

    def __enter__(self):
        try:
            exec(_instrumented(self.path), vars(self.module))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        sys.modules.pop(self.name, None)
        for name in set(sys.modules) - self._before:  # modules that the program made by hand
            if getattr(sys.modules[name], "__spec__", None) is None:
                del sys.modules[name]


@functools.cache
def _instrumented(path):
    """The file's code; `program` also reports its locals at the end, for that is where its objects live."""
    tree = ast.parse(path.read_text(), str(path))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "program":
            report = ast.parse(f"{_KEEP}(locals())").body
            node.body = [ast.Try(body=node.body, handlers=[], orelse=[], finalbody=report)]
            ast.copy_location(node.body[0], node)
            for sub in ast.walk(report[0]):
                ast.copy_location(sub, node)
    return compile(ast.fix_missing_locations(tree), str(path), "exec")


class Run:
    """What one run of a program showed."""

    def __init__(self, value, compiles, wanted, expected, tracers, seconds):
        self.value, self.compiles, self.wanted = value, compiles, wanted
        self.expected, self.tracers, self.seconds = expected, tracers, seconds


def run(path, jit):
    """Run a fresh copy of the program with this jit."""
    with Loaded(path) as loaded, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, start = _compiled, time.perf_counter()
        raw = loaded.module.program(jit)
        compiles, seconds = _compiled - first, time.perf_counter() - start
        tracers = tracers_left(loaded, raw)
        wanted = getattr(loaded.module, "WANT_COMPILES", None)
        expected = getattr(loaded.module, "EXPECTED", None)
        return Run(plain(raw), compiles, wanted, plain(expected), tracers, seconds)


# ---------------------------------------------------------------- comparing


def plain(v):
    """Observations as plain Python; a tracer among them fails here."""
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, dict):
        return {str(k): plain(x) for k, x in v.items()}
    if isinstance(v, (str, bool, int, float, type(None))):
        return v
    return np.asarray(v).tolist()


def same(a, b):
    """Strings, bools and None exactly; numbers within float32 rounding; containers item by item."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if any(isinstance(x, (str, bool, type(None))) for x in (a, b)):
        return type(a) is type(b) and a == b
    try:
        a, b = np.asarray(a), np.asarray(b)
        return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True))
    except Exception:
        return a == b


# ---------------------------------------------------------------- tracers left behind

_FOREIGN = ("jax", "jaxlib", "numpy", "freshjit", "importlib", "ast", "_frozen_importlib")


def tracers_left(loaded, *more):
    """Where a tracer is reachable from the program's module or from the locals `program` ended with."""
    gc.collect()
    own = vars(loaded.module)
    todo = [(name, v) for name, v in own.items() if not name.startswith("__")]
    todo += [(name, v) for name, v in loaded.kept.items() if name != "jit"]
    todo += [("result", v) for v in more]
    seen, hold, found = set(), [], []
    while todo:
        where, v = todo.pop()
        if isinstance(v, jax.core.Tracer):
            found.append(f"{where}: {type(v).__name__}")
        elif id(v) not in seen:
            seen.add(id(v))
            hold.append(v)  # keeps ids unique while walking
            todo += [(f"{where}{step}", w) for step, w in _inside(v, loaded)]
    return sorted(set(found))


def _inside(v, loaded):
    t = type(v)
    if isinstance(v, types.ModuleType):
        user_made = getattr(v, "__spec__", None) is None and v.__name__ not in loaded._before
        return [(f".{k}", w) for k, w in vars(v).items()] if user_made else []
    if isinstance(v, type):
        if v.__module__ != loaded.name:
            return []
        return [(f".{k}", w) for k, w in vars(v).items()]
    if isinstance(v, types.FunctionType):
        out = [(" default", v.__defaults__), (" default", v.__kwdefaults__), ("", v.__dict__)]
        for name, cell in zip(v.__code__.co_freevars, v.__closure__ or (), strict=True):
            try:
                out.append((f" closure {name}", cell.cell_contents))
            except ValueError:  # an empty cell
                pass
        return out
    if t.__module__.partition(".")[0] in _FOREIGN:
        wrapped = inspect.getattr_static(v, "__wrapped__", None)
        return [("", wrapped)] if isinstance(wrapped, types.FunctionType) else []
    if isinstance(v, (types.FrameType, types.CodeType, types.TracebackType)) or t in weakref.ProxyTypes:
        return []
    if isinstance(v, dict):
        return [(f"[{k!r}]" if isinstance(k, (str, int)) else "[…]", w) for k, w in dict.items(v)]
    if isinstance(v, (list, tuple)):
        base = list if isinstance(v, list) else tuple
        return [(f"[{i}]", w) for i, w in enumerate(base.__iter__(v))] + _attributes(v)
    return _attributes(v) + [("", w) for w in gc.get_referents(v)]


def _attributes(v):
    try:
        d = object.__getattribute__(v, "__dict__")
    except AttributeError:
        return []
    return [(f".{k}", w) for k, w in d.items()] if type(d) is dict else []


# ---------------------------------------------------------------- command line


def _cold(f=None, **kw):
    """An eager jit that forgets JAX's traces before every call."""
    if f is None:
        return _cold
    if isinstance(f, (classmethod, staticmethod)):
        return type(f)(_cold(f.__func__))
    if isinstance(f, types.MethodType):  # stays a method, so that deepcopy binds it anew
        return types.MethodType(_cold(f.__func__), f.__self__)

    @functools.wraps(f)
    def call(*args, **kwargs):
        jax.clear_caches()
        return f(*args, **kwargs)

    return call


def _main(words):
    spec = None
    if "--jit" in words:
        at = words.index("--jit")
        spec = words[at + 1]
        del words[at : at + 2]
    files = [p for p in program_files() if not words or p.stem in words]
    bad = 0
    for path in files:
        try:
            first = run(path, identity)
            right = first.value if first.expected is None else first.expected
            if spec:
                module, _, attr = spec.partition(":")
                got = run(path, getattr(importlib.import_module(module), attr))
                ok = same(right, got.value) and not got.tracers
                ok = ok and (got.wanted is None or got.compiles <= got.wanted)
                note = f"compiles {got.compiles} (wanted {got.wanted}) {got.tracers or ''}"
                if not same(right, got.value):
                    note += f"\n  right {right}\n  got   {got.value}"
            else:
                note, ok = f"{first.seconds:.2f} s", True
                if first.tracers:
                    note, ok = f"eager leaves a tracer: {first.tracers}", False
                elif not same(first.value, run(path, identity).value):
                    note, ok = "differs from run to run", False
                elif not same(right, run(path, _cold).value):
                    note, ok = "eager is stale itself: state EXPECTED", False
        except Exception as e:
            note, ok = f"{type(e).__name__}: {str(e).strip().splitlines()[:1]}", False
        bad += not ok
        print("ok  " if ok else "BAD ", path.stem, note, flush=True)
    print(f"{len(files)} programs, {bad} bad")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
