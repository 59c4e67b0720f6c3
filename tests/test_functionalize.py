"""`functionalize` and `State`: state in and out as a pytree keyed by path."""

import collections
import copy
import gc
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tests.support import contents, same

import freshjit
from freshjit import State, StateMismatchError, UnsupportedStateError, functionalize, jit

Moments = collections.namedtuple("Moments", "mean var")


class Layer:
    def __init__(self, n):
        self.w, self.b = jnp.eye(n) * 0.5, jnp.zeros(n)

    def __call__(self, x):
        return jnp.tanh(x @ self.w + self.b[None])


class Model:
    def __init__(self):
        self.layers = [Layer(3), Layer(3)]
        self.stats = Moments(jnp.zeros(3), jnp.ones(3))
        self.table = np.ones(3, np.float32)
        self.key, self.steps, self.training = jax.random.key(0), 0, True

    def weights(self):
        return self.layers

    def loss(self, x):
        self.steps += 1
        self.key, key = jax.random.split(self.key)
        for layer in self.layers:
            x = layer(x)
        if self.training:
            x = x + 0.1 * jax.random.normal(key, x.shape)
            self.stats = self.stats._replace(mean=0.9 * self.stats.mean + 0.1 * jnp.mean(x, axis=0))
        return jnp.sum((x - self.stats.mean[None]) ** 2 * self.table[None])


X = jnp.ones((2, 3))
PATHS = [
    "self.key",
    "self.layers[0].b",
    "self.layers[0].w",
    "self.layers[1].b",
    "self.layers[1].w",
    "self.stats.mean",
    "self.stats.var",
    "self.steps",
    "self.table",
]


def run_eagerly(times):
    model = Model()
    return [model.loss(X) for _ in range(times)], model


# -- functionalize --------------------------------------------------------------------------------


def test_the_state_is_what_the_function_reads_and_writes_by_path():
    model = Model()
    state = functionalize(model.loss).read(X)
    assert list(state) == PATHS
    assert state["self.layers[1].w"] is model.layers[1].w
    assert state["self.steps"] == 0


def test_reading_runs_nothing_and_takes_shapes():
    model = Model()
    before = contents(vars(model))
    state = functionalize(model.loss).read(jax.ShapeDtypeStruct((2, 3), jnp.float32))
    assert list(state) == PATHS
    assert contents(vars(model)) == before


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jax.jit"])
def test_pure_calls_in_a_row_are_the_calls_in_a_row_of_the_function(wrap):
    wanted, eager = run_eagerly(3)
    model = Model()
    before = contents(vars(model))
    pure = functionalize(model.loss)
    state, step, got = pure.read(X), wrap(pure), []
    for _ in range(3):
        out, state = step(state, X)
        got.append(out)
    same(got, wanted)
    assert contents(vars(model)) == before, "the real objects must not be touched"
    pure.commit(state)
    same(model.stats, eager.stats)
    assert type(model.stats) is Moments
    assert (model.steps, type(model.steps)) == (3, int)
    same(model.key, eager.key)


def test_a_pure_function_is_the_body_of_a_scan():
    wanted, eager = run_eagerly(4)
    model = Model()
    pure = functionalize(model.loss)

    def body(state, _):
        out, state = pure(state, X)
        return state, out

    state, outs = jax.lax.scan(body, pure.read(X), length=4)
    same(outs, jnp.stack(wanted))
    assert int(state["self.steps"]) == 4
    same(state["self.stats.mean"], eager.stats.mean)


def test_a_pure_function_is_differentiated_with_respect_to_its_state():
    model = Model()
    model.training = False
    pure = functionalize(model.loss)
    state = pure.read(X)
    weights = State({p: v for p, v in state.items() if ".w" in p or ".b" in p})
    gradient = jax.grad(lambda w: pure(state | w, X)[0])(weights)
    same(gradient, freshjit.grad(model.loss, wrt="self.layers")(X))


def test_python_values_that_are_only_read_are_those_of_the_real_objects():
    class Gate:
        def __init__(self):
            self.w, self.open = jnp.float32(2.0), True

        def __call__(self, x):
            return x * self.w if self.open else x

    gate = Gate()
    pure = functionalize(gate)
    state = pure.read(3.0)
    assert pure(state, 3.0)[0] == 6.0
    gate.open = False
    assert pure(state, 3.0)[0] == 3.0


