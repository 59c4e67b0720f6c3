"""JAX's debugging and configuration modes mean for a jitted function what they mean for the plain one."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from freshjit import jit


class Model:
    """A little of everything that is captured: arrays, a key, numbers, a flag, a NumPy array, a list."""

    def __init__(self):
        self.w, self.layers = jnp.arange(3, dtype=jnp.float32), [jnp.float32(0.5), jnp.float32(2.0)]
        self.key, self.steps, self.rate, self.on = jax.random.key(0), 0, 0.5, True
        self.table = np.ones(3, np.float32)

    def step(self, x):
        self.steps += 1
        self.key, key = jax.random.split(self.key)
        slope = jax.grad(lambda w: jnp.sum(w * w * self.layers[0]))(self.w)
        self.w = self.w - self.rate * slope if self.on else self.w
        self.layers[1] = self.layers[1] + jnp.sum(self.w * self.table) * x
        return jnp.sum(self.w) + jax.random.normal(key) + self.steps

    def state(self):
        return {
            "w": self.w,
            "layers": self.layers,
            "key": jax.random.key_data(self.key),
            "steps": self.steps,
        }


@contextlib.contextmanager
def option(name, value):
    before = getattr(jax.config, name)
    jax.config.update(name, value)
    try:
        yield
    finally:
        jax.config.update(name, before)


MODES = {
    "nothing": contextlib.nullcontext,
    "disable_jit": jax.disable_jit,
    "debug_nans": lambda: jax.debug_nans(True),
    "debug_infs": lambda: jax.debug_infs(True),
    "check_tracer_leaks": jax.checking_leaks,
    "check_tracer_leaks as an option": lambda: option("jax_check_tracer_leaks", True),
    "enable_x64": lambda: jax.enable_x64(True),
    "rank promotion": lambda: jax.numpy_rank_promotion("raise"),
    "dtype promotion": lambda: jax.numpy_dtype_promotion("strict"),
    "key reuse": lambda: jax.debug_key_reuse(True),
    "matmul precision": lambda: jax.default_matmul_precision("float32"),
    "internal checks": lambda: option("jax_enable_checks", True),
    "constants inside programs": lambda: option("jax_use_simplified_jaxpr_constants", True),
    "another device": lambda: jax.default_device(jax.devices()[1]),
    "another generator": lambda: option("jax_default_prng_impl", "rbg"),
    "no transfers from the device": lambda: jax.transfer_guard_device_to_host("disallow"),
}


def numbers(tree):
    """Leaves with their types: dtype and weak type of arrays, Python's type of the rest."""
    return [
        (str(leaf.dtype), leaf.weak_type, np.asarray(leaf))
        if isinstance(leaf, jax.Array)
        else (type(leaf), leaf)
        for leaf in jax.tree_util.tree_leaves(tree)
    ]


def agree(actual, wanted):
    for a, b in zip(numbers(actual), numbers(wanted), strict=True):
        assert a[:-1] == b[:-1]
        np.testing.assert_allclose(a[-1], b[-1], rtol=1e-5)


@pytest.mark.parametrize("compiled_before", [False, True])
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
def test_results_and_state_are_those_of_plain_python_in_the_same_mode(mode, compiled_before):
    plain, model = Model(), Model()
    step = jit(model.step)
    results = [], []

    def both():
        results[0].append(plain.step(jnp.float32(2.0)))
        results[1].append(step(jnp.float32(2.0)))

    if compiled_before:
        both()
        both()
    with mode():
        for _ in range(3):
            both()
    both()
    agree(results[1], results[0])
    agree(model.state(), plain.state())


def test_x64_switched_at_run_time_takes_turns_between_two_programs():
    class Half:
        w = jnp.float32(0.5)

    half = Half()
    step = jit(lambda x: x * 3 + half.w)
    for _ in range(3):
        assert step(jnp.float32(1.0)).dtype == jnp.float32
        with jax.enable_x64(True):
            assert step(np.float64(1.0)).dtype == jnp.float64
            assert step(jnp.float32(1.0)).dtype == jnp.float32
    before = step._cache_size()
    with jax.enable_x64(True):
        step(np.float64(1.0))
    step(jnp.float32(1.0))
    assert step._cache_size() == before


