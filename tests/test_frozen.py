"""What a program cannot follow is said: a warning at the user's line, or an error with ``strict``."""

import copy
import ctypes
import datetime
import decimal
import fractions
import io
import logging
import math
import mmap
import os
import pathlib
import queue
import random
import secrets
import statistics
import subprocess
import sys
import threading
import time
import types
import unittest.mock
import uuid
import warnings
from datetime import date
from time import perf_counter

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.custom_partitioning import custom_partitioning
from tests.support import contents

import freshjit
from freshjit import FreshjitWarning, FrozenValueError, UnsupportedStateError, jit

HERE = pathlib.Path(__file__)
ARRAY, SCALAR = jnp.arange(3.0), jnp.float32(2.0)
# Neither attributes nor items: what they hold is out of reach of any path.
HIDDEN, HIDDEN_SCALAR = ctypes.py_object(ARRAY), ctypes.py_object(SCALAR)
_buffer = io.BytesIO()
np.save(_buffer, np.ones(2))
SAVED = _buffer.getvalue()


class Plain:
    pass


PLAIN = Plain()


def seconds(x):
    return x + 0 * time.time()


def imported_by_name(x):
    return x + 0 * perf_counter()


def imported_inside(x):
    import time as clock

    return x + 0 * clock.monotonic()


def this_year(x):
    return x + len(time.strftime("%Y"))


def a_file(x):
    with open(HERE) as file:
        return x + len(file.readline())


def a_folder(x):
    return x + len(os.listdir(HERE.parent))


def the_time_of_day(x):
    return x + 0 * datetime.datetime.now().second


def today(x):
    return x + 0 * date.today().day


def text_of_a_path(x):
    return x + len(HERE.read_text())


def a_folder_as_a_path(x):
    return x + len(list(HERE.parent.iterdir()))


def a_saved_array(x):
    return x + jnp.load(io.BytesIO(SAVED)).sum()


def output_of_a_program(x):
    return x + len(subprocess.check_output([sys.executable, "-c", ""]))


def how_numpy_treats_errors(x):
    return x + len(np.geterr())


def the_namespace_of_a_class(x):
    return x + ("debug" in Plain.__dict__)


def the_namespace_of_a_type(x):
    return x + ("debug" in type(PLAIN).__dict__)


def an_unseeded_generator_of_python(x):
    return x + random.Random().random()


def an_unseeded_source_of_bits(x):
    return x + np.random.Generator(np.random.PCG64()).normal()


def a_token(x):
    return x + len(secrets.token_hex())


def an_identifier(x):
    return x + len(str(uuid.uuid4()))


def an_unseeded_generator(x):
    return x + np.random.default_rng().normal()


def numbers_of_numpy(x):
    return x + np.random.normal()


def numbers_of_python(x):
    return x + random.random()


def an_array_out_of_reach(x):
    return x + HIDDEN.value


def a_scalar_out_of_reach(x):
    return x * HIDDEN_SCALAR.value


def under_a_gradient(x):
    return jax.grad(lambda v: jnp.sum(v * HIDDEN.value))(x)


def in_a_loop(x):
    return jax.lax.scan(lambda c, t: (c + HIDDEN.value.sum(), t), x, jnp.ones(2))[0]


def in_a_helper(x):
    return seconds(x)


FREEZING = {
    seconds: r"time\.time\(\) was called",
    imported_by_name: r"time\.perf_counter\(\) was called",
    imported_inside: r"time\.monotonic\(\) was called",
    this_year: r"time\.strftime\(\) was called",
    a_file: r"open\(\) was called",
    a_folder: r"os\.listdir\(\) was called",
    the_time_of_day: r"datetime\.datetime\.now\(\) was called",
    today: r"datetime\.date\.today\(\) was called",
    text_of_a_path: r"Path\.read_text\(\) was called",
    a_folder_as_a_path: r"Path\.iterdir\(\) was called",
    a_saved_array: r"jnp\.load\(\) was called",
    output_of_a_program: r"subprocess\.check_output\(\) was called",
    how_numpy_treats_errors: r"np\.geterr\(\) was called",
    the_namespace_of_a_class: r"Plain\.__dict__ was read",
    the_namespace_of_a_type: r"the class\.__dict__ was read",
    an_unseeded_generator_of_python: r"random\.Random\(\) was called",
    an_unseeded_source_of_bits: r"np\.random\.PCG64\(\) was called",
    an_identifier: r"uuid\.uuid4\(\) was called",
    a_token: r"secrets\.token_hex\(\) was called",
    an_unseeded_generator: r"np\.random\.default_rng\(\) was called",
    numbers_of_numpy: r"numpy\.random gave random numbers",
    numbers_of_python: r"Python's random module gave random numbers",
    an_array_out_of_reach: r"an array float32\[3\] was used that was there before",
    a_scalar_out_of_reach: r"an array float32\[\] was used that was there before",
    under_a_gradient: r"an array float32\[3\] was used that was there before",
    in_a_loop: r"an array float32\[3\] was used that was there before",
    in_a_helper: r"time\.time\(\) was called",
}