def test_closures_globals_and_arguments_have_paths_too():
    w = jnp.float32(2.0)
    cache = {}

    def f(box, x):
        cache["last"] = x * w * box.v
        return cache["last"]

    class Box:
        v = None

    box = Box()
    box.v = jnp.float32(5.0)
    pure = functionalize(f)
    state = pure.read(box, 1.0)
    assert list(state) == ["box.v", "closure w"]
    out, new = pure(state | {"closure w": jnp.float32(3.0)}, box, 1.0)
    assert out == 15.0
    assert list(new) == ["box.v", "closure cache['last']", "closure w"]
    assert cache == {}
    pure.commit(new | {"box.v": jnp.float32(7.0)}, box, 1.0)
    assert cache["last"] == 15.0
    assert w == 3.0
    assert box.v == 7.0


def test_flags_and_text_that_are_written_belong_to_the_structure():
    class Log:
        def __init__(self):
            self.n, self.note, self.full = 0, "", False

        def add(self, x):
            self.n += 1
            self.note, self.full = "added", self.n > 1
            return x

    log = Log()
    pure = functionalize(log.add)
    state = pure.read(1.0)
    assert dict(state) == {"self.full": False, "self.n": 0, "self.note": ""}
    assert jax.tree.leaves(state) == [0]
    _, state = pure(state, 1.0)
    _, state = pure(state, 1.0)
    assert dict(state) == {"self.full": True, "self.n": 2, "self.note": "added"}
    pure.commit(state)
    assert (log.n, log.note, log.full) == (2, "added", True)


def test_numpy_arrays_are_written_in_place_by_a_commit():
    class Buffer:
        def __init__(self):
            self.data = np.zeros(3, np.float32)

        def __call__(self, x):
            return jnp.sum(self.data * x)

    buffer = Buffer()
    alias = buffer.data
    pure = functionalize(buffer)
    pure.commit(pure.read(X[0]) | {"self.data": jnp.arange(3.0)})
    assert buffer.data is alias
    assert alias.tolist() == [0, 1, 2]


class Table:
    def __init__(self):
        self.rows = np.zeros(3)

    def traced(self, x):
        self.rows[0] = x
        return x

    def concrete(self, x):
        self.rows[0] = 5 + 1e-12
        return x

    def under_a_gradient(self, x):
        return jax.grad(self.traced)(x)


@pytest.mark.parametrize("method", ["traced", "concrete", "under_a_gradient"])
@pytest.mark.parametrize("wrap", [lambda pure: pure, jax.jit], ids=["plain", "jax.jit"])
def test_a_numpy_array_that_is_written_goes_in_and_comes_out_as_a_whole(method, wrap):
    table, wanted = Table(), Table()
    pure = functionalize(getattr(table, method))
    state = pure.read(2.0)
    assert list(state) == ["self.rows"]
    _, new = wrap(pure)(state | {"self.rows": np.array([1.0, 2.0, 3.0])}, 2.0)
    assert table.rows.tolist() == [0, 0, 0]
    wanted.rows[:] = [1.0, 2.0, 3.0]
    jit(getattr(wanted, method))(2.0)
    pure.commit(new)
    np.testing.assert_allclose(table.rows, wanted.rows, rtol=1e-6)


def test_concrete_numbers_in_a_numpy_array_keep_their_precision():
    table = Table()
    pure = functionalize(table.concrete)
    _, new = pure(pure.read(1.0), 1.0)
    pure.commit(new)
    assert table.rows[0] == 5 + 1e-12


def test_a_state_that_was_read_does_not_change_with_the_numpy_array():
    table = Table()
    pure = functionalize(table.traced)
    state = pure.read(1.0)
    table.rows[:] = 9
    assert state["self.rows"].tolist() == [0, 0, 0]


def test_a_masked_array_that_is_written_is_refused():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])

    def unmask(x):
        masked[1] = 3.0
        return x

    pure = functionalize(unmask)
    with pytest.raises(UnsupportedStateError, match=r"masked \(MaskedArray\) is written"):
        pure(pure.read(1.0), 1.0)


@pytest.mark.parametrize("shape", [(2,), (1,)], ids=["another", "one that would be broadcast"])
def test_a_numpy_array_keeps_its_shape_in_a_commit(shape):
    table = Table()
    pure = functionalize(table.traced)
    pure.read(1.0)
    with pytest.raises(StateMismatchError, match=r"self\.rows is a NumPy array of shape \(3,\)"):
        pure.commit(State({"self.rows": np.ones(shape)}))
    with pytest.raises(StateMismatchError, match=r"table\.rows is a NumPy array of shape \(3,\)"):
        State({"table.rows": np.ones(shape)}).commit(lambda: table)
    assert table.rows.tolist() == [0, 0, 0]


