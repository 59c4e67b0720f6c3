"""Paths print as Python, read what they say, and are the same object for the same steps."""

import collections
import gc
import types
import weakref

import pytest

from freshjit.programs import checks
from freshjit.state.held import GONE
from freshjit.state.path import Path

SELF = Path.root("args[0]", "self")


def read(path, root, **names):
    """Evaluate the path's code on ``root``, the way the probe does."""
    constants = {}

    def constant(value):
        name = f"k{len(constants)}"
        constants[name] = value
        return name

    def expression(p):
        if p.step == "root":
            return "root"
        if p.step == "constant":
            return p.code("", constant)
        return p.code(expression(p.parent), constant)

    code = expression(path)
    helpers = {"class_entry": checks.class_entry, "referents": gc.get_referents}
    return eval(code, {"root": root, **constants, **helpers, **names})


class Thing:
    rate = 3

    def __init__(self):
        self.layers = [1, {"w": 2}]
        self.__dict__["not a name"] = 4

    def method(self):
        return self


@pytest.mark.parametrize(
    ("path", "label"),
    [
        (SELF, "self"),
        (SELF.attr("x"), "self.x"),
        (SELF.attr("layers").item(1).attr("w"), "self.layers[1].w"),
        (SELF.attr("table").item("a"), "self.table['a']"),
        (SELF.attr("table").item((1, "b")), "self.table[(1, 'b')]"),
        (SELF.attr("not a name"), "getattr(self, 'not a name')"),
        (SELF.to("type"), "type(self)"),
        (SELF.to("type").to("classattr", "rate"), "type(self).rate"),
        (SELF.to("dict"), "vars(self)"),
        (SELF.to("dictitem", "x"), "self.x"),
        (SELF.to("rawitem", ("dict", "k")), "self['k']"),
        (SELF.to("elements", "set"), "self"),
        (SELF.to("values", "dict"), "self"),
        (SELF.to("mapping"), "self"),
        (SELF.to("call", (1, "a")), "self(1, 'a')"),
        (SELF.to("cell", 0, "closure weights"), "closure weights"),
        (SELF.to("cell", 0, "closure weights").to("contents").attr("w"), "closure weights.w"),
        (SELF.to("globals"), "globals of self"),
        (SELF.to("globals").to("item", "LR", "config.LR"), "config.LR"),
        (Path.constant(Thing, "Thing").attr("rate"), "Thing.rate"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_paths_print_as_python(path, label):
    assert str(path) == label
    assert path.label == label


def test_same_steps_give_the_same_path():
    root = Path.root("fn", "f")
    assert root.attr("a").item(0) is root.attr("a").item(0)
    assert root.to("attr", "a") is root.attr("a")
    assert root.attr("a") is not root.attr("b")
    assert root.attr("a") is not root.item("a")


def test_keys_that_compare_equal_are_different_steps():
    root = Path.root("fn", "f")
    paths = {id(root.item(k)) for k in (1, True, 1.0, "1", (1,), (True,))}
    assert len(paths) == 6


def test_unhashable_keys_go_by_identity():
    root, key = Path.root("fn", "f"), [1]
    assert root.to("call", (key,)) is root.to("call", (key,))
    assert root.to("call", (key,)) is not root.to("call", ([1],))


def test_paths_of_two_roots_are_different():
    assert Path.root("fn", "f").attr("a") is not Path.root("fn", "f").attr("a")


def test_first_label_stays():
    root = Path.root("fn", "f")
    first = root.to("attr", "a", "first")
    assert str(root.to("attr", "a", "second")) == "first"
    assert str(first.attr("b")) == "first.b"


def test_reading_attributes_and_items():
    thing = Thing()
    assert read(SELF.attr("layers").item(1).item("w"), thing) == 2
    assert read(SELF.attr("not a name"), thing) == 4
    assert read(SELF.to("dict"), thing) is thing.__dict__
    assert read(SELF.to("dictitem", "layers"), thing) is thing.layers
    assert read(SELF.to("type"), thing) is Thing


def test_reading_an_attribute_whose_name_is_a_keyword():
    holder = types.SimpleNamespace(**{"class": 1, "lambda": 2})
    assert read(SELF.attr("class"), holder) == 1
    assert read(SELF.attr("lambda"), holder) == 2


def test_reading_class_entries_without_binding():
    raw = read(SELF.to("type").to("classattr", "method"), Thing())
    assert raw is Thing.__dict__["method"]


def test_reading_of_containers_ignores_overridden_methods():
    class Loud(dict):
        def __getitem__(self, key):
            raise AssertionError

    assert read(SELF.to("rawitem", ("dict", "k")), Loud(k=1)) == 1


def test_reading_closures_and_globals():
    weights = [1, 2]

    def f():
        return weights

    cell = SELF.to("cell", 0, "closure weights")
    assert read(cell, f) is f.__closure__[0]
    assert read(cell.to("contents"), f) is weights
    assert read(SELF.to("globals"), f) is globals()


def test_reading_elements_past_the_methods_of_a_subclass():
    class Odd(dict):
        def __iter__(self):
            raise RuntimeError("never")

    assert read(SELF.to("elements", "dict"), Odd(a=1, b=2)) == ("a", "b")
    assert read(SELF.to("elements", "dict").item(1), Odd(a=1, b=2)) == "b"


def test_reading_the_values_of_a_dict_by_position():
    moved = collections.OrderedDict(a=1, b=2)
    moved.move_to_end("a")
    assert read(SELF.to("values", "OrderedDict").item(0), moved, OrderedDict=collections.OrderedDict) == 2


def test_a_path_keeps_no_object_alive():
    root = Path.root("fn", "f")
    thing = Thing()
    edge = collections.namedtuple("Edge", "start weight")(thing, 1)
    group = frozenset([thing])
    paths = [root.item(thing), root.item(edge), root.to("rawitem", ("dict", group))]
    called = root.to("callwith", ((thing,), (("to", thing),)))
    assert [p.index for p in paths] == [thing, edge, group]
    assert type(paths[1].index) is type(edge)
    assert root.item(thing) is paths[0]
    assert read(called, lambda first, to: (first, to)) == (thing, thing)
    reference = weakref.ref(thing)
    del thing, edge, group
    gc.collect()
    assert reference() is None
    assert paths[0].index is GONE


def test_a_path_by_position_as_one_by_key():
    root = Path.root("fn", "f")
    first, inner = Thing(), Thing()
    table = root.attr("table")
    place = table.to("values", "dict").item(0)
    within = place.attr("more").to("values", "dict").item(1)
    keyed = {place: table.item(first), within: place.attr("more").item(inner)}
    assert within.attr("w").by_key(keyed) is table.item(first).attr("more").item(inner).attr("w")
    assert table.by_key(keyed) is table
    assert root.by_key(keyed) is root


def test_reading_what_a_mapping_proxy_shows():
    table = {"a": 1}
    assert read(SELF.to("mapping"), types.MappingProxyType(table)) is table


def test_reading_calls():
    assert read(SELF.to("call", (2, 3)), pow) == 8


def test_reading_constants():
    marker = object()
    assert read(Path.constant(marker, "marker"), None) is marker


def test_string_keys_with_quotes_are_code_too():
    key = 'it\'s "quoted"\n'
    assert read(SELF.item(key), {key: 1}) == 1
    assert read(SELF.attr("layers").to("dictitem", "a'b"), types.SimpleNamespace(layers=_with("a'b", 5))) == 5


def _with(name, value):
    holder = types.SimpleNamespace()
    holder.__dict__[name] = value
    return holder
