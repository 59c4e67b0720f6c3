"""`jit` is used, and looks, like `jax.jit`: every way to apply it, every parameter, every method."""

import copy
import functools
import inspect
import itertools
import pickle
import warnings

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from tests.support import Compilations, contents

import freshjit
from freshjit import FreshjitWarning, StaleCompiledError, jit

X = jnp.arange(4.0)


# -- ways to apply it -------------------------------------------------------------------------------


@pytest.mark.leaks
def test_bare_decorator():
    @jit
    def double(x):
        return x * 2

    assert double(X).tolist() == [0, 2, 4, 6]


def test_decorator_with_parentheses():
    @jit()
    def double(x):
        return x * 2

    assert double(X).tolist() == [0, 2, 4, 6]


def test_decorator_with_options():
    @jit(static_argnames="n")
    def power(x, n):
        return x**n if n else x

    assert power(X, n=2).tolist() == [0, 1, 4, 9]
    assert power(X, n=0).tolist() == [0, 1, 2, 3]


def test_call_on_a_function():
    assert jit(lambda x: x + 1)(X).tolist() == [1, 2, 3, 4]


def test_call_with_options():
    def power(x, n):
        return x**n

    assert jit(power, static_argnums=1)(X, 3).tolist() == [0, 1, 8, 27]


def test_partial_of_jit_as_a_decorator():
    @functools.partial(jit, static_argnums=(1,))
    def power(x, n):
        return x**n

    assert power(X, 2).tolist() == [0, 1, 4, 9]


class Layer:
    scale = 10.0

    def __init__(self, w):
        self.w = w
        self.calls = 0

    @jit
    def method(self, x):
        self.calls += 1
        return self.w * x

    def plain(self, x):
        return self.w * x

    @classmethod
    @jit
    def jit_below(cls, x):
        return cls.scale * x

    @jit
    @classmethod
    def jit_above(cls, x):
        return cls.scale * x

    @staticmethod
    @jit
    def static_below(x):
        return x + 1

    @jit
    @staticmethod
    def static_above(x):
        return x + 1

    @property
    @jit
    def squared(self):
        return self.w**2

    @jit
    @property
    def cubed(self):
        return self.w**3

    @cubed.setter
    def cubed(self, value):
        self.w = value ** (1 / 3)

    @jit
    def __call__(self, x):
        return self.w * x + 1

    def __neg__(self):
        return Layer(-self.w)


@pytest.mark.leaks
def test_method_reads_and_writes_its_instance():
    a, b = Layer(jnp.float32(2.0)), Layer(jnp.float32(3.0))
    assert float(a.method(1.0)) == 2.0
    assert float(b.method(1.0)) == 3.0
    a.w = jnp.float32(5.0)
    assert float(a.method(1.0)) == 5.0
    assert (a.calls, b.calls) == (2, 1)


def test_method_through_the_class_takes_the_instance():
    assert float(Layer.method(Layer(jnp.float32(2.0)), 4.0)) == 8.0


def test_bound_method():
    layer = Layer(jnp.float32(2.0))
    fast = jit(layer.plain)
    assert float(fast(3.0)) == 6.0
    layer.w = jnp.float32(4.0)
    assert float(fast(3.0)) == 12.0


@pytest.mark.parametrize("name", ["jit_below", "jit_above"])
def test_classmethod_in_either_order(name, monkeypatch):
    class Wider(Layer):
        scale = 20.0

    layer = Layer(jnp.float32(1.0))
    assert float(getattr(Layer, name)(2.0)) == 20.0
    assert float(getattr(layer, name)(2.0)) == 20.0
    assert float(getattr(Wider, name)(2.0)) == 40.0
    monkeypatch.setattr(Layer, "scale", 7.0)
    assert float(getattr(Layer, name)(2.0)) == 14.0


@pytest.mark.parametrize("name", ["static_below", "static_above"])
def test_staticmethod_in_either_order(name):
    assert float(getattr(Layer, name)(2.0)) == 3.0
    assert float(getattr(Layer(jnp.float32(1.0)), name)(2.0)) == 3.0


def test_property_with_jit_below():
    layer = Layer(jnp.float32(3.0))
    assert float(layer.squared) == 9.0
    layer.w = jnp.float32(4.0)
    assert float(layer.squared) == 16.0


def test_property_with_jit_above_keeps_its_setter():
    layer = Layer(jnp.float32(3.0))
    assert float(layer.cubed) == 27.0
    layer.cubed = 8.0
    assert float(layer.cubed) == pytest.approx(8.0)


