"""What cannot be done is refused before any state has changed, with the path, the line and the remedy."""

import contextvars
import inspect
import re
import traceback

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.support import contents

import freshjit
from freshjit import (
    CapturedNumpyWriteError,
    FreshjitError,
    FreshjitWarning,
    LeakedWriteError,
    StaleCompiledError,
    UnsupportedStateError,
    jit,
)


class Box:
    def __init__(self, **contents):
        self.__dict__.update(contents)


def line_of(function, text):
    """The number of the line of ``function`` that holds ``text``."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def says(error, function, text, *words):
    """The message names the user's line and holds the words."""
    message = str(error.value)
    assert f"{__file__}:{line_of(function, text)}" in message, message
    for word in words:
        assert word in message, message
    return True


# -- kinds ------------------------------------------------------------------------------------------


def test_every_error_is_a_freshjit_error_and_of_a_builtin_kind():
    kinds = {
        CapturedNumpyWriteError: TypeError,
        UnsupportedStateError: TypeError,
        LeakedWriteError: RuntimeError,
        StaleCompiledError: RuntimeError,
    }
    for kind, builtin in kinds.items():
        assert issubclass(kind, FreshjitError)
        assert issubclass(kind, builtin)
        assert kind.__name__ in freshjit.__all__
    assert issubclass(FreshjitWarning, UserWarning)


# -- functions that run later -----------------------------------------------------------------------


def generator_function(x):
    yield x


async def coroutine_function(x):
    return x


async def async_generator_function(x):
    yield x


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (generator_function, "a generator function"),
        (coroutine_function, "a coroutine function"),
        (async_generator_function, "an asynchronous generator function"),
    ],
)
def test_functions_whose_body_runs_later_are_refused_at_once(function, what):
    with pytest.raises(UnsupportedStateError, match=f"{function.__name__} is {what}") as error:
        jit(function)
    assert "Return the values in a list" in str(error.value)


def test_method_that_is_a_generator_is_refused():
    class Model:
        def steps(self):
            yield 1

    with pytest.raises(UnsupportedStateError, match="steps is a generator function"):
        jit(Model().steps)


def test_function_that_returns_a_generator_is_refused():
    box = Box(n=0)

    @jit
    def f(x):
        box.n += 1
        return (x * i for i in range(3))

    before = contents(box)
    with pytest.raises(UnsupportedStateError, match="generator"):
        f(1.0)
    assert contents(box) == before


def test_generator_used_up_inside_is_fine():
    @jit
    def f(x):
        def parts():
            for i in range(3):
                yield x * i

        return sum(parts())

    assert float(f(2.0)) == 6.0


# -- iterators --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: iter([1.0, 2.0]),
        lambda: (i for i in (1.0, 2.0)),
        lambda: zip([1.0, 2.0], strict=True),
        lambda: map(float, [1, 2]),
        lambda: enumerate([1.0]),
    ],
    ids=["list iterator", "generator", "zip", "map", "enumerate"],
)
def test_captured_iterator_is_refused_with_path_and_line(make):
    box = Box(data=make())

    def reads_iterator(x):
        return x + next(box.data)

    with pytest.raises(UnsupportedStateError, match=r"box\.data is a") as error:
        jit(reads_iterator)(1.0)
    says(error, reads_iterator, "next(box.data)", "pass it as an argument")
    assert next(box.data) is not None  # it has not moved


# -- NumPy ------------------------------------------------------------------------------------------


def test_numpy_read_after_a_traced_write():
    box = Box(table=np.zeros(3))

    def reads_after_write(x):
        box.table[0] = x
        return np.sum(box.table)

    with pytest.raises(CapturedNumpyWriteError, match=r"box\.table is read as NumPy") as error:
        jit(reads_after_write)(1.0)
    says(error, reads_after_write, "box.table[0] = x", "jnp.asarray")
    says(error, reads_after_write, "np.sum(box.table)")
    assert box.table.tolist() == [0.0, 0.0, 0.0]


def test_traced_write_after_a_concrete_one():
    box = Box(table=np.zeros(3))

    def writes_both(x):
        box.table[0] = 1.0
        box.table[1] = x

    with pytest.raises(CapturedNumpyWriteError, match=r"box\.table") as error:
        jit(writes_both)(1.0)
    says(error, writes_both, "box.table[1] = x")
    assert box.table.tolist() == [0.0, 0.0, 0.0]


