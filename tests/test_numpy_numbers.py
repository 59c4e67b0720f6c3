"""NumPy's scalars that change at every call: as plain code has them, and few programs."""

import dataclasses
import math
import operator
import typing
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from freshjit import jit

VALUES = {
    np.float64: (0.5, 2.0, -3.25, 0.0, -0.0, 1e300, math.inf, math.nan, 7.0),
    np.float32: (0.5, 2.0, -3.25, 0.0, 3e38, math.inf, math.nan, 7.0),
    np.float16: (0.5, 2.0, -3.25, 0.0, 6e4, 7.0),
    np.int64: (1, 2, -3, 0, 2**62, 2**40, -(2**63), 7),
    np.int32: (1, 2, -3, 0, 2**31 - 1, 7),
    np.uint8: (1, 2, 0, 200, 255, 7),
    np.complex64: (1, 2 + 1j, -3j, 0, 7),
}

ON_THE_HOST = {
    "add": lambda v: v + 1,
    "reflected": lambda v: 3 - v,
    "a float of Python's": lambda v: v * 0.1,
    "a float of Python's on the left": lambda v: 0.1 + v,
    "an int too large for some": lambda v: v + 300,
    "a complex": lambda v: v * 2j,
    "a flag": lambda v: True + v,
    "a flag of NumPy's": lambda v: v + np.True_,
    "its own kind": lambda v: v * v,
    "another kind": lambda v: v + np.float32(0.1),
    "another kind on the left": lambda v: np.int8(100) * v,
    "a power": lambda v: v**2,
    "a negative power": lambda v: v**-1,
    "an exponent": lambda v: 2**v,
    "an exponent of NumPy's": lambda v: np.float32(0.9) ** v,
    "division": lambda v: (1 / v, v / 2, v // 2),
    "division by it": lambda v: (7 // v, 7 % v),
    "divmod": lambda v: (divmod(v, 2), divmod(7, v)),
    "bits": lambda v: (v & 3, v | 8, v ^ 1, ~v, v << 2, v >> 1, 1 << v),
    "signs": lambda v: (-v, +v, abs(v)),
    "round": lambda v: (round(v, 1), round(v)),
    "floor": lambda v: (math.floor(v), math.ceil(v)),
    "trunc": lambda v: math.trunc(v),
    "math": lambda v: (math.exp(-abs(v)), math.atan2(v, 2)),
    "sum": lambda v: (sum([v, 1, 0.5]), sum((1, v), np.float32(1))),
    "largest": lambda v: (max(v, 1), min(1.5, v), max([v, 2])),
    "parts": lambda v: (v.real, v.imag, v.conjugate(), v.conj()),
    "item": lambda v: (v.item(), v.item() * 2, v.tolist()),
    "astype": lambda v: (v.astype(np.float32), v.astype("int16"), v.astype(float) * 2, v.astype(bool)),
    "form": lambda v: (v.dtype, v.shape, v.ndim, v.size, v.itemsize, v.nbytes, np.shape(v), np.ndim(v)),
    "methods": lambda v: (v.clip(1, 5), v.round(), v.mean(), v.sum(), v.copy(), v.T),
    "an int's": lambda v: (v.numerator, v.denominator, v.bit_count()),
    "a float's": lambda v: (v.is_integer(), v.as_integer_ratio()),
    "no attribute": lambda v: v.bit_length(),
    "indexed": lambda v: (v[()], v[...].shape, v[None].tolist()),
    "gone over": lambda v: list(v),
    "length": lambda v: len(v),
    "ufuncs": lambda v: (np.add(v, 1), np.sqrt(v), np.maximum(v, 2), np.power(2.0, v), np.negative(v)),
    "ufuncs with two results": lambda v: np.modf(v),
    "ufuncs that compare": lambda v: (np.isfinite(v), np.less(v, 2), np.equal(2, v)),
    "functions": lambda v: (
        np.clip(v, 0, 3),
        np.mean([v, 1]),
        np.array([v, 2]).tolist(),
        np.asarray(v).dtype,
    ),
    "dtypes": lambda v: (np.result_type(v, 1.5), np.isscalar(v), np.issubdtype(v.dtype, np.integer)),
    "classes": lambda v: (np.float32(v), np.float64(v) * 2, np.complex64(v), np.bool_(v)),
    "a class of small ints": lambda v: np.uint8(v),
    "a class of large ints": lambda v: np.int64(v) + 1,
    "a class handed on": lambda v: [kind(v) for kind in (np.float32, np.float64)],
    "an array": lambda v: (np.arange(3) * v, v + np.ones(2, np.float32), np.full(2, v)),
    "an array of no dimension": lambda v: v * np.array(2.0),
    "Python's own": lambda v: (complex(v), bool(v), str(v), repr(v), f"{v}", hash(v) if v == v else None),
    "a real one of Python's": lambda v: (float(v), int(v)),
    "a format": lambda v: f"{v:.3f}",
    "an index": lambda v: (operator.index(v), list(range(v % 3)), "abcdefgh"[v % 8]),
    "order": lambda v: (v < 2, v <= 2.0, v > 1, v >= np.float32(0.5), 2 < v, np.float64(1) > v),
    "equality": lambda v: (
        v == 2,
        v != 2,
        7 == v,
        v == np.float32(7),
        np.int64(2) != v,
        v == 0.1,
        v == 2**80,
    ),
    "equal to no number": lambda v: (v == None, v != "2", v == "2"),  # noqa: E711
    "equal to a list": lambda v: (v == [2, 1]).tolist(),
    "a branch": lambda v: v + 1 if v == 2 or not v else v - 1 if v != 7 else -v,
    "membership": lambda v: (v in (1, 2), v in {1, 7}, {2: "two"}.get(v)),
    "its type": lambda v: (
        type(v),
        isinstance(v, np.floating),
        isinstance(v, float),
        isinstance(v, np.generic),
    ),
    "a text": lambda v: v + "1",
    "None": lambda v: v * None,
    "a list": lambda v: v * [1, 2],
    "modulus": lambda v: pow(v, 2, 5),
}

INTO_JAX = {
    "an operand": lambda v, x: (x * v, v + x, x - v),
    "compared": lambda v, x: (x > v, v == x),
    "an int array": lambda v, x: x.astype(jnp.int8) * v,
    "a half array": lambda v, x: x.astype(jnp.bfloat16) + v,
    "asarray": lambda v, x: (jnp.asarray(v), jnp.array(v), jnp.array([v, 1])),
    "its dtype": lambda v, x: (jnp.result_type(v, 1), jnp.dtype(v), jnp.isscalar(v), jnp.asarray(v).dtype),
    "full": lambda v, x: (jnp.full(2, v), jnp.full_like(x, v), jnp.where(x > 0, v, x)),
    "at": lambda v, x: x.at[0].set(v.real.astype(np.float32)),
    "promoted": lambda v, x: (jnp.add(v, 1), jnp.add(1.5, v), jnp.maximum(v.real, 2)),
    "computed before": lambda v, x: x * (v * 2 + 1),
    "with a weak one": lambda v, x: jnp.add(v, jnp.asarray(2.0)),
    "astype": lambda v, x: (jnp.float32(v.real), x.astype(v.dtype)),
    "a traced index": lambda v, x: x[v],
    "a shape": lambda v, x: jnp.zeros(v % 3),
    "an axis": lambda v, x: x.sum(axis=v % 1),
    "scan": lambda v, x: jax.lax.scan(lambda c, y: (c + y, c * v), jnp.zeros((), x.dtype), x),
    "grad": lambda v, x: jax.grad(lambda w: jnp.sum(w * v.real))(x),
    "grad of it": lambda v, x: jax.grad(lambda w: w * 2.0)(v),
    "an inner jit": lambda v, x: jax.jit(lambda w, y: w * y)(v, x),
    "vmap": lambda v, x: jax.vmap(lambda y: y * v)(x),
    "a pytree": lambda v, x: jax.tree.map(lambda y: y + x, {"v": v}),
}


class State:
    pass


def seen(value):
    """All that can be told of a value."""
    if isinstance(value, (tuple, list)):
        return type(value), [seen(part) for part in value]
    if isinstance(value, dict):
        return {key: seen(part) for key, part in value.items()}
    if isinstance(value, jax.Array):
        return "array", value.dtype, value.weak_type, value.shape, np.asarray(value).tobytes()
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    if isinstance(value, np.ndarray):
        return value.dtype, value.tolist().__repr__()
    return type(value), repr(value)


def observed(call, *args):
    try:
        return seen(call(*args))
    except Exception as error:
        return type(error), str(error).splitlines()[:1]


def assert_served_by_two_programs(function, values, *args):
    """A number in state has these values in turn: all is as in plain code, for two programs."""
    values = list(values)

    def program(wrap):
        state = State()

        def whole(*args):
            return function(state.v, *args)

        whole.__code__ = whole.__code__.replace()  # a store of its own, as in ``run``
        call, found = wrap(whole), []
        for state.v in values:
            found.append(observed(call, *args))
        return found, call

    found, call = program(jit)
    assert found == program(lambda f: f)[0]
    assert call._cache_size() <= 2


def run(function, kind, wrap, n_args):
    """What comes of it for each value, in turn and back at the first, and what it leaves in state."""
    state = State()

    def whole(*args):
        state.result = result = function(state.v, *args)
        return result

    whole.__code__ = whole.__code__.replace()  # or they had one store, and what one has learnt all would know
    call = wrap(whole)
    found = []
    args = (jnp.array([1.0, -2.0]),)[:n_args]
    for value in (*VALUES[kind], VALUES[kind][0]):
        state.v, state.result = kind(value), None
        got = observed(call, *args)
        found.append((got, observed(lambda: state.result)))
    return found


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", ON_THE_HOST)
def test_arithmetic_with_a_scalar_of_numpys_is_numpys(name, kind):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = run(ON_THE_HOST[name], kind, lambda f: f, 0)
        assert run(ON_THE_HOST[name], kind, jit, 0) == plain


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", INTO_JAX)
def test_a_scalar_of_numpys_meets_jax_as_the_scalar_that_it_is(name, kind):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = run(INTO_JAX[name], kind, lambda f: f, 1)
        assert run(INTO_JAX[name], kind, jit, 1) == plain


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int32], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "name", ["its own kind", "division", "signs", "item", "astype", "ufuncs", "its type"]
)
def test_arithmetic_with_it_costs_two_programs_for_all_values(name, kind):
    state = State()

    def whole():
        return ON_THE_HOST[name](state.v)

    whole.__code__ = whole.__code__.replace()  # a store of its own, as above
    call = jit(whole)
    for value in range(1, 21):
        state.v = kind(value)
        call()
    assert call._cache_size() <= 2


