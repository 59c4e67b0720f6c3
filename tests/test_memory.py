"""freshjit keeps nothing of the user's alive, and its own books do not grow."""

import contextlib
import functools
import gc
import sys
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.support import Compilations

from freshjit import jit
from freshjit.programs import checks, store
from freshjit.state import hooks


class Model:
    def __init__(self, w=1.0):
        self.w = jnp.full(4, w)
        self.config = {"k": 2.0}
        self.items = [jnp.ones(4)]
        self.table = np.ones(4, np.float32)
        self.mate = None

    @jit
    def step(self, x):
        self.w = self.w * x
        self.items.append(self.w)
        return self.w * self.config["k"] + jnp.asarray(self.table)

    def plain(self, x):
        return self.w * x


class Target:
    """Something that a weak reference can point to."""


def gone(references):
    gc.collect()
    return sum(r() is None for r in references)


def test_instances_are_collected():
    references, compiled = [], Compilations("step")
    for i in range(10_000):
        model = Model(i)
        model.step(2.0)
        references.append(weakref.ref(model))
    del model
    assert gone(references) == 10_000
    assert compiled.count <= 1


def test_instances_in_cycles_with_their_jitted_bound_method_are_collected():
    references = []
    for i in range(100):
        model = Model(i)
        model.fast = jit(model.plain)
        model.fast(2.0)
        model.mate = model
        references.append(weakref.ref(model))
    del model
    assert gone(references) == 100


def test_last_instance_dies_without_the_cycle_collector():
    model = Model()
    model.step(2.0)
    model.step(2.0)
    gc.collect()
    reference = weakref.ref(model)
    gc.disable()
    try:
        del model
        assert reference() is None
    finally:
        gc.enable()


class Runs:
    """A function that does one thing for each way in which a run could end up referring to itself."""

    def __init__(self, way):
        self.way, self.w, self.count, self.layers = way, jnp.ones(4), 0, [np.ones(4, np.float32)]

    def __call__(self, x):
        if self.way == "an error":
            raise KeyError(self.w * x)
        if self.way == "an error of JAX's":
            return self.w if x > 0 else x
        if self.way == "writes":
            self.count += 1
            self.w = self.w * x
            type(self).runs = getattr(type(self), "runs", 0) + 1
        if self.way == "transforms":

            def body(carry, _):
                self.w = self.w + carry
                return carry, None

            jax.lax.scan(body, x, None, length=2)
            return jax.grad(lambda y: (self.w * y).sum())(x)
        if self.way == "builtins":
            return getattr(self, "w") * len(vars(self))  # noqa: B009 - a builtin that reads is wanted
        if self.way == "hands out":
            self.later = lambda: x
            return self
        return self.w * x + self.layers[0]


@pytest.mark.parametrize(
    "way", ["reads", "writes", "transforms", "builtins", "hands out", "an error", "an error of JAX's"]
)
def test_what_was_compiled_and_dropped_dies_without_the_cycle_collector(way):
    function = Runs(way)
    reference, weights = weakref.ref(function), weakref.ref(function.w)
    jitted = jit(function)
    gc.collect()
    gc.disable()
    try:
        for _ in range(2):
            with contextlib.suppress(KeyError, jax.errors.TracerBoolConversionError):
                jitted(2.0)
        del function, jitted
        assert reference() is None
        assert weights() is None
    finally:
        gc.enable()


def test_arguments_and_results_are_not_kept():
    f = jit(lambda model, x: (model.w * x, [x]))
    model, x = Model(), jnp.ones(4)
    out, (same,) = f(model, x)
    references = [weakref.ref(v) for v in (model, x, out, same)]
    del model, x, out, same
    assert gone(references) == 4


def test_live_arrays_do_not_grow():
    model = Model()
    model.items = []

    @jit
    def f(x):
        model.w = model.w + x
        return model.w * 2

    f(1.0)
    gc.collect()
    before = len(jax.live_arrays())
    for i in range(50):
        f(float(i))
    gc.collect()
    assert len(jax.live_arrays()) <= before


def test_replaced_weights_are_freed():
    weights = [jnp.ones(1000)]
    f = jit(lambda x: weights[0] * x)
    f(1.0)
    reference = weakref.ref(weights[0])
    weights[0] = jnp.zeros(1000)
    f(1.0)
    assert gone([reference]) == 1


def test_weights_seen_only_while_compiling_are_freed():
    weights = [jnp.ones(1000), jnp.ones(1000)]
    f = jit(lambda x: weights[0] * x + weights[1][0])
    f(1.0)
    references = [weakref.ref(w) for w in weights]
    weights[:] = [jnp.zeros(1000), jnp.zeros(1000)]
    assert gone(references) == 2