def test_a_state_that_does_not_fit_is_refused_with_its_path():
    model = Model()
    pure = functionalize(model.loss)
    state = pure.read(X)
    with pytest.raises(StateMismatchError, match=r"neither reads nor writes self\.other"):
        pure(state | {"self.other": X}, X)
    part = State({p: v for p, v in state.items() if p != "self.layers[1].w"})
    with pytest.raises(StateMismatchError, match=r"self\.layers\[1\]\.w is read .*, but the given state"):
        pure(part, X)
    with pytest.raises(StateMismatchError, match=r"self\.other is not part of any state"):
        pure.commit(State({"self.other": X}))


def test_a_commit_that_fails_half_way_changes_nothing():
    class Pair:
        def __init__(self):
            self.a, self.items = jnp.float32(1), [jnp.float32(2)]

        def total(self):
            return self.a + self.items[0]

    pair = Pair()
    pure = functionalize(pair.total)
    state = pure.read()
    pair.items = ()  # nothing at this path any more, nor a place for it
    with pytest.raises(StateMismatchError, match=r"self\.items is a tuple of 0 now"):
        pure.commit(jax.tree.map(lambda a: a + 1, state))
    assert pair.a == 1.0


def test_a_new_object_that_is_no_pytree_is_refused():
    class Maker:
        def __init__(self):
            self.layer = Layer(2)

        def __call__(self, x):
            self.layer = Layer(2)
            return x

    maker = Maker()
    with pytest.raises(UnsupportedStateError, match=r"self\.layer is given a new Layer"):
        functionalize(maker)(State(), 1.0)


def test_pure_functions_are_used_inside_jitted_ones():
    class Agent:
        def __init__(self):
            self.w, self.double = jnp.float32(2.0), False
            self.pure = functionalize(self.act)

        def act(self, x):
            self.w = self.w + 1
            return self.w * x * (2 if self.double else 1)

        @jit
        def look_ahead(self, state, x):
            _, state = self.pure(state, x)
            return self.pure(state, x)

    agent = Agent()
    state = agent.pure.read(1.0)
    assert agent.look_ahead(state, 1.0)[0] == 4.0
    agent.double = True
    assert agent.look_ahead(state, 1.0)[0] == 8.0, "flags are read live"
    assert agent.w == 2.0


def test_a_pure_function_does_not_miss_what_the_jitted_one_around_it_wrote():
    class Box:
        def __init__(self):
            self.scale, self.w = 1, jnp.float32(2.0)
            self.pure = functionalize(self.f)

        def f(self, x):
            return self.w * x * self.scale

        @jit
        def run(self, state, x):
            self.scale = 3
            return self.pure(state, x)

    box = Box()
    state = box.pure.read(1.0)
    with pytest.raises(UnsupportedStateError, match="changed earlier in this call"):
        box.run(state, 1.0)
    assert box.scale == 1


# -- State ----------------------------------------------------------------------------------------


def test_state_is_an_immutable_mapping_with_sorted_keys():
    state = State({"b": 1, "a": X})
    assert list(state) == ["a", "b"]
    assert len(state) == 2
    assert repr(state) == "State({'a': float32[2, 3], 'b': 1})"
    with pytest.raises(TypeError):
        state["a"] = 1
    assert (state | {"b": 2})["b"] == 2
    assert state["b"] == 1


def test_state_is_a_pytree_that_survives_pickle_and_copies():
    model = Model()
    state = State.read(lambda: model.layers)
    host = jax.tree.map(np.asarray, state)
    for again in (pickle.loads(pickle.dumps(host)), copy.deepcopy(host)):
        assert jax.tree.structure(again) == jax.tree.structure(state)
        same(again, state)
    names = [jax.tree_util.keystr(k) for k, _ in jax.tree_util.tree_flatten_with_path(state)[0]]
    assert names[0] == "['model.layers[0].b']"


def test_state_read_names_paths_as_it_was_asked_for():
    model = Model()
    assert list(State.read(lambda: model.layers[0])) == ["model.layers[0].b", "model.layers[0].w"]
    assert list(State.read(lambda: [model.stats.mean, model.table])) == ["model.stats.mean", "model.table"]
    assert list(State.read(model.layers[0])) == ["Layer.b", "Layer.w"]
    assert list(State.read(model.layers))[:2] == ["Layer[0].b", "Layer[0].w"]
    assert State.read(lambda: model.steps) == {"model.steps": 0}


