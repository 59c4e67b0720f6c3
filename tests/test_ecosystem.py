"""Optimizers and layers of the libraries people combine with JAX, captured by a training step.

Each program trains for some steps, with changes between them (learning rate, mode, dropout rate, weights
replaced), once as plain Python and once jitted: all that it shows must be equal. Networks with batch
normalisation are trained by SGD: the gradient of a bias before it is nothing but rounding, which Adam would
blow up to steps of full size.
"""

import copy
import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.support import same

from freshjit import jit

X = jnp.asarray(np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32))
Y = jnp.asarray(np.random.default_rng(1).normal(size=(8, 2)).astype(np.float32))


@pytest.fixture(autouse=True)
def free_shapes():
    """The libraries add a vector to the rows of a matrix."""
    with jax.numpy_rank_promotion("allow"):
        yield


def library(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        pytest.skip(f"needs {name}")


def PLAIN(f):
    """The jit that does nothing: it defines the right value."""
    return f


def equal_to_eager(program):
    eager = program(PLAIN)
    assert same(program(jit), eager)


def carrying(value_and_grad, holder, *names):
    """For the eager run, where JAX leaves tracers in attributes written inside: handed out by hand."""

    def transform(loss):
        def with_state(*args):
            return loss(*args), [getattr(holder, name) for name in names]

        def call(*args):
            (value, state), gradient = value_and_grad(with_state, has_aux=True)(*args)
            for name, new in zip(names, state, strict=True):
                setattr(holder, name, new)
            return value, gradient

        return call

    return transform


def numbers(tree):
    """The arrays and numbers of a tree; keys as their bits."""
    return [
        jax.random.key_data(leaf)
        if jnp.issubdtype(getattr(leaf, "dtype", None), jax.dtypes.prng_key)
        else leaf
        for leaf in jax.tree.leaves(tree)
    ]


# -- Optax ------------------------------------------------------------------------------------------------


class Model:
    """A plain class with an optimizer of Optax."""

    def __init__(self, make):
        self.params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
        self.make = make
        self.optimizer = make()
        self.opt_state = self.optimizer.init(self.params)

    def loss(self, params, x, y):
        return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

    def step(self, x, y):
        import optax

        loss, gradient = jax.value_and_grad(self.loss)(self.params, x, y)
        updates, self.opt_state = self.optimizer.update(gradient, self.opt_state, self.params)
        self.params = optax.apply_updates(self.params, updates)
        return loss


def chain(optax):
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.1, 2, 10)
    return optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(schedule, weight_decay=0.01))


