"""The examples: the plain class and the functional version reach the same numbers."""

import jax
import numpy as np
import pytest
from click.testing import CliRunner

cart_pole_agent = pytest.importorskip("cart_pole_agent")
digits_gru = pytest.importorskip("digits_gru")
digits_mlp = pytest.importorskip("digits_mlp")


@pytest.fixture(autouse=True)
def free_shapes():
    """They add a vector to the rows of a matrix, as people do."""
    with jax.numpy_rank_promotion("allow"):
        yield


def agree(tree, other, rtol=1e-5):
    for a, b in zip(jax.tree.leaves(tree), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * (float(np.abs(b).max()) + 1e-3))


def test_mlp_with_optax_as_a_class_and_by_hand_agree():
    model, state, _, losses, _ = digits_mlp.run(steps=12, optimizer="optax")
    agree(model.params, state.params)
    agree((model.mean, model.var), (state.mean, state.var))
    agree([a for a, _ in losses], [b for _, b in losses])
    assert (jax.random.key_data(model.key) == jax.random.key_data(state.key)).all()
    assert model.steps == int(state.steps) == 12


def test_mlp_agrees_at_first_and_reaches_its_goal_across_a_change_of_the_learning_rate():
    model, state, accuracies, losses, race = digits_mlp.run(steps=120)
    agree([a for a, _ in losses[:30]], [b for _, b in losses[:30]])
    agree(model.params, state.params, rtol=1e-3)  # rounding grows with the steps
    assert min(accuracies[-1]) >= 0.96
    assert model.learning_rate == pytest.approx(2e-3 * 0.7)
    assert race.plain.compiled <= 4  # at first, the counter, the learning rate; and numbers to the device


def test_gru_as_a_class_and_by_hand_agree_and_learn_to_read():
    model, state, losses, accuracies, race = digits_gru.run(steps=60)
    agree(model.params, state.params)
    agree([a for a, _ in losses], [b for _, b in losses])
    assert [a for a, _ in accuracies] == pytest.approx([b for _, b in accuracies])
    assert accuracies[-1][0] > max(0.6, accuracies[0][0] + 0.2)  # more rows, more certainty
    assert model.rows_read == 8
    assert race.plain.compiled <= 1


def test_agent_as_a_class_and_by_hand_agree_before_and_while_learning():
    agent, state, losses, returns, _ = cart_pole_agent.run(steps=50, every=25)
    agree(agent.params, state.params)
    agree(agent.target, state.target)
    assert agent.memory.position == agent.memory.filled == 50 * cart_pole_agent.CARTS
    agree(
        [agent.memory.before, agent.memory.action, agent.memory.after, agent.memory.fallen],
        list(state.memory),
    )
    assert agent.updates == int(state.opt_state[0].count) == 50 - 31
    assert [a for _, a, _ in returns] == pytest.approx([b for _, _, b in returns])
    assert float(losses[0][0]) == 0.0


@pytest.mark.parametrize("example", [digits_mlp, digits_gru, cart_pole_agent], ids=lambda e: e.__name__)
def test_example_prints_its_table(example):
    result = CliRunner().invoke(example.main, ["--steps", "3"])
    assert result.exit_code == 0, result.output
    assert "time per step, as a ratio" in result.output
