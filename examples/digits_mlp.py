"""Handwritten digits: an MLP with batch normalisation, dropout and Adam, trained by a plain Python class.

    python examples/digits_mlp.py
    python examples/digits_mlp.py --optimizer optax --steps 300 --seed 1

`Classifier` is written as one thinks of it: parameters, running statistics, the random key, the moments of
Adam, the learning rate and a step counter are attributes. The methods under `@jit` read and write them, also
from inside `jax.value_and_grad`; `train()` and `eval()` set a flag. Below it is the same program as `jax.jit`
wants it: all of this in one `State`, passed in and out of every function.

Both draw the same random numbers. For a hundred steps and more their parameters agree to five digits; later
the rounding of two different compiled programs grows, as it does whenever such a network is trained (a ReLU
that is just on in one is just off in the other), and the third digit may differ. The accuracies agree.

The step of the plain class is compiled again when the counter has moved and becomes an input, and when the
learning rate has. After that, neither costs a compilation. One more, tiny program sends Python numbers to
the device.

The data are scikit-learn's (8 × 8 pixels), which come with the package: nothing is downloaded.
"""

import functools
from itertools import pairwise
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

SIZES = (64, 128, 128, 10)
BATCH = 64
DECAY = 0.9  # of the running statistics


# -- the plain class ------------------------------------------------------------------------------------


class Classifier:
    def __init__(self, seed):
        self.key = jax.random.key(seed)
        self.params = []
        for n_in, n_out in pairwise(SIZES):
            self.key, key = jax.random.split(self.key)
            w = jax.random.normal(key, (n_in, n_out)) * jnp.sqrt(2 / n_in)
            self.params.append({"w": w, "scale": jnp.ones(n_out), "shift": jnp.zeros(n_out)})
        self.mean = [jnp.zeros(n) for n in SIZES[1:-1]]
        self.var = [jnp.ones(n) for n in SIZES[1:-1]]
        self.learning_rate = 2e-3
        self.dropout = 0.2
        self.training = True
        self.steps = 0
        self.prepare_optimizer()

    def train(self):
        self.training = True

    def eval(self):
        self.training = False

    def forward(self, params, x):
        *hidden, last = params
        for i, layer in enumerate(hidden):
            x = self.normalise(i, x @ layer["w"]) * layer["scale"] + layer["shift"]
            x = self.drop(jax.nn.relu(x))
        return x @ last["w"] * last["scale"] + last["shift"]

    def normalise(self, i, x):
        if self.training:
            mean, var = x.mean(axis=0), x.var(axis=0)
            self.mean[i] = DECAY * self.mean[i] + (1 - DECAY) * mean
            self.var[i] = DECAY * self.var[i] + (1 - DECAY) * var
        else:
            mean, var = self.mean[i], self.var[i]
        return (x - mean) / jnp.sqrt(var + 1e-5)

    def drop(self, x):
        if not self.training:
            return x
        self.key, key = jax.random.split(self.key)
        kept = jax.random.bernoulli(key, 1 - self.dropout, x.shape)
        return jnp.where(kept, x / (1 - self.dropout), 0.0)

    def loss(self, params, images, labels):
        log_p = jax.nn.log_softmax(self.forward(params, images))
        return -jnp.mean(jnp.take_along_axis(log_p, labels[:, None], axis=1))

    @jit
    def step(self, images, labels):
        loss, gradient = jax.value_and_grad(self.loss)(self.params, images, labels)
        self.steps += 1
        self.update(gradient)
        return loss

    @jit
    def accuracy(self, images, labels):
        return jnp.mean(jnp.argmax(self.forward(self.params, images), axis=1) == labels)

    # Adam by hand.

    def prepare_optimizer(self):
        self.m = jax.tree.map(jnp.zeros_like, self.params)
        self.v = jax.tree.map(jnp.zeros_like, self.params)

    def update(self, gradient):
        self.m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, self.m, gradient)
        self.v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, self.v, gradient)
        rate = self.learning_rate * (1 - 0.999**self.steps) ** 0.5 / (1 - 0.9**self.steps)
        self.params = jax.tree.map(
            lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), self.params, self.m, self.v
        )


class OptaxClassifier(Classifier):
    """The same with an optimizer of Optax, which holds its own state in an attribute."""

    def prepare_optimizer(self):
        self.optimizer = optax.scale_by_adam()
        self.opt_state = self.optimizer.init(self.params)

    def update(self, gradient):
        updates, self.opt_state = self.optimizer.update(gradient, self.opt_state)
        self.params = jax.tree.map(lambda p, u: p - self.learning_rate * u, self.params, updates)


# -- the functional version -----------------------------------------------------------------------------


class State(NamedTuple):
    """Everything that a step changes."""

    params: Any
    mean: Any
    var: Any
    opt_state: Any
    key: Any
    steps: Any


class Adam(NamedTuple):
    m: Any
    v: Any


def init(seed, optimizer):
    key = jax.random.key(seed)
    params = []
    for n_in, n_out in pairwise(SIZES):
        key, subkey = jax.random.split(key)
        w = jax.random.normal(subkey, (n_in, n_out)) * jnp.sqrt(2 / n_in)
        params.append({"w": w, "scale": jnp.ones(n_out), "shift": jnp.zeros(n_out)})
    mean = [jnp.zeros(n) for n in SIZES[1:-1]]
    var = [jnp.ones(n) for n in SIZES[1:-1]]
    if optimizer == "optax":
        opt_state = optax.scale_by_adam().init(params)
    else:
        opt_state = Adam(jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params))
    return State(params, mean, var, opt_state, key, jnp.int32(0))


