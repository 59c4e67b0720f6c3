"""Captures belong to one thread: others see real values, never a tracer, and all get the right ones."""

import asyncio
import concurrent.futures
import contextlib
import functools
import itertools
import multiprocessing.pool
import sys
import threading
import unittest.mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.support import Compilations, changed_entries, class_namespaces

from freshjit import UnstableStateError, UnsupportedStateError, jit

# Events stop functions in the middle of a trace: what is done to them there is done once, as is reported.
pytestmark = pytest.mark.filterwarnings("ignore:.*_flag was changed by code that is not followed")

THREADS = 8
PATIENCE = 60  # seconds until a thread is said to hang


def run_together(*functions):
    """Run the functions in one thread each, started together; raise what any of them raised."""
    barrier = threading.Barrier(len(functions))
    errors, results = [], [None] * len(functions)

    def body(i, function):
        try:
            barrier.wait(PATIENCE)
            results[i] = function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(i, f), daemon=True) for i, f in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if errors:
        raise errors[0]
    return results


class Model:
    def __init__(self, i):
        self.i = i
        self.w = jnp.float32(i)
        self.flag = True
        self.calls = 0
        self.items = [jnp.float32(0.0)]

    def plain(self, x):
        self.calls += 1
        self.items[0] = self.items[0] + self.w
        return self.w * x if self.flag else x

    @jit
    def step(self, x):
        return self.plain(x)


def test_own_objects_of_one_class_while_others_run_eager_code():
    def jitted(i):
        model = Model(i)
        for k in range(20):
            model.w = jnp.float32(i + k)
            model.flag = k % 3 != 0
            x = jnp.full((1 + k % 2,), 2.0)  # another shape now and then: new captures all the time
            assert model.step(x)[0] == (2.0 * (i + k) if model.flag else 2.0)
            assert model.calls == k + 1
        assert float(model.items[0]) == sum(i + k for k in range(20))

    def eager(i):
        model = Model(i)
        for k in range(200):
            model.w = jnp.float32(k)
            out = model.plain(np.float32(2.0))
            for value in (model.w, model.items[0], out):
                assert not isinstance(value, jax.core.Tracer)
            assert float(out) == 2.0 * k
            assert model.calls == k + 1
            assert type(model.flag) is bool

    before = class_namespaces(Model)
    jobs = [lambda i=i: (jitted if i % 2 else eager)(i) for i in range(THREADS)]
    run_together(*jobs)
    assert not changed_entries(before, Model)


def test_eager_reader_of_an_object_that_another_thread_traces():
    """While one thread traces a method of an object, another reads the same object: old values, no tracer."""
    model = Model(3)
    in_the_middle, go_on = threading.Event(), threading.Event()
    seen = []

    def pause():
        in_the_middle.set()
        assert go_on.wait(PATIENCE)

    @jit
    def traced(x):
        model.w = model.w + x
        model.calls = 5
        PAUSE[0]()
        return model.w

    def reader():
        assert in_the_middle.wait(PATIENCE)
        seen.extend([model.w, model.calls, model.plain.__self__ is model])
        go_on.set()

    PAUSE[0] = pause
    out, _ = run_together(lambda: traced(1.0), reader)
    assert not isinstance(seen[0], jax.core.Tracer)
    assert (float(seen[0]), seen[1:]) == (3.0, [0, True])
    assert float(out) == float(model.w) == 4.0
    assert model.calls == 5


PAUSE = [lambda: None]


def test_two_threads_that_miss_together_compile_once():
    for round_ in range(5):

        def missed_together(x):
            return x * 2 + jnp.sum(x)

        f = jit(missed_together)
        f.clear_cache()
        compiled = Compilations("missed_together")
        x = jnp.ones(round_ + 1)
        results = run_together(*[lambda: f(x)] * 2)
        assert compiled.count == 1
        assert all(float(r[0]) == 2 + round_ + 1 for r in results)


def test_many_threads_that_miss_with_different_state_compile_each_state_once():
    def missed_apart(config, x):
        return x * config["k"]

    f = jit(missed_apart)
    compiled = Compilations("missed_apart")
    jobs = [
        lambda i=i: [float(f({"k": float(i % 4), "s": str(i % 4)}, 2.0)) for _ in range(5)] for i in range(8)
    ]
    results = run_together(*jobs)
    assert [r[0] for r in results] == [2.0 * (i % 4) for i in range(8)]
    assert compiled.count <= 4