def test_callable_instance():
    layer = Layer(jnp.float32(2.0))
    assert float(layer(3.0)) == 7.0

    class Adder:
        def __init__(self, n):
            self.n = n

        def __call__(self, x):
            return x + self.n

    adder = Adder(1.0)
    fast = jit(adder)
    assert float(fast(1.0)) == 2.0
    adder.n = 5.0
    assert float(fast(1.0)) == 6.0


def test_partial_object():
    def affine(a, x, *, b):
        return a * x + b

    fast = jit(functools.partial(affine, 2.0, b=1.0))
    assert float(fast(3.0)) == 7.0


def test_jitted_function_inside_a_jitted_function():
    weight = jnp.float32(2.0)

    @jit
    def inner(x):
        return weight * x

    @jit
    def outer(x):
        return inner(x) + 1

    assert float(outer(1.0)) == 3.0
    weight = jnp.float32(5.0)
    assert float(outer(1.0)) == 6.0


def test_function_jitted_while_tracing():
    @jit
    def outer(x):
        @jit
        def inner(y):
            return y * x

        return inner(x) + jit(lambda z: z)(1.0)

    assert float(outer(3.0)) == 10.0


def test_recursive_function():
    @jit(static_argnums=0)
    def power(n, x):
        return 1.0 if n == 0 else x * power(n - 1, x)

    assert float(power(5, 2.0)) == 32.0


def test_jit_of_jit_is_the_same_function():
    @jit
    def f(x):
        return x

    assert jit(f) is f


def test_jit_of_jit_with_other_options_is_another_function():
    @jit
    def f(x, n):
        return x * n

    g = jit(f, static_argnums=1)
    assert g is not f
    assert float(g(2.0, 3)) == 6.0


def test_jax_jit_of_a_jitted_function_and_the_reverse():
    weight = jnp.float32(2.0)

    def f(x):
        return weight * x

    assert float(jax.jit(jit(f))(3.0)) == 6.0
    fresh = jit(jax.jit(f))
    assert float(fresh(3.0)) == 6.0
    weight = jnp.float32(4.0)
    assert float(fresh(3.0)) == 12.0


def test_not_a_callable():
    with pytest.raises(TypeError, match="callable"):
        jit(3)


# -- arguments --------------------------------------------------------------------------------------


def test_positional_keyword_and_default_arguments():
    @jit
    def f(a, b=2.0, *, c=3.0):
        return a + 10 * b + 100 * c

    assert float(f(1.0)) == 321.0
    assert float(f(1.0, 5.0)) == 351.0
    assert float(f(a=1.0, c=0.0)) == 21.0
    assert float(f(1.0, c=0.0, b=0.0)) == 1.0


def test_any_number_of_arguments():
    @jit
    def f(*args, **kwargs):
        return sum(args) + sum(kwargs.values())

    assert float(f(1.0)) == 1.0
    assert float(f(1.0, 2.0, x=3.0, y=4.0)) == 10.0


def test_wrong_arguments_raise_the_plain_error():
    @jit
    def f(x):
        return x

    with pytest.raises(TypeError, match="positional argument"):
        f()
    with pytest.raises(TypeError, match="unexpected keyword"):
        f(1.0, y=2.0)
    assert float(f(1.0)) == 1.0


def test_pytree_arguments_and_results():
    @jit
    def f(tree):
        return {"sum": tree["a"][0] + tree["b"], "same": tree["a"]}

    out = f({"a": [X, None], "b": jnp.float32(1.0)[None]})
    assert out["sum"].tolist() == [1, 2, 3, 4]
    assert out["same"][1] is None


def test_strings_as_arguments():
    @jit
    def f(x, mode):
        return x + 1 if mode == "add" else x - 1

    assert float(f(1.0, "add")) == 2.0
    assert float(f(1.0, "sub")) == 0.0
    assert float(f(1.0, mode="add")) == 2.0


def test_objects_as_arguments():
    @jit
    def f(layer, x):
        layer.calls += 1
        return layer.w * x

    layer = Layer(jnp.float32(2.0))
    assert float(f(layer, 3.0)) == 6.0
    layer.w = jnp.float32(3.0)
    assert float(f(layer, 3.0)) == 9.0
    assert layer.calls == 2


def test_callables_as_arguments():
    @jit
    def f(g, x):
        return g(x)

    k = 2.0
    assert float(f(lambda v: v * k, 3.0)) == 6.0
    k = 5.0
    assert float(f(lambda v: v * k, 3.0)) == 15.0
    assert float(f(jnp.negative, 3.0)) == -3.0