@pytest.fixture
def kept_random_state():
    states = random.getstate(), np.random.get_state()
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])


@pytest.mark.parametrize(("function", "message"), FREEZING.items())
def test_it_is_said_once_and_at_the_users_line(function, message, kept_random_state):
    step = jit(function)
    with pytest.warns(FreshjitWarning, match=message) as caught:
        step(jnp.float32(1.0))
    first, end = function.__code__.co_firstlineno, function.__code__.co_firstlineno + 5
    assert {w.filename for w in caught} == {__file__}
    assert all(first <= w.lineno < end or function is in_a_helper for w in caught)
    assert "the same at every call.\n" in str(caught[0].message)
    step(jnp.float32(1.0))
    step.clear_cache()
    step(jnp.float32(1.0))  # a warning would be an error


@pytest.mark.parametrize(("function", "message"), FREEZING.items())
def test_strict_makes_an_error_of_it_before_anything_has_changed(function, message, kept_random_state):
    class Model:
        def __init__(self):
            self.calls, self.w, self.log = 0, jnp.ones(2), []

        def step(self, x):
            self.calls += 1
            self.w = self.w + x
            self.log.append(x)
            return function(x)

    model = Model()
    before = contents(model)
    for _ in range(2):
        with pytest.raises(FrozenValueError, match=message) as error:
            jit(strict=True)(model.step)(1.0)
        assert HERE.name in str(error.value)
        assert contents(model) == before


def test_strict_and_lenient_functions_of_the_same_code_do_not_share_programs():
    def elapsed(x):
        return x + 0 * time.time()

    lenient, strict = jit(elapsed), jit(elapsed, strict=True)
    with pytest.warns(FreshjitWarning):
        lenient(1.0)
    with pytest.raises(FrozenValueError):
        strict(1.0)
    assert lenient(2.0) == 2.0


def test_the_users_own_except_clause_does_not_hide_it():
    @jit(strict=True)
    def step(x):
        try:
            return seconds(x)
        except Exception:
            return x

    with pytest.raises(FrozenValueError):
        step(1.0)


def test_generator_in_state_is_named_by_its_path():
    class Noise:
        def __init__(self):
            self.rng = np.random.default_rng(0)

    noise = Noise()
    with pytest.raises(FrozenValueError, match=r"noise\.rng gave random numbers"):
        jit(lambda x: x + noise.rng.normal(), strict=True)(1.0)


GENERATORS = {
    "of Python's module": (random, lambda: random.random(), lambda: random.getstate()),
    "of NumPy's module": (np.random, lambda: np.random.normal(), lambda: np.random.get_state()),
    **{
        f"a {type(g).__name__} with {type(b).__name__}": (
            g,
            lambda g=g: g.normal(),
            lambda b=b: b.state,
        )
        for b in (np.random.PCG64(1), np.random.MT19937(1), np.random.Philox(1))
        for g in (np.random.Generator(b), np.random.RandomState(b))
        if type(g) is np.random.Generator or type(b) is np.random.MT19937
    },
    "a Random": (own := random.Random(1), lambda: own.random(), lambda: own.getstate()),
    "a seed with children": (
        seed := np.random.SeedSequence(1),
        lambda: np.random.default_rng(seed.spawn(1)[0]).normal(),
        lambda: seed.n_children_spawned,
    ),
    "a Generator with children": (
        parent := np.random.default_rng(1),
        lambda: parent.spawn(1)[0].normal(),
        lambda: parent.bit_generator.seed_seq,
    ),
    "a source of bits": (bits := np.random.PCG64(1), lambda: bits.random_raw() % 5, lambda: bits.state),
}
every_generator = pytest.mark.parametrize(("generator", "draw", "state"), GENERATORS.values(), ids=GENERATORS)


@every_generator
def test_a_generator_is_as_it_was_if_the_call_fails(generator, draw, state, kept_random_state):
    before = repr(state())

    def fails(x):
        draw()
        raise ZeroDivisionError

    def does_not(x):
        return x + draw()

    with pytest.raises(ZeroDivisionError):
        jit(fails)(1.0)
    assert repr(state()) == before
    with pytest.raises(FrozenValueError, match="gave random numbers"):
        jit(does_not, strict=True)(1.0)
    assert repr(state()) == before
    with pytest.raises(FreshjitWarning):  # which is an error here
        jit(does_not)(1.0)
    assert repr(state()) == before
    with pytest.raises(ZeroDivisionError):
        freshjit.grad(fails)(1.0)
    assert repr(state()) == before


@every_generator
def test_a_generator_does_not_move_if_there_is_no_call(generator, draw, state, kept_random_state):
    before = repr(state())
    with warnings.catch_warnings(action="ignore"):
        jit(lambda x: x + draw()).lower(1.0)
        assert repr(state()) == before
        jit(lambda x: x + draw())(1.0)
        assert repr(state()) != before


