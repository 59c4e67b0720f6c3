"""Python numbers that change at every call: exact on the host, and few programs."""

import cmath
import collections
import copy
import dataclasses
import functools
import itertools
import math
import operator
import pickle
import types

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from freshjit import FreshjitWarning, UnsupportedStateError, jit

CALLS = 100


class State:
    """Numbers that move, and what typical code does with them."""

    def __init__(self):
        self.step, self.t, self.lr, self.eps = 0, 0.0, 0.1, 1.0
        self.big, self.n, self.power, self.name = 2**40, 3, 2, "run"
        self.w = jnp.array([1.0, -2.0])
        self.total, self.dt, self.z, self.count = 0, 0.01, 1.0 + 0.5j, 0
        self.n_layers, self.seen, self.best = 2, [], (0.0, 0)


def add_step(s, x):
    s.step += 1
    return x * s.step


def add_time(s, x):
    s.t += s.dt
    return x + s.t


def decay(s, x):
    s.lr *= 0.99
    return x - s.lr * s.w


def floor_of_epsilon(s, x):
    s.eps = max(0.05, s.eps - 1e-2)
    return x * s.eps


def every_hundredth(s, x):
    s.step += 1
    if s.step % 100 == 0:
        x = x * 2
    return x + s.step


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
    return x * 2 ** (s.step % 30) / 2 ** (s.step % 30)


def divmod_of(s, x):
    s.step += 7
    q, r = divmod(s.step, 5)
    return x * q + r


def hypot(s, x):
    s.t += 1.0
    return x * math.hypot(s.t, 2.0) + math.exp(-s.t) + math.sqrt(s.t)


def power(s, x):
    s.power += 1
    return abs(x) ** (1 / s.power)


def power_of_float(s, x):
    s.power += 0.25
    return abs(x) ** s.power


def integer_power(s, x):
    s.power = s.power % 5 + 1
    return x**s.power


def sum_of_list(s, x):
    s.t += 0.1
    s.total = sum([s.t, 0.1, s.lr, 0.7] * 3)
    return x * s.total


def sum_of_generator(s, x):
    s.t += 0.1
    return x * sum((v * s.t for v in (1, 2.5, 3)), start=s.dt)


def sum_with_arrays(s, x):
    s.t += 0.1
    return sum([s.t, 0.1, x, s.t])


def exact_sum(s, x):
    s.t += 0.1
    s.total = math.fsum([s.t, 1e-3, s.lr])
    return x * s.total


def product(s, x):
    s.t += 0.1
    return x * math.prod([s.t, 2, s.lr])


def smallest(s, x):
    s.t += 0.1
    s.best = min((s.t, 1000.0), (1e6, 2.0))
    return x * min(s.t, 1e6, s.t + 1) * max([s.t, s.t / 2])


def power_with_modulus(s, x):
    s.step += 1
    return x * pow(s.step, 2, 7) + pow(3, s.step, 7) + pow(3, 5, s.step + 1)


def operators_as_functions(s, x):
    s.step += 1
    return x * operator.add(operator.mul(s.step, 2), operator.neg(s.step)) + operator.floordiv(s.step, 3)


def reduced(s, x):
    s.t += 0.1
    return x * functools.reduce(operator.mul, [s.t, s.lr, 3])


def accumulated(s, x):
    s.t += 0.1
    s.seen = list(itertools.accumulate([s.t, s.lr, 3]))
    return x * s.seen[-1]


def parts_of_a_float(s, x):
    s.t += 0.3
    mantissa, exponent = math.frexp(s.t)
    fraction, whole = math.modf(s.t)
    s.seen = [mantissa, exponent, fraction, whole, s.t.as_integer_ratio()]
    return x * mantissa + fraction


def methods(s, x):
    s.step += 1
    s.seen = [s.step.bit_length(), s.step.conjugate(), s.step.real, s.step.imag, s.step.numerator]
    return x * s.step.bit_length()


def whole_or_not(s, x):
    s.t += 0.5
    return x * 2 if s.t.is_integer() else x


def integer_parts(s, x):
    s.t += 0.37
    s.seen = [math.floor(s.t), math.ceil(s.t), math.trunc(-s.t), round(s.t), round(s.t, 2)]
    return x * s.seen[0]


