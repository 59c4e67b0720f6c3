"""One test per part of what a program depends on: a change compiles once more, the same again does not."""

import dataclasses
import enum
import math
import threading
from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.support import Compilations, same

from freshjit import FreshjitWarning, jit


def check(name, calls, expected_compilations):
    """Run the calls (pairs of a call and its result), twice over; count compilations of ``name``."""
    compiled = Compilations(name)
    for _ in range(2):
        for call, wanted in calls:
            same(call(), wanted)
    assert compiled.count == expected_compilations


# -- traced arguments -------------------------------------------------------------------------------


def test_same_arguments_compile_once():
    def once(x):
        return x + 1

    f = jit(once)
    check("once", [(lambda: f(1.0), 2.0), (lambda: f(5.0), 6.0)], 1)


def test_shape():
    def by_shape(x):
        return x.sum()

    f = jit(by_shape)
    check("by_shape", [(lambda: f(jnp.ones(2)), 2.0), (lambda: f(jnp.ones(3)), 3.0)], 2)


def test_dtype():
    def by_dtype(x):
        return x * 2

    f = jit(by_dtype)
    check("by_dtype", [(lambda: f(jnp.int32(2)), 4), (lambda: f(jnp.float32(2.5)), 5.0)], 2)


def test_weak_type():
    def by_weak_type(x):
        return (x + jnp.ones((), jnp.bfloat16)).astype(jnp.float32)

    f = jit(by_weak_type)
    strong = jnp.float32(1.001)
    weak = jnp.asarray(1.001)
    assert not strong.weak_type
    assert weak.weak_type
    compiled = Compilations("by_weak_type")
    for _ in range(2):
        assert float(f(strong)) != float(f(weak))
    assert compiled.count == 2


def test_python_numbers_by_type_only():
    def by_type(x):
        return x * 2

    f = jit(by_type)
    check("by_type", [(lambda: f(1), 2), (lambda: f(7), 14), (lambda: f(1.0), 2.0), (lambda: f(2j), 4j)], 3)


def test_numpy_and_jax_arguments_of_one_kind_share_a_program():
    def shared(x):
        return x + 1

    f = jit(shared)
    check("shared", [(lambda: f(np.ones(3, np.float32)), np.full(3, 2.0))], 1)
    check("shared", [(lambda: f(jnp.ones(3, np.float32)), np.full(3, 2.0))], 0)


def test_tree_structure():
    def by_tree(tree):
        return jax.tree.reduce(lambda a, b: a + b, tree)

    f = jit(by_tree)
    calls = [(lambda: f([1.0, 2.0]), 3.0), (lambda: f((1.0, 2.0)), 3.0), (lambda: f({"a": 1.0}), 1.0)]
    check("by_tree", calls, 3)


def test_position_or_keyword():
    def by_form(x, y=1.0):
        return x - y

    f = jit(by_form)
    check("by_form", [(lambda: f(3.0, 1.0), 2.0), (lambda: f(3.0, y=1.0), 2.0), (lambda: f(3.0), 2.0)], 3)


# -- static values ----------------------------------------------------------------------------------

Pair = namedtuple("Pair", "a b")


@dataclasses.dataclass(frozen=True)
class Setting:
    value: object


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def leaves(value):
    """The innermost values, written so that 1, True and 1.0 differ."""
    if isinstance(value, Setting):
        return leaves(value.value)
    if isinstance(value, dict):
        return leaves(list(value.values()))
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *(leaves(v) for v in value)]
    return f"{type(value).__name__}:{value!r}"


ALIKE = [1, True, 1.0, 0, False, 0.0, -0.0, math.nan, None, "1", b"1", 1j, (1,), [1], Ellipsis]
WRAPPERS = {
    "bare": lambda v: v,
    "in a tuple": lambda v: (v, 0),
    "in nested tuples": lambda v: ((v,), ((v,),)),
    "in a namedtuple": lambda v: Pair(v, v),
    "in a list": lambda v: [v],
    "in a dict": lambda v: {"k": v},
    "in a dataclass": Setting,
    "in a dataclass in a tuple": lambda v: (Setting((v,)),),
}


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS.keys())
def test_static_values_that_compare_equal_are_told_apart(wrap):
    def static_value(x, value):
        return x, str(leaves(value))

    f = jit(static_value, static_argnums=1)
    f.clear_cache()
    for _ in range(2):
        for value in ALIKE:
            assert f(1.0, wrap(value))[1] == str(leaves(wrap(value)))
    assert f._cache_size() == len(ALIKE)


