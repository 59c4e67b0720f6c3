"""A fault at any point of a call leaves everything as it was, and the next call right.

A fault is raised at one call in freshjit's own code, or in the code it has generated. Which moments there
are is the interpreter's to say (``sys.setprofile``), so a fault comes only where one can come:

* an exception, where a function of freshjit's starts or before a function written in C does anything;
* ``KeyboardInterrupt``, where CPython looks for signals: where a function starts, and where a call has
  returned. It does not look between ``with lock:`` and the body, nor between the body and the release.

The places are told apart by instruction, and each is tried the first and the last time that it runs.
By default a sample is tried, and the first and last place of each function that puts something in place
or takes it away; ``FRESHJIT_FAULTS=1`` tries all.
"""

import functools
import gc
import itertools
import mmap
import os
import pathlib
import sys
import threading
from collections import Counter, defaultdict

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache
from tests.support import changed_entries, class_namespaces, contents, same

import freshjit
from freshjit import FreshjitError, _compat, jit
from freshjit.programs import store as stores
from freshjit.state import hooks
from freshjit.state.active import thread
from freshjit.state.views import outside, unseen

SOURCE = (str(pathlib.Path(freshjit.__file__).parent), "<freshjit")
EVERY_POINT = os.environ.get("FRESHJIT_FAULTS") == "1"
POINTS = 8  # of each case, by default, besides the boundaries


class Fault(Exception):
    pass


# -- where a fault can strike -------------------------------------------------------------------------

MOMENTS = {Fault: ("call", "c_call"), KeyboardInterrupt: ("call", "c_return", "return")}
# Releasing a lock that one holds, asking for an id, taking away what may be there or not.
NEVER_FAIL = ("__exit__", "id", "pop")


class Strike:
    """Notes the places where a fault can strike, in order, or raises at one of them."""

    def __init__(self, fault, at=None):
        self.fault, self.at = fault, at
        self.seen = Counter()
        self.raised = False

    def __enter__(self):
        self.before = sys.getprofile(), sys.unraisablehook
        # A fault in what a finalizer runs has nowhere to go: Python reports it, pytest would keep its frames.
        sys.unraisablehook = lambda unraisable: None
        sys.setprofile(self.profile)
        return self

    def __exit__(self, *_):
        profile, sys.unraisablehook = self.before
        sys.setprofile(profile)

    def profile(self, frame, event, argument):
        code = frame.f_code
        if event not in MOMENTS[self.fault] or not code.co_filename.startswith(SOURCE) or self.raised:
            return
        if event == "c_call" and argument.__name__ in NEVER_FAIL:
            return
        place = code.co_filename, code.co_qualname, code.co_firstlineno, frame.f_lasti, event
        self.seen[place] += 1
        if (place, self.seen[place]) == self.at:
            self.raised = True
            raise self.fault(f"at {self.at}")


# What puts something in place, or takes it away: by file, the functions, or all of them.
BOUNDARIES = {
    "programs/commit.py": None,
    "views/objects.py": {"roll_back", "roll_back.<locals>.<genexpr>"},
    "state/hooks.py": {"Hooks.add", "Hooks.remove", "_HookedClass.install", "_HookedClass.remove"},
    "state/watches.py": None,
    "state/capture.py": {"Capture.close"},
    "state/run.py": {"trace", "trace.<locals>.traced", "_open", "_close"},
    "_compat.py": {"Recorder.__init__", "Recorder.close", "Recorder.inside"},
}


def is_boundary_function(file, name):
    return any(file.endswith(end) and (names is None or name in names) for end, names in BOUNDARIES.items())