def test_traced_write_into_a_slice():
    box = Box(table=np.zeros(3))

    def writes_slice(x):
        part = box.table[1:]
        part[0] = x

    with pytest.raises(CapturedNumpyWriteError, match="a slice of the NumPy array") as error:
        jit(writes_slice)(1.0)
    says(error, writes_slice, "part[0] = x")
    assert box.table.tolist() == [0.0, 0.0, 0.0]


def test_numpy_function_that_writes_traced_values():
    table = np.zeros(3)

    def adds_into(x):
        np.add(table, x, out=table)

    with pytest.raises(CapturedNumpyWriteError, match="table") as error:
        jit(adds_into)(jnp.ones(3))
    says(error, adds_into, "np.add(")
    assert table.tolist() == [0.0, 0.0, 0.0]


# -- writes inside vmap -----------------------------------------------------------------------------


@pytest.mark.parametrize("xs", [jnp.arange(3.0), jnp.ones(3)], ids=["different", "equal"])
def test_write_that_is_computed_from_what_is_mapped(xs):
    box = Box(last=jnp.float32(0.0), n=0)

    def writes_mapped(x):
        box.last = x
        return x * 2

    @jit
    def f(xs):
        return jax.vmap(writes_mapped)(xs)

    before = contents(box)
    with pytest.raises(LeakedWriteError, match=r"box\.last is written inside jax\.vmap") as error:
        f(xs)
    assert "computed from what is mapped, so it may differ" in str(error.value)
    assert "combine them outside" in str(error.value)
    assert __file__ in str(error.value)
    assert contents(box) == before


@pytest.mark.parametrize("inside", [True, False], ids=["jax.vmap inside", "freshjit.vmap outside"])
def test_only_the_writes_that_depend_on_what_is_mapped_are_named(inside):
    box = Box(last=jnp.float32(0.0), first=jnp.float32(0.0), total=jnp.float32(0.0), calls=0)

    def one(x):
        box.calls += 1
        box.total = box.total + 1
        box.last, box.first = x, x + 1
        return x

    f = jit(lambda xs: jax.vmap(one)(xs)) if inside else freshjit.vmap(one)
    with pytest.raises(LeakedWriteError) as error:
        f(jnp.arange(3.0))
    written, _ = str(error.value).split(" is written inside jax.vmap")
    assert written.replace("closure ", "") == "box.last, box.first"


def test_a_mean_over_the_mapped_axis_is_written():
    box = Box(mean=jnp.float32(0.0))

    def one(x):
        box.mean = jax.lax.pmean(x, "lanes")
        return x

    freshjit.vmap(one, axis_name="lanes")(jnp.arange(3.0))
    assert float(box.mean) == 1.0


@pytest.mark.parametrize("writes", [False, True])
def test_the_users_own_mistake_in_vmap_stays_jaxs_error(writes):
    box = Box(calls=0, total=jnp.float32(0.0))

    def one(x):
        if writes:
            box.calls, box.total = box.calls + 1, box.total + 1
        return x

    @jit
    def f(xs):
        return jax.vmap(one, out_axes=None)(xs)

    with pytest.raises(ValueError, match="out_axes") as error:
        f(jnp.arange(3.0))
    assert not isinstance(error.value, FreshjitError)


# -- writes inside shard_map ------------------------------------------------------------------------


def sharded(function, out_specs):
    mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    return freshjit.shard_map(function, mesh=mesh, in_specs=jax.P("d"), out_specs=out_specs)


def test_only_the_writes_that_may_differ_from_device_to_device_are_named():
    box = Box(last=jnp.float32(0.0), total=jnp.float32(0.0), calls=0)

    def part(x):
        box.calls += 1
        box.total = box.total + 1
        box.last = x.sum()
        return x

    with pytest.raises(LeakedWriteError, match=r"^(closure )?box\.last is written inside jax\.shard_map"):
        sharded(part, jax.P("d"))(jnp.arange(4.0))


def test_the_users_own_mistake_in_shard_map_stays_jaxs_error():
    box = Box(total=jnp.float32(0.0))

    def part(x):
        box.total = box.total + 1
        return x

    with pytest.raises(ValueError, match="out_specs") as error:
        sharded(part, jax.P())(jnp.arange(4.0))
    assert not isinstance(error.value, FreshjitError)


# -- writes under somebody else's transform ---------------------------------------------------------


def writer():
    box = Box(w=jnp.float32(1.0), n=0, items=[jnp.float32(0.0)])

    @jit
    def step(x):
        box.n += 1
        box.items.append(x)
        box.w = box.w * x
        return box.w

    return box, step