def forward(params, state, x, dropout, training):
    *hidden, last = params
    new_mean, new_var, key = [], [], state.key
    for layer, running_mean, running_var in zip(hidden, state.mean, state.var, strict=True):
        x = x @ layer["w"]
        if training:
            mean, var = x.mean(axis=0), x.var(axis=0)
            new_mean.append(DECAY * running_mean + (1 - DECAY) * mean)
            new_var.append(DECAY * running_var + (1 - DECAY) * var)
        else:
            mean, var = running_mean, running_var
            new_mean.append(running_mean)
            new_var.append(running_var)
        x = (x - mean) / jnp.sqrt(var + 1e-5)
        x = jax.nn.relu(x * layer["scale"] + layer["shift"])
        if training:
            key, subkey = jax.random.split(key)
            kept = jax.random.bernoulli(subkey, 1 - dropout, x.shape)
            x = jnp.where(kept, x / (1 - dropout), 0.0)
    state = state._replace(mean=new_mean, var=new_var, key=key)
    return x @ last["w"] * last["scale"] + last["shift"], state


def loss_of(params, state, images, labels, dropout):
    logits, state = forward(params, state, images, dropout, training=True)
    log_p = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(log_p, labels[:, None], axis=1)), state


@functools.partial(jax.jit, static_argnames="optimizer")
def functional_step(state, learning_rate, dropout, images, labels, optimizer):
    (loss, state), gradient = jax.value_and_grad(loss_of, has_aux=True)(
        state.params, state, images, labels, dropout
    )
    steps = state.steps + 1
    if optimizer == "optax":
        updates, opt_state = optax.scale_by_adam().update(gradient, state.opt_state)
        params = jax.tree.map(lambda p, u: p - learning_rate * u, state.params, updates)
    else:
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.opt_state.m, gradient)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, state.opt_state.v, gradient)
        # `steps` is an int32 array here, and `1 - 0.999**steps` in float32 would lose four digits.
        correction1, correction2 = (-jnp.expm1(steps * np.log(decay)) for decay in (0.9, 0.999))
        rate = learning_rate * jnp.sqrt(correction2) / correction1
        params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), state.params, m, v)
        opt_state = Adam(m, v)
    return state._replace(params=params, opt_state=opt_state, steps=steps), loss


@jax.jit
def functional_accuracy(state, images, labels):
    logits, _ = forward(state.params, state, images, 0.0, training=False)
    return jnp.mean(jnp.argmax(logits, axis=1) == labels)


# -- both, on the same batches --------------------------------------------------------------------------


def digits():
    """Images and labels for training and for testing."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.data))
    images = (data.data[order] / 16).astype(np.float32)
    labels = data.target[order].astype(np.int32)
    return (images[360:], labels[360:]), (images[:360], labels[:360])


def run(steps=600, seed=0, optimizer="hand"):
    """Train both versions; the class, the functional state, their accuracies, losses, and the race."""
    (images, labels), test = digits()
    rng = np.random.default_rng(seed)
    model = OptaxClassifier(seed) if optimizer == "optax" else Classifier(seed)
    state, learning_rate = init(seed, optimizer), 2e-3

    def functional(images, labels):
        nonlocal state
        state, loss = functional_step(state, learning_rate, 0.2, images, labels, optimizer)
        return loss

    race, losses, accuracies = Race(), [], []
    for i in track(range(steps), description="Training both"):
        if i and i % 100 == 0:
            model.eval()
            accuracies.append((float(model.accuracy(*test)), float(functional_accuracy(state, *test))))
            model.train()
            model.learning_rate *= 0.7
            learning_rate *= 0.7
        batch = rng.choice(len(images), BATCH, replace=False)
        losses.append(race.turn(model.step, functional, images[batch], labels[batch]))
    model.eval()
    accuracies.append((float(model.accuracy(*test)), float(functional_accuracy(state, *test))))
    return model, state, accuracies, losses, race


@click.command()
@click.option("--steps", default=600, show_default=True, help="Steps of training, each with 64 images.")
@click.option("--seed", default=0, show_default=True, help="Of the parameters, the dropout and the batches.")
@click.option("--optimizer", type=click.Choice(["hand", "optax"]), default="hand", show_default=True)
def main(steps, seed, optimizer):
    """Train an MLP on handwritten digits, as a plain class and in functional form."""
    model, state, accuracies, losses, race = run(steps, seed, optimizer)
    a, b = accuracies[-1]
    race.print(
        "Digits: MLP with batch normalisation, dropout and Adam",
        ("accuracy on test images", f"{a:.1%}", f"{b:.1%}"),
        ("loss of the last step", *(f"{float(loss):.6f}" for loss in losses[-1])),
        ("parameters differ by", f"{largest_difference(model.params, state.params):.1e}", "–"),
        ("running means differ by", f"{largest_difference(model.mean, state.mean):.1e}", "–"),
        ("steps counted", model.steps, state.steps),
    )


if __name__ == "__main__":
    main()