def chosen(seen):
    """The points to try: a place, and the how-many-th time that it runs."""
    if EVERY_POINT:
        return [(place, nth) for place, times in seen.items() for nth in dict.fromkeys((1, times))]
    points = [(place, 1) for place in seen]
    sample = points[:: max(1, len(points) // POINTS)]
    functions = defaultdict(list)
    for place, times in seen.items():
        if is_boundary_function(*place[:2]):
            functions[place[:3]].append((place, times))
    ends = [point for places in functions.values() for point in (places[0], places[-1])]
    return list(dict.fromkeys([*sample, *ends]))


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
    m.parts = [m.parts[0], m.made]
    m.table[0] = x
    Plain.total = Plain.total + x
    return m.made.w["list"]


PROGRAMS = [reads_and_writes, under_transforms, new_things]
CLASSES = (Plain, Part, Lazy, pathlib.Path)


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


@pytest.fixture(scope="module", autouse=True)
def nothing_is_compiled_twice(tmp_path_factory):
    """XLA's work is kept on disk: the same programs are compiled after each fault."""
    settings = {
        "jax_compilation_cache_dir": str(tmp_path_factory.mktemp("compiled")),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: jax.config.values[name] for name in settings}
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


def locks_are_free(step):
    """Whether another thread can take every lock that a call takes."""
    watches = outside.watched_paths, unseen.watched_interpreter
    locks = [
        step._store.lock,
        step._store._turn,
        stores._lock,
        hooks._lock,
        *(watch._lock for watch in watches),
    ]
    got = []

    def take():
        for lock in locks:
            got.append(lock.acquire(timeout=20))
            if got[-1]:
                lock.release()

    other = threading.Thread(target=take)
    other.start()
    other.join()
    return all(got)


def nothing_is_left(step):
    assert thread.capture is None, "a capture goes on"
    assert not hooks.hooked_classes, "a class is still hooked"
    assert not _compat._recorders, "a trace is still watched"
    assert not outside.watched_paths._users, "paths are still watched"
    assert not unseen.watched_interpreter._users, "functions are still watched"
    assert locks_are_free(step), "a lock is held"
    assert not live_tracers(), "a tracer lives on"
    return True


X = jnp.float32(2.0)


def prepared(program, calls_before, forget):
    """The state and the jitted function, after so many calls."""
    m, Plain.total = Plain(), jnp.float32(0.0)
    step = jit(functools.partial(program, m))
    if forget:
        step.clear_cache()
    for _ in range(calls_before):
        step(X)
    return m, step


# Whether it captures, and after how many calls: numbers that change are known after two.
CASES = {"while capturing": (0, True), "while serving": (3, False)}


def places(program, calls_before, forget, fault):
    prepared(program, calls_before + 1, forget)  # what is done once per process is not repeated
    _, step = prepared(program, calls_before, forget)
    with Strike(fault) as strike:
        step(X)
    captures = any(name == "trace" for _, name, *_ in strike.seen)
    assert captures == forget
    return strike.seen


def strike(program, case, fault, point, once, twice):
    """Raise the fault at the point of a call; whether it came, after checking all that must hold then.

    Parameters:
        once, twice: the values after this call, and after one more.
    """
    m, step = prepared(program, *CASES[case])
    before, namespaces = as_it_was(m), class_namespaces(*CLASSES)
    result = None
    with Strike(fault, point) as striking:
        try:
            result = step(X)
        except fault:
            pass
        except Exception:  # an error of freshjit's own may say what the exception means
            assert fault is Fault, "Ctrl-C has become an error"
    if result is None:
        committed = as_it_was(m) != before
        if committed:  # all of it, only the result is lost
            assert same(values(m, ()), once[1:]), "state has changed in part"
            namespaces[0]["total"] = Plain.total
        assert not changed_entries(namespaces, *CLASSES), "a class has changed"
        assert nothing_is_left(step)
        assert same(values(m, step(X)), twice if committed else once), "the next call is wrong"
    else:
        assert same(values(m, result), once), "wrong values"
    return striking.raised


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.parametrize("fault", MOMENTS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_fault_at_any_call_leaves_everything_as_it_was(program, case, fault):
    once, twice = (wanted(program, CASES[case][0] + calls) for calls in (1, 2))
    struck, wrong = 0, {}
    for point in chosen(places(program, *CASES[case], fault)):
        try:
            struck += strike(program, case, fault, point, once, twice)
        except AssertionError as error:
            wrong[point] = str(error).partition("\n")[0]
            gc.freeze()  # what is left is this point's fault, not the next one's
            _compat._recorders.clear()
    print(struck, "points")
    assert not wrong, "\n".join(f"{message} ({point})" for point, message in wrong.items())
    assert struck


# -- the user's own code ------------------------------------------------------------------------------


# Memory that shows nothing of what it holds: the capture does not take it for state.
FUSE = mmap.mmap(-1, 8)  # how many accesses are left, and which fault the last of them is
FAULTS = (Fault, KeyboardInterrupt, AttributeError)


def accesses_left():
    return int.from_bytes(FUSE[:4])


def light(accesses=0, fault=Fault):
    """Let the access of this number fail from now on; none by default."""
    FUSE[:4], FUSE[4] = accesses.to_bytes(4), FAULTS.index(fault)


def access():
    left = accesses_left()
    if left:
        light(left - 1, FAULTS[FUSE[4]])
    if left == 1:
        raise FAULTS[FUSE[4]]("bomb")


class Watched(Plain):
    """Each read and write of an attribute runs a line of the user's."""

    def __getattribute__(self, name):
        access()
        return super().__getattribute__(name)

    def __setattr__(self, name, value):
        access()
        super().__setattr__(name, value)


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("program", [reads_and_writes, under_transforms])
def test_a_fault_in_each_read_and_write_that_runs_the_users_code(program, fault):
    light()
    after = wanted(program, 1)
    for number in itertools.count(1, 1 if EVERY_POINT else 5):
        light()
        m, Plain.total = Watched(), jnp.float32(0.0)
        before = as_it_was(m)
        step = jit(functools.partial(program, m))
        step.clear_cache()
        light(number, fault)
        raised = False
        try:
            step(jnp.float32(2.0))
        except (fault, FreshjitError):  # the latter if what has just been read cannot be read again
            raised = True
        if not raised and accesses_left():
            break  # there are not so many
        light()
        if raised:
            assert as_it_was(m) == before, f"state has changed by a fault in access {number}"
            assert thread.capture is None
            assert not live_tracers(), f"a tracer lives on after a fault in access {number}"
            result = step(jnp.float32(2.0))
            light()
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
        patch.setattr(freshjit.programs.program._compat, "jax_jit", lambda function, **options: refuse)
        with pytest.raises(Fault):
            step(jnp.float32(2.0))
    assert as_it_was(m) == before
    step.clear_cache()
    assert same(step(jnp.float32(2.0)), wanted(reads_and_writes, 1)[0])


# -- the commit ---------------------------------------------------------------------------------------


class Key:
    """A key of a dictionary whose hash runs the user's code, at the commit, too."""

    def __init__(self, name):
        self.name = name

    def __hash__(self):
        access()
        return hash(self.name)

    def __eq__(self, other):
        return self is other


def under_keys(m, x):
    m.w = m.w + x
    m.by_name["a"] = m.by_name["a"] * x
    for key in m.keys:
        m.by_key[key] = m.by_key[key] + x
    m.table[1] = x
    m.log.append(x)
    return m.w[0]


def with_keys():
    m = Plain()
    m.keys = [Key("first"), Key("second")]
    m.by_key = {key: jnp.float32(n) for n, key in enumerate(m.keys)}
    return m


@pytest.mark.parametrize("fault", [Fault, KeyboardInterrupt])
def test_a_key_whose_hash_fails_at_the_commit_undoes_all_of_it(fault):
    light()
    reference, m = with_keys(), with_keys()
    step = jit(functools.partial(under_keys, m))
    for _ in range(2):
        under_keys(reference, X)
        step(X)
    programs = step._cache_size()
    for number in itertools.count(1):
        before = as_it_was(m)
        light(number, fault)
        try:
            step(X)
        except fault:
            light()
            assert as_it_was(m) == before, f"the commit was made in part, up to hash {number}"
            assert locks_are_free(step)
        else:
            break
    light()
    assert number > 4  # it reads two keys and writes two
    assert step._cache_size() == programs
    under_keys(reference, X)
    for a, b in ((m.w, reference.w), (m.by_name, reference.by_name), (m.table, reference.table)):
        assert same(a, b)
    assert same(list(m.by_key.values()), list(reference.by_key.values()))


def test_a_buffer_that_has_become_read_only_undoes_the_commit():
    m = Plain()
    step = jit(functools.partial(under_buffer, m))
    step(X)
    before = as_it_was(m)
    m.table.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        step(X)
    assert as_it_was(m) == before
    m.table.flags.writeable = True
    assert float(step(X)) == 4.0
    assert len(m.log) == 2
    assert m.table.tolist() == [0.0, 2.0]


def under_buffer(m, x):
    m.w = m.w + x
    m.log.append(x)
    m.table[1] = x
    m.by_name["a"] = m.by_name["a"] * x
    return m.w[0]