ASKING = {
    "a copy": lambda s: copy.deepcopy(s.generator).normal(),
    "a copy of a Random": lambda s: copy.deepcopy(s.random).random(),
    "a copy of what has it": lambda s: copy.deepcopy(s).generator.normal(),
    "its state": lambda s: s.generator.bit_generator.state["state"]["state"] % 7,
    "the state of a Random": lambda s: s.random.getstate()[1][3] % 7,
    "the state of a RandomState": lambda s: int(s.old.get_state()[1][3]) % 7,
    "the state of a source of bits": lambda s: s.bits.state["state"]["state"] % 7,
    "the state of NumPy's": lambda s: int(np.random.get_state()[1][3]) % 7,
    "the state of Python's": lambda s: random.getstate()[1][3] % 7,
    "children counted": lambda s: s.seed.n_children_spawned,
    "another stream": lambda s: np.random.Generator(s.generator.bit_generator.jumped()).normal(),
    "drawn and put back": lambda s: (
        before := s.random.getstate(),
        drawn := s.random.random(),
        s.random.setstate(before),
        drawn,
    )[-1],
}


class Generators:
    def __init__(self):
        self.generator, self.random = np.random.default_rng(0), random.Random(0)
        self.old, self.bits, self.seed = (
            np.random.RandomState(0),
            np.random.PCG64(0),
            np.random.SeedSequence(0),
        )

    def draw(self):
        self.generator.random(), self.random.random(), self.old.random(), self.bits.random_raw()
        self.seed.spawn(1), np.random.random(), random.random()


@pytest.mark.parametrize("ask", ASKING.values(), ids=ASKING)
def test_what_a_generator_holds_may_be_asked_without_moving_it(ask, kept_random_state):
    def program(wrap):
        random.seed(0), np.random.seed(0)
        state = Generators()
        call = wrap(lambda x: x + ask(state))
        found = [float(call(np.float32(1)))]
        for _ in range(3):
            state.draw()
            found.append(float(call(np.float32(1))))
        state.__init__()
        return [*found, float(call(np.float32(1)))]

    assert program(jit) == pytest.approx(program(lambda f: f))


def test_a_generator_that_is_met_and_not_asked_costs_no_programs(kept_random_state):
    state = Generators()

    @jit
    def step(x, mode):
        if state.generator is None or state.random is None:
            return x
        noise = state.generator
        return x + noise.normal() if mode == "training" else x

    for _ in range(5):
        state.draw()
        assert step(1.0, "serving") == 1.0
    assert step._cache_size() == 1


def test_a_seed_for_a_while_costs_no_programs(kept_random_state):
    @jit
    def step(x):
        before = random.getstate()
        random.seed(3)
        drawn = random.random()
        random.setstate(before)
        return x + drawn

    for _ in range(5):
        random.random()
        assert step(1.0) == pytest.approx(1 + random.Random(3).random())
    assert step._cache_size() == 1


def test_a_function_that_is_traced_more_than_once_for_a_call_draws_once(kept_random_state, capsys):
    class Model:
        def __init__(self):
            self.rng, self.table = np.random.default_rng(0), np.arange(3.0)

        def step(self, x):
            print("run")
            drawn = self.rng.normal() + random.random()
            # A library that does not take what stands for an array: the function is traced once more.
            return x + drawn + memoryview(self.table)[1]

    random.seed(1)
    plain = Model()
    expected, after = plain.step(1.0), (repr(plain.rng.bit_generator.state), random.getstate())
    random.seed(1)
    model = Model()
    with pytest.warns(FreshjitWarning):
        result = jit(model.step)(1.0)
    assert float(result) == pytest.approx(expected)
    assert (repr(model.rng.bit_generator.state), random.getstate()) == after
    assert capsys.readouterr().out.count("run") > 2


def test_two_generators_with_one_source_of_bits_are_as_they_were():
    one = np.random.default_rng(0)
    other = np.random.Generator(one.bit_generator)

    @jit
    def step(x):
        one.normal()
        other.normal()
        raise ZeroDivisionError

    before = repr(one.bit_generator.state)
    with pytest.raises(ZeroDivisionError):
        step(1.0)
    assert repr(one.bit_generator.state) == before


def test_the_line_that_draws_is_named(kept_random_state):
    from random import random as uniform

    class Model:
        def __init__(self):
            self.rng = np.random.default_rng(0)

        def draw(self):
            return self.rng.normal()

    model = Model()

    def of_a_helper(x):
        y = x
        return y + model.draw()

    def of_python(x):
        y = x
        return y + random.random()

    def of_numpy(x):
        y = x
        return y + np.random.normal()

    def by_name(x):
        y = x
        return y + uniform()

    for function, where, line in (
        (of_a_helper, Model.draw, 1),
        (of_python, of_python, 2),
        (of_numpy, of_numpy, 2),
        (by_name, by_name, 0),  # a closure variable is read when the function is met
    ):
        with pytest.warns(FreshjitWarning, match="random numbers") as caught:
            jit(function)(1.0)
        assert [w.lineno - where.__code__.co_firstlineno for w in caught] == [line]


