"""What passes for the function it is called in place of."""

import functools
import math

import pytest

from freshjit import jit


def plain(x, by=1.0):
    """What it does."""
    return x + by


class Layer:
    def forward(self, x):
        return x * 2.0


def fresh_function():
    def f(x):
        return x

    return f


def test_what_is_set_on_it_is_set_on_the_function_and_the_other_way_round():
    f = fresh_function()
    g = jit(f)
    g.tag = 1
    assert (f.tag, vars(g)) == (1, {"tag": 1})
    f.tag = 2
    assert g.tag == 2
    del g.tag
    assert not hasattr(f, "tag")
    assert not hasattr(g, "tag")


def test_two_jitted_functions_of_one_function_share_its_attributes():
    f = fresh_function()
    one, other = jit(f), jit(f, static_argnums=0)
    one.tag = "shared"
    assert other.tag == "shared"


def test_its_dictionary_has_nothing_of_its_own():
    g = jit(fresh_function())
    assert vars(g) == {}
    assert set(vars(functools.wraps(g)(lambda x: x))) == {"__wrapped__"}


def test_names_and_documentation_can_be_set():
    f = fresh_function()
    g = jit(f)
    g.__name__, g.__doc__, g.__module__ = "other", "Another.", "elsewhere"
    assert (f.__name__, f.__doc__, f.__module__) == ("other", "Another.", "elsewhere")
    assert (g.__name__, g.__doc__, g.__module__) == ("other", "Another.", "elsewhere")


def test_what_python_gives_a_function_is_there():
    g = jit(plain)
    assert (g.__defaults__, g.__code__, g.__globals__) == ((1.0,), plain.__code__, globals())


def test_an_attribute_of_the_user_hides_a_method_of_jit_of_the_same_name():
    f = fresh_function()
    f.trace = ["mine"]
    g = jit(f)
    assert g.trace == ["mine"]
    g.lower = "mine, too"
    assert (g.lower, f.lower) == ("mine, too", "mine, too")
    del g.lower
    assert not hasattr(f, "lower")
    assert g.lower(1.0).compile()(2.0) == 2.0


@pytest.mark.parametrize("function", [Layer().forward, math.sin], ids=["a bound method", "of C"])
def test_where_the_function_takes_no_attributes_they_are_kept_here(function):
    g = jit(function)
    g.tag = 1
    assert g.tag == 1
    del g.tag
    assert not hasattr(g, "tag")


def test_a_missing_attribute_is_reported_as_the_function_would():
    with pytest.raises(AttributeError, match="'function' object has no attribute 'nothing'"):
        jit(fresh_function()).nothing  # noqa: B018 - the reading is what is tested


def test_of_an_object_that_is_called_it_has_the_class_for_a_name():
    class Gain:
        def __init__(self):
            self.k = 2.0

        def __call__(self, x):
            return self.k * x

    gain = Gain()
    g = jit(gain)
    g.k = 3.0
    assert (g.__name__, gain.k, g(2.0)) == ("Gain", 3.0, 6.0)
