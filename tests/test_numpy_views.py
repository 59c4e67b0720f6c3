"""Captured NumPy arrays behave as NumPy in NumPy code and are inputs of the program where they meet JAX."""

import copy
import gc
import pickle
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.support import Compilations, same

from freshjit import CapturedNumpyWriteError, UnsupportedStateError, jit

jit_cases = {
    "add": lambda a, x: a + x,
    "radd": lambda a, x: x + a,
    "sub": lambda a, x: a - x,
    "rsub": lambda a, x: x - a,
    "mul": lambda a, x: a * x,
    "truediv": lambda a, x: a / x,
    "rtruediv": lambda a, x: x / a,
    "floordiv": lambda a, x: a // x,
    "mod": lambda a, x: a % x,
    "pow": lambda a, x: a**x,
    "rpow": lambda a, x: x**a,
    "matmul": lambda a, x: a @ x,
    "rmatmul": lambda a, x: x @ a,
    "compare": lambda a, x: (a < x) | (a == x),
    "jnp function": lambda a, x: jnp.dot(a, x),
    "jnp keyword": lambda a, x: jnp.clip(x, max=a),
    "jnp of a list": lambda a, x: jnp.stack([a, x]),
    "jnp.asarray": lambda a, x: jnp.asarray(a) * x,
    "jnp.array": lambda a, x: jnp.array(a, copy=True) * x,
    "slice": lambda a, x: a[1:] * x[1:],
    "slice of a slice": lambda a, x: a[1:][::-1] * x[1:],
    "new axis": lambda a, x: a[None, :] * x[None, :],
    "integer index": lambda a, x: a[1] * x,
    "traced index": lambda a, x: a[x.astype(jnp.int32) % 3],
    "as an index": lambda a, x: x[a.astype(int) % 3],
    "at set": lambda a, x: x.at[0].set(a[0]),
    "ufunc": lambda a, x: np.multiply(a, x),
    "einsum": lambda a, x: jnp.einsum("i,i->", a, x),
    "grad": lambda a, x: jax.grad(lambda v: jnp.sum(a * v**2))(x),
    "vmap": lambda a, x: jax.vmap(lambda u, v: u * v)(a, x),
    "scan": lambda a, x: jax.lax.scan(lambda c, v: (c + v, c), x[0], a)[1],
    "tree map": lambda a, x: jax.tree.map(lambda u, v: u + v, [a], [x]),
    "result": lambda a, x: (a + 0 * x, x),
    "lax": lambda a, x: jax.lax.add(x, jnp.asarray(a)),
    "in a loop": lambda a, x: sum(v * x for v in a),
    "unpacking": lambda a, x: (lambda p, q, r: p * x + q - r)(*a),
    "device_put": lambda a, x: jax.device_put(a) + x,
}


@pytest.mark.parametrize("operation", jit_cases.values(), ids=jit_cases.keys())
def test_in_jax_code_changes_in_place_are_seen(operation):
    table = np.array([1.0, 2.0, 3.0], np.float32)
    x = jnp.array([2.0, 1.0, 3.0])
    f = jit(lambda v: operation(table, v))
    for factor in (1.0, 2.0, 0.5):
        table *= factor
        same(f(x), operation(table.copy(), x))
    assert table.tolist() == [1.0, 2.0, 3.0]


ONCE = [
    "add",
    "rsub",
    "matmul",
    "jnp function",
    "jnp of a list",
    "slice",
    "new axis",
    "scan",
    "vmap",
    "einsum",
]


@pytest.mark.parametrize("name", ONCE)
def test_as_an_input_a_change_in_place_needs_no_compilation(name):
    operation = jit_cases[name]
    table = np.array([1.0, 2.0, 3.0], np.float32)
    x = jnp.ones(3)

    def as_input(v):
        return operation(table, v)

    f = jit(as_input)
    f.clear_cache()
    compiled = Compilations("as_input")
    for i in range(3):
        table[0] = i
        f(x)
    assert compiled.count == 1


