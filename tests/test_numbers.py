"""Python numbers that change at every call: exact on the host, and few programs."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from freshjit import FreshjitWarning, jit

CALLS = 30


class State:
    """Numbers that move, and what typical code does with them."""

    def __init__(self):
        self.step, self.t, self.lr, self.eps = 0, 0.0, 0.1, 1.0
        self.big, self.n, self.power, self.name = 2**40, 3, 2, "run"
        self.w = jnp.array([1.0, -2.0])
        self.total = 0


def add_step(s, x):
    s.step += 1
    return x * s.step


def add_time(s, x):
    s.t += 0.1
    return x + s.t


def decay(s, x):
    s.lr *= 0.99
    return x - s.lr * s.w


def floor_of_epsilon(s, x):
    s.eps = max(0.05, s.eps - 1e-1)
    return x * s.eps


def every_tenth(s, x):
    s.step += 1
    return x * 2 if s.step % 10 == 0 else x


def bias_correction(s, x):
    s.step += 1
    return x / (1 - 0.999999**s.step)


def schedule(s, x):
    s.step += 1
    return x * s.lr * 0.5 ** (s.step // 10)


def cosine(s, x):
    s.step += 1
    return x * 0.5 * (1 + math.cos(math.pi * s.step / 100))


def warmup(s, x):
    s.step += 1
    return x * min(1.0, s.step / 10)


def unbounded(s, x):
    s.total += 2**70
    return x + float(s.total > 0)


def floor_division(s, x):
    s.step += 3
    return x + s.step // 2 - s.step % 2


def rounding(s, x):
    s.t += 0.123
    return x * round(s.t, 1)


def negation(s, x):
    s.step += 1
    return x * -abs(-s.step)


def chain(s, x):
    s.step += 1
    return x if 0 < s.step < 1000 else -x


def is_a_float(s, x):
    s.lr *= 0.5
    return x * 2 if isinstance(s.lr, float) else x


def type_is_int(s, x):
    s.step += 1
    return x * 2 if type(s.step) is int else x


def in_jnp_functions(s, x):
    s.t += 0.01
    return jnp.sin(s.t) + jnp.where(x > 0, s.t, x) + jnp.full((2,), s.t) + x.at[0].set(s.t)


def in_lax(s, x):
    s.t += 0.01
    return jax.lax.mul(x, jnp.asarray(s.t, x.dtype)) + jnp.array([s.t, 1.0])


def in_scan(s, x):
    s.t += 0.5
    return jax.lax.scan(lambda c, v: (c + v * s.t, c), 0.0, x)[0]


def in_grad(s, x):
    s.lr *= 0.9
    return jax.grad(lambda w: jnp.sum(s.lr * w**2))(x)


def two_numbers(s, x):
    s.step += 1
    s.t = s.step * 0.5
    return x * s.t + s.step


def returned(s, x):
    s.step += 1
    return x, s.step, s.step / 2


def in_containers(s, x):
    s.table = {"k": s.step, "l": [s.step + 1]}
    s.step += 2
    return x + s.table["l"][0]


def bits(s, x):
    s.step += 1
    return x * (s.step & 3) + (s.step << 1)


def power_of_two(s, x):
    s.step += 1
    return x * 2**s.step / 2**s.step


def divmod_of(s, x):
    s.step += 7
    q, r = divmod(s.step, 5)
    return x * q + r


def hypot(s, x):
    s.t += 1.0
    return x * math.hypot(s.t, 2.0) + math.exp(-s.t) + math.sqrt(s.t)


# Arithmetic among Python numbers, and at most how many programs: by value first, then one for each
# outcome of a branch.
ONE_OUTCOME = (
    *(add_step, add_time, decay, bias_correction, schedule, cosine, unbounded, floor_division, rounding),
    *(negation, chain, is_a_float, type_is_int, in_jnp_functions, in_lax, in_scan, in_grad, two_numbers),
    *(returned, in_containers, bits, power_of_two, divmod_of, hypot),
)
TWO_OUTCOMES = (floor_of_epsilon, every_tenth, warmup)
FEW = [*((f, 3) for f in ONE_OUTCOME), *((f, 4) for f in TWO_OUTCOMES)]


def format_name(s, x):
    s.step = (s.step + 1) % 4
    return x * len(f"{s.name}{s.step}")


def shape(s, x):
    s.n = s.n % 4 + 1
    return jnp.zeros(s.n).sum() + x


def loop(s, x):
    s.n = s.n % 4 + 1
    for _ in range(s.n):
        x = x * 2
    return x


def index(s, x):
    s.step = (s.step + 1) % 4
    return x * [1.0, 2.0, 3.0, 4.0][s.step]


def key(s, x):
    s.step = (s.step + 1) % 4
    return x * {0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0}[s.step]


def numpy_call(s, x):
    s.step = (s.step + 1) % 4
    return x * np.float32(np.sqrt(s.step))


PER_VALUE = [format_name, shape, loop, index, key, numpy_call]


def run(function, jitted):
    state, out = State(), []
    x = jnp.array([0.5, -1.5])
    step = jit(function) if jitted else function
    for _ in range(CALLS):
        out.append(step(state, x))
    host = {k: v for k, v in vars(state).items() if not isinstance(v, jax.Array)}
    return out, host, step


@pytest.mark.parametrize(("function", "programs"), FEW, ids=lambda p: getattr(p, "__name__", ""))
def test_arithmetic_costs_a_few_programs_for_all_values(function, programs):
    wanted, wanted_host, _ = run(function, jitted=False)
    got, host, step = run(function, jitted=True)
    assert host == wanted_host
    assert list(map(type, host.values())) == list(map(type, wanted_host.values()))
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        assert type(a) is type(b) or isinstance(a, jax.Array)
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)
    assert step._cache_size() <= programs


@pytest.mark.parametrize("function", PER_VALUE)
def test_where_the_value_is_needed_there_is_a_program_for_each_value(function):
    wanted, wanted_host, _ = run(function, jitted=False)
    got, host, step = run(function, jitted=True)
    assert host == wanted_host
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6)
    assert step._cache_size() <= 4 + 2


def test_a_number_with_many_needed_values_is_reported_with_its_path():
    state, x = State(), jnp.ones(2)

    @jit
    def lookup(x):
        state.step += 1
        return x * [float(i) for i in range(100)][state.step]

    def call_often():
        for _ in range(25):
            lookup(x)

    with pytest.warns(FreshjitWarning, match=r"lookup has been compiled 16 times .* state\.step"):
        call_often()


def test_adam_written_by_hand_matches_eager_with_few_programs():
    class Adam:
        def __init__(self):
            self.p, self.m, self.v = jnp.array([3.0, -2.0]), jnp.zeros(2), jnp.zeros(2)
            self.t, self.lr, self.beta1, self.beta2 = 0, 0.05, 0.9, 0.999999

        def step(self):
            gradient = jax.grad(lambda p: jnp.sum((p - 1.0) ** 2))(self.p)
            self.t += 1
            self.m = self.beta1 * self.m + (1 - self.beta1) * gradient
            self.v = self.beta2 * self.v + (1 - self.beta2) * gradient**2
            m = self.m / (1 - self.beta1**self.t)
            v = self.v / (1 - self.beta2**self.t)
            self.p = self.p - self.lr * 0.5 ** (self.t // 100) * m / (jnp.sqrt(v) + 1e-8)

    eager, jitted = Adam(), Adam()
    step = jit(jitted.step)
    for _ in range(200):
        eager.step()
        step()
    assert jitted.t == 200
    assert type(jitted.t) is int
    np.testing.assert_allclose(jitted.p, eager.p, rtol=1e-5)
    assert step._cache_size() <= 3


def test_a_flag_that_is_an_int_costs_one_program_per_outcome():
    class Mode:
        level = 0

    mode = Mode()
    f = jit(lambda x: x * 2 if mode.level > 3 else x)
    for level in range(8):
        mode.level = level
        assert float(f(1.0)) == (2.0 if level > 3 else 1.0)
    assert f._cache_size() <= 3