def test_a_source_of_random_numbers_that_holds_no_state_is_told_of():
    system = random.SystemRandom()
    with pytest.raises(FrozenValueError, match="system, a source of random numbers, was read"):
        jit(lambda x: x + system.random(), strict=True)(1.0)


def test_a_transform_outside_that_runs_the_function_each_time_freezes_nothing():
    from freshjit import grad

    slopes = [grad(lambda x: x * time.perf_counter())(1.0) for _ in range(2)]
    assert slopes[0] != slopes[1]


def test_nothing_is_said_of_what_is_followed_or_made_inside():
    class Model:
        def __init__(self):
            self.w, self.key, self.start = jnp.ones(3), jax.random.key(0), time.time()
            self.table = np.arange(3.0, dtype=np.float32)

        def step(self, x):
            logging.getLogger(__name__).debug("asks the clock for itself")
            self.key, key = jax.random.split(self.key)
            noise = jax.random.normal(key, (3,)) + np.random.default_rng(7).normal()
            made = jnp.array([1.0, 2.0, 3.0]) * np.arange(3) + jnp.eye(3)[0]
            then = len(time.strftime("%Y", time.gmtime(0))) + self.start * 0
            return jax.nn.gelu(self.w + x + noise + made + self.table + then) * jnp.pi

    model = Model()
    step = jit(model.step, strict=True)
    assert step(1.0).shape == (3,)
    step(jnp.float32(2.0))


def test_settings_of_library_modules_are_guards():
    step = jit(lambda x: x * len(sys.argv) * sys.getrecursionlimit.__name__.count("r"), strict=True)
    level = jit(lambda x: x * logging.raiseExceptions)
    before = sys.argv, logging.raiseExceptions
    try:
        sys.argv = ["one"]
        assert step(1.0) == 2.0
        sys.argv.append("two")
        assert step(1.0) == 4.0
        logging.raiseExceptions = True
        assert level(3.0) == 3.0
        logging.raiseExceptions = False
        assert level(3.0) == 0.0
    finally:
        sys.argv, logging.raiseExceptions = before


ENTRIES = {
    "a function of jax.numpy": (lambda x: jnp.sin(x), jnp, "sin", lambda x: 5 * x),
    "a ufunc of jax.numpy": (lambda x: jnp.add(x, x), jnp, "add", lambda x, y: 5 * x),
    "a function of a submodule": (lambda x: jax.nn.relu(x), jax.nn, "relu", lambda x: 5 * x),
    "a transform": (lambda x: jax.grad(jnp.tanh)(x), jax, "grad", lambda f: lambda x: 5 * x),
    "a submodule": (lambda x: jax.nn.relu(x), jax, "nn", types.SimpleNamespace(relu=lambda x: 5 * x)),
    "a function of C": (lambda x: x * math.sqrt(4.0), math, "sqrt", lambda x: 5.0),
    "a number of mathematics": (lambda x: x * math.pi, math, "pi", 3.0),
    "a function of Python": (lambda x: x * statistics.mean([1, 2]), statistics, "mean", len),
    "a function of NumPy": (lambda x: x * float(np.mean([1.0, 4.0])), np, "mean", lambda x: 5.0),
    "a class": (lambda x: x * float(decimal.Decimal("2")), decimal, "Decimal", lambda text: 7),
    "what jax.jit makes": (lambda x: jnp.cos(x), jnp, "cos", jax.jit(lambda x: 5 * x)),
    "a mock": (lambda x: x * math.floor(2.5), math, "floor", unittest.mock.Mock(return_value=7.0)),
}


@pytest.mark.parametrize(("function", "module", "name", "other"), ENTRIES.values(), ids=ENTRIES)
def test_an_entry_of_a_librarys_module_that_is_replaced_is_noticed(
    function, module, name, other, monkeypatch
):
    step = jit(function, strict=True)
    before = step(1.0)
    monkeypatch.setattr(module, name, other)
    after = step(1.0)
    assert float(after) == pytest.approx(float(function(1.0)))
    assert float(after) != float(before)
    monkeypatch.undo()
    assert step(1.0) == before
    assert step._cache_size() == 2


def test_state_of_what_somebody_has_put_into_a_librarys_module_is_read_live(monkeypatch):
    rates = [2.0]
    monkeypatch.setattr(jnp, "sin", lambda x: x * rates[0])
    follows(lambda x: jnp.sin(x), lambda: rates.__setitem__(0, 3.0))
    monkeypatch.setattr(jnp, "sin", jax.grad(lambda x: x * rates[0]))
    follows(lambda x: jnp.sin(x), lambda: rates.__setitem__(0, 4.0))


def test_an_entry_that_a_lazy_module_puts_in_place_when_it_is_first_read_makes_one_program(library):
    def lazily(name):
        if name != "Lazy":
            raise AttributeError(name)
        library.Lazy = made = fractions.Fraction
        return made

    library.__getattr__ = lazily
    step = jit(lambda x: x * float(library.Lazy(1, 2)), strict=True)
    assert [float(step(1.0)) for _ in range(3)] == [0.5] * 3
    assert step._cache_size() == 1
    library.Lazy = lambda a, b: 7.0
    assert float(step(1.0)) == 7.0