def test_weights_made_into_values_are_freed():
    """Demotion keeps the numbers, not the array."""
    box = [jnp.arange(4.0)]
    f = jit(lambda x: x if box[0][0] > 1 else -x)
    f(1.0)
    reference = weakref.ref(box[0])
    box[0] = jnp.arange(4.0)
    f(1.0)
    assert gone([reference]) == 1


def test_closures_made_again_are_collected_and_share_one_store():
    class Captured:
        def __init__(self):
            self.w = jnp.ones(4)

    def factory():
        captured = Captured()

        @jit
        def again(x):
            return captured.w * x

        return again, weakref.ref(captured)

    before = len(store._stores)
    references = []
    for _ in range(10_000):
        f, reference = factory()
        f(2.0)
        references += [reference, weakref.ref(f.__wrapped__)]
    del f
    assert gone(references) == 20_000
    assert len(store._stores) <= before + 1


def test_dropped_classes_are_collected():
    references = []

    def make(i):
        class Dropped:
            rate = float(i)

            def __init__(self):
                self.w, self.n = jnp.ones(2), 0

            @jit
            def step(self, x):
                self.w = self.w * x
                return self.w * type(self).rate

            @jit
            def count(self):
                self.n += 1
                self.last = [self, type(self)]

        thing = Dropped()
        thing.count()
        assert thing.n == 1
        if i < 10:
            assert thing.step(2.0).tolist() == [2.0 * i] * 2
        references.append(weakref.ref(Dropped))

    for i in range(100):
        make(i)
    assert gone(references) == 100


def test_stores_of_dropped_code_are_bounded(monkeypatch):
    """A program keeps its code alive (JAX's source locations do); how many stores there are is limited."""
    monkeypatch.setattr(store, "MAX_STORES", len(store._stores) + 5)
    source = "def made(x):\n    return x + {}\n"
    for i in range(20):
        namespace = {}
        exec(source.format(i), namespace)
        assert float(jit(namespace["made"])(1.0)) == 1.0 + i
    assert len(store._stores) <= store.MAX_STORES


def test_objects_made_inside_are_not_kept():
    made = []

    class Note:
        def __init__(self, x):
            self.x = x

    holder = Target()

    @jit
    def f(x):
        holder.note = Note(x)
        return holder.note

    for i in range(20):
        made.append(weakref.ref(f(float(i))))
    holder.note = None
    assert gone(made) == 20


@pytest.mark.leaks
def test_nothing_is_kept_after_an_error():
    model = Model()

    def fails(model, x):
        model.w = model.w * x
        raise ValueError

    f = jit(fails)
    try:
        f(model, 1.0)
    except ValueError:
        pass
    reference = weakref.ref(model)
    del model
    assert gone([reference]) == 1


def test_callables_and_objects_among_arguments_are_not_kept():
    f = jit(lambda g, x: g(x))
    references = []
    for _ in range(20):
        target = Target()
        target.w = jnp.ones(2)

        def g(x, target=target):
            return target.w * x

        f(g, 1.0)
        references += [weakref.ref(target), weakref.ref(g)]
    del target, g
    assert gone(references) == 40


def test_no_hook_and_no_device_copy_is_left():
    gc.collect()
    before = len(checks._device_copies)
    for _ in range(10):
        Model().step(1.0)
    gc.collect()
    assert len(hooks.hooked_classes) == 0
    assert len(checks._device_copies) <= before


def test_number_of_programs_of_a_store_is_bounded(monkeypatch):
    monkeypatch.setattr(store, "MAX_PROGRAMS", 3)
    monkeypatch.setattr(store.Store, "_warned", True, raising=False)
    f = jit(lambda x, s: x, static_argnums=1)
    f._store._warned = True
    for i in range(10):
        f(1.0, str(i))
    assert f._cache_size() == 3
    assert float(f(1.0, "9")) == 1.0


def test_number_of_stores_is_bounded(monkeypatch):
    monkeypatch.setattr(store, "MAX_STORES", len(store._stores) + 2)
    functions = [jit(f) for f in (lambda x: x, lambda x: x + 1, lambda x: x + 2, lambda x: x + 3)]
    assert [float(f(1.0)) for f in functions] == [1.0, 2.0, 3.0, 4.0]
    assert len(store._stores) <= store.MAX_STORES


def test_served_calls_leave_nothing_behind():
    """A hundred thousand of them: as many blocks of memory afterwards, and as many objects."""
    model = Model(3)
    model.steps = 0

    @jit
    def step(x):
        model.w = model.w * model.config["k"] + jnp.asarray(model.table) * x
        model.steps += 1
        model.mate = {"latest": model.w}

    def call(times):
        for _ in range(times):
            step(0.0)
        gc.collect()
        return sys.getallocatedblocks(), len(gc.get_objects())

    call(1000)
    blocks, objects = call(1000)
    blocks_later, objects_later = call(100_000)
    assert model.steps == 102_000
    assert blocks_later - blocks < 1000
    assert objects_later - objects < 100


