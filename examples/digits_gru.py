"""A recurrent network: a GRU reads a handwritten digit row by row, with its state in `self.h`.

    python examples/digits_gru.py
    python examples/digits_gru.py --steps 300 --seed 1

The hidden state is an attribute. The body of `jax.lax.scan` reads `self.h` and assigns to it; the scan
itself has nothing to carry. It runs under `jax.value_and_grad` in the training step. Afterwards the same
object reads images one row at a time: `self.h` is kept between calls, and the table shows how the guess
improves with every row.

Below the class is the functional version, which carries the hidden state through the scan by hand. Both
reach the same parameters, mostly to the last bit.
The data are scikit-learn's digits (8 rows of 8 pixels), which come with the package: nothing is downloaded.
"""

from typing import Any, NamedTuple

import click
import jax
import jax.numpy as jnp
import numpy as np
import optax
from rich.progress import track
from side_by_side import Race, largest_difference
from sklearn.datasets import load_digits

from freshjit import jit

WIDTH = 64
BATCH = 64


def optimizer(steps):
    """Adam with clipped gradients and a learning rate that falls to zero."""
    return optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(1e-2, steps)))


# -- the plain class ------------------------------------------------------------------------------------


class Reader:
    def __init__(self, seed, steps):
        keys = jax.random.split(jax.random.key(seed), 3)
        self.params = {
            "gates": jax.random.normal(keys[0], (8 + WIDTH, 2 * WIDTH)) / jnp.sqrt(8 + WIDTH),
            "gate_shift": jnp.zeros(2 * WIDTH),
            "candidate": jax.random.normal(keys[1], (8 + WIDTH, WIDTH)) / jnp.sqrt(8 + WIDTH),
            "candidate_shift": jnp.zeros(WIDTH),
            "out": jax.random.normal(keys[2], (WIDTH, 10)) / jnp.sqrt(WIDTH),
        }
        self.optimizer = optimizer(steps)
        self.opt_state = self.optimizer.init(self.params)
        self.h = None
        self.rows_read = 0

    def reset(self, batch):
        self.h = jnp.zeros((batch, WIDTH))
        self.rows_read = 0

    def read_row(self, params, row):
        both = jnp.concatenate([row, self.h], axis=-1)
        gates = jax.nn.sigmoid(both @ params["gates"] + params["gate_shift"])
        reset, update = jnp.split(gates, 2, axis=-1)
        both = jnp.concatenate([row, reset * self.h], axis=-1)
        candidate = jnp.tanh(both @ params["candidate"] + params["candidate_shift"])
        self.h = update * self.h + (1 - update) * candidate
        self.rows_read += 1

    def read(self, params, images):
        """Logits after each row."""

        def body(_, row):
            self.read_row(params, row)
            return None, self.h @ params["out"]

        return jax.lax.scan(body, None, images.swapaxes(0, 1))[1]

    def loss(self, params, images, labels):
        self.reset(len(images))
        log_p = jax.nn.log_softmax(self.read(params, images))
        return -jnp.mean(jnp.take_along_axis(log_p, labels[None, :, None], axis=2))

    @jit
    def step(self, images, labels):
        loss, gradient = jax.value_and_grad(self.loss)(self.params, images, labels)
        updates, self.opt_state = self.optimizer.update(gradient, self.opt_state)
        self.params = optax.apply_updates(self.params, updates)
        return loss

    @jit
    def accuracy(self, images, labels):
        """Read some rows on top of those read so far, and compare the guess."""
        return jnp.mean(jnp.argmax(self.read(self.params, images)[-1], axis=1) == labels)


# -- the functional version -----------------------------------------------------------------------------


class State(NamedTuple):
    params: Any
    opt_state: Any