def test_what_a_module_makes_itself_each_time_is_read_until_there_is_an_entry(library):
    library.__getattr__ = lambda name: abs
    step = jit(lambda x: library.made(x), strict=True)
    assert [float(step(-1.0)) for _ in range(2)] == [1.0, 1.0]
    assert step._cache_size() == 1
    library.made = lambda x: 7 * x
    assert float(step(-1.0)) == -7.0


def test_an_entry_that_is_replaced_inside_is_replaced_for_the_function_and_after_the_call(library):
    library.scale = len

    def doubled(x):
        return 2 * x

    def step(x):
        library.scale = doubled
        library.other = doubled
        return library.scale(x) + library.other(x)

    jitted = jit(step, strict=True)
    for _ in range(2):
        assert float(jitted(1.0)) == 4.0
        assert library.scale is library.other is doubled


def test_an_entry_that_is_replaced_for_a_part_of_the_function_is_there_again_after_it():
    def guided(x):
        return 7 * x

    def model(x):
        return jax.nn.relu(x)

    @jit(strict=True)
    def step(x):
        with unittest.mock.patch.object(jax.nn, "relu", guided):
            slope = jax.grad(model)(x)
        return slope + jax.grad(model)(x)

    before = jax.nn.relu
    assert [float(step(1.0)) for _ in range(2)] == [8.0, 8.0]
    assert jax.nn.relu is before
    assert step._cache_size() == 1


def test_an_error_leaves_the_entries_of_a_librarys_module_as_they_were(library):
    before = library.main

    @jit
    def step(x):
        library.main = len
        library.more = abs
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        step(1.0)
    assert library.main is before
    assert not hasattr(library, "more")


def test_an_entry_that_the_function_has_deleted_is_gone(library):
    library.RATE = 2.0

    def step(x):
        del library.RATE
        return x + hasattr(library, "RATE")

    assert float(jit(step)(1.0)) == 1.0
    assert not hasattr(library, "RATE")
    with pytest.raises(AttributeError, match="RATE"):
        jit(step)(1.0)


def test_the_stream_that_is_printed_to_makes_no_other_program(monkeypatch):
    step = jit(lambda x: (sys.stdout.flush(), x)[1], strict=True)
    step(1.0)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    step(1.0)
    assert step._cache_size() == 1


def test_a_stream_that_is_put_in_place_inside_is_written_to():
    def step(x):
        before, sys.stdout = sys.stdout, io.StringIO()
        try:
            print("inside")
            return x, sys.stdout.getvalue()
        finally:
            sys.stdout = before

    before = sys.stdout
    assert jit(step)(1.0)[1] == "inside\n"
    assert sys.stdout is before


def test_things_of_libraries_that_are_returned_are_the_real_ones():
    step = jit(lambda: (jax.nn, math.sqrt, jnp.sin, slice(math.sqrt, None)))
    for _ in range(2):
        module, root, sine, part = step()
        assert (module, root, sine) == (jax.nn, math.sqrt, jnp.sin)
        assert part.start is math.sqrt


# -- what is followed -------------------------------------------------------------------------------


@pytest.fixture
def library():
    """A module that stands in the place of one of the standard library's."""
    import json.tool as module

    before = dict(vars(module))
    yield module
    vars(module).clear()
    vars(module).update(before)


def follows(function, change):
    """The strictly jitted function gives what the plain one gives, before and after the change."""
    step = jit(function, strict=True)
    before = step(1.0)
    assert before == function(1.0)
    change()
    after = step(1.0)
    assert after == function(1.0) != before


def test_whether_a_file_exists_is_asked_at_each_call(tmp_path):
    names = [str(tmp_path / str(i)) for i in range(4)]
    follows(lambda x: x + os.path.exists(names[0]), pathlib.Path(names[0]).touch)
    follows(lambda x: x + pathlib.Path(names[1]).exists(), pathlib.Path(names[1]).touch)
    follows(lambda x: x + os.path.isdir(pathlib.Path(names[2])), pathlib.Path(names[2]).mkdir)
    pathlib.Path(names[3]).touch()
    follows(lambda x: x + os.path.getsize(names[3]), lambda: pathlib.Path(names[3]).write_text("four"))


