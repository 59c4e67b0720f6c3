"""A fault at any point of a call leaves everything as it was, and the next call right.

The faults are exceptions raised in freshjit's own code, at a line of it that runs during the call: an
ordinary exception, as a library or the user's code may raise it, and ``KeyboardInterrupt``, which may come
between any two steps. Some points are tried by default; ``FRESHJIT_FAULTS=1`` tries every line that runs.
"""

import ast
import ctypes
import functools
import gc
import itertools
import os
import pathlib
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.support import class_namespaces, contents, same, unchanged

import freshjit
from freshjit import FreshjitError, jit
from freshjit.state.active import thread

SOURCE = str(pathlib.Path(freshjit.__file__).parent)
EVERY_POINT = os.environ.get("FRESHJIT_FAULTS") == "1"
POINTS = 12  # of each program and kind of fault, by default


class Fault(Exception):
    pass


# -- where a fault can strike -------------------------------------------------------------------------


@functools.lru_cache
def safe_lines(file):
    """Lines at which no fault can strike, though a tracing function could raise one there.

    Python looks for signals when it calls and when it jumps back. It does not between leaving the body of
    a ``with`` and releasing what it holds, nor at a statement in a clause that cleans up and calls nothing.
    """
    withs, quiet = set(), set()
    for node in ast.walk(ast.parse(pathlib.Path(file).read_text())):
        if isinstance(node, ast.With):
            withs.add(node.lineno)
        if isinstance(node, ast.Try):
            quiet.add(node.lineno)
            clean_up = [*node.finalbody, *(s for handler in node.handlers for s in handler.body)]
            for statement in clean_up:
                if not any(isinstance(part, (ast.Call, ast.For)) for part in ast.walk(statement)):
                    quiet.update(range(statement.lineno, statement.end_lineno + 1))
            quiet.update(handler.lineno for handler in node.handlers)
    return withs, quiet


class Tracer:
    """Notes the lines of freshjit that run, or raises at one of them."""

    def __init__(self, at=None, fault=Fault):
        self.at, self.fault = at, fault
        self.seen = {}
        self.raised = False

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)

    def trace(self, frame, event, argument):
        file = frame.f_code.co_filename
        if not file.startswith(SOURCE):
            return None
        withs, quiet = safe_lines(file)
        entered = set()

        def line(frame, event, argument):
            if event != "line" or self.raised:
                return line
            number = frame.f_lineno
            if number in quiet or number in entered:
                return line
            if number in withs:
                entered.add(number)
            point = file.removeprefix(SOURCE), number
            self.seen.setdefault(point)
            if point == self.at:
                self.raised = True
                sys.settrace(None)
                raise self.fault(f"at {point}")
            return line

        return line


# -- programs -----------------------------------------------------------------------------------------


class Part:
    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w


class Lazy:
    def __init__(self):
        self.values = {"scale": jnp.float32(3.0)}

    def __getattr__(self, name):
        if name == "values":
            raise AttributeError(name)
        return self.values[name]


class Plain:
    total = jnp.float32(0.0)

    def __init__(self):
        self.w, self.n, self.key = jnp.arange(2.0), 1, jax.random.key(0)
        self.parts, self.log, self.by_name = [Part(jnp.ones(2))], [], {"a": jnp.float32(1.0)}
        self.lazy, self.table, self.made = Lazy(), np.zeros(2, np.float32), None
        self._hidden = jnp.float32(1.0)

    @property
    def hidden(self):
        return self._hidden

    @hidden.setter
    def hidden(self, value):
        self._hidden = value


def reads_and_writes(m, x):
    m.n += 1
    m.w = m.w * m.n + x
    m.parts[0].w = m.parts[0].w + m.lazy.scale
    m.by_name["a"] = m.by_name["a"] + x
    m.hidden = m.hidden + 1
    m.log.append(x)
    return jnp.sum(m.w) + m.hidden


def under_transforms(m, x):
    def loss(w):
        m.n += 1
        m.hidden = jnp.sum(w * m.parts[0].w)
        return m.hidden * x

    slope = jax.grad(loss)(m.w)

    def body(carry, t):
        m.w = m.w + t * carry
        return carry + 1, jnp.sum(m.w)

    rows = jax.lax.scan(body, x, slope)[1]
    m.key, key = jax.random.split(m.key)
    return jnp.sum(rows) + jax.random.normal(key)


def new_things(m, x):
    m.made = Part({"list": [x, m.w], "back": m.parts[0]})
    m.parts = [*m.parts, m.made]
    m.table[0] = x
    Plain.total = Plain.total + x
    return m.made.w["list"]


PROGRAMS = [reads_and_writes, under_transforms, new_things]
CLASSES = (Plain, Part, Lazy)


def as_it_was(m):
    return [contents(v) for v in (vars(m), m.lazy.values, *(p.w for p in m.parts), Plain.total)]


def values(m, result):
    """The result's first array, if there is one, and the whole state."""
    first = jax.tree.leaves(result)[:1]
    parts = [p.w if not isinstance(p.w, dict) else p.w["list"] for p in m.parts]
    state = [m.w, m.n, m.log, parts, m.by_name["a"], m.hidden, m.table.copy(), Plain.total]
    return [*first, *jax.tree.leaves(state), jax.random.key_data(m.key)]


