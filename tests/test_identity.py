"""Whether code could tell one array from an equal other one, by what stands in it."""

import jax.numpy as jnp
import pytest

from freshjit import jit
from freshjit.state.bytecode import compares_identity


def code_of(statement):
    namespace = {}
    exec(f"import operator\ndef f(self, xs, a, b):\n    {statement}", namespace)
    return namespace["f"].__code__


@pytest.mark.parametrize(
    "statement",
    [
        "a is b",
        "id(a)",
        "operator.is_(a, b)",
        "same = operator.is_not",
        "from operator import is_ as same",
        "operator.countOf(xs, a)",
        "xs.index(a)",
        "xs.count(a)",
        "xs.remove(a)",
        "f = xs.index; f(a)",
        "sorted(b, key=xs.index)",
        "list.count(xs, a)",
        "return [xs.index(x) for x in xs]",
        "g = lambda: xs.count(a)",
    ],
)
def test_code_that_looks_for_the_same_thing_compares_identity(statement):
    assert compares_identity(code_of(statement))


@pytest.mark.parametrize(
    "statement",
    [
        "self.count += 1",
        "self.count = 0",
        "return a * self.count",
        "self.id = self.id + 1",
        "self.index, self.remove = 0, True",
        "return xs[self.index]",
        "count = 1; return count + a",
        "a is None",
        "g = lambda: self.count > 3",
    ],
)
def test_an_attribute_of_such_a_name_does_not_compare_identity(statement):
    assert not compares_identity(code_of(statement))


def test_a_counter_does_not_make_two_equal_arrays_matter():
    class Model:
        @jit
        def step(self, x):
            self.count += 1
            return self.count * x + self.w + self.v

    model = Model()
    model.count, model.w, model.v = 0, jnp.ones(2), jnp.ones(2)
    model.step(1.0)
    assert all(set(map(str, group)).isdisjoint({"self.w", "self.v"}) for group in groups_of(Model.step))


def test_a_search_makes_two_equal_arrays_matter():
    class Model:
        @jit
        def step(self, x):
            find = [self.w, self.v].index
            return find(self.w) * x + self.v

    model = Model()
    model.w, model.v = jnp.ones(()), jnp.ones(())
    model.step(1.0)
    assert any({"self.w", "self.v"} <= set(map(str, group)) for group in groups_of(Model.step))


def groups_of(jitted):
    return jitted._store.programs[0].record.distinct.groups