def test_what_is_written_back_is_a_scalar_of_numpys_and_costs_two_programs():
    state = State()
    state.lr, state.n = np.float32(1), np.int64(0)

    @jit
    def step(x):
        state.lr = np.float32(state.lr * 0.9)
        state.n += np.int64(1)
        return x * state.lr

    lr = np.float32(1)
    for _ in range(20):
        lr = np.float32(lr * 0.9)
        assert seen(step(jnp.bfloat16(1))) == seen(jnp.bfloat16(1) * lr)
        assert seen(state.lr) == seen(lr)
    assert seen(state.n) == seen(np.int64(20))
    assert step._cache_size() == 2


@pytest.mark.parametrize(
    "manager", [lambda: np.errstate(all="raise"), warnings.catch_warnings], ids=["errstate", "warnings"]
)
def test_errors_that_the_function_asks_numpy_for_come_at_the_call_at_which_they_would_come(manager):
    def program(wrap):
        state = State()

        def inverse():
            with manager():
                warnings.simplefilter("error") if manager is warnings.catch_warnings else None
                return np.float32(1) / state.v

        call = wrap(inverse)
        found = []
        for value in (1, 2, 0, 4, 0):
            state.v = np.float32(value)
            found.append(observed(call))
        return found

    assert program(jit) == program(lambda f: f)