def whole_numbers(s, x):
    s.step += 1
    s.seen = [math.gcd(s.step, 12), math.comb(s.step + 2, 2), math.isqrt(s.step), math.factorial(s.step % 5)]
    return x * s.seen[1]


def close(s, x):
    s.t += 0.1
    return x * 2 if math.isclose(s.t, -1.0, rel_tol=s.dt, abs_tol=1e-3) else x


def tables(s, x):
    s.t += 0.1
    s.seen = {"a": s.t, "b": [s.t * 2, (s.t * 3, {"c": -s.t})]}
    return x * s.seen["b"][1][1]["c"]


def appended(s, x):
    s.step += 1
    s.seen = [*s.seen[-3:], s.step]
    return x * s.step


def truth(s, x):
    s.step += 1
    return x * (s.step or 5) if bool(s.step) and not s.step == -1 else -x


def not_among(s, x):
    s.step += 1
    return x if s.step not in (-1, -2, 0.5) and s.step != 10**9 else -x


def compared_with_other_kinds(s, x):
    s.step += 1
    return x if s.step == "auto" or s.step is None or s.step == [1] else -x


def matched(s, x):
    s.step += 1
    match s.step:
        case -1 | -2:
            return x
        case int():
            return x * s.step


def clipped(s, x):
    s.t += 0.1
    return jnp.clip(x, -s.t, s.t) + x.clip(-s.t, max=s.t) + jnp.maximum(x, s.t)


def scalar_types(s, x):
    s.t, s.step = s.t + 0.1, s.step + 1
    return jnp.float32(s.t) * x + jnp.int32(s.step) + jnp.asarray(s.t, jnp.float32)


def arrays_of_numbers(s, x):
    s.t += 0.1
    return jnp.array([s.t, 2.0]) + jnp.full(2, s.t) + jnp.full_like(x, s.t) + jnp.linspace(0, s.t, 2)


def operands_of_lax(s, x):
    s.t += 0.1
    return jax.lax.mul(x, s.t) + jax.lax.select(x > s.t, x, -x) + jax.nn.leaky_relu(x, s.t)


def indexed(s, x):
    s.step += 1
    i = s.step % 2
    return x[i] + x.at[i].add(s.step) + jnp.take(x, i) + jnp.roll(x, 1) * i


def random_numbers(s, x):
    s.step += 1
    key = jax.random.fold_in(jax.random.key(s.step), s.step + 1)
    return x * jax.random.uniform(key, minval=s.lr, maxval=s.lr * s.step + 1)


def inner_jit(s, x):
    s.t += 0.1
    return jax.jit(lambda h: h * s.dt)(s.t) * x + jax.vmap(lambda v, h: v * h, (0, None))(x, s.t)


def branches_of_lax(s, x):
    s.step += 1
    y = jax.lax.switch(s.step % 3, [lambda v: v, lambda v: -v, lambda v: 2 * v], x)
    return y + jax.lax.cond(s.step % 2, lambda v, h: v * h, lambda v, h: v, x, s.lr)


@jax.custom_jvp
def scaled(x, factor):
    return x * factor


@scaled.defjvp
def scaled_jvp(primals, tangents):
    return primals[0] * primals[1], tangents[0] * primals[1]


def custom_derivative(s, x):
    s.t += 0.1
    return scaled(x, s.t) + jax.grad(lambda v: scaled(v, s.t).sum())(x)


def callback(s, x):
    s.t += 0.1
    return jax.pure_callback(lambda a, b: a * b, jax.ShapeDtypeStruct((2,), jnp.float32), x, s.t)


def complex_numbers(s, x):
    s.z *= 0.99 + 0.1j
    s.seen = [s.z.real, s.z.imag, s.z.conjugate(), abs(s.z), -(s.z**2), s.z / 2, complex(1, 2) - s.z]
    return (x * s.z).real + s.z.imag


def complex_functions(s, x):
    s.z *= 0.99 + 0.1j
    s.seen = [cmath.exp(s.z), cmath.phase(s.z), cmath.sqrt(s.z)]
    return jnp.abs(x * s.seen[0])


def arguments_of_functions(s, x):
    def scale(v, h, *, k=1.0):
        return v * h * k

    s.t += 0.1
    return functools.partial(scale, x)(*[s.t], **{"k": s.t / 2}) + (lambda h=s.t: h)()