def test_functions_that_call_each_other_in_two_threads_do_not_deadlock():
    @jit
    def a(x, n):
        return x if n == 0 else b(x, n - 1) + 1

    @jit
    def b(x, n):
        return x if n == 0 else a(x, n - 1) + 2

    a = jit(a.__wrapped__, static_argnums=1)
    b = jit(b.__wrapped__, static_argnums=1)
    first, second = run_together(lambda: float(a(0.0, 4)), lambda: float(b(0.0, 4)))
    assert (first, second) == (6.0, 6.0)


def test_functions_that_call_each_other_for_real_while_they_are_traced_do_not_deadlock():
    """A memoised helper is called for real: each thread needs a second function while it traces one."""
    both = threading.Barrier(2)

    @functools.lru_cache
    def first_helper():
        both.wait(PATIENCE)
        return float(second(1.0, "flat"))

    @functools.lru_cache
    def second_helper():
        both.wait(PATIENCE)
        return float(first(1.0, "flat"))

    @jit
    def first(x, mode):
        return x * (first_helper() if mode == "deep" else 2)

    @jit
    def second(x, mode):
        return x * (second_helper() if mode == "deep" else 3)

    results = run_together(lambda: first(1.0, "deep"), lambda: second(1.0, "deep"))
    assert [float(r) for r in results] == [3.0, 2.0]


def test_error_in_one_thread_leaves_the_others_alone():
    class Trouble(Exception):
        pass

    def failing(i):
        model = Model(i)

        @jit
        def f(x):
            model.w = model.w + x
            raise Trouble

        for _ in range(10):
            with pytest.raises(Trouble):
                f(1.0)
            assert float(model.w) == i

    def working(i):
        model = Model(i)
        for k in range(10):
            assert float(model.step(1.0)) == i
            assert model.calls == k + 1

    before = class_namespaces(Model)
    run_together(*[lambda i=i: (failing if i % 2 else working)(i) for i in range(THREADS)])
    assert not changed_entries(before, Model)


# -- what other threads do while a function is traced ---------------------------------------------------

IN_THE_MIDDLE, GO_ON = threading.Event(), threading.Event()
GO_ON.set()


def in_the_middle():
    IN_THE_MIDDLE.set()
    assert GO_ON.wait(PATIENCE)


def call_while_another_thread(acts, function, x):
    """``function(x)``, in whose trace ``in_the_middle`` lets another thread act, the first time."""
    IN_THE_MIDDLE.clear()
    GO_ON.clear()

    function.clear_cache()  # equal functions of other tests have programs

    def other():
        assert IN_THE_MIDDLE.wait(PATIENCE)
        try:
            acts()
        finally:
            GO_ON.set()

    return run_together(lambda: function(x), other)[0]


def traced_on(model):
    """A function that reads before and after the others get their turn, and writes one attribute."""

    @jit
    def step(x):
        before = model.w
        in_the_middle()
        model.calls += 1
        return (before + model.w) * x

    return step


def edit_attributes(model):
    model.w = jnp.float32(5.0)
    model.flag = "theirs"
    model.new = [1, 2]
    del model.items


def edit_attributes_by_name(model):
    for name, value in {"w": jnp.float32(5.0), "flag": "theirs", "new": [1, 2]}.items():
        setattr(model, name, value)
    delattr(model, "items")


def commit_attributes(model):
    @jit
    def commit(w):
        model.w = w
        model.flag = "theirs"
        model.new = [1, 2]
        del model.items

    commit(5.0)