def test_tuples_among_the_keys_of_a_dict_may_be_made_again():
    class Edge:
        pass

    a, b = Edge(), Edge()
    graph = Edge()

    @jit
    def total(x):
        return x * sum(graph.weights.values())

    before = total._cache_size()
    for weight in range(4):
        graph.weights = {(a, b): jnp.float32(weight), (b, 1): jnp.float32(2.0)}
        assert total(2.0) == 2.0 * (weight + 2)
    assert total._cache_size() - before == 1
    graph.weights = {(a, b): jnp.float32(0.0), (b, True): jnp.float32(2.0)}
    assert total(2.0) == 4.0
    assert total._cache_size() - before == 2


def read_the_items(box, x):
    return x * sum(box.table.values())


def look_up(box, x):
    return x * box.table[box.key] * (box.key in box.members) * box.pairs[box.key, 1]


def write(box, x):
    box.table[box.key] = box.table[box.key] * x
    box.pairs[Target(), x.shape] = x
    box.members.add(box.other)
    del box.table[box.other]


def in_a_loop(box, x):
    def body(total, _):
        box.table[box.key] = box.table[box.key] + x
        return total, None

    return jax.lax.scan(body, 0.0, None, length=2)[0]


def go_over_the_keys(box, x):
    return x * sum(key.scale for key in box.table) * len(box.sets)


def take_a_slice_apart(box, x):
    return x * box.part.stop.scale


def hand_the_key_out(box, x):
    return [box.key, box.table, {box.other: x}]


@pytest.mark.parametrize(
    "function",
    [read_the_items, look_up, write, in_a_loop, go_over_the_keys, take_a_slice_apart, hand_the_key_out],
)
def test_objects_that_are_keys_are_collected_and_share_a_program(function):
    fast, references = jit(lambda box, x: function(box, x)), []
    before = fast._cache_size()
    for _ in range(1000 if function is look_up else 30):
        box, key, other = Target(), Target(), Target()
        key.scale = other.scale = 2.0
        box.key, box.other, box.part = key, other, slice(1, key)
        box.table, box.members = {key: jnp.ones(4), other: jnp.ones(4)}, {key}
        box.pairs, box.sets = {(key, 1): 2.0, (other, "b"): 3.0}, {frozenset([key]): 1.0}
        out = fast(box, jnp.ones(4))
        references += [weakref.ref(thing) for thing in (box, key, other)]
    del box, key, other, out
    assert gone(references) == len(references)
    assert fast._cache_size() - before == 1


def test_arguments_of_memoised_functions_are_collected():
    @functools.lru_cache
    def scale(key, factor=1.0):
        return factor * key.scale

    fast, references = jit(lambda box, x: x * scale(box.key) * scale(box.key, factor=2.0)), []
    for i in range(10):
        box = Target()
        box.key = Target()
        box.key.scale = i
        assert fast(box, 1.0) == 2.0 * i * i
        references += [weakref.ref(box), weakref.ref(box.key)]
        scale.cache_clear()
    del box
    assert gone(references) == len(references)


def test_classes_that_are_keys_are_collected():
    @functools.singledispatch
    def scale(thing):
        return 2.0

    fast, references = jit(lambda box, x: x * box.table[box.key] * scale(box.key())), []
    for _ in range(10):
        box = Target()
        box.key = type("Made", (), {})
        box.table = {box.key: jnp.float32(3.0)}
        assert fast(box, 1.0) == 6.0
        references.append(weakref.ref(box.key))
    del box
    scale._clear_cache()
    gc.collect()
    assert gone(references) == len(references)


@pytest.mark.parametrize("make", [lambda: type("Made", (), {}), lambda: functools.lru_cache(lambda: 3)])
def test_none_in_the_place_of_what_has_died_is_seen(make):
    box = Target()

    @jit
    def f(x):
        table = (None if box.part is None else 1, None in box.table, None in box.members)
        return x if table == (1, False, False) else -x

    for x in (1.0, jnp.ones(2)):  # the probe is written anew for the second
        box.part = make()
        box.table, box.members = {box.part: 1}, {box.part}
        assert np.all(f(x) == x)
    box.part, box.table, box.members = None, {None: 1}, {None}
    gc.collect()
    assert f(1.0) == -1.0
    assert np.all(f(jnp.ones(2)) == -1.0)


def test_a_function_that_was_put_into_a_librarys_module_is_not_kept(monkeypatch):
    step = jit(lambda x: jnp.sin(x))
    step(1.0)

    @functools.wraps(jnp.sin)
    def replacing(x):
        return 5 * x

    with monkeypatch.context() as patch:
        patch.setattr(jnp, "sin", replacing)
        assert float(step(1.0)) == 5.0
    gone = weakref.ref(replacing)
    del replacing
    gc.collect()
    assert gone() is None