def test_classes_and_dtypes_as_arguments():
    @jit
    def f(dtype, x):
        return x.astype(dtype)

    assert f(jnp.int32, X).dtype == jnp.int32
    assert f(jnp.float16, X).dtype == jnp.float16
    assert f(np.dtype("int8"), X).dtype == jnp.int8


def test_mixed_list_of_objects_and_arrays():
    @jit
    def f(parts):
        return parts[0].w * parts[1] if parts[2] == "mul" else parts[1]

    layer = Layer(jnp.float32(2.0))
    assert float(f([layer, jnp.float32(3.0), "mul"])) == 6.0
    assert float(f([layer, jnp.float32(3.0), "id"])) == 3.0


# -- static arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize("static", [1, (1,), [1], -1])
def test_static_argnums(static):
    @jit(static_argnums=static)
    def f(x, n):
        return x * n if n > 2 else x

    assert float(f(2.0, 3)) == 6.0
    assert float(f(2.0, 1)) == 2.0


@pytest.mark.parametrize("names", ["n", ("n",), ["n"]])
def test_static_argnames_by_position_or_name(names):
    @jit(static_argnames=names)
    def f(x, n=3):
        return x * n if n > 2 else x

    assert float(f(2.0)) == 6.0
    assert float(f(2.0, n=4)) == 8.0
    assert float(f(2.0, 1)) == 2.0


def test_unhashable_static_arguments():
    @jit(static_argnums=1)
    def f(x, sizes):
        return x * len(sizes) + sizes[0]

    assert float(f(1.0, [5, 6])) == 7.0
    sizes = [1]
    assert float(f(1.0, sizes)) == 2.0
    sizes.append(2)
    assert float(f(1.0, sizes)) == 3.0


def test_static_array_argument_can_steer_python():
    @jit(static_argnums=1)
    def f(x, flags):
        return x if flags[0] else -x

    assert float(f(1.0, np.array([True]))) == 1.0
    assert float(f(1.0, np.array([False]))) == -1.0


def test_numbers_that_jaxs_transforms_hand_on_are_traced_as_elsewhere():
    @jit
    def f(x, power, shift):
        return x**power + shift[0]

    values = []
    for power, shift in ((2, 0.5), (3, 1.5), (4, 2.5)):
        y, pull = jax.vjp(f, 2.0, power, np.full(2, shift, np.float32))
        values.append((float(y), float(pull(1.0)[0])))
    assert values == [(4.5, 4.0), (9.5, 12.0), (18.5, 32.0)]
    assert f._cache_size() == 1


def test_traced_argument_cannot_steer_python():
    @jit
    def f(x):
        return x if x > 0 else -x

    with pytest.raises(jax.errors.TracerBoolConversionError):
        f(1.0)


# -- donation ---------------------------------------------------------------------------------------


def donates():
    x = jnp.ones(8)
    jax.jit(lambda v: v + 1, donate_argnums=0)(x)
    return x.is_deleted()


@pytest.mark.parametrize(
    "options", [{"donate_argnums": 0}, {"donate_argnums": (0,)}, {"donate_argnames": "x"}]
)
def test_donated_argument_is_given_away(options):
    weight = jnp.ones(8)

    @jit(**options)
    def f(x, y):
        return x + y + weight

    for _ in range(2):
        x, y = jnp.zeros(8), jnp.ones(8)
        assert f(x, y).tolist() == [2.0] * 8
        assert x.is_deleted() == donates()
        assert not y.is_deleted()
    assert not weight.is_deleted()


def test_donation_finds_the_argument_after_static_ones():
    @jit(static_argnums=0, donate_argnums=1)
    def f(n, x, y):
        return x * n + y

    x, y = jnp.ones(8), jnp.ones(8)
    assert f(3, x, y).tolist() == [4.0] * 8
    assert x.is_deleted() == donates()
    assert not y.is_deleted()


def test_donating_an_object_is_told_to_have_no_effect():
    class Cache:
        def __init__(self):
            self.rows = jnp.zeros(3)

        @jit(donate_argnums=0)
        def push(self, x):
            self.rows = self.rows + x

    cache = Cache()
    before = cache.rows
    with pytest.warns(FreshjitWarning, match="donate self, which is a Python object") as told:
        cache.push(1.0)
    assert told[0].filename == __file__
    assert not before.is_deleted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.push(jnp.ones(3))  # compiles again, and has been said