def test_the_current_folder_is_asked_for_at_each_call(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    follows(lambda x: x + len(os.getcwd()), lambda: monkeypatch.chdir("sub"))
    follows(lambda x: x + len(str(pathlib.Path.cwd())), lambda: monkeypatch.chdir(".."))
    follows(lambda x: x + len(str(pathlib.Path("a").absolute())), lambda: monkeypatch.chdir("sub"))


def test_a_file_that_the_function_makes_itself_is_told_of(tmp_path):
    """Later calls would find it, and go the other way."""
    place = tmp_path / "made"

    def step(x):
        if not place.exists():
            place.mkdir()
        return x

    with pytest.raises(FrozenValueError, match="was read and has changed"):
        jit(step, strict=True)(1.0)
    place.rmdir()
    with pytest.warns(FreshjitWarning, match="was read and has changed"):
        assert jit(step)(1.0) == 1.0


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + len(os.environ),
        lambda x: x + sum(len(name) for name in os.environ),
        lambda x: x + sum(map(len, dict(os.environ).values())),
        lambda x: x + len(os.environ.get("FRESHJIT_TEST", "")),
        lambda x: x + len(os.getenv("FRESHJIT_TEST", "")),
        lambda x: x + ("FRESHJIT_TEST" in os.environ),
        lambda x: x + len(os.environb.get(b"FRESHJIT_TEST", b"")),
        lambda x: x + len(os.path.expandvars("$FRESHJIT_TEST")),
    ],
)
def test_the_environment_is_followed_however_it_is_read(function, monkeypatch):
    monkeypatch.delenv("FRESHJIT_TEST", raising=False)
    follows(function, lambda: monkeypatch.setenv("FRESHJIT_TEST", "three"))


def test_settings_of_library_modules_are_followed_where_there_was_none_before(library):
    follows(lambda x: x * getattr(library, "RATE", 2.0), lambda: setattr(library, "RATE", 3.0))
    follows(lambda x: x + hasattr(library, "FLAG"), lambda: setattr(library, "FLAG", 1))
    follows(lambda x: x + ("NAME" in vars(library)), lambda: setattr(library, "NAME", 1))
    follows(lambda x: x + library.__dict__.get("OTHER", 0), lambda: setattr(library, "OTHER", 1))


def test_arrays_of_library_modules_are_inputs(library):
    library.TABLE, library.WEIGHTS = np.ones(2, np.float32), jnp.ones(2)
    follows(lambda x: jnp.sum(x * library.TABLE), lambda: library.TABLE.__setitem__(0, 5))
    follows(lambda x: jnp.sum(x * library.WEIGHTS), lambda: setattr(library, "WEIGHTS", jnp.zeros(2)))


def test_a_setting_of_a_library_module_that_the_function_changes_is_changed_at_each_call(library):
    library.calls = 0

    @jit(strict=True)
    def step(x):
        library.calls += 1
        return x + library.calls

    assert [float(step(1.0)) for _ in range(3)] == [2.0, 3.0, 4.0]
    assert library.calls == 3


def test_settings_of_jax_are_followed():
    def step(x):
        return x + jax.config.jax_debug_infs

    with jax.debug_infs(False):
        assert jit(step, strict=True)(1.0) == 1.0
    with jax.debug_infs(True):
        assert jit(step, strict=True)(1.0) == 2.0


def test_modules_are_found_as_they_are_now(monkeypatch):
    name = "a_module_of_this_test"
    follows(
        lambda x: x + (name in sys.modules),
        lambda: monkeypatch.setitem(sys.modules, name, types.ModuleType(name)),
    )
    sys.modules[name].rate = 1.0
    follows(lambda x: x + sys.modules[name].rate, lambda: setattr(sys.modules[name], "rate", 2.0))


def test_the_names_and_entries_of_a_class_are_followed():
    class Config:
        rate = 1.0

    def entry(x):
        return x * vars(Config)["rate"]

    follows(lambda x: x + ("debug" in vars(Config)), lambda: setattr(Config, "debug", True))
    follows(lambda x: x + len(dir(Config)), lambda: setattr(Config, "more", True))
    follows(lambda x: x + len(dir(Config())), lambda: setattr(Config, "yet_more", True))
    follows(entry, lambda: setattr(Config, "rate", 3.0))
    follows(lambda x: x * vars(Config)["rate"], lambda: setattr(Config, "rate", jnp.float32(5.0)))


def test_vars_and_dir_without_arguments_show_the_functions_own_variables():
    @jit(strict=True)
    def step(x):
        y = 2.0
        assert dir() == ["x", "y"]
        return vars()["x"] + y

    assert step(1.0) == 3.0


# -- stand-ins are like the real things -------------------------------------------------------------


MOMENT = datetime.datetime(2020, 1, 2, 3)


def test_stand_ins_for_classes_are_like_the_real_ones():
    @jit(strict=True)
    def step(x):
        made = datetime.datetime(2020, 1, 2, 3)
        assert made == MOMENT
        assert type(made) == datetime.datetime == MOMENT.__class__  # noqa: E721
        assert isinstance(MOMENT, datetime.datetime)
        assert isinstance(MOMENT, date)
        assert issubclass(datetime.datetime, datetime.date)
        assert datetime.datetime.fromtimestamp(0, datetime.UTC).year == 1970
        assert {datetime.datetime: 1}[type(MOMENT)] == 1
        match made:
            case datetime.datetime(hour=hour):
                x = x + hour

        class Birthday(datetime.date):
            def age(self, other):
                return other.year - self.year

        assert isinstance(Birthday(2000, 1, 1), datetime.date)
        return x + Birthday(2000, 1, 1).age(MOMENT), datetime.datetime

    result, cls = step(1.0)
    assert result == 24.0
    assert cls is datetime.datetime


