"""What a jitted function makes itself (variables, lists, objects) comes through transforms, as state does."""

import collections
import functools
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from freshjit import jit
from freshjit.state.views import apart

pytestmark = pytest.mark.leaks

X = jnp.array([1.0, 2.0])


def test_a_local_list_that_a_loss_function_appends_to_holds_usable_values():
    @jit
    def step(x):
        seen = []

        def loss(w):
            seen.append(2 * w)
            return jnp.sum(w * w)

        slope = jax.grad(loss)(x)
        return slope + seen[0], seen

    value, seen = step(X)
    assert value.tolist() == [4.0, 8.0]
    assert [v.tolist() for v in seen] == [[2.0, 4.0]]


def test_a_variable_of_the_function_is_carried_through_scan():
    @jit
    def run(xs):
        total, best = jnp.float32(0.0), {"x": jnp.float32(-1.0)}

        def body(carry, x):
            nonlocal total
            total = total + x
            best["x"] = jnp.maximum(best["x"], x)
            return carry, total

        rows = jax.lax.scan(body, 0.0, xs)[1]
        return total, rows, best

    total, rows, best = run(X)
    assert (float(total), rows.tolist(), float(best["x"])) == (3.0, [1.0, 3.0], 2.0)


class Plain:
    def __init__(self, w):
        self.w = w

    def bump(self, v):
        self.w = self.w + v


class Slots:
    __slots__ = ("w",)
    __init__, bump = Plain.__init__, Plain.bump


def test_an_object_made_inside_is_changed_inside_cond():
    for kind in (Plain, Slots):

        @jit
        def choose(x, kind=kind):
            box = kind(x)

            def yes(v):
                box.bump(v)
                return v

            jax.lax.cond(x[0] > 0, yes, lambda v: v, x)
            return box.w, box

        assert choose(X)[0].tolist() == [2.0, 4.0] == choose(X)[1].w.tolist()
        assert choose(-X)[0].tolist() == [-1.0, -2.0]


def test_a_new_list_in_state_is_changed_inside_nested_loops():
    model = Plain([jnp.zeros(2)])

    @jit
    def run(x):
        model.w = [x, model.w[0]]

        def outer(i, c):
            def inner(c, t):
                local = [c]
                jax.grad(lambda u: (local.append(u), jnp.sum(u))[1])(c)
                model.w[0] = model.w[0] + t
                return c + local[1], t

            return jax.lax.scan(inner, c, jnp.stack([c, c]))[0]

        return jax.lax.fori_loop(0, 2, outer, x)

    def plain(x):
        model.w = [x, model.w[0]]
        for _ in range(2):
            for t in [x, x]:
                model.w[0] = model.w[0] + t
                x = x + x
        return x

    expected = plain(X), [w.tolist() for w in model.w]
    model.w = [jnp.zeros(2)]
    result = run(X), [w.tolist() for w in model.w]
    assert result[0].tolist() == expected[0].tolist()
    assert result[1] == expected[1]


def test_deques_sets_and_functions_attributes_made_inside_come_through_checkpoint():
    @jit
    def run(x):
        window, names = collections.deque([x], maxlen=2), set()

        def helper(v):
            window.append(v)
            names.add("seen")
            return v * 2

        result = jax.checkpoint(lambda v: helper(v))(x)
        return result + sum(window), sorted(names)

    value, names = run(X)
    assert (value.tolist(), names) == ([4.0, 8.0], ["seen"])


def test_an_error_inside_a_transform_takes_back_what_was_done_to_local_things():
    @jit
    def run(x):
        seen = []

        def loss(w):
            seen.append(w)
            raise KeyError("no")

        try:
            jax.grad(loss)(x)
        except KeyError:
            return len(seen), x

    assert run(X)[0] == 0