def test_donated_keyword_argument():
    @jit(donate_argnames=("x",))
    def f(y, x):
        return x + y

    x = jnp.ones(8)
    assert f(jnp.ones(8), x=x).tolist() == [2.0] * 8
    assert x.is_deleted() == donates()


def test_donated_argument_kept_in_state_is_not_a_dead_array():
    """State that the call stores must be usable afterwards, even if it was the donated argument."""

    class Keeper:
        last = None

    keeper = Keeper()

    @jit(donate_argnums=0)
    def f(x):
        keeper.last = x
        return x + 1

    f(jnp.ones(8))
    assert keeper.last.tolist() == [1.0] * 8


# -- shardings --------------------------------------------------------------------------------------

needs_8_devices = pytest.mark.skipif(jax.device_count() < 8, reason="needs eight devices")


def shardings():
    mesh = Mesh(np.array(jax.devices()[:8]), ("i",))
    return NamedSharding(mesh, PartitionSpec("i")), NamedSharding(mesh, PartitionSpec())


@needs_8_devices
def test_shardings_of_arguments_and_result():
    split, whole = shardings()

    @jit(in_shardings=(split, whole), out_shardings=split)
    def f(x, y):
        return x + y

    out = f(np.arange(8.0, dtype=np.float32), np.ones(8, np.float32))
    assert out.sharding.is_equivalent_to(split, 1)
    assert out.tolist() == list(range(1, 9))


@needs_8_devices
def test_out_shardings_as_a_prefix_of_the_result_and_writes_beside_it():
    split, whole = shardings()

    class Counter:
        n = 0
        last = None

    counter = Counter()

    @jit(out_shardings={"a": split, "b": whole})
    def f(x):
        counter.n += 1
        counter.last = x * 2
        return {"a": (x, x + 1), "b": x - 1}

    for n in (1, 2):
        out = f(jnp.arange(8.0))
        assert all(part.sharding.is_equivalent_to(split, 1) for part in out["a"])
        assert out["b"].sharding.is_equivalent_to(whole, 1)
        assert counter.n == n
        assert counter.last.tolist() == [2.0 * i for i in range(8)]


def test_out_shardings_where_the_result_has_no_arrays_in_some_places():
    here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    assert jit(lambda x: None, out_shardings=None)(1.0) is None
    assert jit(lambda x: (), out_shardings=here)(1.0) == ()
    result = jit(lambda x: {"a": [x, None, 3], "b": None}, out_shardings={"a": here, "b": None})(1.0)
    assert result == {"a": [1.0, None, 3], "b": None}


def test_out_shardings_of_another_form_than_the_result_are_told_with_both_forms():
    here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    with pytest.raises(ValueError, match=r"out_shardings \{'a': .* does not fit .*'b'"):
        jit(lambda x: {"b": x}, out_shardings={"a": here})(1.0)


@needs_8_devices
def test_one_sharding_for_all_arguments():
    split, _ = shardings()
    f = jit(lambda x, y: x + y, in_shardings=split)
    assert f(np.arange(8.0), np.ones(8)).sharding.is_equivalent_to(split, 1)


@needs_8_devices
@pytest.mark.parametrize(
    ("static", "args", "kwargs"),
    [
        ({"static_argnums": 0}, (2, np.arange(8.0)), {}),
        ({"static_argnames": "n"}, (2, np.arange(8.0)), {}),
        ({"static_argnums": 0}, (2,), {"x": np.arange(8.0)}),
        ({"static_argnames": "n"}, (), {"n": 2, "x": np.arange(8.0)}),
    ],
)
def test_shardings_are_those_of_the_arguments_that_are_not_static(static, args, kwargs):
    split, _ = shardings()
    f = jit(lambda n, x: n * x, in_shardings=(split,), **static)
    assert f(*args, **kwargs).sharding.is_equivalent_to(split, 1)


@needs_8_devices
def test_too_few_shardings_are_an_error_that_names_the_argument():
    split, _ = shardings()
    with pytest.raises(ValueError, match=r"in_shardings has 1 entries, but the argument y is the 2th"):
        jit(lambda x, y: x + y, in_shardings=(split,))(np.ones(8), np.ones(8))


@needs_8_devices
def test_captured_sharded_state_keeps_its_sharding():
    split, _ = shardings()
    weight = jax.device_put(jnp.arange(8.0), split)

    @jit
    def f():
        nonlocal weight
        weight = weight + 1

    f()
    f()
    assert weight.sharding.is_equivalent_to(split, 1)
    assert weight.tolist() == [i + 2.0 for i in range(8)]


