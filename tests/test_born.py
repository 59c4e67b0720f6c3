"""Things made during the call (objects, lists, dicts, local variables) and changed inside a transform.

Eager JAX leaves a tracer in them; here they hold what came out of the transform, like captured state.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from freshjit import UnsupportedStateError, jit


class Env:
    def __init__(self, place):
        self.place = place
        self.log = {"last": place}
        self.names = []


@dataclass(slots=True)
class Point:
    x: jax.Array


XS = jnp.array([1.0, 2.0, 3.0])


def test_new_object_put_into_state_is_carried_through_scan():
    class Agent:
        def __init__(self):
            self.env, self.calls, self.rate = Env(jnp.array(1.0)), 0, 0.5

        @jit
        def examine(self, xs):
            training, self.env = self.env, Env(jnp.array(0.0))

            def body(_, x):
                self.env.place = self.env.place + self.rate * x
                self.env.log["last"] = x
                self.calls += 1
                return None, self.env.place

            places = jax.lax.scan(body, None, xs)[1]
            found, self.env = self.env, training
            return places, found.place, found.log["last"]

    agent = Agent()
    for rate, wanted in ((0.5, [0.5, 1.5, 3.0]), (2.0, [2.0, 6.0, 12.0])):
        agent.rate = rate
        places, place, last = agent.examine(XS)
        assert places.tolist() == wanted
        assert (float(place), float(last), float(agent.env.place)) == (wanted[-1], 3.0, 1.0)
    assert int(agent.calls) == 6


def test_local_variables_lists_and_slots_are_carried_through_loops():
    @jit
    def f(x):
        best, seen, point = jnp.array(0.0), [jnp.array(0.0)], Point(jnp.array(1.0))

        def body(i, carry):
            nonlocal best
            best = jnp.maximum(best, carry)
            seen[0] = seen[0] + best
            point.x = point.x * 2
            return carry + x

        return jax.lax.fori_loop(0, 3, body, x), best, seen[0], point

    assert [float(v) for v in jax.tree.leaves(f(2.0)[:3])] == [8.0, 6.0, 12.0]
    assert float(f(0.5)[3].x) == 8.0


def test_local_list_grows_and_dict_is_filled_inside_grad():
    @jit
    def f(x):
        kept, shared = [], {}

        def loss(x):
            h = 0.5 * x
            kept.append(h)
            shared["h"] = Point(h + 1)
            return jnp.sum(h**2)

        gradient = jax.grad(loss)(x)
        return gradient, kept, shared["h"].x

    gradient, kept, h = f(XS)
    np.testing.assert_allclose(gradient, 0.5 * XS)
    np.testing.assert_allclose(kept[0], 0.5 * XS)
    np.testing.assert_allclose(h, 0.5 * XS + 1)


def test_new_object_changed_in_branches():
    @jit
    def f(x):
        env = Env(x)

        def up():
            env.place = env.place + 10

        def down():
            env.place = env.place - 10

        jax.lax.cond(x > 0, up, down)
        return env.place

    assert (float(f(1.0)), float(f(-1.0))) == (11.0, -11.0)


def test_what_is_made_inside_the_mapped_function_may_differ_along_the_batch():
    @jit
    def f(xs):
        def one(x):
            inner = [x]

            def double(i, carry):
                inner[0] = inner[0] * 2
                return carry

            jax.lax.fori_loop(0, 2, double, 0.0)
            return inner[0]

        return jax.vmap(one)(xs)

    assert f(XS).tolist() == [4.0, 8.0, 12.0]


def test_python_values_of_new_things_change_while_tracing_as_in_jax():
    @jit
    def f(xs):
        names, counter = [], {"n": 0}

        def body(carry, x):
            names.append("layer")
            counter["n"] += 1
            return carry + x, f"{names[0]}_{counter['n']}" and x

        total = jax.lax.scan(body, 0.0, xs)[0]
        return total, len(names), counter["n"]

    assert [float(v) for v in f(XS)] == [6.0, 1, 1]


def test_error_inside_the_transform_leaves_new_things_as_they_were():
    @jit
    def f(x):
        kept = [x]

        def loss(x):
            kept[0] = x * 2
            raise KeyError

        try:
            jax.grad(loss)(x)
        except KeyError:
            pass
        return kept[0]

    assert float(f(3.0)) == 3.0


def test_new_list_that_grows_by_arrays_in_a_loop_is_an_error_that_says_so():
    @jit
    def f(xs):
        kept = []

        def body(carry, x):
            kept.append(x)
            return carry, x

        jax.lax.scan(body, 0.0, xs)
        return kept[0]

    with pytest.raises(UnsupportedStateError, match="kept is made, or grows, inside a loop"):
        f(XS)
