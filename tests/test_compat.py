"""Each JAX internal that `_compat.py` uses does what freshjit counts on, with every supported JAX."""

import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend import core as public

import freshjit
from freshjit import _compat
from freshjit.state.views.transforms import _KNOWN

SOURCE = Path(freshjit.__file__).parent


def record(function, *args, on_concrete=lambda array: None, as_index=lambda key: key):
    """Trace a function of a Recorder and the arguments; the recorder's trace is closed afterwards."""
    recorders = []

    def traced(*values):
        recorder = _compat.Recorder(on_concrete, as_index, as_index)
        recorder.start()
        recorders.append(recorder)
        return function(recorder, *values)

    try:
        return jax.make_jaxpr(traced)(*args)
    finally:
        for recorder in recorders:
            recorder.close()


# -- only here --------------------------------------------------------------------------------------


def test_internals_are_used_in_one_module_only():
    for file in SOURCE.rglob("*.py"):
        if file.name != "_compat.py":
            assert not re.search(r"jax\._src|jax\.interpreters|from jax import _src", file.read_text()), file


def test_every_public_name_of_the_module_exists():
    for name in _compat.__all__:
        assert hasattr(_compat, name), name


# -- the recorder: arrays become inputs while the function runs ---------------------------------------


@pytest.mark.leaks
def test_captured_array_becomes_a_constant_of_the_jaxpr_by_identity():
    weight = jnp.arange(3.0)
    closed = record(lambda recorder, x: recorder.input(weight) * x, 2.0)
    assert [c is weight for c in closed.consts] == [True]
    assert len(closed.jaxpr.constvars) == 1
    assert len(closed.jaxpr.invars) == 1


def test_one_input_per_distinct_array():
    a, b = jnp.ones(2), jnp.ones(2)

    def f(recorder, x):
        first = recorder.input(a)
        assert recorder.input(a) is first
        return first + recorder.input(b) + recorder.input(a) + x

    closed = record(f, 1.0)
    assert {id(c) for c in closed.consts} == {id(a), id(b)}
    assert len(closed.consts) == 2


def test_array_used_directly_is_the_same_constant_as_the_input():
    weight = jnp.arange(3.0)
    closed = record(lambda recorder, x: recorder.input(weight) + weight + x, 2.0)
    assert [c is weight for c in closed.consts] == [True]


@pytest.mark.parametrize(
    "inside",
    [
        lambda read, x: jax.grad(lambda v: jnp.sum(read() * v))(x),
        lambda read, x: jax.vmap(lambda v: jnp.sum(read()) * v)(x),
        lambda read, x: jax.lax.scan(lambda c, v: (c + jnp.sum(read()) * v, None), 0.0, x)[0],
        lambda read, x: jax.lax.cond(x[0] > 0, lambda: jnp.sum(read()), lambda: 0.0),
        lambda read, x: jax.lax.while_loop(lambda v: v[0] < 9, lambda v: v + jnp.sum(read()), x),
        lambda read, x: jax.jit(lambda v: read() * v)(x),
        lambda read, x: jax.checkpoint(lambda v: read() * v)(x),
        lambda read, x: jax.jvp(lambda v: read() * v, (x,), (x,)),
    ],
    ids=["grad", "vmap", "scan", "cond", "while", "jit", "checkpoint", "jvp"],
)
def test_array_first_read_inside_a_transform_is_an_input_of_the_outermost_trace(inside):
    weight = jnp.arange(3.0) + 1
    closed = record(lambda recorder, x: inside(lambda: recorder.input(weight), x), jnp.ones(3))
    assert any(c is weight for c in closed.consts)
    jaxpr = _compat.open_jaxpr(closed)
    other = jnp.ones(3) * 2
    values = [other if c is weight else c for c in closed.consts]
    got = _compat.eval_jaxpr(jaxpr, *values, jnp.ones(3))
    wanted = jax.tree.leaves(inside(lambda: other, jnp.ones(3)))
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_typed_prng_keys_and_other_dtypes_are_inputs_too():
    key, half, flag = jax.random.key(0), jnp.ones(2, jnp.bfloat16), jnp.bool_(True)

    def f(recorder):
        recorder.input(flag)
        return jax.random.normal(recorder.input(key), (2,)) + recorder.input(half) + recorder.input(flag)

    assert {id(c) for c in record(f).consts} >= {id(key), id(half), id(flag)}