def test_state_commit_writes_the_real_objects_and_nothing_on_a_mistake():
    model = Model()
    alias = model.table
    state = State.read(lambda: model)
    floats = {p: v for p, v in state.items() if jnp.issubdtype(v.dtype, jnp.floating)}
    jax.tree.map(lambda a: a + 1, State(floats)).commit(lambda: model)
    same(model.layers[1].b, jnp.ones(3))
    same(model.stats, Moments(jnp.ones(3), jnp.full(3, 2.0)))
    assert model.table is alias
    assert alias.tolist() == [2, 2, 2]
    with pytest.raises(StateMismatchError, match=r"no array at model\.nothing"):
        State({"model.layers[0].b": X, "model.nothing": X}).commit(lambda: model)
    same(model.layers[0].b, jnp.ones(3))


def test_a_message_names_some_of_many_paths():
    weights = [jnp.zeros(1) for _ in range(100)]
    with pytest.raises(StateMismatchError, match=r"there are arrays at weights\[0\], .* and 92 more\."):
        State({"weights[100]": X}).commit(lambda: weights)


def test_state_in_captured_state_is_read_by_its_entries():
    class Holder:
        def __init__(self):
            self.state = State({"a": jnp.float32(1), "b": jnp.float32(2)})

    holder = Holder()

    @jit
    def shift(x):
        holder.state = jax.tree.map(lambda a: a + x, holder.state)
        return holder.state["a"]

    assert [float(shift(1.0)) for _ in range(3)] == [2, 3, 4]
    assert holder.state["b"] == 5
    assert shift._cache_size() == 1
    holder.state = State({"a": jnp.float32(0), "c": jnp.float32(0)})
    assert shift(1.0) == 1
    assert list(holder.state) == ["a", "c"]


# -- with an optimizer ----------------------------------------------------------------------------


class Trainer:
    def __init__(self):
        self.model, self.tx = Model(), optax.adam(0.05)
        self.opt_state = self.tx.init(State.read(self.weights))

    def weights(self):
        return self.model.layers

    def step(self, x):
        loss, gradient = freshjit.value_and_grad(self.model.loss, wrt=self.weights)(x)
        weights = State.read(self.weights)
        updates, self.opt_state = self.tx.update(gradient, self.opt_state, weights)
        optax.apply_updates(weights, updates).commit(self.weights)
        return loss


def test_optax_takes_gradients_of_state_as_they_are():
    eager, jitted = Trainer(), Trainer()
    step = jit(jitted.step)
    for _ in range(5):
        same(step(X), eager.step(X))
    same(jitted.model.layers[0].w, eager.model.layers[0].w)
    same(jitted.opt_state, eager.opt_state)
    assert jitted.model.steps == 5
    assert step._cache_size() <= 3
    assert step(X) < 2


# -- gradients with respect to state --------------------------------------------------------------


def test_every_way_to_name_the_state_gives_the_same_gradient():
    model = Model()
    model.training = False

    def gradient(wrt):
        return list(freshjit.grad(model.loss, wrt=wrt)(X).values())

    wanted = gradient("self.layers")
    assert len(wanted) == 4
    for wrt in (lambda: model.layers, model.weights, model.layers, [model.layers[0], model.layers[1]]):
        same(gradient(wrt), wanted)
    same(gradient(["self.layers[0]", "self.layers[1]"]), wanted)
    same(gradient("self.layers[0].w"), wanted[1:2])


def test_gradient_of_a_tuple_inside_state_and_of_numpy_and_numbers():
    class Curve:
        def __init__(self):
            self.pair, self.knots, self.slope = Moments(jnp.float32(2), jnp.float32(3)), np.ones(2), 4.0

        def __call__(self, x):
            return self.pair.mean * self.pair.var * x + jnp.sum(jnp.asarray(self.knots) * x) + self.slope * x

    curve = Curve()
    gradient = freshjit.grad(curve, wrt=["self.pair", "self.knots", "self.slope"])(2.0)
    assert list(gradient) == ["self.knots", "self.pair.mean", "self.pair.var", "self.slope"]
    same(list(gradient.values()), [jnp.full(2, 2.0), jnp.float32(6), jnp.float32(4), jnp.float32(2)])
    assert type(curve.slope) is float
    assert type(curve.knots) is np.ndarray