numpy_cases = {
    "sum": lambda a: np.sum(a),
    "method": lambda a: a.mean(),
    "item": lambda a: a.item(0),
    "tolist": lambda a: str(a.tolist()),
    "bool": lambda a: bool(a[0]),
    "float": lambda a: float(a[1]),
    "int": lambda a: int(a[2]),
    "index of a range": lambda a: len(range(int(a[2]))),
    "compare": lambda a: bool((a > 1).all()),
    "in": lambda a: 2.0 in a,
    "max of a list": lambda a: max(a),
    "sorted": lambda a: str(sorted(a)),
    "mask": lambda a: a[a > 1].sum(),
    "nonzero": lambda a: len(np.nonzero(a > 1)[0]),
    "where": lambda a: np.where(a > 1, a, -a).sum(),
    "concatenate": lambda a: np.concatenate([a, a]).sum(),
    "linalg": lambda a: np.linalg.norm(a),
    "ufunc method": lambda a: np.add.reduce(a),
    "transpose": lambda a: a.T.sum(),
    "asarray": lambda a: np.asarray(a).sum(),
    "array": lambda a: np.array(a).sum(),
    "copy": lambda a: a.copy().sum(),
    "copy module": lambda a: copy.deepcopy(a).sum(),
    "pickle": lambda a: pickle.loads(pickle.dumps(a)).sum(),
    "unary": lambda a: (-a).sum() + abs(a).sum(),
    "divmod": lambda a: divmod(a, 2)[1].sum(),
    "format": lambda a: f"{a[0]:.2f}",
    "str": lambda a: str(a),
    "repr": lambda a: repr(a),
    "hash of bytes": lambda a: str(a.tobytes()),
    "reshape": lambda a: a.reshape(1, 3).sum(),
    "astype": lambda a: a.astype(np.int32).sum(),
    "fancy": lambda a: a[[0, 2]].sum(),
    "flat": lambda a: sum(a.flat),
    "enumerate": lambda a: sum(i * v for i, v in enumerate(a)),
    "argmax": lambda a: int(a.argmax()),
}


@pytest.mark.parametrize("operation", numpy_cases.values(), ids=numpy_cases.keys())
def test_in_numpy_code_changes_in_place_are_seen(operation):
    table = np.array([1.0, 2.0, 3.0], np.float32)
    f = jit(lambda x: (x, operation(table)))
    for values in ([1.0, 2.0, 3.0], [0.0, 5.0, 1.0], [1.0, 2.0, 3.0]):
        table[:] = values
        value, wanted = f(1.0)[1], operation(table.copy())
        if isinstance(wanted, str):
            assert value == wanted
        else:
            same(value, wanted)


def test_form_without_contents():
    """Shape, dtype and length are no reason to look at the numbers."""
    table = np.arange(6.0, dtype=np.float32).reshape(2, 3)

    def asks_form(x):
        assert isinstance(table, np.ndarray)
        assert (table.ndim, table.size, table.nbytes, table.itemsize) == (2, 6, 24, 4)
        return x * len(table) + table.shape[1] if table.dtype == np.float32 else x

    f = jit(asks_form)
    compiled = Compilations("asks_form")
    assert float(f(1.0)) == 5.0
    table[:] = 0
    assert float(f(1.0)) == 5.0
    assert compiled.count == 1


def test_zero_dimensional_arrays():
    level = np.array(2.0, np.float32)

    def f(x):
        return x * level + float(level)

    fast = jit(f)
    assert float(fast(1.0)) == 4.0
    level[...] = 3.0
    assert float(fast(1.0)) == 6.0
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        jit(lambda x: list(level))(1.0)


def test_truth_of_several_elements_is_ambiguous_as_in_numpy():
    table = np.ones(2)
    with pytest.raises(ValueError, match="ambiguous"):
        jit(lambda x: x if table else -x)(1.0)


def test_arrays_cannot_be_hashed():
    table = np.ones(2)
    with pytest.raises(TypeError, match="unhashable"):
        jit(lambda x: {table: x})(1.0)