def test_recorder_refuses_a_trace_that_is_not_fresh():
    with pytest.raises(AssertionError, match="fresh jaxpr trace"):
        _compat.Recorder(lambda array: None, lambda key: key, lambda value: value)


def test_inputs_and_ownership_of_tracers():
    weight = jnp.arange(3.0)

    def f(recorder, x):
        tracer = recorder.input(weight)
        assert recorder.is_input(tracer) is weight
        assert recorder.is_input(tracer + 1) is None
        assert recorder.is_input(x) is None
        assert recorder.is_input(3.0) is None
        assert recorder.owns(tracer)
        assert recorder.owns(tracer + x)
        assert not recorder.owns(weight)

        def inner(v):
            assert not recorder.owns(v)
            return v * x

        return jax.grad(inner)(2.0) + jax.vmap(inner)(jnp.ones(2)).sum()

    record(f, 1.0)


# -- concrete values on demand ----------------------------------------------------------------------

CONCRETE = {
    "bool": (lambda v: bool(v > 1), True),
    "int": (int, 2),
    "float": (float, 2.0),
    "complex": (complex, 2 + 0j),
    "index": (lambda v: list(range(10))[v.astype(int)], 2),
    "array": (lambda v: float(np.asarray(v)), 2.0),
    "numpy function": (lambda v: float(np.sin(v)), float(np.sin(np.float32(2.0)))),
    "item": (lambda v: v.item(), 2.0),
    "tolist": (lambda v: v.tolist(), 2.0),
    "format": (lambda v: f"{v:.1f}", "2.0"),
    "str": (lambda v: str(v), "2.0"),
    "repr": (lambda v: repr(v), "Array(2., dtype=float32)"),
    "text with percent": (lambda v: "%s" % (v,), "2.0"),  # noqa: UP031
    "bytes": (lambda v: bytes(v), np.float32(2.0).tobytes()),
    "mask": (lambda v: len(jnp.arange(3.0)[jnp.arange(3.0) < v]), 2),
    "derived": (lambda v: float(jnp.sin(v) * 0 + v * 3 - jnp.max(v)), 4.0),
    "through jit": (lambda v: float(jax.jit(lambda u: u + 1)(v)), 3.0),
    "through cond": (lambda v: float(jax.lax.cond(v > 1, lambda u: u, lambda u: -u, v)), 2.0),
}


@pytest.mark.parametrize(("ask", "answer"), CONCRETE.values(), ids=CONCRETE.keys())
def test_value_that_follows_from_captured_arrays_is_known_on_demand(ask, answer):
    weight, asked = jnp.float32(2.0), []

    def f(recorder, x):
        got = ask(recorder.input(weight))
        assert got == answer
        assert type(got) is type(answer)
        return x

    record(f, 1.0, on_concrete=asked.append)
    assert asked
    assert all(a is weight for a in asked)


def test_only_the_arrays_that_matter_are_made_concrete():
    a, b, asked = jnp.float32(2.0), jnp.float32(3.0), []

    def f(recorder, x):
        unused = recorder.input(b) * 2
        assert float(recorder.input(a) * 2) == 4.0
        return x + unused

    record(f, 1.0, on_concrete=asked.append)
    assert [v is a for v in asked] == [True]