def test_equal_static_values_made_anew_hit():
    def made_anew(x, config):
        return x * config[0]

    f = jit(made_anew, static_argnums=1)
    parts = [3, "a", None]
    calls = [(lambda: f(2.0, (3, "a", None)), 6.0), (lambda: f(2.0, tuple(parts)), 6.0)]
    check("made_anew", calls, 1)


def test_static_objects_are_told_apart_by_what_was_read_of_them():
    class Config:
        def __init__(self, n, note):
            self.n, self.note = n, note

    def by_config(x, config):
        return x * config.n

    f = jit(by_config, static_argnums=1)
    calls = [
        (lambda: f(2.0, Config(3, "a")), 6.0),
        (lambda: f(2.0, Config(3, "never read")), 6.0),
        (lambda: f(2.0, Config(4, "a")), 8.0),
    ]
    check("by_config", calls, 2)


def test_enum_members():
    def by_enum(x, colour):
        return x if colour is Colour.RED else -x

    f = jit(by_enum, static_argnums=1)
    check("by_enum", [(lambda: f(1.0, Colour.RED), 1.0), (lambda: f(1.0, Colour.BLUE), -1.0)], 2)


def test_users_eq_and_hash_are_never_asked():
    class Awkward:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            raise AssertionError("__eq__ was called")

        def __hash__(self):
            raise AssertionError("__hash__ was called")

    def awkward(x, thing):
        return x * thing.n

    f = jit(awkward, static_argnums=1)
    calls = [(lambda: f(1.0, Awkward(2)), 2.0), (lambda: f(1.0, Awkward(3)), 3.0)]
    check("awkward", calls, 2)


# -- configuration ----------------------------------------------------------------------------------


def test_jax_enable_x64():
    def by_x64(x):
        return x * jnp.asarray(2.0) + jnp.arange(1)[0]

    f = jit(by_x64)
    compiled = Compilations("by_x64")
    for _ in range(2):
        assert f(np.float64(1.0)).dtype == jnp.float32
        with jax.enable_x64(True):
            assert f(np.float64(1.0)).dtype == jnp.float64
    assert compiled.count == 2


def test_jax_enable_x64_with_captured_numpy_array():
    table = np.arange(3, dtype=np.float64)

    def captured_x64():
        return table * jnp.ones(3)

    f = jit(captured_x64)
    for _ in range(2):
        assert f().dtype == jnp.float32
        with jax.enable_x64(True):
            assert f().dtype == jnp.float64


def test_default_matmul_precision():
    def by_precision(x):
        return x @ x

    f = jit(by_precision)
    compiled = Compilations("by_precision")
    x = jnp.eye(2)
    for _ in range(2):
        f(x)
        with jax.default_matmul_precision("highest"):
            f(x)
            assert "HIGHEST" in str(f.trace(x).jaxpr)
    assert compiled.count == 2


@pytest.mark.skipif(jax.device_count() < 2, reason="needs two devices")
def test_default_device():
    def by_device():
        return jnp.ones(3)

    f = jit(by_device)
    first, second = jax.devices()[:2]
    for _ in range(2):
        with jax.default_device(first):
            assert f().devices() == {first}
        with jax.default_device(second):
            assert f().devices() == {second}


def test_default_prng_impl():
    """JAX's own jit is stale here: the setting is no part of its key."""
    f = jit(lambda x: x + jax.random.uniform(jax.random.PRNGKey(0)))
    for _ in range(2):
        same(f(0.0), jax.random.uniform(jax.random.PRNGKey(0)))
        with jax.default_prng_impl("rbg"):
            same(f(0.0), jax.random.uniform(jax.random.PRNGKey(0)))


def test_rank_promotion_is_checked_anew():
    def promotes(x, y):
        return x + y

    f = jit(promotes)
    x, y = jnp.ones((2, 3)), jnp.ones(3)
    with jax.numpy_rank_promotion("allow"):
        assert f(x, y).shape == (2, 3)
    with pytest.raises(ValueError, match="rank_promotion"):
        f(x, y)


# -- the callable -----------------------------------------------------------------------------------


def test_function_made_a_thousand_times_by_a_factory_compiles_once():
    def factory(scale):
        @jit
        def product(x):
            return x * scale

        return product

    compiled = Compilations("product")
    for i in range(1000):
        assert float(factory(jnp.float32(i))(2.0)) == 2.0 * i
    assert compiled.count == 1


