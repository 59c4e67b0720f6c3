"""Places of state, as users write them."""

import pytest

from freshjit import jit
from freshjit.state.naming import Place, normal, parsed, without_prefix


@pytest.mark.parametrize(
    ("text", "root", "steps"),
    [
        ("rate", "rate", ()),
        ("self.lr", "self", (("attr", "lr"),)),
        ("self.layers[0].scale", "self", (("attr", "layers"), ("item", 0), ("attr", "scale"))),
        ("w[-1]", "w", (("item", -1),)),
        ("w[0, 'a']", "w", (("item", (0, "a")),)),
        ("w[(1, -2), None]", "w", (("item", ((1, -2), None)),)),
        ("cfg['l r']", "cfg", (("item", "l r"),)),
        ("type(self).rate", "self", (("type", None), ("attr", "rate"))),
        ("closure rate", "rate", ()),
        ("default of rate", "rate", ()),
        (" self.lr ", "self", (("attr", "lr"),)),
    ],
)
def test_a_place_is_a_name_with_attributes_and_items(text, root, steps):
    place = parsed(text)
    assert place is not None
    assert (place.root, place.steps) == (root, steps)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "'self.lr'",
        "self.lr + 1",
        "self.lr()",
        "self.layers[",
        "self.layers[i]",
        "self.layers[1:2]",
        "self.layers[[0]]",
        "self.layers[-'a']",
        "self.layers[{1: []}]",
        "type(self, x).lr",
        "(a := b).c",
        "self.\0",
    ],
)
def test_anything_else_is_no_place(text):
    assert parsed(text) is None


def test_a_place_is_compared_in_the_form_in_which_python_would_write_it():
    assert parsed('cfg[ "lr" ] . x') == Place("cfg['lr'].x", "cfg", (("item", "lr"), ("attr", "x")))
    assert normal('closure cfg["lr"] .x') == "cfg['lr'].x"


def test_a_label_that_python_could_not_write_is_compared_as_it_is():
    assert normal("globals of f") == "globals of f"


def test_a_label_loses_only_what_messages_put_before_it():
    assert without_prefix("closure rate") == "rate"
    assert without_prefix("default of closure") == "closure"
    assert without_prefix("closures") == "closures"


def test_a_place_given_to_jit_that_is_none_is_refused_at_once():
    with pytest.raises(ValueError, match="no place"):
        jit(lambda x: x, static="self.layers[i]")
