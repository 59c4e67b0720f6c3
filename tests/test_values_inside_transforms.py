"""Python may look at the value of captured arrays inside the functions of jax.lax as well as outside."""

import jax
import jax.numpy as jnp
import pytest

from freshjit import jit


class Box:
    pass


X = jnp.array([1.0, 2.0])


def scan(f, x):
    return jax.lax.scan(lambda c, t: (f(c), t), x, jnp.zeros(2))[0]


def fori_loop(f, x):
    return jax.lax.fori_loop(0, 2, lambda i, c: f(c), x)


def while_loop(f, x):
    return jax.lax.while_loop(lambda p: p[0] < 2, lambda p: (p[0] + 1, f(p[1])), (0, x))[1]


def cond(f, x):
    return jax.lax.cond(x[0] > 0, lambda v: f(f(v)), lambda v: v, x)


def switch(f, x):
    return jax.lax.switch(jnp.int32(x[0]), [lambda v: v, lambda v: f(f(v))], x)


def checkpoint(f, x):
    return jax.checkpoint(lambda v: f(f(v)))(x)


def nested(f, x):
    return jax.lax.scan(lambda c, t: (cond(f, c), t), x, jnp.zeros(1))[0]


TRANSFORMS = [scan, fori_loop, while_loop, cond, switch, checkpoint, nested]


@pytest.mark.parametrize("twice", TRANSFORMS)
def test_a_branch_on_a_captured_array_follows_its_contents(twice):
    box = Box()
    box.limit, box.unread = jnp.array([0.5, 3.0]), jnp.zeros(2)

    @jit
    def run(x):
        def f(v):
            if box.limit[0] > 1 or float((box.limit * 2).sum()) > 20:
                return v * 10
            return v + box.limit

        return twice(f, x)

    assert run(X).tolist() == [2.0, 8.0]
    box.limit = jnp.array([2.0, 2.0])
    assert run(X).tolist() == [100.0, 200.0]
    box.limit = jnp.array([0.5, 30.0])
    assert run(X).tolist() == [100.0, 200.0]
    box.limit = jnp.array([0.5, 1.0])
    assert run(X).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("twice", TRANSFORMS)
def test_a_branch_on_what_depends_on_an_argument_is_jaxs_error(twice):
    box = Box()
    box.limit = jnp.array([0.5, 3.0])
    wrong = (jax.errors.TracerBoolConversionError, jax.errors.ConcretizationTypeError)
    with pytest.raises(wrong):
        jit(lambda x: twice(lambda v: v if v[0] > box.limit[0] else -v, x))(X)
    with pytest.raises(wrong):
        jit(lambda x: twice(lambda v: v if x[0] > box.limit[0] else -v, x))(X)


def test_state_that_the_loop_itself_changes_has_no_value_to_look_at():
    box = Box()
    box.n = jnp.float32(0.0)

    def body(c, t):
        box.n = box.n + 1
        return (c + 1 if box.n > 1 else c), t

    with pytest.raises(jax.errors.TracerBoolConversionError):
        jit(lambda x: jax.lax.scan(body, x, X))(0.0)
    assert box.n == 0


def test_a_number_read_inside_may_index_and_shape():
    box = Box()
    box.n, box.table = jnp.int32(1), jnp.array([5.0, 7.0, 9.0])

    @jit
    def run(x):
        def body(c, t):
            return c + box.table[int(box.n)] + jnp.ones(int(box.n) + 1).sum(), t

        return jax.lax.scan(body, x, X)[0]

    assert run(0.0) == 18.0
    box.n = jnp.int32(2)
    assert run(0.0) == 24.0
