"""Class hooks: in place only while somebody needs them, and without effect on everybody else."""

import collections
import copy
import dataclasses
import enum
import functools
import inspect
import types

import jax
import jax.numpy as jnp
import pytest
from tests.support import changed_entries, class_namespaces

from freshjit import jit
from freshjit.state.active import thread
from freshjit.state.hooks import (
    ClassEntry,
    Hooks,
    can_hook,
    class_entry,
    hooked_classes,
    original_entries,
    unwrap,
)


class Meta(type):
    @property
    def kind(cls):
        return cls.__name__.lower()


class Base:
    level = 1

    def __init__(self):
        self.w = 2

    def method(self):
        return self.w * self.level

    @classmethod
    def of_class(cls):
        return cls.__name__

    @staticmethod
    def of_nobody(x):
        return x + 1

    @property
    def half(self):
        return self.w / 2

    @half.setter
    def half(self, value):
        self.w = value * 2

    @functools.cached_property
    def cached(self):
        return [self.w]

    def __call__(self, x):
        return self.w + x

    def __len__(self):
        return 7

    def __eq__(self, other):
        return isinstance(other, Base)

    def __hash__(self):
        return 1


class Child(Base, metaclass=Meta):
    __slots__ = ("slot",)

    def method(self):
        return super().method() + 100

    def __getattr__(self, name):
        if name.startswith("magic"):
            return name
        raise AttributeError(name)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


@pytest.fixture
def hooks():
    installed = Hooks()
    behaviour()  # Python leaves notes in classes: copies do, and so may isinstance with protocols
    classes = (Base, Child, Bare, Numbered, Arguing, Unhashable)
    before = class_namespaces(*classes)
    yield installed
    installed.remove()
    assert not changed_entries(before, *classes)


def behaviour():
    """Everything that eager code can see of the classes."""
    a, c = Base(), Child()
    c.slot = 5
    c.half = 4
    a.extra = 1
    del a.extra
    return [
        a.method(),
        c.method(),
        c.of_class(),
        Child.of_class(),
        a.of_nobody(1),
        c.half,
        c.w,
        c.cached is c.cached,
        a(3),
        len(a),
        a == c,
        hash(a),
        c.slot,
        c.magic_name,
        Child.kind,
        Child.level,
        hasattr(a, "extra"),
        hasattr(c, "nothing"),
        isinstance(c, Base),
        issubclass(Child, Base),
        type(c) is Child,
        Child.__mro__ == (Child, Base, object),
        bool(a),
        callable(c),
        sorted(vars(c)),
        defaults(),
    ]


class Bare:
    pass


class Numbered(Bare, int):
    pass


class Arguing(Bare):
    def __new__(cls, *args):
        return object.__new__(cls)


class Unhashable(Bare, list):
    pass


