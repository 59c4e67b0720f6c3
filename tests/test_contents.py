"""Contents of containers: sets in their order, and what of them cannot be followed."""

import collections
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from freshjit import UnsupportedStateError, jit
from freshjit.state.contents import (
    OrderedFrozenset,
    OrderedSet,
    base_of,
    fill_buffer,
    members,
    moved,
    refill_set,
)


class Kind:
    scale = 1.0


def functions(kind):
    """Functions in a set, where a clone has another hash than the original."""
    return kind([eval(f"lambda x: {i} * x + Kind.scale", {"Kind": Kind}) for i in range(2, 9)])


@pytest.mark.parametrize("kind", [set, frozenset])
def test_functions_in_a_set_are_called_in_its_own_order(kind, monkeypatch):
    steps = functions(kind)

    def run(x):
        for step in steps:
            x = step(x)
        return x

    jitted = jit(run)
    assert float(jitted(1.0)) == run(1.0)
    monkeypatch.setattr(Kind, "scale", 2.0)
    assert float(jitted(1.0)) == run(1.0)
    if kind is set:
        steps.discard(next(iter(steps)))
        assert float(jitted(1.0)) == run(1.0)


@pytest.mark.parametrize(
    ("now", "before", "again"),
    [
        ("abc", "abc", ""),
        ("acb", "abc", "b"),
        ("bcxa", "abc", "a"),
        ("xa", "a", "a"),
        ("cab", "abc", "ab"),
        ("bx", "abc", ""),
        ([1, True], [True, 1], [True]),
    ],
)
def test_keys_put_in_again_are_those_behind_all_that_stayed(now, before, again):
    assert list(map(repr, moved(now, before))) == list(map(repr, again))


@pytest.mark.parametrize("made", [OrderedSet, OrderedFrozenset])
def test_an_ordered_set_goes_over_its_elements_as_they_were_given(made):
    names = [f"n{i}" for i in range(20)]
    assert list(made(names)) == members(made(names)) == names
    assert made(names) == set(names)


def test_an_ordered_set_follows_what_is_done_to_it():
    ordered = OrderedSet(["c", "a", "b"])
    ordered.discard("a")
    ordered.add("d")
    assert list(ordered) == ["c", "b", "d"]
    assert [ordered.pop() for _ in range(3)] == ["c", "b", "d"]
    with pytest.raises(KeyError):
        ordered.pop()


def test_refilling_a_set_tells_equal_elements_apart():
    target = {1, 2}
    refill_set(target, [True, 2])
    assert {type(value) for value in target} == {bool, int}


def test_refilling_a_set_puts_in_again_what_has_moved():
    target = {0, 8}
    assert list(target) == [0, 8]
    refill_set(target, [8, 0])
    assert list(target) == [8, 0]


def test_the_base_class_of_a_subclass_is_python_s_own():
    assert [base_of(type("Own", (kind,), {})()) for kind in (dict, list, set)] == [dict, list, set]


def test_subclasses_of_containers_are_carried_through_a_loop():
    class Window(collections.deque):
        def __iter__(self):
            return iter(())

    class Backwards(collections.OrderedDict):
        def __iter__(self):
            return reversed(list(super().__iter__()))

    window, backwards = Window([jnp.float32(0)], maxlen=1), Backwards(a=jnp.float32(1), b=2.0)

    @jit
    def f(xs):
        def body(total, x):
            window.append(total)
            backwards["a"] = backwards["a"] + x
            return total + x, total

        return jax.lax.scan(body, 0.0, xs)[0]

    assert float(f(jnp.arange(4.0))) == 6.0
    assert (float(window[0]), len(window), window.maxlen) == (3.0, 1, 1)
    assert [(k, float(v)) for k, v in dict.items(backwards)] == [("a", 7.0), ("b", 2.0)]


def test_a_buffer_is_filled_while_it_is_shown():
    data = bytearray(b"ab")
    shown = memoryview(data)
    fill_buffer(data, b"cd")
    assert bytes(shown) == b"cd"


def test_a_memoryview_of_something_else_is_refused():
    shown = memoryview(np.zeros(2))

    @jit
    def f(x):
        return x * shown[0]

    with pytest.raises(UnsupportedStateError, match="is a memoryview of a ndarray"):
        f(1.0)


def test_a_proxy_whose_object_is_gone_is_refused():
    thing = Kind()
    proxy = weakref.proxy(thing)
    del thing

    @jit
    def f(x):
        return x * proxy.scale

    with pytest.raises(UnsupportedStateError, match=r"weakref\.proxy whose object is gone"):
        f(1.0)


def grown(n):
    """A set that was filled one by one, whose table is larger than that of its copy."""
    elements = set()
    for i in range(n):
        elements.add(i)
    return elements


def shrunk():
    """One whose copy has another order."""
    elements = set(range(64, 0, -1)) | {1000, 64, 0}
    elements.difference_update(range(1, 60))
    return elements


@pytest.mark.parametrize(
    "make", [lambda: functions(set), shrunk, *(lambda n=n: grown(n) for n in (1, 4, 5, 9, 17, 18, 19, 80))]
)
def test_a_set_is_a_plain_one_inside_and_so_is_what_is_made_of_it(make):
    box = Kind()
    box.elements = make()

    def program(jit):
        @jit
        def look():
            seen = box.elements
            made = [seen.copy(), seen | {-1}, seen - {0}, seen & seen, seen ^ {-1}, seen.union([-1])]
            kinds = type(seen) is set, seen.__class__ is set, [type(value) is set for value in made]
            return kinds, [len(value) for value in made], [name(value) for value in seen], made[0]

        kinds, lengths, order, copied = look()
        return kinds, lengths, order, sorted(map(name, copied))

    def name(element):
        return element if isinstance(element, int) else element(1.0)

    assert program(jit) == program(lambda function: function)


@pytest.mark.parametrize("n", range(1, 40, 3))
def test_what_is_added_to_a_set_comes_to_its_place(n):
    def program(jit):
        box = Kind()
        box.elements = grown(n)

        @jit
        def add():
            box.elements.update([97, 17])
            return list(box.elements), list(box.elements.copy())

        return add(), list(box.elements)

    assert program(jit) == program(lambda function: function)


def use_again(table, x):
    table["a"] = table.pop("a") + x


def to_the_front(table, x):
    table["new"] = x
    collections.OrderedDict.move_to_end(table, "new", last=False)


def equal_key(table, x):
    table[1.0] = table.pop(1) + x


@pytest.mark.parametrize("change", [use_again, to_the_front, equal_key])
@pytest.mark.parametrize(
    "within",
    [
        lambda f: f,
        jax.grad,
        jax.checkpoint,
        lambda f: jax.grad(jax.grad(f)),
        lambda f: lambda x: jax.vjp(f, x)[0],
    ],
)
def test_the_order_of_keys_is_carried_out_of_a_transform(change, within):
    def program(jit, within):
        table = collections.OrderedDict({"a": jnp.float32(1.0), 1: jnp.float32(2.0), "b": jnp.float32(3.0)})

        def loss(x):
            change(table, 1.0)
            return x * x

        step = jit(lambda x: within(loss)(x))
        order = []
        for _ in range(2):
            step(jnp.float32(3.0))
            order.append([(repr(key), float(value)) for key, value in table.items()])
            table.update({1: table.pop(1, table.get(1.0))})
        return order

    assert program(jit, within) == program(lambda f: f, lambda f: f)