FOREIGN = {
    "jax.grad": lambda f: jax.grad(f)(2.0),
    "jax.jit": lambda f: jax.jit(f)(2.0),
    "jax.vmap": lambda f: jax.vmap(f)(jnp.arange(3.0)),
    "jax.jvp": lambda f: jax.jvp(f, (2.0,), (1.0,)),
    "jax.lax.scan": lambda f: jax.lax.scan(lambda c, x: (f(c), x), 2.0, jnp.arange(3.0)),
    "jax.eval_shape": lambda f: jax.eval_shape(f, 2.0),
    "jax.make_jaxpr": lambda f: jax.make_jaxpr(f)(2.0),
}


@pytest.mark.parametrize("first_called", [False, True], ids=["new", "compiled before"])
@pytest.mark.parametrize("transform", FOREIGN.values(), ids=FOREIGN.keys())
def test_write_under_a_foreign_transform(transform, first_called):
    box, step = writer()
    if first_called:
        step(1.0)
    before = contents(box)
    with pytest.raises(LeakedWriteError, match=r"box\.(w|items)") as error:
        transform(step)
    assert any(
        f"freshjit.{way}" in str(error.value) for way in ("jit for the outer function", "vmap(..., state")
    )
    assert f"called at {__file__}" in str(error.value)
    assert contents(box) == before
    n = len(box.items)
    assert float(step(3.0)) == 3.0
    assert len(box.items) == n + 1


@pytest.mark.leaks
def test_write_under_a_foreign_gradient_leaves_no_tracer():
    box, step = writer()
    before = contents(box)
    with pytest.raises(LeakedWriteError):
        jax.grad(step)(2.0)
    assert contents(box) == before


def test_counting_under_a_foreign_jit():
    """A Python number written under jax.jit is written once per trace, as by the plain function there."""
    jitted, plain = Box(n=0), Box(n=0)

    def step(box, x):
        box.n += 1
        return x

    outer = jax.jit(lambda x: (jit(step)(jitted, x), step(plain, x)))
    outer(1.0)
    outer(1.0)
    assert (jitted.n, plain.n) == (1, 1)


def test_reading_under_a_foreign_transform_is_fine():
    box = Box(w=jnp.float32(3.0))
    f = jit(lambda x: box.w * x * x)
    assert float(jax.grad(f)(2.0)) == 12.0
    box.w = jnp.float32(1.0)
    assert float(jax.grad(f)(2.0)) == 4.0


def test_value_kept_inside_a_transform_and_written_after_it():
    """Plain Python would store a dead tracer here too: it is refused, where it cannot be carried out."""
    box = Box(w=None)

    def keeps(x):
        class Kept:
            pass

        def loss(w):
            Kept.w = w * 2
            return w**2

        gradient = jax.grad(loss)(x)
        box.w = Kept.w
        return gradient

    with pytest.raises(LeakedWriteError, match=r"box\.w was given a value that belongs to a JAX tr") as error:
        jit(keeps)(3.0)
    says(error, keeps, "box.w = Kept.w", "has_aux=True")
    assert box.w is None


# -- loops ------------------------------------------------------------------------------------------


def test_list_that_grows_in_a_loop():
    box = Box(items=[])

    def body(carry, x):
        box.items.append(x)
        return carry, x

    f = jit(lambda xs: jax.lax.scan(body, 0.0, xs))
    with pytest.raises(UnsupportedStateError, match=r"box\.items.*loop") as error:
        f(jnp.arange(3.0))
    assert "final form before the loop" in str(error.value)
    assert box.items == []


def test_state_that_changes_its_shape_in_a_loop():
    box = Box(w=jnp.zeros(1))

    def body(carry, x):
        box.w = jnp.concatenate([box.w, x[None]])
        return carry, x

    f = jit(lambda xs: jax.lax.scan(body, 0.0, xs))
    with pytest.raises(UnsupportedStateError, match=r"box\.w changes its form in the body of jax\.lax\.scan"):
        f(jnp.arange(3.0))
    assert box.w.shape == (1,)


def test_string_written_in_a_loop():
    box = Box(mode="a")

    def body(i, x):
        box.mode = box.mode + "b"
        return x

    f = jit(lambda x: jax.lax.fori_loop(0, 3, body, x))
    with pytest.raises(UnsupportedStateError, match=r"box\.mode .*a str.*Write it after the loop|box\.mode"):
        f(1.0)
    assert box.mode == "a"