def answer_or_error(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return repr(error)


def defaults():
    """What Python does by itself for classes without special methods of their own."""
    one, other = Bare(), Bare()
    cases = [
        (bool, one),
        (bool, Numbered(0)),
        (bool, Unhashable()),
        (bool, Unhashable([1])),
        (hash, Numbered(7)),
        (hash, Unhashable()),
        (Bare, 1),
        (lambda: type(Arguing(1))),
        (lambda: one.__bool__),
        (lambda: Bare.__bool__),
        (lambda: one.__copy__),
        (lambda: one < other),
        (len, one),
        (iter, one),
    ]
    return [
        *(answer_or_error(*case) if isinstance(case, tuple) else answer_or_error(case) for case in cases),
        one == one,
        one == other,
        one != other,
        {one: 1}[one],
        repr(one) == object.__repr__(one) == str(one) == f"{one}",
        Numbered(3) == 3,
        f"{Numbered(3):03}",
        type(copy.copy(one)) is Bare,
        hasattr(one, "__bool__"),
        hasattr(Bare, "__bool__"),
        isinstance(one, collections.abc.Hashable),
        isinstance(one, collections.abc.Sized),
        inspect.signature(Bare) == inspect.Signature(),
    ]


def test_nothing_changes_for_eager_code_while_classes_are_hooked(hooks):
    wanted = behaviour()
    for cls in (Child, Numbered, Arguing, Unhashable):
        hooks.add(cls)
    assert Child in hooks
    assert Base in hooks
    assert behaviour() == wanted
    hooks.remove()
    assert behaviour() == wanted


def test_hooks_are_installed_on_the_class_and_its_bases(hooks):
    hooks.add(Child)
    assert isinstance(Base.__dict__["method"], ClassEntry)
    assert isinstance(Child.__dict__["method"], ClassEntry)
    assert "__getattribute__" in Base.__dict__
    assert {Base, Child} <= set(hooked_classes)


def test_removal_restores_the_very_same_entries(hooks):
    before = class_namespaces(Base, Child)
    hooks.add(Child)
    hooks.add(Base)
    hooks.remove()
    assert not changed_entries(before, Base, Child)
    assert Base not in hooks
    assert not hooked_classes


def test_hooks_stay_until_the_last_user_has_gone():
    first, second = Hooks(), Hooks()
    before = class_namespaces(Base)
    first.add(Base)
    second.add(Base)
    first.remove()
    assert isinstance(Base.__dict__["method"], ClassEntry)
    second.remove()
    assert not changed_entries(before, Base)


def test_removing_twice_is_harmless():
    hooks = Hooks()
    hooks.add(Base)
    hooks.remove()
    hooks.remove()


def test_adding_twice_counts_once():
    hooks, before = Hooks(), class_namespaces(Base)
    hooks.add(Base)
    hooks.add(Base)
    hooks.remove()
    assert not changed_entries(before, Base)


def test_class_changed_meanwhile_keeps_the_change():
    class Settings:
        rate = 1

        def method(self):
            return 1

    hooks = Hooks()
    hooks.add(Settings)
    Settings.rate = 2
    Settings.method = lambda self: 2
    Settings.added = 3
    hooks.remove()
    assert (Settings.rate, Settings().method(), Settings.added) == (2, 2, 3)
    assert not any(isinstance(v, ClassEntry) for v in vars(Settings).values())


def test_entry_deleted_meanwhile_stays_deleted():
    class Settings:
        rate = 1

    hooks = Hooks()
    hooks.add(Settings)
    del Settings.rate
    hooks.remove()
    assert not hasattr(Settings, "rate")


def test_original_entries_while_hooked(hooks):
    before = dict(Child.__dict__)
    hooks.add(Child)
    now = original_entries(Child)
    assert now.keys() == before.keys()
    assert all(now[k] is before[k] for k in before)
    assert class_entry(Child, "method") is before["method"]
    assert class_entry(Child, "__setattr__") is before["__setattr__"]
    assert class_entry(Base, "__setattr__") is object.__setattr__
    assert unwrap(Child.__dict__["method"]) is before["method"]


def test_class_entry_searches_the_mro():
    assert class_entry(Child, "half") is Base.__dict__["half"]
    with pytest.raises(KeyError):
        class_entry(Child, "no such entry")


@pytest.mark.parametrize(
    "cls", [int, list, dict, object, type, enum.Enum, jax.Array, collections.OrderedDict, types.FunctionType]
)
def test_classes_that_are_left_alone(cls):
    assert not can_hook(cls)


def test_classes_that_can_be_hooked():
    @dataclasses.dataclass(frozen=True)
    class Frozen:
        x: int

    class Listy(list):
        pass

    for cls in (Base, Child, Frozen, Listy):
        assert can_hook(cls)


# -- during a capture -------------------------------------------------------------------------------


def test_no_capture_is_active_outside_of_calls():
    assert thread.capture is None
    jit(lambda x: x)(1.0)
    assert thread.capture is None


@pytest.mark.leaks
def test_class_dictionaries_are_identical_after_a_call():
    class Model(Base):
        def __init__(self):
            super().__init__()
            self.array = jnp.ones(2)

        def step(self, x):
            self.w += 1
            self.half = 3
            return self.array * x + self.level + len(self) + self(1)

    model = Model()
    before = class_namespaces(Model, Base)
    step = jit(model.step)
    assert step(2.0).tolist() == [17.0, 17.0]
    assert not changed_entries(before, Model, Base)
    assert model.w == 6
    assert thread.capture is None


def test_other_instances_of_a_hooked_class_behave_as_always_inside():
    @jit
    def f(x):
        fresh = Child()
        fresh.slot = x
        fresh.half = 4
        return fresh.slot * fresh.w + fresh.method() + len(fresh)

    before = class_namespaces(Base, Child)
    assert float(f(2.0)) == 16 + 108 + 7
    assert not changed_entries(before, Base, Child)


def test_exception_inside_removes_hooks():
    model = Child()
    before = class_namespaces(Base, Child)

    @jit
    def f(x):
        model.half = 5
        raise RuntimeError

    with pytest.raises(RuntimeError):
        f(1.0)
    assert not changed_entries(before, Base, Child)
    assert model.w == 2
    assert thread.capture is None


def test_class_made_and_dropped_inside():
    @jit
    def f(x):
        class Local:
            k = 2.0

            def times(self, v):
                return v * self.k

        return Local().times(x)

    assert float(f(3.0)) == 6.0
    assert float(f(4.0)) == 8.0


def test_class_attribute_written_inside_is_read_back_through_an_instance_of_a_subclass():
    class Settings:
        rate = 1.0
        mode = "slow"

    class Special(Settings):
        def name(self):
            return super().mode

    special = Special()

    @jit
    def f(x):
        Settings.rate, Settings.mode = Settings.rate * 2, Settings.mode + "er"
        return x * special.rate, special.mode, Special.mode, special.name()

    assert f(1.0)[1:] == ("slower",) * 3
    assert float(f(1.0)[0]) == Settings.rate == 4.0
    assert Settings.mode == "slowerer"


def test_class_attribute_written_inside_is_committed_only_at_the_end():
    class Counter:
        total = 0

    seen = []

    @jit
    def f(x):
        Counter.total += 1
        note(vars(Counter)["total"])
        return x

    def note(value):
        seen.append(1)

    before = class_namespaces(Counter)[0].keys()
    f(1.0)
    f(1.0)
    assert Counter.total == 2
    assert vars(Counter)["total"] == 2
    assert vars(Counter).keys() == before