def test_nan_and_signed_zero_are_values():
    table = np.array([np.nan, 0.0])
    f = jit(lambda x: (x, str(table.tolist())))
    compiled_before = f._cache_size()
    assert f(1.0)[1] == "[nan, 0.0]"
    assert f(1.0)[1] == "[nan, 0.0]"
    assert f._cache_size() == compiled_before + 1
    table[1] = -0.0
    assert f(1.0)[1] == "[nan, -0.0]"


@pytest.mark.parametrize(
    "table",
    [
        np.array(["a", "b"]),
        np.array([1, "x", None], dtype=object),
        np.array([(1, 2.0)], dtype=[("n", int), ("v", float)]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.ma.masked_array([1.0, 2.0], mask=[False, True]),
    ],
    ids=["strings", "objects", "records", "dates", "masked"],
)
def test_arrays_that_cannot_be_inputs_are_values(table):
    f = jit(lambda x: (x, str(table.tolist())))
    assert f(1.0)[1] == str(table.tolist())
    table[0] = table[-1]
    assert f(1.0)[1] == str(table.tolist())


def test_views_of_one_buffer_follow_the_buffer():
    buffer = np.zeros(4, np.float32)
    half = buffer[2:]
    f = jit(lambda x: jnp.sum(jnp.asarray(half)) * x)
    assert float(f(1.0)) == 0.0
    buffer[3] = 5.0
    assert float(f(1.0)) == 5.0


def test_non_contiguous_and_read_only_arrays():
    base = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    frozen = np.ones(3, np.float32)
    frozen.flags.writeable = False
    strided, turned = base[:, ::2], base.T
    f = jit(lambda x: jnp.sum(strided * x) + jnp.sum(turned * x) + jnp.sum(frozen * x))
    assert float(f(1.0)) == strided.sum() + turned.sum() + 3
    base[0, 0] = 100.0
    assert float(f(1.0)) == strided.sum() + turned.sum() + 3


def test_replaced_array_of_another_form():
    tables = [np.ones(2, np.float32)]
    f = jit(lambda x: jnp.sum(tables[0] * x))
    for table in (np.ones(3, np.float32), np.ones(2, np.int32), np.ones((2, 2), np.float32)):
        tables[0] = table
        assert float(f(1.0)) == table.size


def test_random_state_of_the_users_is_live():
    table = np.random.default_rng(0).normal(size=3)
    f = jit(lambda x: x * table)
    x = jnp.float32(1.0)
    same(f(x), x * table)


# -- writes -----------------------------------------------------------------------------------------


def test_concrete_writes_happen_at_every_call():
    table = np.zeros(3)

    @jit
    def f(x):
        table[0] += 1
        table[1:] = 5
        return x

    for i in range(1, 4):
        f(1.0)
        assert table.tolist() == [i, 5.0, 5.0]


def test_in_place_operators():
    table = np.ones(3)

    @jit
    def f(x):
        nonlocal table
        table += 2
        table *= 3
        table -= 1
        table /= 2
        return x

    keep, reference = table, np.ones(3)
    for _ in range(3):
        f(1.0)
        reference = ((reference + 2) * 3 - 1) / 2
        assert table.tolist() == reference.tolist()
    assert keep is table


def test_in_place_operator_with_a_traced_value():
    table = np.ones(3, np.float32)

    @jit
    def f(x):
        nonlocal table
        table += x
        return x

    f(jnp.ones(3))
    f(jnp.ones(3) * 2)
    assert type(table) is np.ndarray
    assert table.tolist() == [4.0, 4.0, 4.0]


def test_traced_writes_are_read_back_by_jax_code():
    table = np.zeros(3, np.float32)

    @jit
    def f(x):
        table[0] = x
        table[1] = x * 2
        return jnp.sum(jnp.asarray(table)) + table[2]

    try:
        out = f(1.0)
    except CapturedNumpyWriteError:
        # table[2] asks for a number; only that is refused
        assert table.tolist() == [0.0, 0.0, 0.0]
    else:
        assert float(out) == 3.0
        assert table.tolist() == [1.0, 2.0, 0.0]


def test_traced_writes_and_a_traced_read():
    table = np.zeros(3, np.float32)

    @jit
    def f(x):
        table[0] = x
        table[1] = x * 2
        return jnp.sum(jnp.asarray(table))

    assert float(f(1.0)) == 3.0
    assert table.tolist() == [1.0, 2.0, 0.0]
    assert float(f(2.0)) == 6.0
    assert table.tolist() == [2.0, 4.0, 0.0]


def test_traced_index_of_a_write():
    table = np.zeros(3, np.float32)

    @jit
    def f(i):
        table[i] = 7.0

    f(jnp.int32(1))
    f(jnp.int32(2))
    assert table.tolist() == [0.0, 7.0, 7.0]


def test_traced_value_is_converted_to_the_dtype_of_the_array():
    table = np.zeros(2, np.int32)

    @jit
    def f(x):
        table[0] = x
        return jnp.asarray(table)

    out = f(jnp.float32(2.7))
    assert table.tolist() == [2, 0]
    assert out.tolist() == [2, 0]


def test_np_functions_with_out_write_in_place():
    table, other = np.zeros(3), np.ones(3)

    @jit
    def f(x):
        np.add(table, other, out=table)
        np.copyto(other, 4.0)
        return x

    f(1.0)
    f(1.0)
    assert table.tolist() == [5.0, 5.0, 5.0]
    assert other.tolist() == [4.0, 4.0, 4.0]


def test_methods_that_write_in_place():
    table = np.array([3.0, 1.0, 2.0])

    @jit
    def f(x):
        table.sort()
        table[::-1].sort()
        table.fill(9.0) if table[0] > 100 else None
        return x

    f(1.0)
    assert table.tolist() == [3.0, 2.0, 1.0]


def test_array_stored_elsewhere_stays_the_same_array():
    table = np.zeros(3)
    holder = {}

    @jit
    def f(x):
        holder["table"] = table
        holder["part"] = table[1:]
        return table

    out = f(1.0)
    assert holder["table"] is table
    assert out is table
    assert type(holder["part"]) is np.ndarray
    table[2] = 5.0
    assert holder["part"].tolist() == [0.0, 5.0]


def test_new_numpy_array_is_a_fresh_one_at_each_call():
    holder = {}

    @jit
    def f(x):
        holder["new"] = np.arange(3)
        return x

    f(1.0)
    first = holder["new"]
    f(1.0)
    assert holder["new"] is not first
    first[0] = 100
    assert holder["new"].tolist() == [0, 1, 2]


def test_a_captured_array_changed_while_the_program_may_still_run():
    """The device must not see later edits of the user's buffer."""
    table = np.zeros(1000, np.float32)
    f = jit(lambda x: jnp.asarray(table) + x)
    results = []
    for i in range(20):
        table[:] = i
        results.append(f(0.0))
    table[:] = -1
    for i, out in enumerate(results):
        assert out.tolist() == [float(i)] * 1000


# -- arrays that share memory -----------------------------------------------------------------------


@pytest.mark.parametrize("how", ["jax", "numpy", "traced"])
def test_a_write_into_one_of_two_arrays_that_share_memory_is_refused(how):
    whole = np.arange(4, dtype=np.float32)
    part = whole[1:3]

    @jit
    def run(x):
        part[0] = x if how == "traced" else 7
        return x + (whole.sum() if how == "numpy" else jnp.sum(jnp.asarray(whole)))

    with pytest.raises(CapturedNumpyWriteError, match="part is written and shares memory with closure whole"):
        run(1.0)
    assert whole.tolist() == [0, 1, 2, 3]


def test_a_write_into_one_of_two_interleaved_arrays_is_made():
    whole = np.arange(4, dtype=np.float32)
    even, odd = whole[::2], whole[1::2]

    @jit
    def run(x):
        even[0] = 7
        return x + jnp.asarray(odd).sum()

    assert run(1.0) == 5.0
    assert whole.tolist() == [7, 1, 2, 3]


def test_arrays_that_share_memory_may_both_be_read():
    whole = np.arange(4, dtype=np.float32)
    part = whole[1:3]
    run = jit(lambda x: x + jnp.asarray(whole).sum() + jnp.asarray(part).sum())
    assert run(0.0) == 9.0
    part[0] = 5
    assert run(0.0) == 17.0


def test_a_write_is_refused_once_an_array_shares_the_memory_of_one_that_is_read():
    class Pair:
        a, b = np.ones(2, np.float32), np.ones(2, np.float32)

    pair = Pair()

    @jit
    def run(x):
        pair.a[0] = x
        return jnp.sum(jnp.asarray(pair.b))

    assert run(5.0) == 2.0
    assert run(5.0) == 2.0
    assert run._cache_size() == 1
    pair.b = pair.a[:]
    with pytest.raises(CapturedNumpyWriteError, match="shares memory"):
        run(6.0)
    assert pair.a.tolist() == [5, 1]


def test_a_write_is_refused_if_an_argument_shares_the_memory():
    table = np.ones(2, np.float32)

    @jit
    def run(a, x):
        table[0] = x
        return jnp.sum(a)

    assert run(np.ones(2, np.float32), 5.0) == 2.0
    with pytest.raises(CapturedNumpyWriteError, match="table is written and shares memory with a,"):
        run(table, 6.0)
    assert table.tolist() == [5, 1]


# -- what cannot be followed ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        np.array([("a", 1.0)], [("name", object), ("x", "f4")]),
        np.ma.array([None], dtype=object),
    ],
    ids=["records", "masked"],
)
def test_objects_inside_of_records_and_subclasses_are_refused(table):
    f = jit(lambda x: x * len(table))
    with pytest.raises(
        UnsupportedStateError,
        match=r"(?s)table \(\w+\) is an array of .*\(read at .*Keep the objects in a list",
    ):
        f(1.0)