def conversions(s, x):
    s.step += 1
    return x * float(s.step) + int(s.total * 2.5) + abs(complex(s.lr, float(s.step)))


cosine_of_optax = optax.warmup_cosine_decay_schedule(0.0, 1.0, 10, 100)


def schedule_of_optax(s, x):
    s.step += 1
    x = x * cosine_of_optax(s.step) + optax.linear_schedule(1.0, 0.1, 50)(s.step)
    descent = optax.sgd(s.lr * s.step)
    return optax.apply_updates(x, descent.update(x, descent.init(x))[0])


# Arithmetic among Python numbers, and at most how many programs: by value first, then one for each
# outcome of a branch.
ONE_OUTCOME = (
    *(add_step, add_time, decay, bias_correction, schedule, cosine, unbounded, floor_division, rounding),
    *(negation, chain, is_a_float, type_is_int, in_jnp_functions, in_lax, in_scan, in_grad, two_numbers),
    *(returned, in_containers, bits, power_of_two, divmod_of, hypot, power, power_of_float, integer_power),
    *(sum_of_list, sum_of_generator, sum_with_arrays, exact_sum, product, smallest, power_with_modulus),
    *(operators_as_functions, reduced, accumulated, parts_of_a_float, methods, integer_parts),
    *(whole_numbers, close, tables, truth, not_among, compared_with_other_kinds, matched, clipped),
    *(scalar_types, arrays_of_numbers, operands_of_lax, indexed, random_numbers, inner_jit),
    *(branches_of_lax, custom_derivative, callback, complex_numbers, complex_functions),
    *(arguments_of_functions, schedule_of_optax, conversions),
)
TWO_OUTCOMES = (floor_of_epsilon, every_hundredth, warmup, whole_or_not)
FEW = [*((f, 3) for f in ONE_OUTCOME), *((f, 4) for f in TWO_OUTCOMES)]


def format_name(s, x):
    s.step = (s.step + 1) % 4
    return x * len(f"{s.name}{s.step}")


def shape(s, x):
    s.n = s.n % 4 + 1
    return jnp.zeros(s.n).sum() + x


def loop(s, x):
    s.n_layers = s.n_layers % 4 + 1
    for _ in range(s.n_layers):
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


def among(s, x):
    s.step = (s.step + 1) % 4
    return x if s.step in {1, 2} else -x


def number_of_sections(s, x):
    s.n = s.n % 2 + 1
    return x * len(jnp.split(jnp.ones(4), s.n)) + jnp.tile(x, s.n).sum() + x.round(s.n)


PER_VALUE = [
    *(format_name, shape, loop, index, key, numpy_call, among, number_of_sections),
    appended,  # the list grows until it has four items
]

# -- where numbers are kept: each makes a function of an array, and says what the numbers are --------


def closure_cell(wrap):
    n = 0.5

    @wrap
    def f(x):
        nonlocal n
        n += 0.25
        return x * n

    return f, lambda: n


def closure_of_helper(wrap):
    n = [0]

    def helper(x):
        return x * n[0]

    f = wrap(lambda x: helper(x) + 1)

    def call(x):
        n[0] += 1
        return f(x)

    return call, lambda: n


global_rate = 1.0


def global_variable(wrap):
    global global_rate
    global_rate = 1.0

    @wrap
    def f(x):
        global global_rate
        global_rate *= 0.99
        return x * global_rate

    return f, lambda: global_rate


def list_item(wrap):
    numbers = [1, 2.0, "note"]

    @wrap
    def f(x):
        numbers[1] += numbers[0]
        numbers[0] += 1
        return x * numbers[1]

    return f, lambda: numbers


def dict_item(wrap):
    config = {"lr": 0.1, "steps": {"done": 0}}

    @wrap
    def f(x):
        config["lr"] *= 0.99
        config["steps"]["done"] += 1
        return x * config["lr"] + config["steps"]["done"]

    return f, lambda: config


def tuple_item(wrap):
    holder = types.SimpleNamespace(pair=(0, 1.0))

    @wrap
    def f(x):
        a, b = holder.pair
        holder.pair = (a + 1, b * 0.99)
        return x * b + a

    return f, lambda: holder.pair