def test_lambda_made_again_hits():
    before = None
    for k in (jnp.float32(1.0), jnp.float32(2.0), jnp.float32(3.0)):
        f = jit(lambda x: x * k)
        assert float(f(2.0)) == 2.0 * float(k)
        assert before is None or f._cache_size() == before
        before = f._cache_size()


def test_bound_methods_of_two_instances_share_a_program():
    class Model:
        def __init__(self, w):
            self.w = jnp.float32(w)

        def shared_method(self, x):
            return self.w * x

    compiled = Compilations("shared_method")
    for i in range(10):
        assert float(jit(Model(i).shared_method)(2.0)) == 2.0 * i
    assert compiled.count == 1


def test_helper_redefined_with_other_code():
    def first(x):
        return x + 1

    helper = first

    def uses_helper(x):
        return helper(x)

    f = jit(uses_helper)
    compiled = Compilations("uses_helper")
    assert float(f(1.0)) == 2.0

    def other(x):
        return x * 10

    helper = other
    assert float(f(1.0)) == 10.0
    assert compiled.count == 2


def test_helper_made_again_from_the_same_code_hits():
    def make(k):
        return lambda x: x + k

    helper = make(1.0)

    def uses_made_helper(x):
        return helper(x)

    f = jit(uses_made_helper)
    calls = []
    for k in (jnp.float32(1.0), jnp.float32(2.0)):
        helper = make(k)
        calls.append(float(f(1.0)))
    assert calls == [2.0, 3.0]
    compiled = Compilations("uses_made_helper")
    helper = make(jnp.float32(5.0))
    assert float(f(1.0)) == 6.0
    assert compiled.count == 0


def test_changed_default():
    def with_default(x, k=2.0):
        return x * k

    f = jit(with_default)
    assert float(f(3.0)) == 6.0
    with_default.__defaults__ = (5.0,)
    assert float(f(3.0)) == 15.0


def test_changed_code_of_the_function_itself():
    def changing(x):
        return x + 1

    f = jit(changing)
    assert float(f(1.0)) == 2.0
    changing.__code__ = (lambda x: x * 10).__code__
    assert float(f(1.0)) == 10.0


# -- captured state ---------------------------------------------------------------------------------


class Box:
    def __init__(self, **contents):
        self.__dict__.update(contents)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, 2),
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        (1.0, math.nan),
        ("a", "b"),
        (None, False),
        ("a", b"a"),
        (jnp.float32, jnp.int32),
        (Colour.RED, Colour.BLUE),
        (slice(1), slice(2)),
        (range(2), range(3)),
        ((1, 2), (1, 2.0)),
    ],
    ids=repr,
)
def test_captured_value(first, second):
    box = Box(v=first)

    def captured_value(x):
        return x, f"{type(box.v).__name__}:{box.v!r}"

    f = jit(captured_value)
    f.clear_cache()
    for _ in range(2):
        for value in (first, second):
            box.v = value
            assert f(1.0)[1] == f"{type(value).__name__}:{value!r}"
    assert f._cache_size() == 2


def test_captured_array_value_does_not_matter():
    box = Box(w=jnp.float32(1.0))

    def array_value(x):
        return x * box.w

    f = jit(array_value)
    compiled = Compilations("array_value")
    for i in range(5):
        box.w = jnp.float32(i)
        assert float(f(2.0)) == 2.0 * i
    assert compiled.count == 1


def test_captured_array_form():
    box = Box(w=None)

    def array_form():
        return box.w.sum()

    f = jit(array_form)
    compiled = Compilations("array_form")
    for _ in range(2):
        for w in (jnp.ones(2), jnp.ones(3), jnp.ones(2, jnp.int32), jnp.ones((2, 1))):
            box.w = w
            assert float(f()) == float(w.size)
    assert compiled.count == 4


def test_captured_array_kind():
    """A NumPy array, a jax array and a Python number at one place are three different things."""
    box = Box(w=None)

    def array_kind():
        return box.w * 2, type(box.w).__name__ == "float"

    f = jit(array_kind)
    for _ in range(2):
        for w in (np.float32([1.5]), jnp.float32([1.5]), 1.5):
            box.w = w
            value, is_float = f()
            assert np.ravel(value).tolist() == [3.0]
            assert is_float is (type(w) is float)


def test_value_read_from_an_array_matters():
    box = Box(flag=jnp.bool_(True))

    def array_as_flag(x):
        return x if box.flag else -x

    f = jit(array_as_flag)
    compiled = Compilations("array_as_flag")
    for _ in range(3):
        for flag in (True, False):
            box.flag = jnp.bool_(flag)
            assert float(f(1.0)) == (1.0 if flag else -1.0)
    assert compiled.count == 2