def test_whatever_holds_a_value_made_under_a_transform_comes_out_usable():
    class Slotted:
        __slots__ = ("a",)

    kept = Plain(None)

    @jit
    def step(x):
        def loss(w):
            kept.queue = collections.deque([2 * w])
            kept.partial = functools.partial(jnp.add, 3 * w)
            kept.namespace = types.SimpleNamespace(a=4 * w)
            kept.slotted = Slotted()
            kept.slotted.a = 5 * w
            kept.function = lambda v: w * v
            kept.defaults = lambda v, a=7 * w, *, b=8 * w: v + a + b
            kept.defaults.attribute = 9 * w
            kept.slope = jax.grad(lambda v: w * v)
            kept.nested = [{"a": (6 * w,)}]
            return jnp.sum(w * w)

        return jax.grad(loss)(x)

    assert step(2.0) == 4.0
    values = [kept.queue[0], kept.partial(0.0), kept.namespace.a, kept.slotted.a, kept.nested[0]["a"][0]]
    assert [float(v) for v in values] == [4.0, 6.0, 8.0, 10.0, 12.0]
    assert (float(kept.function(2.0)), float(kept.slope(1.0))) == (4.0, 2.0)
    assert (float(kept.defaults(0.0)), float(kept.defaults.attribute)) == (30.0, 18.0)


def test_looking_for_values_of_a_transform_stays_out_of_libraries():
    """A random key leads to functions of JAX, their modules, and from there to everything there is."""
    kept = Plain(None)

    def step(x):
        def loss(w):
            kept.key, kept.library, kept.jitted = jax.random.key(0), jnp.ones, jax.jit(jnp.sin)
            return w * w

        return jax.grad(loss)(x)

    looks = 0

    def count(frame, event, argument):
        nonlocal looks
        looks += event == "call" and frame.f_code is apart._map_traced.__code__

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        jit(step)(2.0)
    finally:
        sys.setprofile(before)
    assert 0 < looks < 1000


class Tally:
    def __init__(self):
        self.total = jnp.float32(0.0)


@pytest.mark.parametrize(
    "run",
    [
        lambda body: jax.lax.scan(lambda c, t: (body(t), t), jnp.float32(0.0), jnp.arange(3.0)),
        lambda body: jax.lax.fori_loop(0, 3, lambda i, c: body(1.0), jnp.float32(0.0)),
        lambda body: jax.lax.cond(jnp.bool_(True), body, lambda t: t, jnp.float32(1.0)),
        lambda body: jax.lax.switch(jnp.int32(0), [body, lambda t: t], jnp.float32(1.0)),
    ],
    ids=["scan", "fori_loop", "cond", "switch"],
)
def test_what_happens_in_python_happens_once_though_a_body_that_writes_state_is_run_twice(run):
    tally = Tally()

    @jit
    def f():
        names, table, box, array = [], {}, Tally(), np.zeros(2)
        box.calls = 0
        calls = 0

        def body(t):
            nonlocal calls
            names.append("a")
            table["n"] = table.get("n", 0) + 1
            box.calls += 1
            calls += 1
            array[1] += 1
            tally.total = tally.total + 1
            return jnp.float32(t)

        run(body)
        return names, table, box.calls, calls, array.tolist()

    assert f() == (["a"], {"n": 1}, 1, 1, [0.0, 1.0])
    assert float(tally.total) in (1.0, 3.0)


class Pair(collections.namedtuple("Pair", "a b")):
    pass


def test_attributes_of_a_tuple_made_inside_come_through_transforms():
    kept = []

    @jit
    def step(x):
        made = Pair(x, 2 * x)
        made.weight = x

        def body(carry, y):
            made.weight = made.weight + y
            return carry, made.weight

        jax.lax.scan(body, 0.0, jnp.arange(3.0))

        def loss(y):
            inner = Pair(y, 1.0)
            inner.weight = 3 * y
            kept.append(inner)
            return y * inner.weight

        return jax.grad(loss)(x), made

    slope, made = step(2.0)
    assert (float(slope), float(made.weight)) == (12.0, 5.0)
    assert (float(kept[0].a), float(kept[0].weight)) == (2.0, 6.0)