def deque_item(wrap):
    window = collections.deque([1.0, 2.0, 3.0], maxlen=3)

    @wrap
    def f(x):
        window.append(window[0] + 0.5)
        return x * sum(window)

    return f, lambda: list(window)


def default_value(wrap):
    @wrap
    def f(x, rate=0.5, *, power=1):
        return x * rate + power

    plain = getattr(f, "__wrapped__", f)

    def call(x):
        plain.__defaults__ = (plain.__defaults__[0] * 0.99,)
        plain.__kwdefaults__ = {"power": plain.__kwdefaults__["power"] + 1}
        return f(x)

    return call, lambda: (plain.__defaults__, plain.__kwdefaults__)


def dataclass_field(wrap):
    @dataclasses.dataclass
    class Progress:
        step: int = 0
        rate: float = 1.0

    progress = Progress()

    @wrap
    def f(x):
        progress.step += 1
        progress.rate = 1 / progress.step
        return x * progress.rate

    return f, lambda: progress


def slot_of_class(wrap):
    class Slotted:
        __slots__ = ("step",)

    slotted = Slotted()
    slotted.step = 0

    @wrap
    def f(x):
        slotted.step += 2
        return x * slotted.step

    return f, lambda: slotted.step


def property_of_class(wrap):
    class Warm:
        def __init__(self):
            self._rate = 1.0

        @property
        def rate(self):
            return self._rate * 2

        @rate.setter
        def rate(self, value):
            self._rate = value / 2

        def step(self, x):
            self.rate = self.rate * 0.99
            return x * self.rate

    warm = Warm()
    return wrap(warm.step), lambda: vars(warm)


def class_attribute(wrap):
    class Settings:
        rate = 1.0
        count = 0

    class Special(Settings):
        pass

    special = Special()

    @wrap
    def f(x):
        Settings.rate *= 0.99
        Settings.count += 1
        return x * special.rate + Special.count

    return f, lambda: (Settings.rate, Settings.count)


def shared_class_attribute(wrap):
    class Layer:
        scale = 1.0

        def __call__(self, x):
            return x * self.scale

    layer = Layer()
    f = wrap(lambda x: layer(x))

    def call(x):
        Layer.scale += 0.5
        return f(x)

    return call, lambda: Layer.scale


def nested_objects(wrap):
    class Node:
        pass

    top = Node()
    top.children = [Node(), {"last": Node()}]
    top.children[0].value, top.children[1]["last"].value = 1, 0.5

    @wrap
    def f(x):
        top.children[0].value += 1
        top.children[1]["last"].value += top.children[0].value / 8
        return x * top.children[1]["last"].value

    return f, lambda: (top.children[0].value, top.children[1]["last"].value)


def argument_object(wrap):
    state = types.SimpleNamespace(step=0, options={"rate": 1.0})

    def update(state, x, *, options):
        state.step += 1
        options["rate"] *= 0.99
        return x * state.step * options["rate"]

    f = wrap(update)
    return lambda x: f(state, x, options=state.options), lambda: vars(state)


def subclass_of_dict(wrap):
    class Config(dict):
        def __getattr__(self, name):
            return self[name]

    config = Config(rate=1.0, step=0)

    @wrap
    def f(x):
        config["step"] += 1
        config["rate"] = config.rate * 0.99
        return x * config.rate * config["step"]

    return f, lambda: dict(config)


def partial_argument(wrap):
    def scale(factor, x):
        return x * factor

    f, factors = wrap(lambda x: holder.f(x)), itertools.count()
    holder = types.SimpleNamespace()

    def call(x):
        holder.f = functools.partial(scale, next(factors) / 2)
        return f(x)

    return call, lambda: holder.f.args


PLACES = [
    *(closure_cell, closure_of_helper, global_variable, list_item, dict_item, tuple_item, deque_item),
    *(default_value, dataclass_field, slot_of_class, property_of_class, class_attribute, nested_objects),
    *(shared_class_attribute, argument_object, subclass_of_dict, partial_argument),
]


def exactly(value):
    """Host values to be compared bit by bit: repr shows all bits of a float, and the type of a number."""
    return repr(jax.tree.map(lambda v: "array" if isinstance(v, jax.Array) else v, value))


def same_results(got, wanted):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        if isinstance(b, jax.Array):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)
        else:
            assert exactly(a) == exactly(b)