@pytest.mark.parametrize(
    "ask",
    [bool, int, float, complex, np.asarray, lambda v: v.item(), lambda v: v.tolist(), lambda v: [1, 2][v]],
)
def test_value_that_depends_on_an_argument_is_refused_as_in_jax(ask):
    def jaxs_own():
        jax.make_jaxpr(lambda x: ask(x))(1)

    with pytest.raises(Exception) as wanted:
        jaxs_own()

    def f(recorder, x):
        recorder.take_over(x)
        ask(recorder.input(jnp.int32(2)) + x)

    with pytest.raises(type(wanted.value)):
        record(f, 1)
    assert isinstance(wanted.value, (TypeError, jax.errors.JAXTypeError, jax.errors.JAXIndexError))


def test_ordinary_operations_ask_for_no_value():
    """JAX looks whether values are concrete to take short cuts; that must not make a constant of an input."""
    weight, asked = jnp.arange(4.0), []

    def f(recorder, x):
        w = recorder.input(weight)
        y = jnp.where(w > 1, w, x) + jnp.clip(w, 0, 2) + w**2 + jnp.power(w, 2)
        y = y + jnp.take(w, jnp.array([0, 1, 2, 3])) + w[::-1] + w.at[0].set(1.0) + jnp.roll(w, 1)
        y = y + jnp.linalg.norm(w) + jnp.dot(w, w) + jax.nn.softmax(w) + w[w.astype(jnp.int32) % 4]
        y = y + jax.lax.dynamic_slice(w, (w[1].astype(jnp.int32),), (4,)) + jnp.sort(w) + w.sum()
        return y

    record(f, 1.0, on_concrete=asked.append)
    assert asked == []


def test_views_of_mutable_arrays_are_those_of_jax():
    weight = jnp.arange(4.0)

    def f(recorder):
        ref = jax.new_ref(recorder.input(weight))
        ref.at[1:3][...] += 10.0
        ref.at[1:3].at[0][...] = -1.0
        assert ref.at[0:2].shape == (2,)
        return ref[...], jax.ref.get(ref.at[1:3], 1)

    closed = record(f)
    whole, one = _compat.eval_jaxpr(_compat.open_jaxpr(closed), *closed.consts)
    assert whole.tolist() == [0.0, -1.0, 12.0, 3.0]
    assert float(one) == 12.0


def test_index_is_translated_before_jax_sees_it():
    weight, seen = jnp.arange(3.0), []

    def as_index(key):
        seen.append(key)
        return 1 if key == "one" else key

    def f(recorder):
        w = recorder.input(weight)
        return w["one"] + (w + 1)[0]

    closed = record(f, as_index=as_index)
    assert seen == ["one", 0]
    (out,) = _compat.eval_jaxpr(_compat.open_jaxpr(closed), *closed.consts)
    assert float(out) == 2.0


def test_tracers_of_a_closed_recorder_answer_as_jaxs_own():
    kept = []
    record(lambda recorder: kept.append(recorder.input(jnp.float32(1.0)) + 1) or 0.0)
    assert isinstance(kept[0], _compat.Tracer)
    with pytest.raises(jax.errors.ConcretizationTypeError):
        float(kept[0])


# -- jaxprs -----------------------------------------------------------------------------------------


def test_open_jaxpr_takes_its_constants_first_and_holds_none():
    weight = jnp.arange(3.0)
    closed = jax.make_jaxpr(lambda x: weight * x)(2.0)
    jaxpr = _compat.open_jaxpr(closed)
    (out,) = _compat.eval_jaxpr(jaxpr, jnp.ones(3), jnp.float32(5.0))
    assert out.tolist() == [5.0, 5.0, 5.0]
    assert not any(c is weight for c in _compat.constants_of(jaxpr))


def test_questions_about_jaxprs():
    closed = jax.make_jaxpr(lambda x: x + 1.0)(2.0)
    assert _compat.is_jaxpr(closed)
    assert _compat.is_jaxpr(closed.jaxpr)
    assert not _compat.is_jaxpr("jaxpr")
    assert _compat.inner_jaxpr(closed) is closed.jaxpr
    assert _compat.inner_jaxpr(closed.jaxpr) is closed.jaxpr
    (equation,) = closed.jaxpr.eqns
    assert [_compat.is_literal(a) for a in equation.invars] == [False, True]
    assert list(_compat.constants_of(closed)) == list(closed.consts)
    assert isinstance(equation.invars[1], public.Literal)