@pytest.mark.parametrize("outside", [False, True])
def test_captured_numbers_have_the_width_that_is_on_where_the_function_uses_them(outside):
    class Wide:
        table, scale = np.array([1e300, 2.0]) if not outside else np.array([0.1, 2.0]), 3.0

    def half(x):
        plain = jnp.asarray(Wide.table)
        with jax.enable_x64(not outside):
            return plain, jnp.asarray(Wide.table) * 2, jnp.asarray(Wide.scale), jnp.sin(Wide.scale)

    fresh = jit(half)
    with jax.enable_x64(outside), np.errstate(over="ignore"):
        for scale in (3.0, 0.1, 0.2, 0.3):
            Wide.scale = scale
            Wide.table[1] += 1
            for one, other in zip(fresh(1.0), half(1.0), strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_allclose(one, other, rtol=1e-6)


def test_disable_jit_runs_the_plain_function_on_the_real_objects():
    model, seen = Model(), []

    @jit
    def step(x):
        seen.append((type(x), model.w is before))
        model.w = model.w + x
        return x

    before = model.w
    with jax.disable_jit():
        step(2.0)
    assert seen == [(float, True)]
    step(2.0)
    assert model.w.tolist() == [4.0, 5.0, 6.0]


class Root:
    def __init__(self):
        self.w = jnp.array([4.0, 1.0])
        self.calls = 0

    def root(self, x):
        self.calls += 1
        self.w = jnp.sqrt(self.w - x)
        return self.w


@pytest.mark.parametrize("compiled_before", [False, True])
def test_debug_nans_raises_and_leaves_the_state_as_it_was(compiled_before):
    model = Root()
    root = jit(model.root)
    calls = 0
    with jax.debug_nans(True):
        if compiled_before:
            root(0.0)
            calls = 1
        w = model.w
        with pytest.raises(FloatingPointError, match="nan"):
            root(3.0)
        assert (model.w is w, model.calls) == (True, calls)
        root(0.0)
        assert model.calls == calls + 1
    with pytest.raises(FloatingPointError), jax.debug_nans(True):
        root(3.0)
    root(3.0)
    assert bool(jnp.isnan(model.w).any())


def test_using_a_key_twice_is_found_in_state_as_well_as_in_arguments():
    class Keys:
        key = jax.random.key(0)

    keys = Keys()

    @jit
    def careless():
        return jax.random.normal(keys.key) + jax.random.uniform(keys.key)

    @jit
    def careful():
        keys.key, a, b = jax.random.split(keys.key, 3)
        return jax.random.normal(a) + jax.random.uniform(b)

    with jax.debug_key_reuse(True):
        careful()
        careful()
        with pytest.raises(jax.errors.KeyReuseError):
            careless()
        careful()


def test_rank_promotion_is_refused_inside_as_outside():
    class Bias:
        b = jnp.ones(3)

    bias = Bias()
    add = jit(lambda x: x + bias.b)
    with jax.numpy_rank_promotion("allow"):
        assert add(jnp.ones((2, 3))).shape == (2, 3)
    with jax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank_promotion"):
        add(jnp.ones((2, 3)))
    with jax.numpy_rank_promotion("allow"):
        assert add(jnp.ones((2, 3))).shape == (2, 3)


@pytest.mark.parametrize("compiled_before", [False, True])
def test_captured_arrays_cost_no_transfer(compiled_before):
    class Arrays:
        def __init__(self):
            self.w, self.name = jnp.ones(3), "w"

        def step(self, x):
            self.w = self.w + x
            return jnp.sum(self.w) if self.name == "w" else x

    arrays, x = Arrays(), jnp.float32(1.0)
    step = jit(arrays.step)
    if compiled_before:
        step(x)
    with jax.transfer_guard("disallow"):
        first = step(x)
        second = step(x)
    assert float(second) - float(first) == 3.0


def test_a_captured_numpy_array_is_sent_to_the_device_once():
    table = np.ones(3, np.float32)
    step = jit(lambda x: x * table)
    x = jnp.float32(2.0)
    step(x)
    with jax.transfer_guard("disallow"):
        assert step(x).tolist() == [2.0, 2.0, 2.0]


def test_logging_of_compilations_names_the_users_function(caplog):
    def multiply_by_the_rate(x):
        return x * 3

    step = jit(multiply_by_the_rate)
    with jax.log_compiles(True):
        step(jnp.ones(7))
    assert any("multiply_by_the_rate" in record.getMessage() for record in caplog.records)