def test_gradients_of_arguments_and_state_together():
    model = Model()
    model.training = False
    by_argument, by_state = freshjit.grad(model.loss, 0, wrt="self.layers")(X)
    same(by_argument, freshjit.grad(model.loss)(X))
    same(by_state, freshjit.grad(model.loss, wrt="self.layers")(X))
    value, ((by_argument,), _) = freshjit.value_and_grad(model.loss, (0,), wrt="self.layers")(X)
    same(by_argument, freshjit.grad(model.loss)(X))
    same(value, model.loss(X))


def test_gradient_with_aux_and_of_written_state():
    class Unit:
        def __init__(self):
            self.w, self.seen = jnp.float32(3.0), jnp.float32(0.0)

        def loss(self, x):
            self.seen = self.w * x
            return self.seen**2, {"seen": self.seen}

    unit = Unit()
    gradient, aux = freshjit.grad(unit.loss, has_aux=True, wrt="self.w")(2.0)
    assert float(gradient["self.w"]) == 24.0
    assert float(aux["seen"]) == 6.0
    assert float(unit.seen) == 6.0, "the primal value is written"
    assert float(unit.w) == 3.0


def test_weights_that_the_function_itself_updates_keep_the_update():
    class Unit:
        def __init__(self):
            self.w = jnp.float32(3.0)

        def loss(self):
            value = self.w**2
            self.w = self.w * 0.5
            return value

    for make in (lambda f: f, jit):
        unit = Unit()
        step = make(freshjit.grad(unit.loss, wrt="self.w"))
        assert [float(step()["self.w"]) for _ in range(3)] == [6.0, 3.0, 1.5]
        assert float(unit.w) == 0.375


def test_gradient_of_state_written_earlier_in_the_same_jitted_call():
    class Unit:
        def __init__(self):
            self.params = {"w": jnp.float32(1.0)}

        def loss(self):
            return self.params["w"] ** 2

        def two_steps(self):
            for _ in range(2):
                gradient = freshjit.grad(self.loss, wrt="self.params")()
                self.params = {"w": self.params["w"] - 0.25 * gradient["self.params['w']"]}
            return self.params["w"]

    eager, jitted = Unit(), Unit()
    assert float(eager.two_steps()) == float(jit(jitted.two_steps)()) == 0.25
    same(jitted.params, eager.params)


@pytest.mark.parametrize(
    ("wrt", "message"),
    [
        ("self.nothing", r"there is nothing at 'self\.nothing'"),
        ("other.w", r"'other\.w' does not start from anything that loss knows"),
        ("self.steps", r"nothing to differentiate in wrt='self\.steps': .*, but only self\.steps"),
        ("self.layers[", "is not a path"),
        ("x", "x is an array that no attribute, item or variable holds"),
        (X, "given where a path or an object is wanted"),
    ],
)
def test_mistakes_in_wrt_are_explained(wrt, message):
    model = Model()
    before = contents(vars(model))
    with pytest.raises(StateMismatchError, match=message):
        freshjit.grad(model.loss, wrt=wrt)(X)
    assert contents(vars(model)) == before


def test_a_transform_of_a_jitted_function_is_compiled_and_reads_live():
    model = Model()
    model.training = False
    runs = []

    @jit
    def loss(x):
        runs.append(1)
        return model.loss(x)

    gradient = freshjit.grad(loss, wrt="model.layers")
    first = gradient(X)
    model.layers[0].w = model.layers[0].w * 2
    second = gradient(X)
    assert len(runs) <= 2
    assert not np.allclose(first["model.layers[0].w"], second["model.layers[0].w"])
    same(second, freshjit.grad(model.loss, wrt=lambda: model.layers)(X))


# -- vmap -----------------------------------------------------------------------------------------


class Stats:
    def __init__(self):
        self.mean, self.calls = jnp.float32(0.0), 0

    def __call__(self, x):
        self.mean = self.mean + x
        self.calls += 1
        return x * 2


LANES = jnp.arange(4.0)


@pytest.mark.parametrize(
    ("axes", "wanted"),
    [
        (0, LANES),
        ((None, 0), LANES),
        ("mean", 1.5),
        ("sum", 6.0),
        ("max", 3.0),
        ("min", 0.0),
        ("first", 0.0),
        ("last", 3.0),
        (lambda stacked: stacked[1], 1.0),
    ],
)
@pytest.mark.parametrize("make", [lambda f: f, jit], ids=["outside", "inside"])
def test_state_axes_say_what_a_write_per_lane_means(axes, wanted, make):
    stats = Stats()
    out = make(freshjit.vmap(stats, state_axes={"self.mean": axes}))(LANES)
    same(out, LANES * 2)
    same(stats.mean, jnp.asarray(wanted, jnp.float32))
    assert stats.calls == 1


