"""Tracebacks of errors that leave freshjit: the user's lines, and none of freshjit's own."""

import os
import traceback

import jax
import jax.numpy as jnp
import pytest

import freshjit
from freshjit import State, functionalize, jit
from freshjit.errors import FreshjitError, StaleCompiledError, UnsupportedStateError


@pytest.fixture(autouse=True)
def filtering(strict_jax):
    jax.config.update("jax_traceback_filtering", "auto")


OURS = os.path.dirname(freshjit.__file__)


def frames_of(error):
    return traceback.extract_tb(error.__traceback__)


def own_frames(error):
    return [f for f in frames_of(error) if f.filename.startswith(OURS) or f.filename == "<freshjit program>"]


class Model:
    def __init__(self):
        self.w = jnp.ones(3)

    @jit
    def step(self, x):
        return self.helper(x)

    def helper(self, x):
        if x.ndim != 1:
            raise ValueError("mine")
        return x @ self.w


class Mapping:
    """A property that fails while state is read."""

    @property
    def w(self):
        raise LookupError("not there")


def bad_step():
    return Model().step(2.0)


def bad_shape():
    return Model().step(jnp.ones(2))


def bad_trace():
    return jit(Model().helper).trace(2.0)


def bad_gradient():
    return freshjit.grad(Model().helper)(2.0)


def bad_state():
    return State.read(lambda: Mapping().w)


def bad_functional():
    return functionalize(Model().helper).read(2.0)


@pytest.mark.parametrize("fails", [bad_step, bad_shape, bad_trace, bad_gradient, bad_state, bad_functional])
def test_only_the_users_frames_are_shown(fails):
    with pytest.raises((ValueError, TypeError, LookupError, FreshjitError)) as error:
        fails()
    assert own_frames(error.value) == []
    assert fails.__name__ in [f.name for f in frames_of(error.value)]


def test_the_lines_are_those_of_plain_python():
    """The same frames in the same order, with the same lines."""

    def shown(function):
        model = Model()
        with pytest.raises(ValueError, match="mine") as error:
            function(model)
        return [(f.name, f.line) for f in frames_of(error.value)][2:]

    assert shown(lambda m: m.step(2.0)) == shown(lambda m: Model.step.__wrapped__(m, jnp.float32(2.0)))


def test_an_error_of_freshjits_own_ends_at_the_users_line():
    model = Model()
    model.items = iter([1.0])

    def reads(x):
        return x + next(model.items)

    with pytest.raises(UnsupportedStateError) as error:
        jit(reads)(1.0)
    assert own_frames(error.value) == []
    assert frames_of(error.value)[-1].line == "return x + next(model.items)"


def test_an_error_at_a_call_that_is_compiled_already_shows_no_generated_code():
    model = Model()
    model.step(jnp.ones(3))
    with jax.debug_nans(True), pytest.raises(FloatingPointError) as error:
        model.step(jnp.full(3, jnp.nan))
    assert own_frames(error.value) == []


def test_ahead_of_time_compiled_programs_show_none_either():
    flag = True
    compiled = jit(lambda x: x if flag else -x).lower(1.0).compile()
    flag = False
    with pytest.raises(StaleCompiledError) as error:
        compiled(1.0)
    assert own_frames(error.value) == []


def test_causes_and_contexts_show_none():
    @jit
    def reworded(x):
        try:
            return Model().helper(x)
        except ValueError as error:
            raise RuntimeError("reworded") from error

    with pytest.raises(RuntimeError) as error:
        reworded(2.0)
    assert isinstance(error.value.__cause__, ValueError)
    assert own_frames(error.value.__cause__) == []


def test_an_error_that_goes_through_two_jitted_functions_shows_both_users():
    inner = jit(lambda x: Model().helper(x))

    @jit
    def outer(x):
        return inner(x)

    with pytest.raises(ValueError, match="mine") as error:
        outer(2.0)
    assert own_frames(error.value) == []
    assert [f.name for f in frames_of(error.value)][-3:] == ["outer", "<lambda>", "helper"]


def test_all_frames_are_shown_when_jax_is_told_so():
    jax.config.update("jax_traceback_filtering", "off")
    with pytest.raises(ValueError, match="mine") as error:
        bad_step()
    assert own_frames(error.value)
