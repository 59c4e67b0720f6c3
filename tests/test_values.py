"""Which values are compared by type and bits, and that the comparison is exact."""

import datetime
import decimal
import enum
import fractions
import math
import pathlib
import re
import struct
import uuid

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshjit.state.values import is_plain, is_value_like, same_value

QUIET_NAN = math.nan
OTHER_NAN = struct.unpack("d", struct.pack("Q", 0x7FF8000000000001))[0]


def readable(value):
    """A test's name, the same in every process (no addresses, no order of a set)."""
    return repr(value) if is_plain(value) else None


class Colour(enum.Enum):
    RED = 1


class Number(int):
    pass


@pytest.mark.parametrize(
    "value", [None, True, 1, 1.0, 1j, "a", b"a", ..., NotImplemented, range(3), slice(1, 2)], ids=readable
)
def test_plain_values(value):
    assert is_plain(value)
    assert same_value(value, value)


@pytest.mark.parametrize(
    "value",
    [[], (), {}, set(), Number(1), np.float32(1), np.ones(1), object(), int, Colour.RED, len],
    ids=readable,
)
def test_not_plain(value):
    assert not is_plain(value)


@pytest.mark.parametrize(
    "value",
    [
        np.dtype("int8"),
        jnp.dtype("bfloat16"),
        jax.sharding.PartitionSpec("x"),
        jax.sharding.SingleDeviceSharding(jax.devices()[0]),
        jax.ShapeDtypeStruct((2,), jnp.float32),
        jax.tree.structure([1, 2]),
        datetime.date(2020, 1, 1),
        datetime.timedelta(1),
        decimal.Decimal("1.0"),
        fractions.Fraction(1, 2),
        pathlib.Path("a"),
        re.compile("a"),
        uuid.UUID(int=1),
        Colour.RED,
    ],
    ids=lambda v: type(v).__name__,
)
def test_values_of_libraries(value):
    assert is_value_like(value)
    assert not is_plain(value)


def test_users_objects_are_not_values():
    class Equal:
        def __eq__(self, other):
            return True

        __hash__ = None

    assert not is_value_like(Equal())
    assert not is_plain(Equal())


NOON = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)

DIFFERENT = [
    (1, True),
    (1, 1.0),
    (0, False),
    (1.0, 1 + 0j),
    (0.0, -0.0),
    (complex(0.0, 0.0), complex(0.0, -0.0)),
    (QUIET_NAN, 0.0),
    (QUIET_NAN, OTHER_NAN),
    ("a", b"a"),
    (None, False),
    ((1,), (True,)),
    ((1,), (1, 1)),
    ((1, (2.0,)), (1, (2,))),
    (((0.0,),), ((-0.0,),)),
    (frozenset({1}), frozenset({True})),
    (frozenset({1}), frozenset({1.0})),
    (frozenset({0.0}), frozenset({-0.0})),
    (frozenset({(1,)}), frozenset({(True,)})),
    (frozenset([0, 8]), frozenset([8, 0])),  # gone over in another order
    (slice(1), slice(True)),
    (slice(0.0), slice(-0.0)),
    (range(2), range(3)),
    (range(0, 3, 2), range(0, 4, 2)),
    (np.float32(1), np.float64(1)),
    (np.float32(0.0), np.float32(-0.0)),
    (np.int32(1), np.int64(1)),
    (np.bool_(True), True),
    (1, Number(1)),
    (datetime.timedelta(0), datetime.timedelta(1)),
    (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
    (datetime.time(12), datetime.time(12, fold=1)),
    (NOON, NOON.astimezone(datetime.timezone(datetime.timedelta(hours=1)))),
    (datetime.timezone(datetime.timedelta(0), "X"), datetime.timezone(datetime.timedelta(0), "Y")),
    (pathlib.PureWindowsPath("A"), pathlib.PureWindowsPath("a")),
]


@pytest.mark.parametrize(("a", "b"), DIFFERENT, ids=readable)
def test_values_that_a_computation_can_tell_apart_differ(a, b):
    assert not same_value(a, b)
    assert not same_value(b, a)


SAME = [
    (math.nan, float("nan")),
    (complex(math.nan, 1), complex(math.nan, 1)),
    ((math.nan, 0.0), (float("nan"), 0.0)),
    (10**30, 10**30),
    ("ab", "".join("ab")),
    (slice(1, None, 2), slice(1, None, 2)),
    (range(3), range(0, 3, 1)),
    (frozenset([1, 2]), frozenset([2, 1])),
    (np.float32(math.nan), np.float32(math.nan)),
    (np.float64(1.5), np.float64(1.5)),
    (NOON, datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(0)))),
    ((1, (2.0, "x", None)), (1, (2.0, "x", None))),
]


@pytest.mark.parametrize(("a", "b"), SAME, ids=readable)
def test_same_values_made_twice_are_the_same(a, b):
    assert same_value(a, b)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, -0.0, 1.0, 2.0, math.nan, math.inf])
    | st.complex_numbers(max_magnitude=2, allow_nan=False)
    | st.sampled_from(["", "a", b"", b"a"]),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


def exact(value):
    """Another way to write down a value, type and sign of zero included."""
    if isinstance(value, tuple):
        return ("tuple", *map(exact, value))
    return type(value).__name__, repr(value)


@given(plain, plain)
def test_sameness_is_sameness_of_type_and_printed_form(a, b):
    assert same_value(a, b) == (exact(a) == exact(b))
    assert same_value(a, a)