@pytest.mark.filterwarnings("ignore:Setting the dtype:DeprecationWarning")
@pytest.mark.parametrize("change", ["dtype", "size"])
def test_another_dtype_or_size_in_place_is_refused(change):
    names = np.array(["a", "b"])

    @jit
    def run(x):
        if change == "dtype":
            names.dtype = "S8"
        else:
            names.resize(4, refcheck=False)
        return x

    with pytest.raises(CapturedNumpyWriteError, match="names was given another dtype or size in place"):
        run(1.0)
    assert names.tolist() == ["a", "b"]


def test_jax_arrays_in_an_array_of_objects_are_inputs():
    table = np.empty(1, object)
    table[0] = jnp.arange(3.0)
    f = jit(lambda x: x + table[0])
    assert f(1.0).tolist() == [1, 2, 3]
    table[0] = jnp.ones(3)
    assert f(1.0).tolist() == [2, 2, 2]
    assert f._cache_size() == 1


def test_an_array_of_objects_keeps_none_of_them_alive():
    class Held:
        pass

    class Owner:
        table = np.array([Held(), None], object)

    owner, alive = Owner(), weakref.ref(Owner.table[0])
    f = jit(lambda x: x * (1 if owner.table is not None else 2))
    f(1.0)
    Owner.table = None
    gc.collect()
    assert alive() is None