def test_a_warning_that_the_caller_has_made_an_error_is_raised_where_the_function_can_catch_it():
    def program(wrap):
        state = State()

        def inverse():
            try:
                return 1 / state.v
            except RuntimeWarning:
                return -1

        call = wrap(inverse)
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for value in (1, 2, 4, 0, 5, 0):
                state.v = np.float32(value)
                found.append(observed(call))
        return found

    assert program(jit) == program(lambda f: f)


def test_a_scalar_of_numpys_may_be_dynamic_from_the_first_compilation():
    state = State()

    @jit(dynamic="state.v")
    def f(x):
        return x * state.v

    for value in range(5):
        state.v = np.float64(value)
        assert float(f(2.0)) == 2.0 * value
    assert f._cache_size() == 1


def test_divmod_is_one_operation_with_its_own_warnings():
    def program(wrap):
        state = State()
        call = wrap(lambda: (divmod(7, state.v), divmod(state.v, 2)))
        found = []
        for value in (1, 2, 0, 4, 0):
            state.v = np.int32(value)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found.append(observed(call))
            found.append(sorted(str(w.message) for w in caught))
        return found

    assert program(jit) == program(lambda f: f)


class Pair(typing.NamedTuple):
    first: object
    second: object


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Carry:
    total: object
    n: object


