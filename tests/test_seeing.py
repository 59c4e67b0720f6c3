"""`Seeing`: which numbers are seen as such that change, and which values are given in place of real ones."""

import pytest

from freshjit import StateMismatchError
from freshjit.state.overrides import Overrides
from freshjit.state.path import Path, alike
from freshjit.state.seeing import Seeing

SELF = Path.root("args[0]", "self")
RATE, POWER = SELF.attr("rate"), SELF.attr("power")


def test_a_number_is_seen_by_value_until_it_has_changed():
    assert not Seeing().changes(RATE)
    assert Seeing(changing=frozenset([RATE.trail])).changes(RATE)
    assert not Seeing(changing=frozenset([RATE.trail])).changes(POWER)


def test_numbers_of_one_kind_change_together():
    scores = SELF.attr("scores")
    seeing = Seeing(changing=frozenset([alike(scores.item(0).trail)]))
    assert seeing.changes(scores.item(7))
    assert not seeing.changes(RATE)


def test_where_the_function_cannot_be_traced_with_it_a_number_stays_a_value():
    assert not Seeing(changing=frozenset([RATE.trail]), rigid=frozenset([RATE.trail])).changes(RATE)
    assert not Seeing(changing=frozenset([RATE.trail]), plain_numbers=True).changes(RATE)


def test_what_the_user_says_counts_more():
    seeing = Seeing(changing=frozenset([POWER.trail]), overrides=Overrides("self.power", "self.rate"))
    assert seeing.changes(RATE)
    assert not seeing.changes(POWER)


def test_a_number_at_a_root_is_a_static_argument():
    root = Path.root("args[1]", "n")
    assert not Seeing(changing=frozenset([root.trail])).changes(root)


def test_a_value_that_is_missing_from_what_is_given_is_an_error_with_its_path():
    seeing = Seeing(given={RATE.trail: 3.0})
    assert seeing.has_given(RATE)
    assert seeing.given_at(RATE) == 3.0
    assert not seeing.has_given(POWER)
    with pytest.raises(StateMismatchError, match=r"self\.power is read"):
        seeing.given_at(POWER)
