"""A call happens or it does not: after an error everything is as before, and the next call is right."""

import collections
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.support import changed_entries, class_namespaces, contents, same

from freshjit import jit
from freshjit.programs import commit


class Stop(BaseException):
    """An exception that is no Exception, like KeyboardInterrupt."""


class Inner:
    def __init__(self):
        self.w = jnp.arange(3.0)

    def use(self, x):
        return self.w * x


class Slotted:
    __slots__ = ("n", "unset", "w")

    def __init__(self):
        self.w, self.n = jnp.ones(3), 1


class Model:
    shared = 1

    def __init__(self):
        self.w = jnp.float32(2.0)
        self.count = 0
        self.flag = True
        self.inner = Inner()
        self.slotted = Slotted()
        self.items = [jnp.zeros(2), "a"]
        self.table = {"a": jnp.ones(2), "b": 1}
        self.queue = collections.deque([1, 2], maxlen=3)
        self.tags = {"x"}
        self.buffer = np.arange(4.0)
        self.alias = self.items

    def __getattr__(self, name):
        if name == "failing":
            raise TROUBLE[0]("in __getattr__")
        raise AttributeError(name)

    @property
    def trouble(self):
        raise TROUBLE[0]("in a property")

    def change_everything(self, x):
        self.w = self.w + x
        self.count += 1
        self.inner.w = self.inner.w * x
        self.slotted.w = self.slotted.w + x
        self.slotted.n += 1
        self.slotted.unset = x
        self.items[0] = self.items[0] + x
        self.items.append(x)
        self.table["a"] = self.table["a"] + x
        self.table["new"] = x
        del self.table["b"]
        self.queue.append(3)
        self.tags.add("y")
        self.buffer[1] = 7.0
        self.new = {"made": [x]}
        del self.flag


TROUBLE = [ValueError]


class State:
    """All that the functions below can change, as data."""

    def __init__(self, model, *more):
        self.model, self.more = model, more

    def now(self):
        slots = self.model.slotted
        values = [contents(getattr(slots, n, "unset")) for n in ("n", "unset", "w")]
        others = [(k, v) for k, v in vars(self.model).items() if k not in ("slotted", "queue", "tags")]
        rest = [(k, contents(v)) for k, v in others]
        plain = [list(self.model.queue), sorted(self.model.tags), self.model.shared]
        return values, rest, plain, [contents(m() if callable(m) else m) for m in self.more]


def while_reading(model, x, fail):
    y = model.inner.use(x) + model.items[0][0] + model.slotted.w
    if fail:
        raise TROUBLE[0]("while reading")
    return y


def after_writes(model, x, fail):
    model.change_everything(x)
    if fail:
        raise TROUBLE[0]("after writes")
    return model.w


def in_getattr(model, x, fail):
    model.change_everything(x)
    return model.failing if fail else model.w


def in_a_property(model, x, fail):
    model.change_everything(x)
    return model.trouble if fail else model.w


def in_a_scan(model, x, fail):
    model.change_everything(x)

    def body(carry, _):
        model.w = model.w + 1
        if fail:
            raise TROUBLE[0]("in a scan body")
        return carry, None

    return jax.lax.scan(body, x, None, length=3)[0]


def in_a_gradient(model, x, fail):
    def loss(w):
        model.count += 1
        model.w = w
        if fail:
            raise TROUBLE[0]("in a loss")
        return (w * x) ** 2

    return jax.grad(loss)(model.w)


def in_a_comprehension(model, x, fail):
    model.change_everything(x)

    def item(i):
        model.items[0] = model.items[0] + i
        if fail and i == 1:
            raise TROUBLE[0]("in a comprehension")
        return x + i

    return [item(i) for i in range(3)]


def after_try(model, x, fail):
    try:
        model.change_everything(x)
        raise KeyError
    except KeyError:
        model.count += 10
        if fail:
            raise TROUBLE[0]("in a handler") from None
    return model.w


def eager_scan(model, x, fail):
    model.change_everything(x)
    model.w = model.w + 3
    return x


def eager_gradient(model, x, fail):
    model.count += 1
    return 2 * model.w * x**2


# Written inside a transform, plain Python itself would keep a tracer: these say what is meant.
REFERENCE = {in_a_scan: eager_scan, in_a_gradient: eager_gradient}
POINTS = [
    while_reading,
    after_writes,
    in_getattr,
    in_a_property,
    in_a_scan,
    in_a_gradient,
    in_a_comprehension,
    after_try,
]


