"""What a program cannot follow is said: a warning at the user's line, or an error with ``strict``."""

import ctypes
import logging
import os
import pathlib
import random
import secrets
import sys
import time
import uuid
from time import perf_counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.support import contents

from freshjit import FreshjitWarning, FrozenValueError, UnsupportedStateError, jit

HERE = pathlib.Path(__file__)
ARRAY, SCALAR = jnp.arange(3.0), jnp.float32(2.0)
# Neither attributes nor items: what they hold is out of reach of any path.
HIDDEN, HIDDEN_SCALAR = ctypes.py_object(ARRAY), ctypes.py_object(SCALAR)
OBJECTS = np.empty(1, object)
OBJECTS[0] = ARRAY


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


def whether_a_file_exists(x):
    return x + os.path.exists(HERE)


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


def an_array_in_an_array_of_objects(x):
    return x + OBJECTS[0]


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
    whether_a_file_exists: r"os\.path\.exists\(\) was called",
    an_identifier: r"uuid\.uuid4\(\) was called",
    a_token: r"secrets\.token_hex\(\) was called",
    an_unseeded_generator: r"np\.random\.default_rng\(\) was called",
    numbers_of_numpy: r"numpy\.random gave random numbers",
    numbers_of_python: r"Python's random module gave random numbers",
    an_array_out_of_reach: r"an array float32\[3\] was used that was there before",
    a_scalar_out_of_reach: r"an array float32\[\] was used that was there before",
    an_array_in_an_array_of_objects: r"an array float32\[3\] was used that was there before",
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


def test_constants_of_mathematics_cost_no_guard():
    step = jit(lambda x: x * np.pi + jnp.e)
    step(1.0)
    assert not [g for p in step._store.programs for g in p.guards if "pi" in str(g.path)]


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
