"""The generated function of a program: what it checks, in what order, and that it holds nothing mortal."""

import math
import os
import sys
import types
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from freshjit import jit
from freshjit.programs.checks import (
    ContentCheck,
    KeysCheck,
    default_setattr,
    device_copy,
    has_entry,
    is_empty,
    other_aval,
    same_numpy,
    subvalue,
)
from freshjit.programs.probe import Miss


class Box:
    def __init__(self, **contents):
        self.__dict__.update(contents)


def program_of(f, *args, **kwargs):
    """The program that the first call of a jitted function makes."""
    f.clear_cache()
    f(*args, **kwargs)
    (program,) = f._store.programs
    return program


def guards_of(program):
    return [(str(g.path), g.kind) for g in program.guards]


def test_probe_is_straight_line_code_without_loops():
    box = Box(w=jnp.ones(2), flag=True, layers=[jnp.ones(2), jnp.ones(2)], mode="a")

    def f(x):
        return sum(layer * x for layer in box.layers) * box.w if box.flag and box.mode == "a" else x

    source = program_of(jit(f), 1.0).probe.source
    assert source.startswith("def run(fn, args, kwargs):")
    for word in (" for ", " while ", "isinstance", "hash("):
        assert word not in source


def test_one_slot_per_array_that_was_read():
    w = jnp.ones(2)
    box = Box(used=w, again=w, unread=jnp.ones(2))

    def f(x):
        return box.used * x + box.used + box.again

    program = program_of(jit(f), 1.0)
    (slot,) = program.record.slots
    assert str(slot.path).endswith("box.used")
    assert slot.array is None  # a program holds no array of the user's


def test_guards_name_what_was_read_and_nothing_else():
    box = Box(a=1, b=2, mode="x")

    def f(x):
        return x * box.a if box.mode == "x" else x * box.b

    names = [path.rpartition(".")[2] for path, _ in guards_of(program_of(jit(f), 1.0))]
    assert "a" in names
    assert "mode" in names
    assert "b" not in names


def test_guards_know_the_line_that_read():
    box = Box(a=1)

    def f(x):
        return x * box.a

    program = program_of(jit(f), 1.0)
    (guard,) = [g for g in program.guards if str(g.path).endswith("box.a")]
    assert guard.where.file == __file__
    assert guard.where.line == f.__code__.co_firstlineno + 1
    assert guard.where.function == "f"


def test_miss_says_which_guard_failed():
    box = Box(a=1, mode="x")

    def f(x):
        return x * box.a if box.mode == "x" else x

    program = program_of(jit(f), 1.0)
    assert program.why_not(f, (1.0,), {}) is None
    box.mode = "y"
    miss = program.run(f, (1.0,), {})
    assert type(miss) is Miss
    assert str(miss.guard.path).endswith("box.mode")
    assert program.why_not(f, (1.0,), {}) is miss.guard


def test_miss_without_a_guard_if_a_path_cannot_be_read():
    box = Box(inner=Box(a=1))

    def f(x):
        return x * box.inner.a

    program = program_of(jit(f), 1.0)
    del box.inner
    assert type(program.run(f, (1.0,), {})) is Miss


def test_other_numbers_and_names_of_arguments_miss():
    def f(x, y=1.0):
        return x + y

    program = program_of(jit(f), 1.0)
    assert type(program.run(f, (1.0, 2.0), {})) is Miss
    assert type(program.run(f, (), {"x": 1.0})) is Miss
    assert type(program.run(f, (), {})) is Miss
    assert float(program.run(f, (3.0,), {})) == 4.0


def test_nothing_is_written_if_a_guard_fails():
    box = Box(n=0, mode="x")

    def f(x):
        box.n += 1
        return x if box.mode == "x" else -x

    program = program_of(jit(f), 1.0)
    box.mode = "y"
    n = box.n
    assert type(program.run(f, (1.0,), {})) is Miss
    assert box.n == n


def test_new_aliases_between_written_objects_miss():
    a, b = Box(n=jnp.float32(0.0)), Box(n=jnp.float32(0.0))
    pair = [a, b]

    def f(x):
        pair[0].n = pair[0].n + x
        pair[1].n = pair[1].n + x
        return pair[0].n

    fast = jit(f)
    assert float(fast(1.0)) == 1.0
    pair[1] = a
    assert float(fast(1.0)) == 3.0
    assert float(a.n) == 3.0
    assert float(b.n) == 1.0