def test_state_that_is_not_read_does_not_matter():
    box = Box(w=jnp.float32(2.0), calls=0)

    def ignores(x):
        return x * box.w

    f = jit(ignores)
    compiled = Compilations("ignores")
    for i in range(5):
        box.calls = i
        box.new_attribute = i
        f(1.0)
    assert compiled.count == 1


def test_structure_of_captured_containers():
    layers = [jnp.float32(2.0)]
    table = {"a": 1}

    def structure(x):
        for w in layers:
            x = x * w
        return x + len(table)

    f = jit(structure)
    compiled = Compilations("structure")
    assert float(f(1.0)) == 3.0
    layers.append(jnp.float32(3.0))
    assert float(f(1.0)) == 7.0
    table["b"] = 2
    assert float(f(1.0)) == 8.0
    layers.pop()
    del table["b"]
    assert float(f(1.0)) == 3.0
    assert compiled.count == 3


def test_class_of_captured_object():
    class A:
        def go(self, x):
            return x + 1

    class B(A):
        def go(self, x):
            return x - 1

    thing = A()

    def by_class(x):
        return thing.go(x)

    f = jit(by_class)
    compiled = Compilations("by_class")
    for _ in range(2):
        thing = A()
        assert float(f(1.0)) == 2.0
        thing = B()
        assert float(f(1.0)) == 0.0
    assert compiled.count == 2


def test_class_attribute_and_instance_attribute_over_it():
    class Settings:
        rate = 2.0

    settings = Settings()
    f = jit(lambda x: x * settings.rate)
    assert float(f(1.0)) == 2.0
    settings.rate = 3.0
    assert float(f(1.0)) == 3.0
    del settings.rate
    Settings.rate = 4.0
    assert float(f(1.0)) == 4.0


def test_absence_is_a_value():
    box = Box()

    def absent(x):
        return x * box.cache if hasattr(box, "cache") else x

    f = jit(absent)
    compiled = Compilations("absent")
    assert float(f(2.0)) == 2.0
    box.cache = 3.0
    assert float(f(2.0)) == 6.0
    del box.cache
    assert float(f(2.0)) == 2.0
    assert compiled.count == 2


def test_aliases():
    box = Box(a=jnp.ones(2), b=jnp.ones(2))

    def aliases():
        return box.a + 10 * box.b, box.a is box.b

    f = jit(aliases)
    for _ in range(2):
        box.a, box.b = jnp.ones(2), jnp.zeros(2)
        value, one = f()
        assert (value.tolist(), one) == ([1.0, 1.0], False)
        box.a = box.b = jnp.ones(2)
        value, one = f()
        assert (value.tolist(), one) == ([11.0, 11.0], True)


def test_globals():
    global RATE
    RATE = 2.0

    def by_global(x):
        return x * RATE

    f = jit(by_global)
    compiled = Compilations("by_global")
    for _ in range(2):
        for RATE in (2.0, 3.0):
            assert float(f(1.0)) == RATE
    assert compiled.count == 2


RATE = 0.0


def test_flag_flipped_a_thousand_times_compiles_twice():
    box = Box(flag=True)

    def flipped(x):
        return x if box.flag else -x

    f = jit(flipped)
    compiled = Compilations("flipped")
    for i in range(1000):
        box.flag = i % 2 == 0
        assert float(f(1.0)) == (1.0 if box.flag else -1.0)
    assert compiled.count == 2


def test_another_method_of_the_state_read_in_another_shape_converges():
    """The read set may differ by shape: each new thing read compiles once, then all calls hit."""
    box = Box(a=2.0, b=3.0)

    def read_set(x):
        return x * box.a if x.ndim == 0 else x * box.b

    f = jit(read_set)
    compiled = Compilations("read_set")
    scalar, vector = jnp.float32(1.0), jnp.ones(2)
    for _ in range(2):
        assert float(f(scalar)) == 2.0
        assert f(vector).tolist() == [3.0, 3.0]
    assert compiled.count == 2
    box.b = 4.0
    assert float(f(scalar)) == 2.0
    assert compiled.count == 2
    assert f(vector).tolist() == [4.0, 4.0]
    assert compiled.count == 3


