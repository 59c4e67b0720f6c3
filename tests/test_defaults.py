"""What Python does by itself for objects whose class lacks a special method, and what shows that it did."""

import pytest

from freshjit import jit
from freshjit.state import defaults


@pytest.mark.parametrize(
    ("found", "operation", "names", "before"),
    [
        ("__add__", "add", (), []),
        ("__add__", "iadd", (), ["__iadd__"]),
        ("__add__", "call", ("sum",), []),
        ("__add__", "call", ("iadd",), ["__iadd__"]),
        ("__iter__", "contains", (), ["__contains__"]),
        ("__iter__", "", (), []),
        ("__getitem__", "getitem", (), []),
        ("__getitem__", "contains", (), ["__contains__", "__iter__"]),
        ("__getitem__", "", (), ["__iter__"]),
        ("__getitem__", "call", ("reversed",), ["__iter__", "__reversed__"]),
        ("__eq__", "eq", (), []),
        ("__eq__", "ne", (), ["__ne__"]),
        ("__repr__", "repr", (), []),
        ("__repr__", "str", (), ["__str__"]),
        ("__repr__", "format", (), ["__str__", "__format__"]),
        ("__repr__", "mod", (), ["__str__"]),
        ("__str__", "call", ("str",), []),
        ("__index__", "getitem", (), []),
        ("__index__", "imul", (), ["__mul__", "__imul__", "__rmul__"]),
        ("__jax_array__", "lt", (), ["__lt__"]),
        ("__jax_array__", "call", ("multiply",), []),
        ("__init__", "call", (), ["__new__"]),
        ("__len__", "call", ("bool",), []),
    ],
)
def test_what_was_asked_before_tells_by_the_instruction(found, operation, names, before):
    assert defaults.asked_before(found, operation, names) == before


@pytest.mark.parametrize(
    ("found", "operation", "before"),
    [
        ("__radd__", "add", ["__add__"]),
        ("__radd__", "iadd", ["__add__", "__iadd__"]),
        ("__radd__", "attribute", []),
        ("__gt__", "lt", ["__lt__"]),
        ("__gt__", "gt", []),
        ("__gt__", "call", ["__lt__"]),  # sorted
        ("__add__", "add", []),
    ],
)
def test_a_reflected_method_tells_what_the_left_operand_lacks(found, operation, before):
    assert defaults.asked_of_other(found, operation, ()) == before


def entry_of(cls):
    """What a class has under a name, by Python's rules."""

    def entry(name):
        return next(vars(base)[name] for base in cls.__mro__ if name in vars(base))

    def found(name):
        try:
            return entry(name)
        except StopIteration:
            raise KeyError(name) from None

    return found


class Plain:
    pass


class Sized:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size


class MadeOfAnything:
    def __new__(cls, *args):
        return object.__new__(cls)


@pytest.mark.parametrize("thing", [Plain(), Sized(0), Sized(2)])
def test_truth_is_that_of_python(thing):
    assert defaults.Truth(thing, entry_of(type(thing)))() is bool(thing)


@pytest.mark.parametrize("thing", [Plain(), Sized(0), MadeOfAnything()])
@pytest.mark.parametrize("args", [(), (1,)])
def test_object_init_takes_and_refuses_arguments_as_that_of_python(thing, args):
    init = defaults.stand_in("__init__", object.__init__, thing, entry_of(type(thing)))

    def outcome(function):
        try:
            return function(*args)
        except TypeError as error:
            return str(error).replace("object.__init__() takes exactly one argument", "()")

    assert (outcome(init) is None) is (outcome(lambda *args: object.__init__(thing, *args)) is None)


def special_guards(function):
    (program,) = function._store.programs
    return [
        guard
        for guard in program.guards
        if guard.kind == "methodless" or getattr(guard.value, "__objclass__", None) is object
    ]


class Layer:
    rate = 2.0

    def __init__(self):
        self.w = 3.0

    def __call__(self, x):
        return self.scaled(x) * self.w

    def scaled(self, x):
        return x * self.rate


def test_code_that_uses_no_default_has_no_guard_for_one():
    layers = [Layer(), Layer()]

    @jit
    def step(x):
        for layer in layers:
            if layer is not None:
                x = layer(x)
        return x

    assert float(step(1.0)) == 36.0
    assert [str(guard.path) for guard in special_guards(step)] == []


def test_a_default_that_is_used_is_one_guard_for_its_class():
    layers = [Layer(), Layer()]

    @jit
    def step(x):
        for layer in layers:
            if layer == "it":
                x = -x
        return layers[0](x)

    assert float(step(1.0)) == 6.0
    (guard,) = special_guards(step)
    assert guard.value is object.__eq__
    assert str(guard.path) == "closure layers[0].__eq__"


def test_a_guard_for_a_method_that_is_missing_says_which():
    layer = Layer()
    step = jit(lambda x: x if layer else -x)
    step(1.0)
    places = [guard.place for guard in special_guards(step) if guard.kind == "methodless"]
    assert places == ["type(closure layer).__bool__", "type(closure layer).__len__"]