@needs_8_devices
def test_state_moved_to_another_sharding_is_followed():
    split, whole = shardings()
    weight = jax.device_put(jnp.arange(8.0), whole)
    f = jit(lambda: weight * 2)
    assert f().tolist() == [2.0 * i for i in range(8)]
    weight = jax.device_put(weight, split)
    assert f().tolist() == [2.0 * i for i in range(8)]


# -- the other parameters ---------------------------------------------------------------------------


def test_keep_unused():
    f = jit(lambda x, y: x, keep_unused=True)
    assert float(f(1.0, 2.0)) == 1.0
    assert len(jax.tree.leaves(f.lower(1.0, 2.0).compile().args_info)) >= 2


def test_inline():
    f = jit(lambda x: x + 1, inline=True)
    assert float(f(1.0)) == 2.0
    assert "pjit" not in str(jax.make_jaxpr(f)(1.0))


def test_compiler_options_reach_the_compiler():
    options = {"xla_embed_ir_in_executable": True}
    assert float(jit(lambda x: x + 1, compiler_options=options)(1.0)) == 2.0
    with pytest.raises(Exception, match="no_such_option"):
        jit(lambda x: x + 1, compiler_options={"no_such_option": True})(1.0)


def test_unknown_parameter_is_rejected():
    with pytest.raises(TypeError, match="static_arguments"):
        jit(lambda x: x, static_arguments=0)


def test_static_name_that_no_parameter_has_is_rejected():
    with pytest.raises(ValueError, match="m"):
        jit(lambda x, n: x, static_argnames="m")


def test_static_number_out_of_range_is_rejected():
    with pytest.raises(ValueError):
        jax.jit(lambda x: x, static_argnums=3)
    with pytest.raises(ValueError):
        jit(lambda x: x, static_argnums=3)


def test_donated_number_out_of_range_is_rejected():
    with pytest.raises(ValueError):
        jax.jit(lambda x: x, donate_argnums=3)
    with pytest.raises(ValueError):
        jit(lambda x: x, donate_argnums=3)


def test_argument_cannot_be_static_and_donated():
    with pytest.raises(ValueError):
        jax.jit(lambda x, n: x, static_argnums=1, donate_argnums=1)
    with pytest.raises(ValueError):
        jit(lambda x, n: x, static_argnums=1, donate_argnums=1)


def test_wrong_kinds_of_parameters_are_rejected():
    with pytest.raises(TypeError):
        jit(lambda x: x, static_argnums="x")
    with pytest.raises(TypeError):
        jit(lambda x: x, static_argnames=0)


# -- ahead of time ----------------------------------------------------------------------------------


class Model:
    def __init__(self):
        self.w, self.flag, self.calls = jnp.float32(2.0), True, 0

    def step(self, x):
        self.calls += 1
        return self.w * x if self.flag else x


def test_lower_and_compile_read_live_state():
    model = Model()
    compiled = jit(model.step).lower(1.0).compile()
    assert model.calls == 0
    assert float(compiled(1.0)) == 2.0
    model.w = jnp.float32(5.0)
    model.calls = 0
    assert float(compiled(1.0)) == 5.0
    assert model.calls == 1


def test_compiled_program_refuses_changed_values():
    model = Model()
    compiled = jit(model.step).lower(1.0).compile()
    model.flag = False
    before = contents(model)
    with pytest.raises(StaleCompiledError, match=r"self\.flag has changed"):
        compiled(1.0)
    assert contents(model) == before


def test_compiled_program_refuses_another_form_of_call():
    compiled = jit(lambda x: x + 1).lower(1.0).compile()
    with pytest.raises((StaleCompiledError, TypeError)):
        compiled(1.0, 2.0)
    with pytest.raises(TypeError):
        compiled(jnp.arange(3.0))


def test_lower_takes_shapes():
    weight = jnp.float32(3.0)
    lowered = jit(lambda x: x * weight).lower(jax.ShapeDtypeStruct((4,), jnp.float32))
    assert lowered.compile()(X).tolist() == [0, 3, 6, 9]
    assert "func" in lowered.as_text()


def test_compiled_with_static_argument_is_called_with_it_like_the_function():
    compiled = jit(lambda x, n: x * n, static_argnums=1).lower(2.0, 3).compile()
    assert float(compiled(2.0, 3)) == 6.0