OPTIMIZERS = {
    "adam": lambda optax: optax.adam(0.1),
    "sgd with momentum": lambda optax: optax.sgd(0.1, momentum=0.9, nesterov=True),
    "chain with clipping and a schedule": chain,
    "masked": lambda optax: optax.chain(
        optax.masked(optax.add_decayed_weights(0.1), {"w": True, "b": False}), optax.sgd(0.1)
    ),
    "multi_transform": lambda optax: optax.multi_transform(
        {"fast": optax.adam(0.1), "slow": optax.sgd(0.01)}, {"w": "fast", "b": "slow"}
    ),
    "multi_transform by a function": lambda optax: optax.multi_transform(
        {"fast": optax.adam(0.1), "frozen": optax.set_to_zero()},
        lambda params: {k: "fast" if k == "w" else "frozen" for k in params},
    ),
    "MultiSteps": lambda optax: optax.MultiSteps(optax.adam(0.1), every_k_schedule=2),
    "inject_hyperparams": lambda optax: optax.inject_hyperparams(optax.adam)(learning_rate=0.1),
    "inject_hyperparams with a schedule": lambda optax: optax.inject_hyperparams(optax.sgd)(
        learning_rate=optax.linear_schedule(0.1, 0.0, 8)
    ),
    "apply_if_finite": lambda optax: optax.apply_if_finite(optax.adam(0.1), 3),
    "adafactor": lambda optax: optax.adafactor(0.1),
    "lion": lambda optax: optax.lion(0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer_of_optax_in_a_plain_class(name):
    optax = library("optax")

    def program(jit):
        model = Model(lambda: OPTIMIZERS[name](optax))
        step = jit(model.step)
        seen = [[step(X, Y), numbers(model.params)] for _ in range(4)]
        model.params = jax.tree.map(jnp.zeros_like, model.params)  # weights replaced
        seen.append([step(X, Y), numbers(model.params), numbers(model.opt_state)])
        model.optimizer = optax.sgd(0.5)  # another optimizer
        model.opt_state = model.optimizer.init(model.params)
        seen += [[step(X, Y), numbers(model.params)] for _ in range(2)]
        return seen

    equal_to_eager(program)


def test_learning_rate_changed_in_injected_hyperparameters_takes_effect():
    optax = library("optax")

    def program(jit):
        model = Model(lambda: optax.inject_hyperparams(optax.adam)(learning_rate=0.1))
        step = jit(model.step)
        seen = [float(step(X, Y)) for _ in range(2)]
        model.opt_state.hyperparams["learning_rate"] = jnp.asarray(0.5)
        seen += [float(step(X, Y)), numbers(model.params)]
        model.opt_state.hyperparams["learning_rate"] = 0.0  # a Python number in place of the array
        return [*seen, float(step(X, Y)), float(step(X, Y)), numbers(model.params)]

    equal_to_eager(program)


def test_learning_rate_of_the_class_inside_an_optimizer_made_in_the_step_takes_effect():
    optax = library("optax")

    class Trainer(Model):
        rate = 0.1

        def step(self, x, y):
            self.optimizer = optax.sgd(self.rate, momentum=0.9)
            return super().step(x, y)

    def program(jit):
        model = Trainer(lambda: optax.sgd(0.1, momentum=0.9))
        step = jit(model.step)
        seen = []
        for rate in (0.1, 0.1, 0.01, 0.02):
            model.rate = rate
            seen.append([step(X, Y), numbers(model.params)])
        return seen

    equal_to_eager(program)


def test_schedule_that_reads_state_takes_effect():
    optax = library("optax")

    def program(jit):
        settings = {"scale": 0.1, "steps": 0}
        model = Model(lambda: optax.adam(lambda count: settings["scale"] / (1 + count)))
        step = jit(model.step)
        seen = [[step(X, Y), numbers(model.params)] for _ in range(2)]
        settings["scale"] = 0.5
        return [*seen, step(X, Y), numbers(model.params)]

    equal_to_eager(program)


def test_line_search_and_value_functions():
    optax = library("optax")

    def program(jit):
        model = Model(lambda: optax.lbfgs())

        @jit
        def step(x, y):
            def loss(p):
                return model.loss(p, x, y)

            value, gradient = optax.value_and_grad_from_state(loss)(model.params, state=model.opt_state)
            updates, model.opt_state = model.optimizer.update(
                gradient, model.opt_state, model.params, value=value, grad=gradient, value_fn=loss
            )
            model.params = optax.apply_updates(model.params, updates)
            return value

        seen = [float(step(X, Y)) for _ in range(3)]
        return [*seen, numbers(model.params)]

    equal_to_eager(program)


def test_exponential_moving_average_of_the_weights():
    optax = library("optax")

    def program(jit):
        model = Model(lambda: optax.adam(0.1))
        model.average, model.decay = model.params, 0.5

        @jit
        def step(x, y):
            loss = model.step(x, y)
            model.average = optax.incremental_update(model.params, model.average, 1 - model.decay)
            return loss

        seen = [float(step(X, Y)) for _ in range(3)]
        model.decay = 0.9
        return [*seen, float(step(X, Y)), numbers(model.average)]

    equal_to_eager(program)


# -- Equinox ----------------------------------------------------------------------------------------------


def equinox_network(eqx):
    class Network(eqx.Module):
        first: eqx.nn.Linear
        norm: eqx.nn.BatchNorm
        drop: eqx.nn.Dropout
        last: eqx.nn.Linear
        scale: float = 1.0

        def __init__(self, key):
            keys = jax.random.split(key)
            self.first = eqx.nn.Linear(3, 4, key=keys[0])
            self.norm = eqx.nn.BatchNorm(4, axis_name="batch", mode="batch")
            self.drop = eqx.nn.Dropout(0.5)
            self.last = eqx.nn.Linear(4, 2, key=keys[1])

        def __call__(self, x, state, key):
            h, state = self.norm(self.first(x), state)
            h = self.drop(jax.nn.relu(h), key=key)
            return self.scale * self.last(h), state

    return eqx.nn.make_with_state(Network)(jax.random.key(0))


def test_equinox_module_with_batch_norm_and_dropout():
    eqx, optax = library("equinox"), library("optax")

    def program(jit):
        class Trainer:
            def __init__(self):
                self.value_and_grad = eqx.filter_value_and_grad
                if jit is PLAIN:
                    self.value_and_grad = carrying(eqx.filter_value_and_grad, self, "key", "state")
                self.net, self.state = equinox_network(eqx)
                self.optimizer = optax.sgd(0.1, momentum=0.9)
                self.opt_state = self.optimizer.init(eqx.filter(self.net, eqx.is_inexact_array))
                self.key = jax.random.key(1)

            def loss(self, net, x, y):
                self.key, key = jax.random.split(self.key)
                batched = jax.vmap(net, axis_name="batch", in_axes=(0, None, 0), out_axes=(0, None))
                out, self.state = batched(x, self.state, jax.random.split(key, len(x)))
                return jnp.mean((out - y) ** 2)

            @jit
            def step(self, x, y):
                loss, gradient = self.value_and_grad(self.loss)(self.net, x, y)
                updates, self.opt_state = self.optimizer.update(
                    gradient, self.opt_state, eqx.filter(self.net, eqx.is_inexact_array)
                )
                self.net = eqx.apply_updates(self.net, updates)
                return loss

            @jit
            def evaluate(self, x):
                net = eqx.nn.inference_mode(self.net)
                return jax.vmap(lambda row: net(row, self.state, None)[0], axis_name="batch")(x)

        trainer = Trainer()
        seen = [[trainer.step(X, Y), trainer.evaluate(X)] for _ in range(3)]
        trainer.net = eqx.tree_at(lambda n: n.drop.p, trainer.net, 0.1)  # another dropout rate
        seen.append([trainer.step(X, Y), trainer.evaluate(X)])
        trainer.net = eqx.tree_at(lambda n: n.last.weight, trainer.net, replace_fn=jnp.zeros_like)
        seen.append([trainer.evaluate(X), trainer.step(X, Y), trainer.evaluate(X)])
        trainer.net = eqx.nn.inference_mode(trainer.net)
        seen += [[trainer.step(X, Y), trainer.evaluate(X)] for _ in range(2)]
        return seen

    equal_to_eager(program)


def test_equinox_module_captured_by_a_function_that_is_called_by_others():
    eqx = library("equinox")

    def program(jit):
        mlp = eqx.nn.MLP(3, 2, 4, 2, key=jax.random.key(0))
        holder = {"net": mlp}

        @jit
        def predict(x):
            return jax.vmap(holder["net"])(x)

        seen = [predict(X)]
        holder["net"] = eqx.tree_at(lambda m: m.layers[0].bias, mlp, jnp.ones(4))
        seen.append(predict(X))
        holder["net"] = eqx.nn.MLP(3, 2, 4, 2, activation=jnp.tanh, key=jax.random.key(0))
        seen.append(predict(X))
        holder["net"] = copy.copy(holder["net"])
        return [*seen, predict(X)]

    equal_to_eager(program)


def test_equinox_filter_jit_and_filter_grad_inside_a_jitted_step():
    eqx = library("equinox")

    def program(jit):
        linear = eqx.nn.Linear(3, 2, key=jax.random.key(0))
        settings = {"power": 2, "scale": 1.0}

        @eqx.filter_jit
        def loss(net, x, y):
            return settings["scale"] * jnp.mean(jnp.abs(jax.vmap(net)(x) - y) ** settings["power"])

        @jit
        def step(x, y):
            nonlocal linear
            gradient = eqx.filter_grad(loss)(linear, x, y)
            linear = eqx.apply_updates(linear, jax.tree.map(lambda g: -0.1 * g, gradient))
            return linear.weight

        seen = [step(X, Y), step(X, Y)]
        settings["scale"] = 2.0  # eager code would keep the old one in filter_jit
        if jit is PLAIN:
            loss = eqx.filter_jit(lambda net, x, y: 2.0 * jnp.mean(jnp.abs(jax.vmap(net)(x) - y) ** 2))
        return [*seen, step(X, Y)]

    equal_to_eager(program)


def test_equinox_recurrent_cell_in_scan_with_captured_hidden_state():
    eqx = library("equinox")

    def program(jit):
        class Reader:
            def __init__(self):
                self.cell = eqx.nn.GRUCell(3, 4, key=jax.random.key(0))
                self.h = jnp.zeros(4)

            @jit
            def read(self, xs):
                self.h = jax.lax.scan(lambda h, x: (self.cell(x, h), None), self.h, xs)[0]
                return self.h

        reader = Reader()
        seen = [reader.read(X), reader.read(X)]
        reader.cell = eqx.nn.GRUCell(3, 4, key=jax.random.key(1))
        return [*seen, reader.read(X)]

    equal_to_eager(program)


# -- Flax NNX ---------------------------------------------------------------------------------------------


def nnx_network(nnx):
    class Network(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(3, 4, rngs=rngs)
            self.norm = nnx.BatchNorm(4, rngs=rngs)
            self.drop = nnx.Dropout(0.5, rngs=rngs)
            self.last = nnx.Linear(4, 2, rngs=rngs)

        def __call__(self, x):
            return self.last(self.drop(nnx.relu(self.norm(self.first(x)))))

    return Network(nnx.Rngs(0))


def nnx_values(nnx, module):
    return numbers(nnx.state(module))


def test_nnx_module_with_batch_norm_dropout_and_optimizer():
    nnx, optax = library("flax.nnx"), library("optax")

    def program(jit):
        net = nnx_network(nnx)
        optimizer = nnx.Optimizer(net, optax.sgd(0.1, momentum=0.9), wrt=nnx.Param)

        @jit
        def step(x, y):
            def loss(net):
                return jnp.mean((net(x) - y) ** 2)

            value, gradient = nnx.value_and_grad(loss)(net)
            optimizer.update(net, gradient)
            return value

        @jit
        def predict(x):
            return net(x)

        seen = [step(X, Y) for _ in range(3)]
        net.eval()
        seen += [predict(X), step(X, Y), predict(X)]
        net.train()
        seen += [predict(X), step(X, Y)]
        net.drop.rate = 0.1
        seen.append(predict(X))
        net.last.kernel[...] = jnp.zeros((4, 2))
        seen.append(predict(X))
        net.last = nnx.Linear(4, 2, rngs=nnx.Rngs(5))
        seen += [predict(X), nnx_values(nnx, net), int(optimizer.step[...])]
        return seen

    equal_to_eager(program)


def test_nnx_module_in_an_attribute_of_a_plain_class():
    nnx = library("flax.nnx")

    def program(jit):
        class Trainer:
            def __init__(self):
                self.net = nnx_network(nnx)
                self.rate = 0.1

            def loss(self, net, x, y):
                return jnp.mean((net(x) - y) ** 2)

            @jit
            def step(self, x, y):
                loss, gradient = nnx.value_and_grad(self.loss)(self.net, x, y)
                params = nnx.state(self.net, nnx.Param)
                nnx.update(self.net, jax.tree.map(lambda p, g: p - self.rate * g, params, gradient))
                return loss

        trainer = Trainer()
        seen = [float(trainer.step(X, Y)) for _ in range(2)]
        trainer.rate = 0.01
        seen += [float(trainer.step(X, Y)), nnx_values(nnx, trainer.net)]
        trainer.net.drop.deterministic = True
        seen += [float(trainer.step(X, Y)), float(trainer.step(X, Y))]
        trainer.net = nnx_network(nnx)
        return [*seen, float(trainer.step(X, Y)), nnx_values(nnx, trainer.net)]

    equal_to_eager(program)


def test_nnx_split_and_merge_inside_the_step():
    nnx = library("flax.nnx")

    def program(jit):
        net = nnx_network(nnx)

        @jit
        def step(x, y):
            graph, params, rest = nnx.split(net, nnx.Param, ...)

            def loss(params):
                merged = nnx.merge(graph, params, rest, copy=True)
                return jnp.mean((merged(x) - y) ** 2), nnx.state(merged, nnx.BatchStat)

            gradient, statistics = jax.grad(loss, has_aux=True)(params)
            nnx.update(net, jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), statistics)
            return numbers(gradient)

        for _ in range(3):
            step(X, Y)
        net.eval()
        step(X, Y)
        return nnx_values(nnx, net)

    equal_to_eager(program)


# -- Flax Linen -------------------------------------------------------------------------------------------


def test_linen_module_with_batch_norm_and_dropout():
    nn, optax = library("flax.linen"), library("optax")

    class Network(nn.Module):
        width: int = 4
        rate: float = 0.5

        @nn.compact
        def __call__(self, x, train):
            x = nn.Dense(self.width)(x)
            x = nn.BatchNorm(use_running_average=not train)(x)
            x = nn.Dropout(self.rate, deterministic=not train)(nn.relu(x))
            return nn.Dense(2)(x)

    def program(jit):
        class Trainer:
            def __init__(self):
                self.value_and_grad = jax.value_and_grad
                if jit is PLAIN:
                    self.value_and_grad = carrying(jax.value_and_grad, self, "key", "statistics")
                self.net, self.train, self.key = Network(), True, jax.random.key(2)
                variables = self.net.init(jax.random.key(0), X, train=False)
                self.params, self.statistics = variables["params"], variables["batch_stats"]
                self.optimizer = optax.sgd(0.1, momentum=0.9)
                self.opt_state = self.optimizer.init(self.params)

            def loss(self, params, x, y):
                self.key, key = jax.random.split(self.key)
                out, changed = self.net.apply(
                    {"params": params, "batch_stats": self.statistics},
                    x,
                    train=self.train,
                    rngs={"dropout": key},
                    mutable=["batch_stats"],
                )
                self.statistics = changed.get("batch_stats", self.statistics)
                return jnp.mean((out - y) ** 2)

            @jit
            def step(self, x, y):
                loss, gradient = self.value_and_grad(self.loss)(self.params, x, y)
                updates, self.opt_state = self.optimizer.update(gradient, self.opt_state)
                self.params = optax.apply_updates(self.params, updates)
                return loss

        trainer = Trainer()
        seen = [float(trainer.step(X, Y)) for _ in range(3)]
        trainer.train = False
        seen += [float(trainer.step(X, Y)), float(trainer.step(X, Y))]
        trainer.train, trainer.net = True, Network(rate=0.1)
        seen += [float(trainer.step(X, Y)), numbers(trainer.statistics)]
        trainer.params = jax.tree.map(jnp.ones_like, trainer.params)
        return [*seen, float(trainer.step(X, Y)), numbers(trainer.params)]

    equal_to_eager(program)


def test_linen_train_state():
    nn, optax = library("flax.linen"), library("optax")
    train_state = library("flax.training.train_state")

    def program(jit):
        net = nn.Dense(2)
        state = train_state.TrainState.create(
            apply_fn=net.apply, params=net.init(jax.random.key(0), X), tx=optax.adam(0.1)
        )

        @jit
        def step(x, y):
            nonlocal state
            loss, gradient = jax.value_and_grad(lambda p: jnp.mean((state.apply_fn(p, x) - y) ** 2))(
                state.params
            )
            state = state.apply_gradients(grads=gradient)
            return loss

        seen = [float(step(X, Y)) for _ in range(3)]
        state = state.replace(params=jax.tree.map(jnp.zeros_like, state.params))
        seen.append(float(step(X, Y)))
        state = state.replace(tx=optax.sgd(0.5), opt_state=optax.sgd(0.5).init(state.params))
        return [*seen, float(step(X, Y)), numbers(state.params), int(state.step)]

    equal_to_eager(program)


# -- Haiku ------------------------------------------------------------------------------------------------


def test_haiku_function_with_state_and_dropout():
    hk, optax = library("haiku"), library("optax")

    def program(jit):
        settings = {"rate": 0.5, "width": 4}

        def network(x, train):
            x = hk.Linear(settings["width"])(x)
            x = hk.BatchNorm(True, True, 0.9)(x, is_training=train)
            x = jax.nn.relu(x)
            if train:
                x = hk.dropout(hk.next_rng_key(), settings["rate"], x)
            return hk.Linear(2)(x)

        class Trainer:
            def __init__(self):
                self.value_and_grad = jax.value_and_grad
                if jit is PLAIN:
                    self.value_and_grad = carrying(jax.value_and_grad, self, "key", "state")
                self.net, self.train, self.key = hk.transform_with_state(network), True, jax.random.key(1)
                self.params, self.state = self.net.init(jax.random.key(0), X, True)
                self.optimizer = optax.sgd(0.1)
                self.opt_state = self.optimizer.init(self.params)

            def loss(self, params, x, y):
                self.key, key = jax.random.split(self.key)
                out, self.state = self.net.apply(params, self.state, key, x, self.train)
                return jnp.mean((out - y) ** 2)

            @jit
            def step(self, x, y):
                loss, gradient = self.value_and_grad(self.loss)(self.params, x, y)
                updates, self.opt_state = self.optimizer.update(gradient, self.opt_state)
                self.params = optax.apply_updates(self.params, updates)
                return loss

        trainer = Trainer()
        seen = [float(trainer.step(X, Y)) for _ in range(3)]
        settings["rate"] = 0.1
        seen.append(float(trainer.step(X, Y)))
        trainer.train = False
        seen += [float(trainer.step(X, Y)), numbers(trainer.state)]
        trainer.params = jax.tree.map(jnp.zeros_like, trainer.params)
        return [*seen, float(trainer.step(X, Y)), numbers(trainer.params)]

    equal_to_eager(program)


# -- Chex ---------------------------------------------------------------------------------------------------


def test_chex_dataclass_as_training_state():
    chex, optax = library("chex"), library("optax")

    @chex.dataclass
    class State:
        params: dict
        opt_state: object
        steps: int = 0

    def program(jit):
        optimizer = optax.adam(0.1)
        params = {"w": jnp.ones((3, 2))}
        state = State(params=params, opt_state=optimizer.init(params))

        @jit
        def step(x, y):
            chex.assert_equal_shape([x @ state.params["w"], y])
            gradient = jax.grad(lambda p: jnp.mean((x @ p["w"] - y) ** 2))(state.params)
            updates, state.opt_state = optimizer.update(gradient, state.opt_state)
            state.params = optax.apply_updates(state.params, updates)
            state.steps += 1
            return state.params["w"]

        seen = [step(X, Y) for _ in range(3)]
        state.params = {"w": jnp.zeros((3, 2))}
        return [*seen, step(X, Y), int(state.steps)]

    equal_to_eager(program)


def test_chex_counts_the_traces_of_a_function_and_not_its_calls():
    chex = library("chex")

    class Model:
        def __init__(self):
            self.w = jnp.float32(2.0)

        @jit
        @chex.assert_max_traces(n=2)
        def step(self, x):
            self.w = self.w + x.sum()
            return self.w

    chex.clear_trace_counter()
    model = Model()
    for _ in range(5):
        model.step(jnp.ones(2))
    model.step(jnp.ones(3))
    with pytest.raises(AssertionError, match="traced > 2 times"):
        model.step(jnp.ones(4))
    assert float(model.w) == 15.0
    assert float(model.step(jnp.ones(3))) == 18.0