def test_attribute_first_made_in_a_loop():
    box = Box()

    def body(i, x):
        box.new = x
        return x

    f = jit(lambda x: jax.lax.fori_loop(0, 3, body, x))
    with pytest.raises(UnsupportedStateError, match=r"box\.new is first given a value inside a loop"):
        f(1.0)
    assert not hasattr(box, "new")


def test_condition_of_a_while_loop_that_writes():
    box = Box(n=jnp.int32(0))

    def condition(x):
        box.n = box.n + 1
        return x < 3

    f = jit(lambda x: jax.lax.while_loop(condition, lambda v: v + 1, x))
    with pytest.raises(
        UnsupportedStateError, match=r"condition of jax\.lax\.while_loop .*writes (closure )?box\.n"
    ):
        f(0)
    assert int(box.n) == 0


# -- state that moves by itself ---------------------------------------------------------------------


def test_getter_that_gives_another_thing_each_time():
    """It is run at each trace, and what it returns is new: no reason to refuse."""

    class Restless:
        @property
        def now(self):
            return object()

    thing = Restless()
    f = jit(lambda x: (x, thing.now)[0])
    assert float(f(1.0)) == 1.0
    assert float(f(1.0)) == 1.0


def test_assignment_to_the_class_of_an_object():
    class A:
        pass

    class B:
        pass

    thing = A()

    def changes_class(x):
        thing.__class__ = B

    with pytest.raises(UnsupportedStateError, match=r"thing\.__class__") as error:
        jit(changes_class)(1.0)
    says(error, changes_class, "thing.__class__ = B")
    assert type(thing) is A


def test_what_c_code_keeps_in_an_object_is_not_changed_while_tracing():
    class Failure(Exception):
        pass

    failure = Failure("before")

    def explains(x):
        failure.args = ("after",)

    with pytest.raises(UnsupportedStateError, match=r"failure\.args is kept by C code") as error:
        jit(explains)(1.0)
    says(error, explains, 'failure.args = ("after",)')
    assert failure.args == ("before",)


def test_error_of_pythons_own_is_not_changed_while_tracing():
    failure = ValueError("before")

    def explains(x):
        failure.args = (x,)

    def notes(x):
        failure.note = x

    for function, name in ((explains, "args"), (notes, "note")):
        with pytest.raises(UnsupportedStateError, match=rf"failure\.{name} is kept by C code"):
            jit(function)(1.0)
    assert failure.args == ("before",)
    assert not vars(failure)


def test_no_frame_of_the_run_is_left_in_an_error_that_was_raised_and_caught():
    class Failure(Exception):
        pass

    for failure in Failure(), ValueError():

        @jit
        def catches(x, failure=failure):
            try:
                raise failure
            except (Failure, ValueError):
                return x

        catches(1.0)
        assert failure.__traceback__ is None


def test_list_in_an_error_of_pythons_own_is_reported():
    failure = ValueError([1])

    def looks(x):
        return x * failure.args[0][0]

    with pytest.warns(FreshjitWarning, match=r"failure\.args\[0\] is a list kept in an error"):
        jit(looks)(1.0)


def test_context_of_contextvars_is_refused_when_it_is_used():
    scale = contextvars.ContextVar("scale", default=1.0)
    context = contextvars.copy_context()
    context.run(scale.set, 5.0)

    def scaled(x):
        return x * scale.get()

    def runs(x):
        return context.run(scaled, x)

    with pytest.raises(UnsupportedStateError, match=r"^closure context, a context of contextvars") as error:
        jit(runs)(1.0)
    says(error, runs, "return context.run")
    assert float(context.run(jit(scaled), 1.0)) == 5.0
    assert jit(lambda: context)() is context


def test_write_among_keys_that_have_become_equal_is_refused():
    class Key:
        def __init__(self, a):
            self.a = a

        def __eq__(self, other):
            return self.a == other.a

        def __hash__(self):
            return hash(self.a)

    key, other = Key(1), Key(2)
    table = {key: "one", other: "two"}

    @jit
    def write(x):
        table[other] = x

    @jit
    def look(x):
        return table[key], len(table), x

    key.a = 2
    assert look(1.0)[:2] == ("two", 2)
    with pytest.raises(UnsupportedStateError, match=r"^closure table was written while two of"):
        write(1.0)
    assert list(table.values()) == ["one", "two"]


def test_dictionary_of_something_else_is_not_given_to_an_object():
    first, second, table = Box(a=1), Box(a=2), {"a": 3}

    def of_another(x):
        first.__dict__ = vars(second)

    def captured(x):
        first.__dict__ = table

    for function in of_another, captured:
        with pytest.raises(UnsupportedStateError, match=r"first\.__dict__ was given a dictionary") as error:
            jit(function)(1.0)
        says(error, function, "first.__dict__ =")
    assert vars(first) == {"a": 1}