@pytest.mark.parametrize("error", [ValueError, AttributeError, KeyboardInterrupt, Stop])
@pytest.mark.parametrize("point", POINTS)
def test_error_while_tracing_leaves_everything_as_it_was(point, error):
    TROUBLE[0] = error
    model = Model()
    state = State(model)
    classes = class_namespaces(Model, Inner, Slotted)
    before = state.now()
    f = jit(point, static_argnums=2)
    for _ in range(2):
        with pytest.raises(error):
            f(model, 2.0, True)
        assert state.now() == before
        assert not changed_entries(classes, Model, Inner, Slotted)
    reference = Model()
    for _ in range(2):
        for m in (model, reference):
            m.flag, m.table = True, {"a": jnp.ones(2), "b": 1}
        same(f(model, 2.0, False), REFERENCE.get(point, point)(reference, 2.0, False))
        assert model.count == reference.count
        same((model.w, model.inner.w, model.slotted.w), (reference.w, reference.inner.w, reference.slotted.w))
        same(model.items[0], reference.items[0])
        assert len(model.items) == len(reference.items)
        assert model.buffer.tolist() == reference.buffer.tolist()
        assert model.alias is model.items
    assert not changed_entries(classes, Model, Inner, Slotted)


@pytest.mark.leaks
def test_error_after_writes_leaves_no_tracer_and_no_hook():
    TROUBLE[0] = ValueError
    model = Model()
    state = State(model)
    before, classes = state.now(), class_namespaces(Model, Inner, Slotted)
    with pytest.raises(ValueError, match="after writes"):
        jit(after_writes, static_argnums=2)(model, 2.0, True)
    assert state.now() == before
    assert not changed_entries(classes, Model, Inner, Slotted)


def test_error_of_jax_while_tracing():
    model = Model()
    state = State(model)
    before = state.now()

    @jit
    def f(x):
        model.change_everything(x)
        return x + jnp.ones((2, 3)) @ jnp.ones((2, 3))

    with pytest.raises(TypeError):
        f(2.0)
    assert state.now() == before


def test_concretisation_of_an_argument_after_writes():
    model = Model()
    state = State(model)
    before = state.now()

    @jit
    def f(x):
        model.change_everything(x)
        return 1 if x > 0 else 2

    with pytest.raises(jax.errors.TracerBoolConversionError):
        f(2.0)
    assert state.now() == before


def test_global_cell_and_function_attribute_survive_an_error():
    global LEVEL
    LEVEL = 1
    total = jnp.float32(0.0)

    def helper(x):
        helper.calls += 1
        return x

    helper.calls = 0

    @jit(static_argnums=1)
    def f(x, fail):
        global LEVEL
        nonlocal total
        LEVEL += 1
        total = total + helper(x)
        Model.shared = 5
        if fail:
            raise ValueError
        return total

    before = total
    with pytest.raises(ValueError):
        f(1.0, True)
    assert (LEVEL, helper.calls, Model.shared) == (1, 0, 1)
    assert total is before
    try:
        assert float(f(1.0, False)) == 1.0
        assert float(f(1.0, False)) == 2.0
        assert (LEVEL, helper.calls, Model.shared) == (3, 2, 5)
    finally:
        Model.shared = 1


LEVEL = 1


def test_error_while_compiling():
    """The compiler refuses an option: nothing has been written, and a later call says so again."""
    model = Model()
    state = State(model)
    before = state.now()

    def f(x):
        model.change_everything(x)
        return x

    bad = jit(f, compiler_options={"no_such_option": 1})
    for _ in range(2):
        with pytest.raises(Exception, match="no_such_option"):
            bad(1.0)
        assert state.now() == before
    assert float(jit(f)(1.0)) == 1.0
    assert model.count == 1


def test_error_while_running():
    model = Model()
    state = State(model)
    fail = [True]

    def host(x):
        if fail[0]:
            raise ValueError("on the host")
        return np.asarray(x) * 2

    @jit
    def f(x):
        model.w = model.w + x
        model.count += 1
        y = jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x)
        model.items[0] = model.items[0] + y
        return y

    fail[0] = False
    assert float(f(1.0)) == 2.0
    assert model.count == 1
    fail[0] = True
    before = state.now()
    with pytest.raises(Exception, match="on the host"):
        # The error is known at the latest when a result is asked for; state must not be poisoned then.
        jax.block_until_ready(f(1.0))
    assert state.now() == before
    fail[0] = False
    assert float(f(1.0)) == 2.0
    assert model.count == 2
    assert float(model.w) == 4.0