def test_code_that_compares_classes_by_identity_finds_the_real_ones():
    @jit(strict=True)
    def step(x):
        kinds = type(MOMENT), MOMENT.__class__, datetime.datetime
        return x + (kinds[0] is datetime.datetime) + (kinds[1] is kinds[2]) + (date is not datetime.datetime)

    assert step(1.0) == 4.0


def test_the_clock_is_noticed_in_code_that_compares_classes_by_identity():
    @jit(strict=True)
    def step(x):
        later = datetime.datetime.now() if MOMENT.__class__ is datetime.datetime else MOMENT
        return x + later.year

    with pytest.raises(FrozenValueError, match=r"datetime\.datetime\.now\(\) was called"):
        step(1.0)


def test_the_clock_is_noticed_through_a_closure_variable():
    from datetime import datetime as moments

    with pytest.raises(FrozenValueError, match=r"datetime\.datetime\.now\(\) was called"):
        jit(lambda x: x + moments.now().year, strict=True)(1.0)


def test_seeded_generators_and_given_times_freeze_nothing():
    @jit(strict=True)
    def step(x):
        drawn = random.Random(3).random() + np.random.RandomState(3).normal()
        drawn += np.random.Generator(np.random.PCG64(3)).normal()
        return x + drawn + len(time.strftime("%Y", time.gmtime(0)))

    step(1.0)


def test_paths_are_watched_for_the_time_of_a_capture_and_in_its_thread_only():
    before = dict(vars(pathlib.Path))
    seen, whose_turn = [], mmap.mmap(-1, 1)  # memory that the capture does not take for state

    def read():
        while whose_turn[0] != 1:
            time.sleep(0.001)
        seen.append(HERE.read_text())
        whose_turn[0] = 2

    @jit(strict=True)
    def step(x):
        whose_turn[0] = 1
        while whose_turn[0] != 2:
            pass
        return x + len(HERE.name)

    reader = threading.Thread(target=read)
    reader.start()
    step(1.0)
    reader.join()
    assert len(seen[0]) > 0
    assert dict(vars(pathlib.Path)) == before


# -- what the interpreter shows ---------------------------------------------------------------------

needs_monitoring = pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="CPython 3.11 does not tell which functions run"
)


class Scaled:
    """A container whose rule is held by JAX, which calls it as it is: no clone of it is ever made."""

    def __init__(self, value):
        self.value = value


RATE, SCALES, OFFSET = 2.0, {"all": 1.0}, jnp.ones(2)


def parts_of_scaled(scaled):
    return (scaled.value * RATE * SCALES["all"] + OFFSET[0],), None


jax.tree_util.register_pytree_node(Scaled, parts_of_scaled, lambda _, parts: Scaled(*parts))
SCALED = Scaled(3.0)


@needs_monitoring
def test_globals_of_functions_that_run_out_of_sight_are_guarded(monkeypatch):
    here = sys.modules[__name__]

    def total(x):
        return x + sum(jax.tree.leaves(SCALED))

    follows(total, lambda: monkeypatch.setattr(here, "RATE", 5.0))
    follows(total, lambda: monkeypatch.setitem(SCALES, "all", 7.0))
    follows(total, lambda: monkeypatch.setattr(here, "OFFSET", jnp.zeros(2)))


@needs_monitoring
def test_closure_variables_of_functions_that_run_out_of_sight_are_told_of():
    rate = 2.0

    class Own(Scaled):
        pass

    jax.tree_util.register_pytree_node(Own, lambda o: ((o.value * rate,), None), lambda _, parts: Own(*parts))
    own = Own(1.0)
    with pytest.raises(FrozenValueError, match="may have read the closure variable rate"):
        jit(lambda x: x + sum(jax.tree.leaves(own)), strict=True)(1.0)


@needs_monitoring
def test_a_name_that_a_class_lacks_is_guarded_though_the_error_is_caught():
    class Config:
        pass

    def step(x):
        try:
            return x * Config.rate
        except AttributeError:
            return x

    follows(step, lambda: setattr(Config, "rate", 3.0))


@needs_monitoring
@pytest.mark.parametrize(
    ("use", "name", "method"),
    [
        (len, "__len__", lambda self: 3),
        (list, "__iter__", lambda self: iter(())),
        (lambda model: model(), "__call__", lambda self: 1.0),
        (lambda model: model[0], "__getitem__", lambda self, i: 1.0),
        (lambda model: model + 1, "__add__", lambda self, other: 1.0),
        (lambda model: 1 in model, "__contains__", lambda self, item: True),
        (lambda model: model < 1, "__lt__", lambda self, other: True),
        (float, "__float__", lambda self: 1.0),
    ],
)
def test_what_objects_of_a_class_cannot_do_is_guarded_though_the_error_is_caught(use, name, method):
    class Model:
        pass

    model = Model()

    def step(x):
        try:
            use(model)
        except TypeError:
            return x
        return -x

    follows(step, lambda: setattr(Model, name, method))