# Eager JAX compiles these at every call: a dozen must do.
SLOW_WITHOUT_JIT = (in_scan, inner_jit, callback, branches_of_lax)


def run(function, jitted):
    state, out = State(), []
    x = jnp.array([0.5, -1.5])
    step = jit(function) if jitted else function
    for _ in range(12 if function in SLOW_WITHOUT_JIT else CALLS):
        out.append((step(state, x), exactly(vars(state))))
    return [o for o, _ in out], [h for _, h in out], step


@pytest.mark.parametrize(("function", "programs"), FEW, ids=lambda p: getattr(p, "__name__", ""))
def test_arithmetic_costs_a_few_programs_for_all_values(function, programs):
    wanted, wanted_host, _ = run(function, jitted=False)
    got, host, step = run(function, jitted=True)
    assert host == wanted_host
    same_results(got, wanted)
    assert step._cache_size() <= programs


@pytest.mark.parametrize("function", PER_VALUE)
def test_where_the_value_is_needed_there_is_a_program_for_each_value(function):
    wanted, wanted_host, _ = run(function, jitted=False)
    got, host, step = run(function, jitted=True)
    assert host == wanted_host
    same_results(got, wanted)
    assert step._cache_size() <= 4 + 2


@pytest.mark.parametrize("place", PLACES)
def test_numbers_are_followed_wherever_they_are_kept(place):
    def run(wrap):
        function, numbers = place(wrap)
        return [(function(jnp.array([0.5, -1.5])), exactly(numbers())) for _ in range(CALLS)]

    def wrap(function):
        jitted.append(jit(function))
        return jitted[-1]

    wanted, jitted = run(lambda function: function), []
    got = run(wrap)
    assert [host for _, host in got] == [host for _, host in wanted]
    same_results([out for out, _ in got], [out for out, _ in wanted])
    assert jitted[0]._cache_size() <= 3


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