def test_probe_holds_no_strong_reference_to_the_users_objects():
    class Holder:
        def __init__(self):
            self.w = jnp.ones(2)
            self.callback = lambda v: v

    holder = Holder()
    f = jit(lambda h, x: h.callback(h.w) * x)
    f(holder, 1.0)
    reference = weakref.ref(holder)
    del holder
    assert reference() is None


def test_writes_in_the_order_of_the_code():
    table = {}

    def f(x):
        table["b"] = x
        table["a"] = 1
        return x

    program = program_of(jit(f), 1.0)
    assert [w.key.value for w in program.record.writes] == ["b", "a"]
    table.clear()
    program.run(f, (2.0,), {})
    assert list(table) == ["b", "a"]


# -- the conditions ---------------------------------------------------------------------------------


def test_same_numpy_compares_bits():
    nan = np.array([np.nan, 0.0])
    assert same_numpy(nan, nan.copy())
    assert not same_numpy(nan, np.array([np.nan, -0.0]))
    assert not same_numpy(np.ones(2), np.ones(2, np.float32))
    assert not same_numpy(np.ones(2), np.ones((1, 2)))
    assert same_numpy(np.ones((2, 3)).T, np.ones((3, 2)))
    assert same_numpy(np.array(0.5), np.array(0.5))
    assert not same_numpy(np.array(0.0), np.array(-0.0))
    assert same_numpy(np.zeros((0, 3)), np.zeros((0, 3)))
    assert same_numpy(np.array(["a", "b"]), np.array(["a", "b"]))
    assert not same_numpy(np.array(["a", "b"]), np.array(["a", "c"]))
    marker = object()
    assert same_numpy(np.array([marker]), np.array([marker]))
    assert not same_numpy(np.array([object()]), np.array([object()]))


def test_content_check_of_numpy_and_jax_arrays():
    check = ContentCheck(np.arange(3, dtype=np.int32))
    array = jnp.arange(3)
    assert check(array)
    assert check(array)  # known by identity now
    assert check(np.arange(3, dtype=np.int32))
    assert not check(jnp.arange(1, 4))
    assert check(array)
    assert not check(jnp.arange(3.0))
    assert not check(3)
    assert not check(None)


def test_content_check_keeps_no_array_alive():
    check = ContentCheck(np.arange(3, dtype=np.int32))
    array = jnp.arange(3)
    assert check(array)
    reference = weakref.ref(array)
    del array
    assert reference() is None


def test_content_check_of_prng_keys():
    key = jax.random.key(3)
    check = ContentCheck(np.asarray(jax.random.key_data(key)))
    assert check(jax.random.key(3))
    assert not check(jax.random.key(4))


def test_keys_check_is_exact_and_ordered():
    check = KeysCheck((1, "a", (2, 0.0)))
    assert check({1: 0, "a": 0, (2, 0.0): 0})
    assert not check({"a": 0, 1: 0, (2, 0.0): 0})
    assert not check({True: 0, "a": 0, (2, 0.0): 0})
    assert not check({1: 0, "a": 0, (2, -0.0): 0})
    assert not check({1: 0, "a": 0})


def test_keys_check_of_objects_is_by_identity_and_weak():
    class Key:
        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

    key = Key()
    check = KeysCheck((key,))
    assert check({key: 0})
    assert not check({Key(): 0})
    reference = weakref.ref(key)
    del key
    assert reference() is None
    assert not check({Key(): 0})


def test_small_helpers():
    def with_cell():
        return later

    assert is_empty(with_cell.__closure__[0])
    later = 1
    assert not is_empty(with_cell.__closure__[0])
    assert has_entry(Box, "__init__")
    assert not has_entry(Box, "no such entry")
    assert default_setattr(Box)
    assert not default_setattr(type("Own", (), {"__setattr__": lambda *a: None}))
    assert subvalue(type("Number", (int,), {})(3), (int, 3))
    assert not subvalue(type("Number", (float,), {})(0.0), (float, -0.0))