def test_export_is_refused_with_the_ways_that_there_are():
    class Layer:
        w, calls = jnp.float32(2.0), 0

    @jit
    def scaled(x):
        Layer.calls += 1
        return Layer.w * x

    shape = jax.ShapeDtypeStruct((), jnp.float32)
    with pytest.raises(freshjit.UnsupportedStateError, match=r"scaled was given to jax\.export") as error:
        jax.export.export(scaled)(shape)
    assert "jax.jit(scaled.__wrapped__)" in str(error.value)
    assert Layer.calls == 0
    exported = jax.export.export(jax.jit(scaled.__wrapped__))(shape)
    assert float(exported.call(jnp.float32(3.0))) == 6.0


def test_lowered_and_compiled_offer_what_jax_offers():
    lowered = jit(lambda x: x + 1).lower(X)
    compiled = lowered.compile()
    assert compiled.as_text()
    assert compiled.cost_analysis() is not None
    assert jax.tree.map(lambda o: o.shape, lowered.out_info) is not None


class Scaled:
    def __init__(self):
        self.w, self.mode, self.calls = jnp.float32(2.0), "sum", 0

    def step(self, x, n, y):
        self.calls += 1
        return {"a": self.w * x["A"] * n, "b": [y, y + self.w]}


def test_stages_tell_of_the_users_arguments_and_result_as_those_of_jax_do():
    stages = []
    for jitted in (
        jax.jit(lambda x, n, y: Scaled().step(x, n, y), static_argnums=1, donate_argnums=2),
        jit(Scaled().step, static_argnums=1, donate_argnums=2),
    ):
        call = ({"A": np.float32(1.0)}, 3), {"y": np.arange(4.0, dtype=np.float32)}
        traced = jitted.trace(*call[0], **call[1])
        lowered = traced.lower()
        stages.append((traced, lowered, lowered.compile()))
    for theirs, ours in zip(*stages, strict=True):
        for name in ("args_info", "in_avals", "in_tree", "out_tree", "donate_argnums", "out_info"):
            assert getattr(ours, name) == getattr(theirs, name), name
    theirs, ours = stages[0][2], stages[1][2]
    for name in ("input_shardings", "output_shardings", "input_formats", "output_formats"):
        assert getattr(ours, name) == getattr(theirs, name), name


def test_a_captured_array_in_the_result_is_told_by_its_type():
    weights = jnp.arange(3.0)
    jitted = jit(lambda x: {"weights": weights, "n": 3, "x": x})
    wanted = jax.ShapeDtypeStruct((3,), jnp.float32)
    assert jitted.eval_shape(1.0)["weights"] == wanted
    lowered = jitted.lower(1.0)
    assert lowered.out_info["weights"] == wanted
    assert lowered.out_info["n"] == 3


def test_an_argument_of_another_type_is_named_in_the_error_of_a_compiled_program():
    weight = jnp.float32(3.0)
    compiled = jit(lambda first, second: first * second * weight).lower(1.0, jnp.float32(1.0)).compile()
    with pytest.raises(TypeError, match="Argument 'second' compiled with float32"):
        compiled(1.0, jnp.int32(1))


def test_lowering_what_changes_by_itself_is_an_error_that_names_it():
    numbers = itertools.count()

    @functools.lru_cache(maxsize=0)  # remembers nothing
    def next_name(stem):
        return f"{stem} {next(numbers)}"

    with pytest.raises(freshjit.UnstableStateError, match=r"changes by itself: closure next_name\('run'\)"):
        jit(lambda x: x * len(next_name("run"))).lower(1.0)


def test_trace_gives_a_jaxpr():
    traced = jit(lambda x: jnp.sin(x)).trace(1.0)
    assert "sin" in str(traced.jaxpr)
    assert float(traced.lower().compile()(0.0)) == 0.0


@pytest.mark.leaks
def test_eval_shape_gives_shapes_and_writes_nothing():
    model = Model()
    before = contents(model)
    out = jit(model.step).eval_shape(jax.ShapeDtypeStruct((3,), jnp.float32))
    assert isinstance(out, jax.ShapeDtypeStruct)
    assert (out.shape, out.dtype) == ((3,), jnp.float32)
    assert contents(model) == before


def test_eval_shape_of_a_tree():
    out = jit(lambda x: {"a": x, "b": [x[:2], None]}).eval_shape(X)
    assert out["a"].shape == (4,)
    assert out["b"][0].shape == (2,)
    assert out["b"][1] is None


@pytest.mark.leaks
def test_jax_eval_shape_around_a_call_writes_nothing_or_refuses():
    model = Model()
    model.flag = False
    out = jax.eval_shape(jit(lambda x: model.w * x), 1.0)
    assert out.shape == ()