def init(seed, steps):
    keys = jax.random.split(jax.random.key(seed), 3)
    params = {
        "gates": jax.random.normal(keys[0], (8 + WIDTH, 2 * WIDTH)) / jnp.sqrt(8 + WIDTH),
        "gate_shift": jnp.zeros(2 * WIDTH),
        "candidate": jax.random.normal(keys[1], (8 + WIDTH, WIDTH)) / jnp.sqrt(8 + WIDTH),
        "candidate_shift": jnp.zeros(WIDTH),
        "out": jax.random.normal(keys[2], (WIDTH, 10)) / jnp.sqrt(WIDTH),
    }
    return State(params, optimizer(steps).init(params))


def read(params, h, images):
    def body(h, row):
        gates = jnp.concatenate([row, h], axis=-1) @ params["gates"] + params["gate_shift"]
        reset, update = jnp.split(jax.nn.sigmoid(gates), 2, axis=-1)
        both = jnp.concatenate([row, reset * h], axis=-1)
        candidate = jnp.tanh(both @ params["candidate"] + params["candidate_shift"])
        h = update * h + (1 - update) * candidate
        return h, h @ params["out"]

    h, logits = jax.lax.scan(body, h, images.swapaxes(0, 1))
    return logits, h


def loss_of(params, images, labels):
    logits, _ = read(params, jnp.zeros((len(images), WIDTH)), images)
    log_p = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(log_p, labels[None, :, None], axis=2))


def make_functional_step(steps):
    update = optimizer(steps).update

    @jax.jit
    def step(state, images, labels):
        loss, gradient = jax.value_and_grad(loss_of)(state.params, images, labels)
        updates, opt_state = update(gradient, state.opt_state)
        return State(optax.apply_updates(state.params, updates), opt_state), loss

    return step


@jax.jit
def functional_accuracy(params, h, images, labels):
    logits, h = read(params, h, images)
    return jnp.mean(jnp.argmax(logits[-1], axis=1) == labels), h


# -- both, on the same batches --------------------------------------------------------------------------


def digits():
    """Images and labels for training and for testing."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.images))
    images = (data.images[order] / 16).astype(np.float32)
    labels = data.target[order].astype(np.int32)
    return (images[360:], labels[360:]), (images[:360], labels[:360])


def run(steps=600, seed=0):
    """Train both; the model, the functional state, losses, accuracies after each row, and the race."""
    (images, labels), (test_images, test_labels) = digits()
    rng = np.random.default_rng(seed)
    model, state = Reader(seed, steps), init(seed, steps)
    functional_step = make_functional_step(steps)

    def functional(images, labels):
        nonlocal state
        state, loss = functional_step(state, images, labels)
        return loss

    race, losses = Race(), []
    for _ in track(range(steps), description="Training both"):
        batch = rng.choice(len(images), BATCH, replace=False)
        losses.append(race.turn(model.step, functional, images[batch], labels[batch]))

    # The test images, one row per call: the hidden state stays in the object from call to call.
    accuracies = []
    model.reset(len(test_images))
    h = jnp.zeros((len(test_images), WIDTH))
    for i in range(8):
        row = test_images[:, i : i + 1]
        by_hand, h = functional_accuracy(state.params, h, row, test_labels)
        accuracies.append((float(model.accuracy(row, test_labels)), float(by_hand)))
    return model, state, losses, accuracies, race


@click.command()
@click.option("--steps", default=600, show_default=True, help="Steps of training, each with 64 images.")
@click.option("--seed", default=0, show_default=True, help="Of the parameters and the batches.")
def main(steps, seed):
    """Train a GRU to read handwritten digits row by row, as a plain class and in functional form."""
    model, state, losses, accuracies, race = run(steps, seed)
    race.print(
        "Digits, read row by row by a GRU",
        *(
            (f"accuracy after row {i}", f"{a:.1%}", f"{b:.1%}")
            for i, (a, b) in enumerate(accuracies, start=1)
        ),
        ("loss of the last step", *(f"{float(loss):.6f}" for loss in losses[-1])),
        ("rows read since the reset", model.rows_read, 8),
        ("parameters differ by", f"{largest_difference(model.params, state.params):.1e}", "–"),
    )


if __name__ == "__main__":
    main()