# -- small facts ------------------------------------------------------------------------------------


def test_trace_is_clean_only_outside_of_transforms():
    assert _compat.trace_is_clean()
    seen = []

    def f(x):
        seen.append(_compat.trace_is_clean())
        return x

    f(1.0)
    jax.jit(f)(1.0)
    jax.grad(f)(1.0)
    jax.vmap(f)(jnp.ones(2))
    jax.make_jaxpr(f)(1.0)
    jax.eval_shape(f, 1.0)
    jax.lax.scan(lambda c, x: (f(c), None), 1.0, jnp.ones(2))
    assert seen[0] is True
    assert set(seen[1:]) == {False}
    assert _compat.trace_is_clean()


def test_mapped_values_are_told_from_others_in_the_innermost_vmap():
    seen = []

    def inner(x, y):
        seen.append([_compat.is_mapped(v) for v in (x, y, x + 0 * y, jax.lax.psum(x, "lanes"), 1.0)])
        return x

    jax.jit(jax.vmap(lambda x: jax.vmap(inner, (0, None), axis_name="lanes")(jnp.ones(3), x)))(jnp.ones(2))
    assert seen == [[True, False, True, False, False]]
    assert not _compat.is_mapped(jnp.ones(2))


def test_values_that_differ_from_device_to_device_are_told_from_others():
    seen = []

    def inner(x, y):
        seen.append([_compat.varies(v) for v in (x, y, x + y, jax.lax.psum(x, "devices"))])
        return x

    mesh = jax.make_mesh((1,), ("devices",), axis_types=(jax.sharding.AxisType.Auto,))
    split, whole = jax.sharding.PartitionSpec("devices"), jax.sharding.PartitionSpec()
    jax.shard_map(inner, mesh=mesh, in_specs=(split, whole), out_specs=split)(jnp.ones(2), 1.0)
    assert seen == [[True, False, True, False]]


def test_trace_context_is_a_hashable_that_follows_the_configuration():
    start = _compat.trace_context()
    assert hash(start) == hash(_compat.trace_context())
    changes = [
        lambda: jax.enable_x64(True),
        lambda: jax.default_matmul_precision("highest"),
        lambda: jax.default_device(jax.devices()[-1]),
        lambda: jax.numpy_rank_promotion("warn"),
        lambda: jax.numpy_dtype_promotion("strict"),
        lambda: jax.threefry_partitionable(not jax.config.jax_threefry_partitionable),
    ]
    seen = {start}
    for change in changes:
        with change():
            seen.add(_compat.trace_context())
        assert _compat.trace_context() == start
    assert len(seen) == 1 + len(changes)


def test_configuration_switches():
    assert not _compat.jit_is_disabled()
    with jax.disable_jit():
        assert _compat.jit_is_disabled()
    assert not _compat.x64_is_enabled()
    with jax.enable_x64(True):
        assert _compat.x64_is_enabled()


def test_kind_of_jitted_functions():
    assert type(jax.jit(len)) is _compat.JitFunction
    assert isinstance(jnp.where, _compat.JitFunction) or callable(jnp.where)
    assert not isinstance(len, _compat.JitFunction)
    assert hasattr(jax.jit(lambda x: x), "__wrapped__")


def test_tracer_class():
    seen = []
    jax.jit(lambda x: seen.append(isinstance(x, _compat.Tracer)) or x)(1.0)
    jax.grad(lambda x: seen.append(isinstance(x, _compat.Tracer)) or x)(1.0)
    assert seen == [True, True]
    assert not isinstance(jnp.ones(1), _compat.Tracer)