def test_other_aval_tells_types_of_arrays_apart():
    a = jnp.ones(2)
    assert not other_aval(jnp.zeros(2), a.aval)
    assert other_aval(jnp.zeros(3), a.aval)
    assert other_aval(jnp.zeros(2, jnp.int32), a.aval)
    assert other_aval(jnp.asarray(1.0), jnp.float32(1.0).aval) == (
        jnp.asarray(1.0).aval != jnp.float32(1.0).aval
    )


def test_device_copy_is_made_again_only_after_a_change():
    array = np.arange(3.0, dtype=np.float32)
    first = device_copy(array)
    assert device_copy(array) is first
    array[0] = 5.0
    second = device_copy(array)
    assert second is not first
    assert second.tolist() == [5.0, 1.0, 2.0]
    assert first.tolist() == [0.0, 1.0, 2.0]


def test_device_copy_is_not_mistaken_for_that_of_another_array():
    seen = set()
    for i in range(50):
        array = np.full(3, float(i), np.float32)
        seen.add(float(device_copy(array)[0]))
        del array
    assert len(seen) == 50


@pytest.mark.parametrize(
    "value",
    [
        0,
        1,
        True,
        False,
        None,
        2.5,
        0.0,
        -0.0,
        math.inf,
        -math.inf,
        math.nan,
        "text",
        "it's",
        b"x",
        1j,
        ...,
        10**40,
    ],
    ids=repr,
)
def test_value_guard_holds_for_the_same_value_only(value):
    box = Box(v=value)

    def f(x):
        return x, f"{box.v!r}"

    program = program_of(jit(f), 1.0)
    assert program.run(f, (1.0,), {})[1] == repr(value)
    others = [
        0,
        1,
        True,
        False,
        None,
        2.5,
        0.0,
        -0.0,
        math.inf,
        math.nan,
        "text",
        b"x",
        1j,
        ...,
        [],
        np.float64(2.5),
    ]
    for other in others:
        box.v = other
        hit = type(program.run(f, (1.0,), {})) is not Miss
        assert hit == (type(other) is type(value) and repr(other) == repr(value))


def test_guard_on_a_module_attribute():
    module = types.ModuleType("settings_of_a_user")
    module.rate = 2.0

    def f(x):
        return x * module.rate

    program = program_of(jit(f), 1.0)
    module.rate = 3.0
    assert str(program.why_not(f, (1.0,), {}).path).endswith("rate")


def instructions_of_a_call(function, x):
    """How many bytecode instructions the generated function of a compiled program executes in a call."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        if frame.f_code.co_filename != "<freshjit program>":
            return None
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    function(x)
    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # CPython 3.12 sends such events only if a frame wants them by now
    sys.settrace(trace)
    try:
        function(x)
    finally:
        sys.settrace(before)
    return count


def test_numbers_that_never_change_cost_a_call_what_flags_cost():
    class Settings:
        def __init__(self):
            self.a, self.b, self.c, self.d = 0.5, 2, 3.0, 1j
            self.on, self.off, self.high, self.low = True, False, True, False

    settings, x = Settings(), jnp.ones(2)
    numbers = jit(lambda x: x * settings.a + settings.b * settings.c - settings.d)
    flags = jit(lambda x: -x if (settings.off or settings.low or not settings.on or not settings.high) else x)
    assert 0 < instructions_of_a_call(numbers, x) <= instructions_of_a_call(flags, x)


def test_reading_several_arrays_and_tuples_compares_no_identities():
    class Layers:
        a, b = (jnp.ones(1), jnp.ones(2)), (jnp.ones(3), jnp.ones(4))
        table, other = np.ones(2), np.ones(2)

    layers = Layers()
    f = jit(lambda x: x + sum(jnp.sum(w) for w in (*layers.a, *layers.b)) + layers.table + layers.other)
    f(1.0)
    source = f._store.programs[0].probe.source
    assert " is v" not in source
    assert "map(id" not in source
    assert "overlap" not in source


def test_what_is_asked_of_the_process_many_times_is_checked_once():
    @jit
    def f(x):
        for i in range(5):
            x = x + jax.random.normal(jax.random.key(i)) + len(os.environ.get("FRESHJIT_TEST", ""))
        return x

    f(1.0)
    guards = [str(guard.path) for guard in f._store.programs[0].guards]
    assert guards.count("jax.config.jax_default_prng_impl") == 1
    assert sum("FRESHJIT_TEST" in path for path in guards) == 1