def test_clear_cache_forgets_programs():
    def cleared(x):
        return x + 1

    f, compiled = jit(cleared), Compilations("cleared")
    f(1.0)
    f(1.0)
    assert compiled.count == 1
    f.clear_cache()
    assert float(f(1.0)) == 2.0
    assert compiled.count == 2


# -- being a function -------------------------------------------------------------------------------


def documented(x: float, *, n: int = 2) -> float:
    """What it does."""
    return x * n


def test_name_doc_signature_and_wrapped():
    f = jit(documented)
    assert f.__wrapped__ is documented
    assert (f.__name__, f.__qualname__, f.__module__) == ("documented", "documented", __name__)
    assert f.__doc__ == "What it does."
    assert inspect.signature(f) == inspect.signature(documented)
    assert f.__annotations__ == documented.__annotations__


def test_method_signature_has_no_self_when_bound():
    assert list(inspect.signature(Layer(1.0).method).parameters) == ["x"]


def test_repr_names_the_function():
    assert "documented" in repr(jit(documented))


def test_usual_wrapper_around_a_jitted_function():
    fast = jit(documented)

    @functools.wraps(fast)
    def logged(*args, **kwargs):
        return fast(*args, **kwargs)

    assert logged.__name__ == "documented"
    assert float(logged(2.0)) == 4.0


pickled = jit(documented, static_argnames="n")


def test_module_level_function_can_be_pickled():
    again = pickle.loads(pickle.dumps(pickled))
    assert float(again(2.0, n=3)) == 6.0
    assert again.__wrapped__ is documented


@jit
def decorated(x):
    return x + 1


def test_decorated_module_level_function_can_be_pickled():
    assert float(pickle.loads(pickle.dumps(decorated))(1.0)) == 2.0


def test_object_holding_a_jitted_bound_method_can_be_deep_copied():
    class Agent:
        def __init__(self):
            self.w = jnp.float32(1.0)
            self.fast = jit(self.step)

        def step(self, x):
            self.w = self.w + x
            return self.w

    a = Agent()
    b = copy.deepcopy(a)
    assert float(b.fast(5.0)) == 6.0
    assert float(a.w) == 1.0
    assert float(b.w) == 6.0


def test_copy_of_a_jitted_function_works():
    assert float(copy.copy(decorated)(1.0)) == 2.0
    assert float(copy.deepcopy(decorated)(1.0)) == 2.0


def test_hashable_and_usable_as_a_key():
    assert {decorated: 1}[decorated] == 1


def test_attributes_can_be_set_on_it():
    f = jit(lambda x: x)
    f.note = "mine"
    assert f.note == "mine"


# -- in the company of JAX --------------------------------------------------------------------------


def test_disable_jit_runs_the_plain_function():
    seen = []
    model = Model()

    def f(x):
        seen.append(isinstance(x, jax.core.Tracer))
        return model.step(x) if x > 0 else -x

    fast = jit(f)
    with jax.disable_jit():
        assert float(fast(1.0)) == 2.0
        assert float(fast(-1.0)) == 1.0
    assert seen == [False, False]
    assert model.calls == 1


def test_disable_jit_after_a_compilation():
    model = Model()
    fast = jit(model.step)
    fast(1.0)
    with jax.disable_jit():
        assert float(fast(1.0)) == 2.0
    assert float(fast(1.0)) == 2.0
    assert model.calls == 3


@pytest.mark.parametrize("compiled_before", [False, True])
def test_debug_nans_finds_them_and_nothing_is_written(compiled_before):
    model = Model()

    @jit
    def f(x):
        model.calls += 1
        return jnp.log(x) * model.w

    if compiled_before:
        f(-1.0)
    before = contents(model)
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        f(-1.0)
    assert contents(model) == before
    with jax.debug_nans(True):
        assert float(f(1.0)) == 0.0


@pytest.mark.leaks
def test_under_transforms_of_jax():
    weight = jnp.float32(3.0)
    f = jit(lambda x: weight * x**2)
    assert float(jax.grad(f)(2.0)) == 12.0
    assert jax.vmap(f)(X).tolist() == [0, 3, 12, 27]
    assert float(jax.jit(f)(2.0)) == 12.0
    assert float(jax.jvp(f, (2.0,), (1.0,))[1]) == 12.0


def test_gradient_with_respect_to_a_captured_tracer():
    """A value of an outer transform that reaches the function as state takes part in it."""

    def loss(w):
        return jit(lambda x: w * x)(3.0)

    assert float(jax.grad(loss)(2.0)) == 3.0
    assert float(jax.grad(loss)(4.0)) == 3.0


