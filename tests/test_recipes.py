"""Recipes: what is inside one."""

import dataclasses

import pytest

from freshjit.state import recipes
from freshjit.state.recipes import New, NewDict, NewList, NewObject, Output

KINDS = [kind for kind in vars(recipes).values() if isinstance(kind, type) and issubclass(kind, New)]

# Contents of a field by its type, made of two recipes.
CONTENTS = {
    "Recipe": lambda a, b: a,
    "Recipe | None": lambda a, b: a,
    "Reference | New | None": lambda a, b: a,
    "list[Recipe]": lambda a, b: [a, b],
    "dict[str, Recipe]": lambda a, b: {"a": a, "b": b},
    "Pairs": lambda a, b: [(a, b)],
}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not New], ids=lambda kind: kind.__name__)
def test_every_recipe_that_an_object_is_made_of_is_inside_it_in_order(kind):
    new = object.__new__(kind)
    expected = []
    for field in dataclasses.fields(kind):
        assert "Recipe" not in field.type or field.type in CONTENTS
        a, b = Output(len(expected)), Output(len(expected) + 1)
        if field.type in CONTENTS:
            contents = CONTENTS[field.type](a, b)
            setattr(new, field.name, contents)
            expected += [a] if contents is a else [a, b]
    assert list(new.inside()) == expected


def test_recipes_that_appear_twice_or_inside_themselves_are_gone_through_once():
    shared = NewList([Output(0)])
    shared.items.append(shared)
    found = list(recipes.walk([NewDict(recipes.Constant(dict), [(Output(1), shared)]), shared]))
    assert sorted(recipe.index for recipe in found if isinstance(recipe, Output)) == [0, 1]


def test_a_chain_of_recipes_may_be_as_long_as_it_likes():
    recipe = Output(0)
    for _ in range(5000):
        recipe = NewObject(recipes.Constant(object), attributes={"next": recipe})
    assert sum(isinstance(found, New) for found in recipes.walk([recipe])) == 5000