class Adam:
    """Adam by hand, with a schedule; ``branch`` adds a step that is taken every hundred steps."""

    def __init__(self, branch=False):
        self.p, self.m, self.v = jnp.array([3.0, -2.0]), jnp.zeros(2), jnp.zeros(2)
        self.t, self.lr, self.beta1, self.beta2 = 0, 0.05, 0.9, 0.999999
        self.branch = branch

    def step(self):
        gradient = 2 * (self.p - 1.0)
        self.t += 1
        self.m = self.beta1 * self.m + (1 - self.beta1) * gradient
        self.v = self.beta2 * self.v + (1 - self.beta2) * gradient**2
        m = self.m / (1 - self.beta1**self.t)
        v = self.v / (1 - self.beta2**self.t)
        self.p = self.p - self.lr * 0.5 ** (self.t // 100) * m / (jnp.sqrt(v) + 1e-8)
        if self.branch and self.t % 100 == 0:
            self.m = self.m * 0.5


@jax.jit
def adam_by_hand(p, m, v, scalars):
    beta1, rest1, beta2, rest2, correct1, correct2, rate = scalars
    gradient = 2 * (p - 1.0)
    m = beta1 * m + rest1 * gradient
    v = beta2 * v + rest2 * gradient**2
    return p - rate * (m / correct1) / (jnp.sqrt(v / correct2) + 1e-8), m, v


@pytest.mark.parametrize(("branch", "programs"), [(False, 3), (True, 6)])
def test_a_thousand_steps_of_adam_need_few_programs(branch, programs):
    eager, jitted = Adam(branch), Adam(branch)
    p, m, v = eager.p, eager.m, eager.v
    step = jit(jitted.step)
    for t in range(1, 1001):
        eager.step()
        step()
        b1, b2 = 0.9, 0.999999
        scalars = b1, 1 - b1, b2, 1 - b2, 1 - b1**t, 1 - b2**t, 0.05 * 0.5 ** (t // 100)
        p, m, v = adam_by_hand(p, m, v, scalars)
        if branch and t % 100 == 0:
            m = m * 0.5
    assert exactly((jitted.t, jitted.lr)) == exactly((eager.t, eager.lr)) == "(1000, 0.05)"
    np.testing.assert_allclose(jitted.p, eager.p, rtol=1e-6)
    np.testing.assert_allclose(jitted.p, p, rtol=1e-6)  # what one writes by hand: scalars from the host
    assert step._cache_size() <= programs


def test_a_flag_that_is_an_int_costs_one_program_per_outcome():
    class Mode:
        level = 0

    mode = Mode()
    f = jit(lambda x: x * 2 if mode.level > 3 else x)
    for level in range(8):
        mode.level = level
        assert float(f(1.0)) == (2.0 if level > 3 else 1.0)
    assert f._cache_size() <= 3


# -- exactness ----------------------------------------------------------------------------------------


def test_sum_adds_floats_as_python_does():
    class Sums:
        first, total = 0.1, 0.0

    sums = Sums()

    @jit
    def add(x):
        sums.total = sum([sums.first] + [0.1] * 9)
        return x

    for i in range(5):
        sums.first = 0.1 + i
        add(1.0)
        assert sums.total == sum([0.1 + i] + [0.1] * 9)


def test_an_int_too_large_for_an_input_goes_by_value_and_comes_back():
    class Seeds:
        seed = 0

    seeds = Seeds()
    f = jit(lambda x: x + jax.random.key_data(jax.random.key(seeds.seed)))
    for seed in (1, 2, 2**40 + 3, 3, -1, 2**33):
        seeds.seed = seed
        wanted = jax.random.key_data(jax.random.key(seed))
        np.testing.assert_array_equal(f(jnp.uint32(0)), wanted)


def test_an_int_too_large_for_jax_is_the_error_of_eager_code_and_changes_nothing():
    class Count:
        n, calls = 0, 0

    count = Count()

    @jit
    def f(x):
        count.calls += 1
        return x * count.n

    for n in (1, 2, 3):
        count.n = n
        f(1.0)
    count.n = 2**40
    with pytest.raises(OverflowError):
        f(1.0)
    assert count.calls == 3
    count.n = 4
    assert float(f(2.0)) == 8.0


def test_a_negative_power_of_integers_is_refused_as_without_jit():
    class Exponent:
        n = 1

    exponent = Exponent()
    f = jit(lambda x: x**exponent.n)
    for exponent.n in (1, 2, 3):
        assert f(jnp.array([2, 3])).tolist() == [2**exponent.n, 3**exponent.n]
    exponent.n = -1
    with pytest.raises(TypeError, match="negative powers"):
        f(jnp.array([2, 3]))


def test_many_constants_that_a_number_is_not_are_one_guard():
    class Count:
        n = 0

    count, milestones = Count(), list(range(1000, 3000))
    f = jit(lambda x: -x if count.n in milestones else x)
    for count.n in (0, 1, 2, 1500, 3000):
        assert float(f(1.0)) == (-1.0 if count.n == 1500 else 1.0)
    outcomes = [g for p in f._store.programs for g in p.guards if g.kind == "outcome"]
    assert len(outcomes) <= 3


def test_signs_of_zero_and_nan_pass_through():
    class Zero:
        value = 1.0

    zero = Zero()

    @jit
    def f(x):
        zero.value = -zero.value * 0.0
        return jnp.arctan2(zero.value, x)

    for value in (2.0, -2.0, math.inf, -0.0):
        zero.value = value
        got = f(-1.0)
        assert exactly(zero.value) == exactly(-value * 0.0)
        np.testing.assert_allclose(got, math.atan2(-value * 0.0, -1.0), rtol=1e-6)


# -- where a library must have the number itself ------------------------------------------------------


def test_only_the_number_that_a_library_refuses_goes_by_value():
    import decimal

    class Mixed:
        step, price = 0, 0

    mixed = Mixed()

    @jit
    def f(x):
        mixed.step += 1
        return x * mixed.step + float(decimal.Decimal(mixed.price))

    for i in range(40):
        mixed.price = i // 20
        assert float(f(1.0)) == i + 1 + i // 20
    assert f._cache_size() <= 4


def test_an_error_of_the_users_is_raised_as_it_is_while_numbers_change():
    class Count:
        n = 0

    count, runs = Count(), []

    @jit
    def f(x):
        count.n += 1
        if count.n > 3:
            raise KeyError("mine")
        return x * count.n

    for _ in range(3):
        f(1.0)
    with pytest.raises(KeyError, match="mine"):
        f(1.0)
    assert count.n == 3
    assert not runs


def test_functions_of_libraries_are_stored_as_themselves():
    class Layer:
        activation = None

    layer = Layer()

    @jit
    def choose(x):
        layer.activation, layer.add, layer.join = jnp.tanh, sum, jnp.maximum
        layer.cos, layer.power, layer.kind = math.cos, pow, type
        return x

    choose(1.0)
    assert layer.activation is jnp.tanh
    assert layer.join is jnp.maximum
    assert (layer.add, layer.power, layer.cos, layer.kind) == (sum, pow, math.cos, type)


# -- static= and dynamic= -----------------------------------------------------------------------------


class Trainer:
    def __init__(self):
        self.lr, self.n, self.name, self.flag = 1.0, 1, "run", True
        self.config = types.SimpleNamespace(decay=0.5, table={"a b": 1.0, 3: 2})

    @jit(dynamic="self.lr")
    def decay(self, x):
        self.lr *= 0.5
        return x * self.lr

    @jit(static=["self.n", "self.config"])
    def by_value(self, x):
        return x**self.n * self.config.decay * self.config.table["a b"]

    @jit(dynamic="self.config", static="self.config.table")
    def nested(self, x):
        return x * self.config.decay * self.config.table[3]


def test_a_dynamic_number_is_an_input_from_the_first_compilation():
    trainer = Trainer()
    assert [float(trainer.decay(4.0)) for _ in range(5)] == [2.0, 1.0, 0.5, 0.25, 0.125]
    assert Trainer.decay._cache_size() == 1


def test_static_numbers_are_always_compiled_for_their_value():
    trainer = Trainer()
    for n in (1, 2, 3, 4, 5):
        trainer.n = n
        assert float(trainer.by_value(2.0)) == 2.0**n * 0.5
    assert Trainer.by_value._cache_size() == 5
    primitives = [str(e.primitive) for p in Trainer.by_value._store.programs for e in p.record.jaxpr.eqns]
    assert "pow" not in primitives
    for decay in (0.25, 0.125):
        trainer.config.decay = decay
        assert float(trainer.by_value(2.0)) == 2.0**5 * decay
    assert Trainer.by_value._cache_size() == 7


def test_the_longer_of_two_places_counts():
    trainer = Trainer()
    for i in range(4):
        trainer.config.decay = 0.5 + i
        trainer.nested(1.0)
    assert Trainer.nested._cache_size() == 1
    for i in range(4):
        trainer.config.table[3] = 10 + i
        assert float(trainer.nested(1.0)) == 3.5 * (10 + i)
    assert Trainer.nested._cache_size() == 5


@pytest.mark.parametrize("place", ["rate", "settings['lr']", "settings", "module_rate", "q"])
def test_places_are_closure_variables_globals_items_and_defaults(place):
    global module_rate
    rate, settings, module_rate = 1.0, {"lr": 1.0}, 1.0

    @jit(dynamic=place)
    def f(x, *, q=1.0):
        return x * rate * settings["lr"] * module_rate * q

    f(1.0)
    rate = settings["lr"] = module_rate = 2.0
    f.__wrapped__.__kwdefaults__ = {"q": 2.0}
    inputs = [str(s.path) for s in f._store.programs[0].record.slots]
    assert len(inputs) == 1
    assert float(f(1.0)) == 16.0


module_rate = 1.0


def test_a_dynamic_number_that_cannot_change_while_tracing_still_works():
    class Sizes:
        n, k = 1, 1

    sizes = Sizes()

    @jit(dynamic=("sizes.n", "sizes.k"))
    def f(x):
        import decimal

        return x * float(decimal.Decimal(sizes.n)) + sizes.k + jnp.ones(sizes.n).sum()

    for i in (1, 2, 3, 2, 1):
        sizes.n, sizes.k = i, i * 10
        assert float(f(1.0)) == 2 * i + i * 10
    assert f._cache_size() == 3


@pytest.mark.parametrize(("place", "kind"), [("self.name", "str"), ("self.flag", "bool")])
def test_a_dynamic_place_without_a_number_is_an_error_with_path_kind_and_line(place, kind):
    trainer = Trainer()

    def read(self, x):
        return x * len(self.name) * self.flag

    with pytest.raises(UnsupportedStateError, match=rf"{place} .* {kind} \(read at .*test_numbers.py:\d+ in"):
        jit(read, dynamic=place)(trainer, 1.0)


def test_an_array_at_a_dynamic_place_is_an_input_as_always():
    holder = types.SimpleNamespace(w=jnp.ones(2))
    f = jit(lambda x: x * holder.w, dynamic="holder.w")
    assert f(2.0).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name", ["static", "dynamic"])
@pytest.mark.parametrize("place", ["1 + 1", "f(x)", "", "a[b]", "a b", "a.b(", "lambda: 0"])
def test_what_is_no_place_is_refused_at_decoration(name, place):
    with pytest.raises(ValueError, match=f"jit got {name}="):
        jit(lambda x: x, **{name: place})


@pytest.mark.parametrize("given", [3, [3], [None], object()])
def test_places_must_be_strings(given):
    with pytest.raises(TypeError, match="jit: static must"):
        jit(lambda x: x, static=given)


def test_a_place_cannot_be_both():
    with pytest.raises(ValueError, match="both as static and as dynamic"):
        jit(lambda x: x, static="a['b']", dynamic=["c", 'a["b"]'])


def test_functions_that_differ_in_places_share_no_programs():
    holder = types.SimpleNamespace(n=1)

    def f(x):
        return x * holder.n

    by_value, changing, plain = jit(f, static="holder.n"), jit(f, dynamic="holder.n"), jit(f)
    for holder.n in (1, 2, 3):
        assert {float(g(1.0)) for g in (by_value, changing, plain)} == {float(holder.n)}
    assert (by_value._cache_size(), changing._cache_size(), plain._cache_size()) == (3, 1, 2)


def module_function(x, rate=2.0):
    return x * rate


pickled_with_places = jit(module_function, static="rate")


def test_places_survive_copies_pickles_and_decorated_methods():
    again = pickle.loads(pickle.dumps(pickled_with_places))
    # Its function may come from another copy of this module, but the options are equal ones.
    assert again._options.key == pickled_with_places._options.key
    assert again._options.overrides.static == {"rate"}
    assert copy.deepcopy(pickled_with_places)._store is pickled_with_places._store

    class Both:
        rate = 1.0

        @classmethod
        @jit(dynamic="cls.rate")
        def below(cls, x):
            return x * cls.rate

        @jit(dynamic="cls.rate")
        @classmethod
        def above(cls, x):
            return x * cls.rate

    for i in range(3):
        Both.rate = float(i)
        assert float(Both.below(1.0)) == float(Both.above(1.0)) == i


def test_a_number_as_static_argument_is_compiled_for_its_value():
    f = jit(lambda x, n: x**n, static_argnames="n")
    assert [float(f(2.0, n=n)) for n in (1, 2, 3)] == [2.0, 4.0, 8.0]
    assert f._cache_size() == 3


def test_a_place_that_is_never_read_is_reported_with_what_is_read():
    state = State()

    @jit(dynamic="state.stpe")
    def forward(x):
        return x * state.step

    wanted = r"forward was given dynamic='state.stpe', .* state\.step"
    with pytest.warns(FreshjitWarning, match=wanted) as found:
        forward(jnp.ones(2))
    assert len(found) == 1
    forward(jnp.ones(3))  # traced again, in silence


class Particle:
    def __init__(self, health):
        self.health = health


def test_numbers_of_one_kind_that_change_one_by_one_are_learnt_together():
    particles, scores = [Particle(10.0 + i) for i in range(30)], {f"player {i}": i for i in range(30)}

    def total(x):
        return x * sum(p.health for p in particles) + sum(scores.values())

    jitted = jit(total)
    for i in range(30):
        particles[(7 * i) % 30].health -= 0.5
        scores[f"player {(11 * i) % 30}"] += 1
        assert float(jitted(jnp.float32(1.0))) == float(total(np.float32(1.0)))
    assert jitted._cache_size() <= 5


def test_a_guard_on_a_number_that_changes_can_be_printed_when_all_is_over():
    box = types.SimpleNamespace(n=1)

    @jit
    def step(x):
        return x + 1.0 if box.n > 2 else x - 1.0

    for box.n in (1, 2, 3, 4):
        step(1.0)
    guards = [guard for program in step._store.programs for guard in program.guards]
    outcomes = [repr(guard.value) + repr(guard.path) for guard in guards if guard.kind == "outcome"]
    assert outcomes
    assert all("box.n" in text for text in outcomes)