def test_each_lane_reads_its_own_slice_of_state_that_has_the_axis():
    class Ensemble:
        def __init__(self):
            self.w, self.steps = jnp.arange(6.0).reshape(2, 3), jnp.zeros(3)

        def __call__(self, x):
            self.w = self.w + x
            self.steps = self.steps + 1
            return jnp.sum(self.w)

    ensemble = Ensemble()
    run = freshjit.vmap(ensemble, in_axes=None, axis_size=3, state_axes={"self.w": 1, "self.steps": 0})
    same(run(1.0), jnp.array([5.0, 7.0, 9.0]))
    same(ensemble.w, jnp.arange(6.0).reshape(2, 3) + 1)
    same(ensemble.steps, jnp.ones(3))


def test_a_write_per_lane_without_a_meaning_is_refused_and_undone():
    stats = Stats()
    for run in (freshjit.vmap(stats), jit(freshjit.vmap(stats))):
        with pytest.raises(freshjit.LeakedWriteError, match=r"self\.mean.* is written inside jax\.vmap"):
            run(LANES)
        assert (float(stats.mean), stats.calls) == (0.0, 0)


def test_a_path_in_state_axes_that_means_nothing_is_shown_beside_the_write():
    with pytest.raises(freshjit.LeakedWriteError, match=r"It names only self\.maen now"):
        freshjit.vmap(Stats(), state_axes={"self.maen": "mean"})(LANES)


def test_a_wrong_meaning_is_refused_when_the_transform_is_made():
    with pytest.raises(ValueError, match=r"state_axes\['self\.mean'\] is 'median'"):
        freshjit.vmap(Stats(), state_axes={"self.mean": "median"})(LANES)


def test_objects_that_change_places_are_committed_by_their_arrays():
    model = Model()

    def swap():
        model.layers = model.layers[::-1]
        return model.layers[0].w[0, 0]

    model.layers[1].w = jnp.eye(3) * 7
    pure = functionalize(swap)
    out, state = pure(pure.read())
    assert float(out) == 7.0
    assert float(state["closure model.layers[0].w"][0, 0]) == 7.0
    layers = list(model.layers)
    pure.commit(state)
    assert float(model.layers[0].w[0, 0]) == 7.0
    assert float(model.layers[1].w[0, 0]) == 0.5
    assert all(a is b for a, b in zip(model.layers, layers, strict=True)), "values move, objects stay"


def test_items_of_objects_are_found_by_these_though_their_order_has_changed():
    class Key:
        def __init__(self, name):
            self.name = name

        def __repr__(self):
            return self.name

    class Net:
        def __init__(self):
            self.a, self.b = Key("a"), Key("b")
            self.table = {self.a: jnp.float32(1.0), self.b: (2.0, jnp.float32(3.0))}

        def step(self, x):
            self.table[self.a] = self.table[self.a] + x
            n, value = self.table[self.b]
            self.table[self.b] = n + 1, value * x

    net = Net()
    pure = functionalize(net.step)
    state = pure.read(1.0)
    names = ["self.table[a]", "self.table[b][0]", "self.table[b][1]"]
    net.table[net.a] = net.table.pop(net.a)
    _, new = pure(state, 10.0)
    assert sorted(state) == sorted(new) == names
    pure.commit(new)
    assert net.table == {net.b: (3.0, jnp.float32(30.0)), net.a: jnp.float32(11.0)}
    assert sorted(pure.read(1.0)) == names
    del net.table[net.a], net.a
    gc.collect()
    with pytest.raises(StateMismatchError, match=r"self\.table\[a\] cannot be written"):
        pure.commit(new)


@pytest.mark.parametrize(
    "kind", [dict, collections.Counter, lambda items: collections.defaultdict(int, items)]
)
def test_counts_are_the_python_numbers_that_they_are(kind):
    class Model:
        def __init__(self):
            self.counts = kind({"steps": 1, "limit": 2})

        def step(self, x):
            self.counts["steps"] += 1
            return x * self.counts["steps"], self.counts["limit"]

    model = Model()
    pure = functionalize(model.step)
    state = pure.read(1.0)
    assert [(type(value), value) for value in state.values()] == [(int, 1)]
    result, new = pure(state, jnp.ones(2))
    assert type(result[1]) is int
    pure.commit(new)
    assert [(type(value), value) for value in model.counts.values()] == [(int, 2), (int, 2)]