# -- bodies of loops and branches that run twice, as they write other state -------------------------


class Counted:
    def __init__(self):
        self.visits, self.names = np.zeros(2, np.float32), np.array(["a", "b"])
        self.row = np.zeros(1, [("n", int)])
        self.last = jnp.float32(0.0)

    def visit(self, which, x):
        self.visits[which] += 1
        self.row[0]["n"] += 1
        self.names[which] = "c" if self.names[which] == "a" else "d"
        self.last = self.last * 0 + x
        return x + float(self.visits[which])


@pytest.mark.parametrize("read_before", [False, True])
def test_numbers_are_written_once_in_branches_that_write_other_state(read_before):
    thing = Counted()

    @jit
    def run(x):
        before = float(thing.visits[0]) if read_before else 0.0
        return before, jax.lax.cond(x > 0, lambda v: thing.visit(0, v), lambda v: thing.visit(1, v), x)

    for n, x in enumerate((5.0, -5.0), 1):
        assert float(run(x)[1]) == x + n
        assert thing.visits.tolist() == [n, n]  # both branches are traced, as in JAX
        assert thing.row["n"].tolist() == [2 * n]
        assert float(thing.last) == x
    assert thing.names.tolist() == ["d", "d"]


@pytest.mark.parametrize("loop", ["scan", "fori_loop", "while_loop"])
def test_numbers_are_written_once_in_loops_that_write_other_state(loop):
    thing = Counted()

    @jit
    def run(x):
        if loop == "scan":
            return jax.lax.scan(lambda c, v: (thing.visit(0, c), v), x, jnp.arange(3.0))[0]
        if loop == "fori_loop":
            return jax.lax.fori_loop(0, 3, lambda i, c: thing.visit(0, c), x)
        return jax.lax.while_loop(lambda c: c < 1 + 3 * thing.visits[1], lambda c: thing.visit(0, c), x)

    thing.visits[1] = 1.0
    for n in (1, 2):
        # What the body reads is what one run of it has left.
        wanted = 1.0 + 3 * n if loop != "while_loop" else next(v for v in np.arange(1.0, 9.0, n) if v >= 4)
        assert float(run(1.0)) == wanted
        assert thing.visits.tolist() == [n, 1.0]
        assert thing.row["n"].tolist() == [n]
    assert thing.names.tolist() == ["d", "b"]


