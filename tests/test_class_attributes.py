"""Class attributes that are assigned inside transforms: the state goes through, as an instance's does."""

import jax
import jax.numpy as jnp
import pytest

from freshjit import LeakedWriteError, jit


def model_class():
    class Model:
        total = jnp.zeros(2)
        steps = jnp.int32(0)
        name = "first"

    return Model


X = jnp.array([1.0, 2.0])


def test_a_class_attribute_written_inside_grad_is_written_with_the_primal_value():
    model = model_class()

    @jit
    def slope(x):
        def loss(u):
            model.total = model.total + u
            model.name = "second"
            return jnp.sum(u * u)

        return jax.grad(loss)(x), model.total

    for k in (1.0, 2.0, 3.0):
        assert slope(X)[1].tolist() == (k * X).tolist() == model.total.tolist()
    assert model.name == "second"


def test_a_class_attribute_written_inside_scan_is_carried_from_round_to_round():
    model = model_class()

    @jit
    def run(x):
        def body(carry, t):
            model.steps = model.steps + 1
            model.total = 0.5 * model.total + t
            return carry, model.steps

        return jax.lax.scan(body, 0.0, jnp.stack([x, 2 * x]))[1]

    assert run(X).tolist() == [1, 2]
    assert model.total.tolist() == [2.5, 5.0]
    model.steps = jnp.int32(10)
    assert run(X).tolist() == [11, 12]
    assert model.steps == 12


def test_a_class_attribute_written_inside_one_branch_of_cond_keeps_its_value_in_the_other():
    model = model_class()

    @jit
    def choose(x):
        def yes(c):
            model.total = c
            return c * 2

        return jax.lax.cond(x[0] > 0, yes, lambda c: c + model.total, x)

    assert choose(X).tolist() == [2.0, 4.0]
    assert choose(-X).tolist() == [0.0, 0.0]
    assert model.total.tolist() == [1.0, 2.0]


def test_a_class_attribute_written_inside_vmap_may_not_differ_along_the_batch():
    model = model_class()

    @jit
    def same(xs):
        def one(x):
            model.steps = model.steps * 2 + 1
            model.added = "new"
            return x * model.steps

        return jax.vmap(one)(xs)

    assert same(X).tolist() == [1.0, 2.0]
    assert (int(model.steps), model.added) == (1, "new")

    @jit
    def differs(xs):
        def one(x):
            model.total = x
            return x

        return jax.vmap(one)(xs)

    with pytest.raises(LeakedWriteError, match=r"Model\.total"):
        differs(X)
    assert model.total.tolist() == [0.0, 0.0]


def test_a_class_attribute_that_an_error_inside_a_transform_takes_back_stays_as_it_was():
    model = model_class()

    @jit
    def tries(x):
        def loss(u):
            model.total = u
            raise KeyError("no")

        try:
            jax.grad(loss)(x)
        except KeyError:
            return model.total + x

    assert tries(X).tolist() == X.tolist()
    assert model.total.tolist() == [0.0, 0.0]


def test_an_attribute_on_an_instance_of_the_class_is_not_confused_with_the_class_attribute():
    class Counter:
        n = jnp.int32(0)

    counter = Counter()

    @jit
    def run(xs):
        def body(c, x):
            Counter.n = Counter.n + 1
            counter.m = counter.m + Counter.n
            return c, counter.n

        return jax.lax.scan(body, 0.0, xs)[1]

    counter.m = jnp.int32(0)
    assert run(X).tolist() == [1, 2]
    counter.n = jnp.int32(7)
    assert run(X).tolist() == [7, 7]
    assert (int(Counter.n), int(counter.m)) == (4, 10)


def test_vars_and_dir_of_a_class_follow_its_entries():
    def program(jit):
        class Base:
            zero = 0.5

        class Config(Base):
            rate, w = 0.5, jnp.ones(2)

            @property
            def doubled(self):
                return 2 * self.rate

            def method(self):
                return self.rate

        @jit
        def by_vars(x):
            named = {n: v for n, v in vars(Config).items() if n in ("rate", "w", "more")}
            for value in named.values():
                x = x * value
            return x, list(named), callable(vars(Config)["method"])

        @jit
        def by_dir(x):
            return (
                x,
                [n for n in dir(Config) if not n.startswith("_")],
                [n for n in dir(Config()) if n == "late"],
            )

        rows = []

        def look():
            value, names, found = by_vars(jnp.ones(2))
            rows.append((value.tolist(), names, found, by_dir(1.0)[1:]))

        look()
        Config.rate = 2.0
        look()
        Config.more = 3.0
        look()
        Config.w = Config.w + 1
        look()
        Base.late = 1
        look()
        del Config.more
        look()
        return rows

    assert program(jit) == program(lambda f: f)


def test_vars_without_argument_are_the_local_variables():
    @jit
    def step(x):
        y = 2
        return sorted(vars()), dir(), x * y

    assert step(1.0)[:2] == (["x", "y"], ["x", "y"])