# -- ahead of time ----------------------------------------------------------------------------------


def test_stale_program_names_path_and_line():
    box = Box(mode="a")

    def reads_mode(x):
        return x if box.mode == "a" else -x

    compiled = jit(reads_mode).lower(1.0).compile()
    box.mode = "b"
    with pytest.raises(StaleCompiledError, match=r"box\.mode has changed") as error:
        compiled(1.0)
    says(error, reads_mode, "box.mode", "Lower and compile again")


def test_stale_program_after_a_change_of_shape():
    box = Box(w=jnp.ones(2))
    compiled = jit(lambda: box.w.sum()).lower().compile()
    box.w = jnp.ones(3)
    with pytest.raises(StaleCompiledError, match=r"box\.w has changed"):
        compiled()


def test_stale_program_names_the_attribute_that_was_not_there():
    class Model:
        training = True

        def predict(self, x):
            return 2 * x if self.training else x

    model = Model()
    compiled = jit(model.predict).lower(1.0).compile()
    model.training = False
    with pytest.raises(StaleCompiledError, match=r"self\.training has changed"):
        compiled(1.0)


def test_stale_program_names_the_global_that_was_not_there():
    namespace = {"__name__": "user"}
    exec("def double(x):\n    return x if 'single' in globals() else 2 * x", namespace)
    compiled = jit(namespace["double"]).lower(1.0).compile()
    namespace["single"] = True
    with pytest.raises(StaleCompiledError, match=r"'single' in globals of double has changed"):
        compiled(1.0)


def test_stale_program_after_an_attribute_went_away():
    box = Box(w=jnp.ones(2))
    compiled = jit(lambda: box.w.sum()).lower().compile()
    del box.w
    with pytest.raises((StaleCompiledError, AttributeError)):
        compiled()


# -- errors of others pass through ------------------------------------------------------------------


def test_users_exception_is_the_very_same_object():
    mine = ValueError("mine")
    holder = [mine]

    class Kind(Exception):
        pass

    @jit
    def f(x):
        raise Kind("mine", x.shape)

    with pytest.raises(Kind) as error:
        f(1.0)
    assert error.value.args == ("mine", ())
    assert holder == [mine]


def test_traceback_shows_the_users_lines():
    def fails(x):
        return x.no_such_attribute

    with pytest.raises(AttributeError) as error:
        jit(fails)(1.0)
    text = "".join(traceback.format_tb(error.value.__traceback__))
    assert f"line {line_of(fails, 'no_such_attribute')}, in fails" in text


def test_missing_attribute_and_missing_name_are_pythons_errors():
    box = Box()
    with pytest.raises(AttributeError, match=re.escape("'Box' object has no attribute 'missing'")):
        jit(lambda x: box.missing)(1.0)
    with pytest.raises(NameError, match="no_such_name"):
        jit(lambda x: no_such_name)(1.0)  # noqa: F821


def test_typeerror_of_the_user_at_a_hit_is_not_swallowed():
    """On the hit path a TypeError of a callback must not be taken for a call of another form."""
    fail = [False]

    def host(x):
        if fail[0]:
            raise TypeError("of the user")
        return np.asarray(x)

    @jit
    def f(x):
        return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x)

    x = jnp.float32(1.0)
    jax.block_until_ready(f(x))
    fail[0] = True
    with pytest.raises(Exception, match="of the user"):
        jax.block_until_ready(f(x))


def test_argument_of_a_wrong_kind_after_a_compiled_call():
    f = jit(lambda x: x + 1)
    f(1.0)
    with pytest.raises(TypeError):
        f("a")
    with pytest.raises(TypeError):
        f(object())
    assert float(f(1.0)) == 2.0


def test_the_users_own_error_is_not_replaced_by_one_of_a_second_attempt():
    table = np.zeros(2)

    @jit
    def step(x):
        table[0] = x
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        step(1.0)


def test_what_a_transform_returns_with_a_rule_of_the_users_in_it_is_refused():
    @jax.custom_vjp
    def scaled(x):
        return 2.0 * x

    scaled.defvjp(lambda x: (2.0 * x, x), lambda x, g: (g * x,))
    with pytest.raises(UnsupportedStateError, match=r"the result\[1\] was given what a transform of JAX's"):
        jit(lambda x: jax.vjp(scaled, x))(1.0)