def test_error_in_the_very_first_run():
    model = Model()
    state = State(model)
    before = state.now()

    def host(x):
        raise ValueError("on the host")

    @jit
    def f(x):
        model.w = model.w + x
        model.count += 1
        return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x)

    with pytest.raises(Exception, match="on the host"):
        jax.block_until_ready(f(jnp.float32(1.0)))
    assert state.now() == before


def test_write_that_fails_at_the_commit_takes_back_the_earlier_ones():
    """A property's setter, a custom dict: whatever raises, the state is as before the call."""

    class Strict(dict):
        def __setitem__(self, key, value):
            if key == "forbidden":
                raise ValueError("forbidden key")
            super().__setitem__(key, value)

    model = Model()
    model.strict = Strict(a=1)
    state = State(model)
    before = state.now()

    @jit
    def f(x):
        model.w = x
        model.strict["a"] = x
        model.strict["forbidden"] = x
        return x

    with pytest.raises(ValueError, match="forbidden key"):
        f(1.0)
    assert state.now() == before


# -- what a call leaves behind ----------------------------------------------------------------------


@pytest.mark.leaks
def test_a_call_leaves_the_state_that_plain_python_leaves():
    model, reference = Model(), Model()
    jit(model.change_everything)(2.0)
    reference.change_everything(2.0)
    assert list(vars(model)) == list(vars(reference))
    assert model.alias is model.items
    assert list(model.queue) == list(reference.queue)
    assert model.tags == reference.tags
    assert list(model.table) == list(reference.table)
    assert type(model.buffer) is np.ndarray
    assert model.buffer.tolist() == reference.buffer.tolist()
    same((model.w, model.inner.w, model.items[0]), (reference.w, reference.inner.w, reference.items[0]))
    assert not hasattr(model, "flag")
    assert float(model.slotted.unset) == 2.0


def test_numpy_buffer_is_written_in_place():
    buffer = np.zeros(3)
    view = buffer[1:]

    @jit
    def f(x):
        buffer[1] = x + 1
        buffer[2] = x
        return x

    f(7.0)
    f(8.0)
    assert view.tolist() == [9.0, 8.0]


def test_aliases_stay_aliases():
    shared = [jnp.zeros(2)]
    holder = {"a": shared, "b": shared}

    class Two:
        pass

    one, other = Two(), Two()
    one.mate = other
    other.mate = one
    other.data = shared

    @jit
    def f(x):
        holder["a"][0] = holder["a"][0] + x
        one.mate.data.append(x)
        one.new = one.mate
        return holder["b"][0]

    assert f(1.0).tolist() == [1.0, 1.0]
    assert holder["a"] is holder["b"] is other.data is shared
    assert one.mate is other
    assert one.new is other
    assert other.mate is one
    assert len(shared) == 2


def test_returned_state_is_the_real_thing():
    model = Model()

    @jit
    def f():
        return model, model.items, model.w, model.table

    for _ in range(2):
        got = f()
        assert got[0] is model
        assert got[1] is model.items
        assert got[2] is model.w
        assert got[3] is model.table


def test_written_array_and_returned_array_are_one():
    model = Model()

    @jit
    def f(x):
        model.w = x * 2
        model.last = model.w
        return model.w

    out = f(1.0)
    assert out is model.w is model.last


@dataclasses.dataclass
class Point:
    x: object
    tags: list


def test_new_objects_are_made_anew_at_each_call():
    model = Model()

    @jit
    def f(x):
        model.point = Point(x, ["a"])
        model.points = [model.point, model.point]
        return {"point": model.point, "list": []}

    first = f(1.0)
    kept = model.point
    second = f(2.0)
    assert model.point is not kept
    assert first["list"] is not second["list"]
    assert first["point"] is kept
    assert kept.tags is not model.point.tags
    kept.tags.append("b")
    third = f(3.0)
    assert third["point"].tags == ["a"]
    assert float(kept.x) == 1.0
    assert float(model.point.x) == 3.0
    assert model.points[0] is model.points[1] is model.point