HANDED_TO_TRANSFORMS = {
    "what scan stacks": lambda n, x: jax.lax.scan(lambda c, y: (c + y * n, n), jnp.float32(0), x),
    "what scan carries": lambda n, x: jax.lax.scan(
        lambda c, y: (Pair(c.first + y, n), c.second), Pair(jnp.float32(0), n), x
    ),
    "a dataclass carried": lambda n, x: jax.lax.scan(
        lambda c, y: (Carry(c.total + y, n), c.n), Carry(jnp.float32(0), n), x
    )[1],
    "branches": lambda n, x: (
        jax.lax.cond(x[0] > 0, lambda y: n, lambda y: n + n, x),
        jax.lax.switch(1, [lambda y: n, lambda y: n + n], x),
    ),
    "loops": lambda n, x: (
        jax.lax.fori_loop(0, 2, lambda i, c: n, n),
        jax.lax.while_loop(lambda c: c < n, lambda c: n, n - 1),
        jax.lax.map(lambda y: n, x),
        jax.lax.associative_scan(lambda a, b: a + b * n, x),
    ),
    "vmap": lambda n, x: jax.vmap(lambda y: (y, n))(x),
    "checkpoint": lambda n, x: jax.checkpoint(lambda y, p: y * p.first)(x, Pair(n, 1)),
    "shapes": lambda n, x: jax.eval_shape(lambda y: (y, n), x)[1].dtype,
    "differentiated": lambda n, x: (
        jax.grad(lambda c: (c.total * x).sum())(Carry(n * 1.0, 2.0)).total,
        jax.jvp(lambda c: c.n * x, (Carry(1.0, n * 1.0),), (Carry(1.0, 2.0),)),
        jax.vjp(lambda c: c.n * x, Carry(1.0, n * 1.0))[1](x)[0].n,
    ),
}


@pytest.mark.parametrize("kind", [int, np.int64, np.float32], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", HANDED_TO_TRANSFORMS)
def test_numbers_that_functions_get_from_transforms_or_return_to_them_cost_two_programs(name, kind):
    x = jnp.array([1.0, -2.0, 3.0])
    assert_served_by_two_programs(HANDED_TO_TRANSFORMS[name], map(kind, range(2, 8)), x)


COMPARED_WITH_A_SCALAR = {
    "min": lambda v, o: min(v, o),
    "max": lambda v, o: max(o, v),
    "on the left": lambda v, o: (o < v, o >= v, o == v, o != v),
    "on the right": lambda v, o: (v < o, v >= o, v == o, v != o),
}


@pytest.mark.parametrize("kind", [int, float, np.float32, np.int64], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("other", [np.int32(30), np.float32(30), np.float64(-3)], ids=repr)
@pytest.mark.parametrize("name", COMPARED_WITH_A_SCALAR)
def test_a_comparison_with_a_scalar_of_numpys_costs_a_program_for_each_answer(name, other, kind):
    compare = COMPARED_WITH_A_SCALAR[name]
    assert_served_by_two_programs(lambda v: compare(v, other), map(kind, range(1, 8)))


PYTREES = {
    "map": lambda v, x: jax.tree.map(lambda y: y * 2, {"v": v, "x": x}),
    "two trees": lambda v, x: jax.tree.map(lambda y, z: y + z, [v, x], [1, v]),
    "map_with_path": lambda v, x: jax.tree_util.tree_map_with_path(lambda p, y: y + 1, Pair(v, x)),
    "leaves": lambda v, x: jax.tree.leaves({"v": v, "x": [x, v]}),
    "reduce": lambda v, x: jax.tree_util.tree_reduce(lambda a, b: a + b, [v, v, 2]),
    "functions of JAX's": lambda v, x: jax.tree.map(jnp.sqrt, [v, x * x]),
    "a part of JAX's": lambda v, x: jax.tree_util.Partial(lambda a, b: a * b, v)(x),
}


@pytest.mark.parametrize("kind", [int, np.float32], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", PYTREES)
def test_a_number_that_goes_through_a_pytree_stays_a_number(name, kind):
    assert_served_by_two_programs(PYTREES[name], map(kind, range(1, 5)), jnp.array([1.0, -2.0]))