class Locked(Model):
    """Its attributes are written to the dictionary by the commit, not assigned."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)


@pytest.mark.parametrize("kind", [Model, Locked])
@pytest.mark.parametrize("edit", [edit_attributes, edit_attributes_by_name, commit_attributes])
def test_what_another_thread_writes_to_an_object_is_not_taken_for_the_functions_own(edit, kind):
    model = kind(1)
    step = traced_on(model)
    result = call_while_another_thread(lambda: edit(model), step, 1.0)
    assert float(result) == 10.0  # read again: all of it is as the other thread has left it
    assert (float(model.w), model.flag, model.new, model.calls) == (5.0, "theirs", [1, 2], 1)
    assert not hasattr(model, "items")
    model.flag, model.new, model.items = "mine", [], ["mine"]
    for calls in (2, 3):
        model.w = jnp.float32(calls)
        assert float(step(1.0)) == 2.0 * calls
        assert (model.flag, model.new, model.items, model.calls) == ("mine", [], ["mine"], calls)


def settings():
    class Settings:
        rate = 1.0
        name = "first"

    return Settings


def traced_with(config):
    @jit
    def step(x):
        before = config.rate
        in_the_middle()
        return x * before * config.rate

    return step


def edit_class(config):
    config.rate = 5.0
    config.name = "theirs"
    config.added = "new"


def commit_class(config):
    @jit
    def commit():
        config.rate = 5.0
        config.name = "theirs"
        config.added = "new"

    commit()


@pytest.mark.parametrize("edit", [edit_class, commit_class])
def test_what_another_thread_writes_to_a_class_is_not_taken_for_the_functions_own(edit):
    config = settings()
    step = traced_with(config)
    result = call_while_another_thread(lambda: edit(config), step, 1.0)
    assert float(result) == 25.0
    assert (config.rate, config.name, config.added) == (5.0, "theirs", "new")
    config.name = config.added = "mine"
    for rate in (1.0, 5.0, 7.0):
        config.rate = rate
        assert float(step(1.0)) == rate * rate
        assert (config.name, config.added) == ("mine", "mine")


def test_a_class_attribute_that_traced_code_assigns_is_seen_by_no_other_thread():
    class Base:
        inherited = "base"

    class Shared(Base):
        latest = "before"

    seen = []

    def look():
        for thing in (Shared, Shared()):
            seen.append((thing.latest, thing.inherited, getattr(thing, "new", "none")))

    @jit
    def publish(x):
        Shared.latest = Shared.inherited = x
        for name in ("new",):
            setattr(Shared, name, 2 * x)
        in_the_middle()
        return Shared.latest + Shared().inherited + Shared.new

    assert float(call_while_another_thread(look, publish, 1.0)) == 4.0
    assert seen == [("before", "base", "none")] * 2
    assert (float(Shared.latest), float(Shared.inherited), float(Shared.new)) == (1.0, 1.0, 2.0)
    assert Base.inherited == "base"


def test_threads_that_count_in_one_class_attribute_see_no_tracers_of_each_other():
    class Counter:
        total = jnp.float32(0.0)
        lock = threading.Lock()

    def add(x):
        Counter.total = Counter.total + x.sum()
        return Counter.total

    def job(i):
        step = jit(lambda x: add(x) * i)  # each has programs of its own, and traces all the time
        for k in range(6):
            out = step(jnp.ones(1 + k))
            assert not isinstance(Counter.total, jax.core.Tracer)
            assert float(out) >= i  # how much depends on who was first

    run_together(*[lambda i=i: job(i) for i in range(THREADS)])
    assert float(Counter.total) > 0


def test_state_that_others_change_all_the_time_is_read_again_until_it_holds_still():
    model = Model(0)
    model.mode, model.table = "a", {"k": "a"}
    ends = threading.Event()

    @jit
    def step(x):
        return x * {"a": 1.0, "b": 2.0}[model.mode], model.table["k"], model.mode

    def edit():
        for k in itertools.count():
            model.mode = "ab"[k % 2]
            model.table["k"] = model.mode
            if ends.wait(0.001):
                return

    def call():
        try:
            for k in range(50):
                step.clear_cache()
                y, _, mode = step(jnp.ones(1 + k % 3))
                assert y[0] == {"a": 1.0, "b": 2.0}[mode]
        finally:
            ends.set()

    run_together(call, edit)


def test_a_class_changed_by_a_library_while_others_run_is_an_error_that_says_so():
    config = settings()

    @jit
    def step(x):
        unittest.mock.patch.object(config, "rate", 3.0).start()
        return x * config.rate

    ends = threading.Event()

    def call():
        try:
            with pytest.raises(UnstableStateError, match=r"Settings\.rate was assigned while .*by another"):
                step(1.0)
        finally:
            ends.set()

    run_together(call, lambda: ends.wait(PATIENCE))


def test_store_shared_by_threads_with_many_flags():
    class Box:
        def __init__(self):
            self.n = 0

    def flags(box, x):
        return x + box.n

    f = jit(flags)

    def job(i):
        box = Box()
        for k in range(40):
            box.n = (i + k) % 6
            assert float(f(box, 1.0)) == 1.0 + box.n

    compiled = Compilations("flags")
    run_together(*[lambda i=i: job(i) for i in range(THREADS)])
    assert compiled.count <= 6


def test_threads_that_share_objects_trace_edit_and_read_at_once():
    """Each has its own part of one shared model; all of them trace new shapes, edit and run eager code."""
    shared = Model(0)
    shared.parts = [Model(i) for i in range(THREADS)]
    seen = []

    @jit
    def step(part, x):
        part.calls += 1
        part.w = part.w + shared.w
        return part.w * x if part.flag else x

    def job(i):
        mine = shared.parts[i]
        for k in range(12):
            mine.flag = k % 3 != 0
            x = np.full((1 + (k + i) % 4,), 2.0, np.float32)
            out = step(mine, x)
            w = i + (k + 1) * 1.0
            assert out.tolist() == [2.0 * w if mine.flag else 2.0] * len(x)
            assert (float(mine.w), mine.calls) == (w, k + 1)
            seen.extend(type(p.w) for p in shared.parts)
            mine.plain(np.float32(1.0))
            mine.calls -= 1

    shared.w = jnp.float32(1.0)
    run_together(*[lambda i=i: job(i) for i in range(THREADS)])
    assert not [kind for kind in set(seen) if issubclass(kind, jax.core.Tracer)]
    assert [(p.calls, float(p.w)) for p in shared.parts] == [(12, i + 12.0) for i in range(THREADS)]


# -- threads that traced code starts ------------------------------------------------------------------


class Worker:
    def __init__(self):
        self.w, self.out = jnp.float32(2.0), None

    def work(self, x):
        return self.w * jnp.sin(x)

    def keep(self):
        self.out = self.w

    async def later(self, x):
        await asyncio.sleep(0)
        return self.w * x


class Keeping(threading.Thread):
    def __init__(self, worker):
        super().__init__()
        self.worker = worker

    def run(self):
        self.worker.keep()


def by_an_executor(worker, x):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return sum(pool.map(worker.work, [x, x]))


def by_an_executor_of_asyncio(worker, x):
    async def run():
        return await asyncio.get_running_loop().run_in_executor(None, worker.work, x)

    return asyncio.run(run())


def by_a_thread(worker, x):
    started = threading.Thread(target=functools.partial(worker.keep))
    started.start()
    started.join()
    return worker.out * x


def by_a_class_of_threads(worker, x):
    started = Keeping(worker)
    started.start()
    started.join()
    return worker.out * x


@pytest.mark.parametrize(
    "function", [by_an_executor, by_an_executor_of_asyncio, by_a_thread, by_a_class_of_threads]
)
def test_work_for_another_thread_is_refused_with_the_line_that_hands_it_over(function):
    worker = Worker()
    step = jit(lambda x: function(worker, x))
    with pytest.raises(UnsupportedStateError, match=r"(?s)test_threads\.py:\d+ in .*start threads outside"):
        step(1.0)
    assert worker.out is None
    assert threading.Thread.start.__module__ == "threading"


def by_a_pool(worker, x):
    with multiprocessing.pool.ThreadPool(2) as pool:
        return pool.apply(worker.work, [x])


@pytest.mark.skipif(sys.version_info < (3, 12), reason="CPython 3.11 does not tell which functions run")
def test_a_function_that_runs_in_another_thread_all_the_same_is_an_error():
    worker = Worker()
    with pytest.raises(UnsupportedStateError, match=r"work ran in another thread while <lambda> was traced"):
        jit(lambda x: by_a_pool(worker, x))(1.0)


def test_code_that_reads_a_global_in_another_thread_is_an_error_even_if_nobody_hears_of_it():
    worker = Worker()

    def silently(x):
        with contextlib.suppress(Exception), multiprocessing.pool.ThreadPool(1) as pool:
            pool.apply(worker.work, [x])
        return x

    with pytest.raises(UnsupportedStateError, match=r"ran in another thread"):
        jit(silently)(1.0)


def test_a_thread_of_a_library_may_start_meanwhile():
    done = threading.Event()

    @jit
    def step(x):
        timer = threading.Timer(0.0, done.set)
        timer.start()
        return x * 2

    assert float(step(1.0)) == 2.0
    assert done.wait(PATIENCE)


def test_coroutines_run_in_the_thread_of_the_capture():
    worker = Worker()
    step = jit(lambda x: asyncio.run(worker.later(x)))
    assert float(step(3.0)) == 6.0
    worker.w = jnp.float32(5.0)
    assert float(step(3.0)) == 15.0