def test_new_cycles_are_made():
    class Node:
        pass

    root = Node()

    @jit
    def f(x):
        a, b = Node(), Node()
        a.next, b.next, a.value = b, a, x
        root.first = a
        root.ring = [a]
        root.ring.append(root.ring)
        return x

    for value in (1.0, 2.0):
        f(value)
        assert root.first.next.next is root.first
        assert root.ring[1] is root.ring
        assert float(root.first.value) == value


def test_new_attributes_and_keys_come_in_the_order_of_the_code():
    model = Model()
    table = {}

    @jit
    def f(x):
        model.z = x
        model.y = 1
        model.a = x + 1
        table["z"] = x
        table["a"] = 1
        table["m"] = x

    f(1.0)
    assert list(vars(model))[-3:] == ["z", "y", "a"]
    assert list(table) == ["z", "a", "m"]
    f(1.0)
    assert list(table) == ["z", "a", "m"]


def test_key_deleted_and_set_again_moves_to_the_end():
    table = {"a": 1, "b": 2}

    @jit
    def f(x):
        table["a"] = x + table.pop("a")

    f(1.0)
    assert list(table) == ["b", "a"]
    f(1.0)
    assert list(table) == ["b", "a"]
    assert float(table["a"]) == 3.0


def test_list_methods_reach_the_original_in_place():
    items = [3, 1, 2]
    keep = items

    @jit
    def f(x):
        items.sort()
        items.remove(2)
        items.insert(0, x)
        items.reverse()
        items.extend([x + 1, None])

    f(10.0)
    assert keep is items
    assert [v if v is None else float(v) for v in items] == [3.0, 1.0, 10.0, 11.0, None]


def test_a_function_that_writes_nothing_touches_nothing():
    touched = []

    class Watched:
        def __init__(self):
            self.w = jnp.float32(1.0)
            object.__setattr__(self, "ready", True)

        def __setattr__(self, name, value):
            if getattr(self, "ready", False):
                touched.append(name)
            object.__setattr__(self, name, value)

    thing = Watched()
    f = jit(lambda x: thing.w * x)
    f(1.0)
    f(1.0)
    assert touched == []


def test_written_back_values_are_read_by_the_next_call():
    model = Model()

    @jit
    def f():
        model.count += 1
        model.w = model.w * 2
        return model.w

    for i in range(1, 6):
        assert float(f()) == 2.0 * 2**i
        assert model.count == i


def test_state_edited_between_calls():
    model = Model()

    @jit
    def f(x):
        model.items.append(x)
        return len(model.items)

    assert int(f(1.0)) == 3
    del model.items[:]
    assert int(f(1.0)) == 1
    assert int(f(1.0)) == 2


def test_error_in_a_later_call_of_another_form():
    """A retrace that fails leaves the programs that work in place."""
    model = Model()

    @jit
    def f(x):
        model.count += 1
        if x.ndim == 2:
            raise ValueError("two dimensions")
        return x * model.w

    assert f(jnp.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="two dimensions"):
        f(jnp.ones((2, 2)))
    assert model.count == 1
    assert f(jnp.ones(2)).tolist() == [2.0, 2.0]
    assert model.count == 2


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("mask", [None, [True, False]])
def test_writes_into_numpy_arrays_of_every_kind_are_taken_back(mask, hard):
    masked = np.ma.array([1.0, 2.0], mask=np.ma.nomask if mask is None else mask, hard_mask=hard)
    record = np.zeros(1, [("x", "f4")])[0]
    table, objects = np.arange(4.0), np.array([None, "b"], object)
    new = record.copy()
    new["x"] = 5
    writes = [
        ("fillmasked", masked, None, (np.array([3.0, 4.0]), np.array([False, True]))),
        ("fillrecord", record, None, new),
        ("reshape", table, None, (2, 2)),
        ("setitem", objects, 0, [5]),
    ]
    with pytest.raises(IndexError):
        commit.apply([*writes, ("setitem", [], 3, 1)])
    assert np.ma.getdata(masked).tolist() == [1.0, 2.0]
    assert (masked.mask is np.ma.nomask) if mask is None else (masked.mask.tolist() == mask)
    assert (record["x"], table.shape, objects.tolist()) == (0, (4,), [None, "b"])
    commit.apply(writes)
    assert (np.ma.getdata(masked).tolist(), masked.mask.tolist()) == ([3.0, 4.0], [False, True])
    assert (record["x"], table.shape, objects.tolist()) == (5, (2, 2), [[5], "b"])
    assert masked.hardmask is hard