def wanted(program, calls):
    """Values after so many calls of the functional kind: a jitted function that nothing disturbs."""
    m, Plain.total = Plain(), jnp.float32(0.0)
    step = jit(functools.partial(program, m))
    for _ in range(calls):
        result = step(jnp.float32(2.0))
    return values(m, result)


def live_tracers():
    gc.collect()
    return [o for o in gc.get_objects() if isinstance(o, jax.core.Tracer)]


@pytest.fixture
def only_new_objects():
    """The collector leaves out what is there already: it takes time, and errors of JAX's leave tracers."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def lock_is_free(step):
    got, lock = [], step._store.lock

    def take():
        got.append(lock.acquire(timeout=20))
        if got == [True]:
            lock.release()

    other = threading.Thread(target=take)
    other.start()
    other.join()
    return got == [True]


def points_of(program, calls_before):
    """The lines of freshjit that run in a call, in the order in which they first do."""
    m, Plain.total = Plain(), jnp.float32(0.0)
    step = jit(functools.partial(program, m))
    step.clear_cache()
    for _ in range(calls_before):
        step(jnp.float32(2.0))
    with Tracer() as tracer:
        step(jnp.float32(2.0))
    return list(tracer.seen)


def chosen(points):
    return points if EVERY_POINT else points[:: max(1, len(points) // POINTS)]


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.parametrize("fault", [Fault, KeyboardInterrupt])
@pytest.mark.parametrize("calls_before", [0, 1], ids=["while capturing", "after a capture"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_fault_in_any_line_leaves_everything_as_it_was(program, calls_before, fault):
    after = wanted(program, calls_before + 1)
    namespaces = class_namespaces(*CLASSES)
    struck = 0
    for point in chosen(points_of(program, calls_before)):
        m, Plain.total = Plain(), jnp.float32(0.0)
        namespaces[0]["total"] = Plain.total
        step = jit(functools.partial(program, m))
        step.clear_cache()
        for _ in range(calls_before):
            step(jnp.float32(2.0))
        namespaces[0]["total"] = Plain.total
        before = as_it_was(m)
        with Tracer(point, fault) as tracer:
            try:
                result = step(jnp.float32(2.0))
            except (fault, Exception):  # an error of freshjit's own may hide a fault in what it tries again
                result = None
        if tracer.raised and result is None:
            struck += 1
            if as_it_was(m) != before:  # it came after the commit: all is done, only the result is lost
                assert same(values(m, ()), after[1:]), f"state has changed in part by a fault at {point}"
                continue
            assert unchanged(namespaces, *CLASSES), f"a class has changed by a fault at {point}"
            assert thread.capture is None, f"a capture goes on after a fault at {point}"
            assert lock_is_free(step), f"a lock is held after a fault at {point}"
            assert not live_tracers(), f"a tracer lives on after a fault at {point}"
            result = step(jnp.float32(2.0))
        assert same(values(m, result), after), f"wrong values after a fault at {point}"
    assert struck


# -- the user's own code ------------------------------------------------------------------------------


# Out of reach of any path: a counter of accesses that the capture does not take for state.
ACCESSES_LEFT, KIND = ctypes.c_long(0), ctypes.c_long(0)
KINDS = (Fault, KeyboardInterrupt, AttributeError)


def access():
    ACCESSES_LEFT.value -= 1
    if ACCESSES_LEFT.value == 0:
        raise KINDS[KIND.value]("bomb")


class Watched(Plain):
    """Each read and write of an attribute runs a line of the user's."""

    def __getattribute__(self, name):
        access()
        return super().__getattribute__(name)

    def __setattr__(self, name, value):
        access()
        super().__setattr__(name, value)


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.parametrize("fault", KINDS)
@pytest.mark.parametrize("program", [reads_and_writes, under_transforms])
def test_a_fault_in_each_read_and_write_that_runs_the_users_code(program, fault):
    KIND.value = KINDS.index(fault)
    ACCESSES_LEFT.value = 0
    after = wanted(program, 1)
    for number in itertools.count(1, 1 if EVERY_POINT else 5):
        ACCESSES_LEFT.value = 0
        m, Plain.total = Watched(), jnp.float32(0.0)
        before = as_it_was(m)
        step = jit(functools.partial(program, m))
        step.clear_cache()
        ACCESSES_LEFT.value = number
        raised = False
        try:
            step(jnp.float32(2.0))
        except (fault, FreshjitError):  # the latter if what has just been read cannot be read again
            raised = True
        if not raised and ACCESSES_LEFT.value > 0:
            break  # there are not so many
        ACCESSES_LEFT.value = 0
        if raised:
            assert as_it_was(m) == before, f"state has changed by a fault in access {number}"
            assert thread.capture is None
            assert not live_tracers(), f"a tracer lives on after a fault in access {number}"
            result = step(jnp.float32(2.0))
            ACCESSES_LEFT.value = 0
            assert same(values(m, result), after)
    assert number > 8


def test_a_fault_while_xla_compiles(monkeypatch):
    m = Plain()
    step = jit(functools.partial(reads_and_writes, m))
    step.clear_cache()
    before = as_it_was(m)

    def refuse(*args, **options):
        raise Fault("no compiler today")

    with monkeypatch.context() as patch:
        patch.setattr(freshjit.programs.program.jax, "jit", lambda function, **options: refuse)
        with pytest.raises(Fault):
            step(jnp.float32(2.0))
    assert as_it_was(m) == before
    step.clear_cache()
    assert same(step(jnp.float32(2.0)), wanted(reads_and_writes, 1)[0])