STORMS = {
    "value": (
        lambda box, n: setattr(box, "name", f"run {n}"),
        lambda box: len(box.name),
        "values of closure box.name",
    ),
    "length": (
        lambda box, n: box.items.append(n),
        lambda box: len(box.items),
        "lengths of closure box.items",
    ),
    "keys": (
        lambda box, n: box.table.update({f"{n}": 0}),
        lambda box: "x" in box.table,
        "keys of closure box.table",
    ),
    "shape": (
        lambda box, n: setattr(box, "w", jnp.ones(n + 1)),
        lambda box: box.w.sum(),
        "shapes .* closure box.w",
    ),
    "contents": (lambda box, n: box.a.fill(n), lambda box: float(box.a.max()), "contents of closure box.a"),
}


@pytest.mark.parametrize(("edit", "read", "message"), STORMS.values(), ids=STORMS)
def test_a_place_that_makes_a_program_again_and_again_is_named_once(edit, read, message):
    box = Box(name="", items=[], table={}, w=jnp.ones(1), a=np.zeros(2))
    f = jit(lambda x: x * read(box))
    f.clear_cache()

    def run():
        for n in range(40):
            edit(box, n)
            f(1.0)

    with pytest.warns(
        FreshjitWarning, match=rf"compiled 16 times for different {message} \(read at .*\)"
    ) as found:
        run()
    assert len(found) == 1


def test_a_place_that_changes_each_time_is_named_however_many_others_fail_first():
    """Half of the programs differ in the flag, which is read first: that is what keeps them from serving."""
    box = Box(items=[], more={"a": []}, flag=False)
    f = jit(lambda x: x * (len(box.items) + len(box.more["a"]) if box.flag else len(box.items)))
    f.clear_cache()

    def run():
        for n in range(17):
            box.flag = not box.flag
            box.items.append(n)
            f(1.0)

    message = r"compiled 16 times for different lengths of closure box.items \(read(.|\n)*append, extend"
    with pytest.warns(FreshjitWarning, match=message) as found:
        run()
    assert len(found) == 1


def test_places_that_change_together_are_named_together():
    box = Box(**{name: [] for name in "abcdef"})
    f = jit(lambda x: x * sum(len(getattr(box, name)) for name in "abcdef"))
    f.clear_cache()

    def run():
        for n in range(40):
            for name in "abcdef":
                getattr(box, name).append(n)
            f(1.0)

    message = (
        r"lengths of closure box\.a \((.|\n)*\nThe same goes for .*box\.b, .*box\.c, .*box\.d and 2 more\.$"
    )
    with pytest.warns(FreshjitWarning, match=message) as found:
        run()
    assert len(found) == 1


def test_what_one_program_finds_out_about_a_number_is_no_storm():
    box = Box(n=0, flags=0)
    f = jit(lambda x: x * sum(box.n // i for i in range(1, 40)) + (box.flags & 15))
    f.clear_cache()
    for n in range(16):
        box.n, box.flags = 40 + n % 2, n % 3
        f(1.0)


def test_objects_that_are_gone_were_different_ones():
    box = Box(made=None)
    f = jit(lambda x: x if box.made is not None else -x)
    f.clear_cache()

    def run():
        for _ in range(17):
            box.made = threading.Lock()
            f(1.0)

    with pytest.warns(FreshjitWarning, match="compiled 16 times for different objects at closure box.made"):
        run()


def test_text_in_an_argument_is_to_be_left_out_of_it():
    f = jit(lambda batch, x: x * batch["data"]["x"])
    message = r"different values of batch\['data'\]\['id'\] \(read at .*\)\.\n.*Leave it out of the argument"

    def run():
        for n in range(20):
            f({"data": {"x": jnp.ones(2), "id": f"sample {n}"}}, 1.0)

    with pytest.warns(FreshjitWarning, match=message):
        run()


def test_many_programs_of_which_no_place_makes_more_than_two_are_not_reported():
    box = Box(**{f"flag{i}": False for i in range(5)})
    f = jit(lambda x: x + sum(2**i for i in range(5) if getattr(box, f"flag{i}")))
    f.clear_cache()
    for n in range(32):
        for i in range(5):
            setattr(box, f"flag{i}", bool(n >> i & 1))
        assert float(f(1.0)) == 1.0 + n
    assert f._cache_size() == 32


def test_state_that_differs_at_every_call_is_reported_and_bounded(monkeypatch):
    from freshjit.programs import store

    monkeypatch.setattr(store, "MAX_PROGRAMS", 4)
    box = Box(n=0)
    f = jit(lambda x: (x, f"{box.n}")[0])
    f.clear_cache()

    def run():
        for n in range(6):
            box.n = f"state {n}"
            f(1.0)

    with pytest.warns(FreshjitWarning, match="different states"):
        run()
    assert f._cache_size() <= 4