@needs_monitoring
def test_what_observers_of_jax_read_is_neither_guarded_nor_told_of():
    """A listener that JAX tells of its doings keeps its own books; no result depends on them."""
    events, active = [], [True]

    def note(event, **details):
        if active[0]:
            events.append(event)

    jax.monitoring.register_event_listener(note)
    try:
        step = jit(lambda x: jnp.sum(jnp.linspace(0.0, x, 7)), strict=True)
        step(1.0)
        step(2.0)
        assert step._cache_size() == 1
    finally:
        active[0] = False


@needs_monitoring
def test_the_interpreter_is_watched_for_the_time_of_a_capture_only():
    tools = [sys.monitoring.get_tool(i) for i in range(6)]
    seen = []

    @jit
    def step(x):
        seen.append(sys.monitoring.get_tool(4))
        return x

    step(1.0)
    assert seen == ["freshjit"]
    assert [sys.monitoring.get_tool(i) for i in range(6)] == tools


def test_what_is_watched_during_a_capture_is_let_go_of_after_an_error():
    before = dict(vars(pathlib.Path))

    @jit
    def step(x):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        step(1.0)
    assert dict(vars(pathlib.Path)) == before
    if hasattr(sys, "monitoring"):
        assert "freshjit" not in [sys.monitoring.get_tool(i) for i in range(6)]


@pytest.fixture
def environment(monkeypatch):
    monkeypatch.setenv("FRESHJIT_TEST_A", "1")
    monkeypatch.delenv("FRESHJIT_TEST_B", raising=False)
    return monkeypatch


def test_the_environment_is_followed_as_a_whole_and_by_name(environment):
    def names(x):
        return x, sorted(n for n in os.environ if n.startswith("FRESHJIT_TEST"))

    def items(x):
        return x, {n: v for n, v in os.environ.items() if n.startswith("FRESHJIT_TEST")}

    def copies(x):
        copied, merged = os.environ.copy(), {"FRESHJIT_TEST_C": "3"} | os.environ
        return (
            x,
            copied.get("FRESHJIT_TEST_B"),
            merged.get("FRESHJIT_TEST_B"),
            "FRESHJIT_TEST_B" in os.environ,
        )

    def by_name(x):
        return x, os.environ["FRESHJIT_TEST_A"], os.getenv("FRESHJIT_TEST_B", "none")

    for function in (names, items, copies, by_name):
        step = jit(function, strict=True)
        environment.setenv("FRESHJIT_TEST_A", "1")
        environment.delenv("FRESHJIT_TEST_B", raising=False)
        assert step(1.0)[1:] == function(1.0)[1:]
        environment.setenv("FRESHJIT_TEST_B", "2")
        assert step(1.0)[1:] == function(1.0)[1:]
        environment.setenv("FRESHJIT_TEST_A", "other")
        assert step(1.0)[1:] == function(1.0)[1:]


def test_changing_the_environment_is_refused(environment):
    def set_it(x):
        os.environ["FRESHJIT_TEST_A"] = "2"

    def set_default(x):
        os.environ.setdefault("FRESHJIT_TEST_B", "2")

    def delete_it(x):
        del os.environ["FRESHJIT_TEST_A"]

    def pop_it(x):
        os.environ.pop("FRESHJIT_TEST_A")

    for function in (set_it, set_default, delete_it, pop_it):
        with pytest.raises(UnsupportedStateError, match=r"os\.environ\['FRESHJIT_TEST_.'\] is (set|deleted)"):
            jit(function)(1.0)
    assert os.environ["FRESHJIT_TEST_A"] == "1"
    assert "FRESHJIT_TEST_B" not in os.environ


def test_what_is_put_into_a_queue_of_c_is_told_of():
    waiting = queue.SimpleQueue()

    @jit
    def step(x):
        waiting.put("done")
        return x

    with pytest.warns(FreshjitWarning, match=r"waiting\.qsize\(\) was changed by code that is not followed"):
        step(1.0)


def test_a_queue_of_c_is_asked_again_how_much_waits_in_it():
    waiting = queue.SimpleQueue()
    step = jit(lambda x: x if waiting.empty() else -x)
    assert float(step(1.0)) == 1.0
    waiting.put("more")
    assert float(step(1.0)) == -1.0


def test_things_of_jax_with_functions_of_the_users_that_are_not_followed_are_reported():
    class Settings:
        rate = 2.0

    scaled = custom_partitioning(lambda x: Settings.rate * x)
    scaled.def_partition(
        partition=lambda mesh, args, result: (mesh, lambda x: Settings.rate * x, result[0].sharding, ()),
        sharding_rule="->",
    )

    @jit(strict=True)
    def step(x):
        return scaled(x)

    with pytest.raises(FrozenValueError, match="scaled is a custom_partitioning with functions of yours"):
        step(1.0)