def test_public_names():
    assert set(freshjit.__all__) <= set(dir(freshjit))


# -- errors of calls that compiled code serves ------------------------------------------------------------


def test_a_type_error_in_a_callback_does_not_run_the_function_again():
    calls = []

    def host(x):
        calls.append(float(x))
        if x < 0:
            raise TypeError("negative")
        return x

    @jit
    def f(x):
        return jax.experimental.io_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x)

    assert float(f(jnp.float32(1.0))) == 1.0
    with pytest.raises(Exception, match="negative"):
        jax.block_until_ready(f(jnp.float32(-1.0)))
    assert calls == [1.0, -1.0]


def test_a_type_error_at_the_commit_is_raised_once_and_compiles_nothing():
    class Picky:
        def __init__(self, name):
            self.name, self.broken = name, False

        def __hash__(self):
            if self.broken:
                raise TypeError("no hash")
            return hash(self.name)

        def __eq__(self, other):
            return self is other

    key, table = Picky("a"), {}

    @jit
    def f(x):
        table[key] = x

    f(1.0)
    f(2.0)
    programs = f._cache_size()
    key.broken = True
    with pytest.raises(TypeError, match="no hash"):
        f(3.0)
    assert f._cache_size() == programs


# -- what JAX says of it ----------------------------------------------------------------------------


class Chooser:
    def choose(self, x, y):
        return x if y > 0 else -x

    def __call__(self, x, y):
        return self.choose(x, y)


def _choose(x, flag="plain", y=2.0):
    return x if y > 0 else -x


@pytest.mark.parametrize(
    ("function", "kwargs", "name"),
    [
        (jit(_choose, static_argnums=1), {"y": 3.0}, "y"),
        (jit(lambda x, *rest: x if rest[1] > 0 else -x), {}, r"rest\[1\]"),
        (jit(Chooser().choose), {}, "y"),
        (jit(Chooser()), {}, "y"),
    ],
)
def test_errors_of_jax_name_the_argument_as_the_function_does(function, kwargs, name):
    args = (1.0, "fast") if kwargs else (1.0, 2.0, 3.0)[: 2 if name == "y" else 3]
    with pytest.raises(jax.errors.TracerBoolConversionError, match=f"value of the argument {name}\\."):
        function(*args, **kwargs)


def test_a_warning_of_jax_about_an_option_is_given_once_and_at_the_users_line():
    with pytest.warns(DeprecationWarning, match="backend and device") as told:
        f = jit(lambda x: x + 1, backend="cpu")
    assert [warning.filename for warning in told] == [__file__]
    assert float(f(1.0)) == float(f(1)) == 2.0  # here a warning would be an error


def test_none_is_no_function():
    with pytest.raises(TypeError, match="callable"):
        jit(None)


def test_eval_shape_says_whether_a_type_is_weak():
    assert jit(lambda x: x * 2).eval_shape(1.0) == jax.jit(lambda x: x * 2).eval_shape(1.0)


def test_eval_shape_tells_the_sharding_that_was_asked_for():
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    for jitted in (
        jax.jit(lambda x: x * 2, out_shardings=sharding),
        jit(lambda x: x * 2, out_shardings=sharding),
    ):
        assert jitted.eval_shape(np.arange(8)).sharding == sharding


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": (0,), "static_argnames": ("y",)},
        {"static_argnums": (0, 1), "static_argnames": ()},
        {"static_argnums": (), "static_argnames": "x"},
        {"static_argnums": 0},
        {"static_argnames": "y"},
    ],
)
def test_numbers_and_names_of_static_arguments_say_what_they_say_to_jax(options):
    seen = []
    for make in (jax.jit, jit):
        kinds = []
        jitted = make(
            lambda x, y: kinds.append((isinstance(x, jax.core.Tracer), isinstance(y, jax.core.Tracer))),
            **options,
        )
        jitted(1, 2)
        jitted(1, y=3)
        jitted(x=4, y=5)
        seen.append(kinds)
    assert seen[0] == [tuple(kind) for kind in seen[1]]


def test_negative_numbers_count_from_the_end_of_the_arguments_there_are():
    for make in (jax.jit, jit):
        kinds = []
        jitted = make(
            lambda *args: kinds.append([isinstance(a, jax.core.Tracer) for a in args]),
            static_argnums=-1,
        )
        jitted(1, 2)
        jitted(1, 2, 3)
        assert kinds == [[True, False], [True, True, False]]