def test_extended_dtypes_and_their_numpy_form():
    key = jax.random.key(3)
    assert _compat.is_extended_dtype(key.dtype)
    assert not _compat.is_extended_dtype(jnp.float32)
    assert not _compat.is_extended_dtype(np.dtype("bool"))
    assert _compat.as_numpy(key).tolist() == np.asarray(jax.random.key_data(key)).tolist()
    assert type(_compat.as_numpy(jnp.ones(2, jnp.bfloat16))) is np.ndarray


def test_functions_that_jaxs_transforms_return_are_recognised():
    """`jit(jax.grad(f))` works by the names of these functions and of their variables."""

    def f(x):
        return x

    made = {
        "grad": jax.grad(f),
        "grad with aux": jax.grad(f, has_aux=True),
        "value_and_grad": jax.value_and_grad(f),
        "vmap": jax.vmap(f),
        "checkpoint": jax.checkpoint(f),
        "jacfwd": jax.jacfwd(f),
        "jacrev": jax.jacrev(f),
        "shard_map": jax.shard_map(f, out_specs=jax.sharding.PartitionSpec()),
    }
    for name, function in made.items():
        code = function.__code__
        if code.co_name == "reraise_with_filtered_traceback":
            function = dict(zip(code.co_freevars, function.__closure__, strict=True))["fun"].cell_contents
        known = _KNOWN.get(function.__code__.co_qualname)
        assert known is not None, (name, function.__code__.co_qualname)
        variables = function.__code__.co_freevars
        own = {"grad": "value_and_grad_f", "grad with aux": "value_and_grad_f", "shard_map": "f"}
        assert own.get(name, "fun") in variables, name


def test_importing_freshjit_starts_no_backend():
    """jax.distributed.initialize and platform settings must still be possible after the import."""
    code = "import freshjit, jax._src.xla_bridge as bridge; assert not bridge.backends_are_initialized()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_concrete_arrays_are_of_the_class_that_probes_expect():
    assert type(jnp.zeros(2)) is type(jax.jit(lambda x: x)(1.0)) is _compat.ArrayImpl


def asked_of(ask):
    """What a recorder is told when traced code asks this of a captured array."""
    weight, concrete, asked, answers = jnp.arange(2.0), [], [], []

    def traced(x):
        recorder = _compat.Recorder(
            concrete.append, lambda v: v, lambda v: v, on_asked=lambda array, name: asked.append(name)
        )
        recorder.start()
        try:
            answers.append(ask(recorder.input(weight)))
            return x
        finally:
            recorder.close()

    jax.make_jaxpr(traced)(1.0)
    assert answers == [ask(weight)]
    return asked, bool(concrete)


@pytest.mark.parametrize(
    "ask",
    [
        lambda w: w.sharding,
        lambda w: w.device,
        lambda w: w.devices(),
        lambda w: w.committed,
        lambda w: w.is_fully_addressable,
        lambda w: w.is_fully_replicated,
        lambda w: w.is_deleted(),
        lambda w: w.is_ready(),
        lambda w: w.on_device_size_in_bytes(),
        lambda w: w.__dlpack_device__(),
    ],
)
def test_where_a_captured_array_lies_is_told_without_its_contents(ask):
    asked, needs_contents = asked_of(ask)
    assert len(asked) == 1
    assert not needs_contents


def test_parts_of_a_captured_array_are_told_with_its_contents():
    asked, needs_contents = asked_of(lambda w: [s.data.tolist() for s in w.addressable_shards])
    assert asked == ["addressable_shards"]
    assert needs_contents


def test_debuggers_and_printing_show_values_without_asking_for_them():
    weight, asked, texts = jnp.arange(2.0), [], []
    debugger = eval("lambda value: repr(value)", {"__name__": "pdb"})
    jaxs_own = eval("lambda value: repr(value)", {"__name__": "jax._src.core"})

    def f(recorder, x):
        w = recorder.input(weight)
        texts.extend((debugger(w), jaxs_own(w), str(_compat.shown(w))))
        return x

    record(f, 1.0, on_concrete=asked.append)
    assert texts == ["Array([0., 1.], dtype=float32)", "JitTracer(float32[2])", "[0. 1.]"]
    assert asked == []