# -- between NumPy and JAX --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.complex128, np.float32])
def test_a_number_computed_by_jax_of_an_array_of_another_dtype_is_guarded_by_its_contents(dtype):
    table = np.array([1, 2], dtype)

    @jit
    def run(x):
        with jax.ensure_compile_time_eval():
            total = float(jnp.sum(jnp.asarray(table)).real)
        return x * total + float(jnp.max(jnp.asarray(table).real))

    before = run._cache_size()
    assert (float(run(1.0)), float(run(1.0))) == (5.0, 5.0)
    assert run._cache_size() == before + 1
    table[0] = 7
    assert float(run(1.0)) == 16.0


def test_named_results_of_numpy_functions_keep_their_names():
    square = np.diag([1.0, 2.0])
    parts = jit(lambda x: (x, np.linalg.svd(square).S, np.linalg.slogdet(square)))(1.0)
    assert parts[1].tolist() == [2.0, 1.0]
    assert parts[2]._fields == ("sign", "logabsdet")


def test_a_masked_array_made_of_a_captured_one_is_made_of_an_ndarray():
    table = np.array([-1.0, 2.0])
    out = jit(lambda x: np.ma.abs(table))(1.0)
    assert out.tolist() == [1.0, 2.0]
    assert out.baseclass is np.ndarray


def test_bytes_are_those_of_the_memory():
    counts, on_device = np.array([3, 1], np.int16), jnp.array([3, 1], jnp.int16)
    assert jit(lambda x: (bytes(counts), bytes(on_device)))(1.0) == (counts.tobytes(), counts.tobytes())


def simple_attributes(kind):
    """What an ndarray has, but what only Python asks, depends on the address, or can be no result."""
    skipped = ("ctypes", "data", "tofile", "dump", "setfield", "resize", "base", "flags", "flat")
    return [name for name in dir(kind) if not name.startswith("_") and name not in skipped]


def tried(array, name, arguments):
    try:
        value = getattr(array, name)
        return value(*arguments) if callable(value) else value
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        return type(error).__name__


@pytest.mark.parametrize("name", simple_attributes(np.ndarray))
def test_methods_and_attributes_give_what_those_of_the_array_give(name):
    for values in ([3.0, 1.0, 2.0], [3, 1, 2], [True, False, True]):
        for arguments in ((), (0,), ("i4",)):
            plain, captured = np.array(values), np.array(values)
            wanted = tried(plain, name, arguments)
            fast = jit(lambda x, captured=captured, a=arguments: tried(captured, name, a))
            fast.clear_cache()  # it is one code for all of them
            got = fast(1.0)
            assert type(got) is type(wanted), (values, arguments)
            assert str(got) == str(wanted), (values, arguments)
            assert captured.tolist() == plain.tolist(), (values, arguments)
