"""An actor-critic agent learns to balance a pole on a cart, from a replay buffer that is captured state.

    python examples/cart_pole_agent.py
    python examples/cart_pole_agent.py --steps 1000 --seed 1

`Agent` holds what an agent holds: an environment (32 cart-poles side by side, written in JAX), a replay
buffer, two networks, the optimizer's state, a random key. One call of `agent.step()` plays one move on every
cart, puts it into the buffer (arrays written by `.at[rows].set`, a position that is a Python int), and does
one update from a random sample. Whether there is enough in the buffer to learn from is a plain `if`. An
examination puts a new environment in the place of the old one for a while, and lets it run through a
`jax.lax.scan` that has nothing to carry.

Below the classes is the functional version, with everything passed in and out by hand. Both draw the same
random numbers and reach the same parameters, mostly to the last bit.

The method is soft actor-critic for discrete actions, with one critic and a fixed temperature. Training stops
when the greedy policy has a mean return of 475 of 500. Seeds 0 and 1 reach it after 750 moves; for longer it
would get worse again for a while, as the buffer forgets what the edges of the track are like.

The step of the plain class is compiled anew when the counters have moved and become inputs, when learning
begins, when the target network is no longer the same object as the critic, and when the buffer is full. One
more, tiny program sends Python numbers to the device.
"""

from typing import Any, NamedTuple

import click
import jax
import jax.numpy as jnp
import optax
from rich.progress import track
from side_by_side import Race, largest_difference

from freshjit import jit

CARTS = 32
CAPACITY = 16_384
BATCH = 256
ENOUGH = 1024  # moves in the buffer before learning begins
LIMIT = 500  # moves in an episode
GOAL = 475  # the mean return at which training stops
DISCOUNT = 0.98
TEMPERATURE = 0.05
OPTIMIZER = optax.adam(1e-3)


# -- physics and networks: functions of arrays, used by both versions ------------------------------------


def start(key, n):
    """Carts near the middle, poles nearly upright."""
    return jax.random.uniform(key, (n, 4), minval=-0.05, maxval=0.05)


def move(carts, action):
    """The classic cart-pole: push each cart to the left (0) or to the right (1) for 0.02 s."""
    _, v, angle, turning = carts.T
    force = jnp.where(action == 1, 10.0, -10.0)
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    pressed = (force + 0.05 * turning**2 * sin) / 1.1
    angular = (9.8 * sin - cos * pressed) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
    forward = pressed - 0.05 * angular * cos / 1.1
    speeds = jnp.stack([v, forward, turning, angular], axis=1)
    carts = carts + 0.02 * speeds
    fallen = (jnp.abs(carts[:, 0]) > 2.4) | (jnp.abs(carts[:, 2]) > 0.2095)
    return carts, fallen


def new_network(key):
    keys, sizes = jax.random.split(key, 3), (4, 64, 64, 2)
    return [
        (jax.random.normal(k, (n, m)) * jnp.sqrt(1 / n), jnp.zeros(m))
        for k, n, m in zip(keys, sizes, sizes[1:], strict=False)
    ]


def network(layers, x):
    x = x * jnp.array([1.0, 0.5, 5.0, 0.5])
    for w, b in layers[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = layers[-1]
    return x @ w + b


# -- the plain classes ----------------------------------------------------------------------------------


class CartPoles:
    """Cart-poles side by side. A fallen one starts again."""

    def __init__(self, key):
        self.key, key = jax.random.split(key)
        self.carts = start(key, CARTS)
        self.age = jnp.zeros(CARTS, int)

    def step(self, action):
        """Where the carts are after the move, and which have fallen."""
        following, fallen = move(self.carts, action)
        self.key, key = jax.random.split(self.key)
        over = fallen | (self.age + 1 >= LIMIT)
        self.carts = jnp.where(over[:, None], start(key, CARTS), following)
        self.age = jnp.where(over, 0, self.age + 1)
        return following, fallen


class Replay:
    """The last `CAPACITY` moves."""

    def __init__(self):
        self.before, self.after = jnp.zeros((CAPACITY, 4)), jnp.zeros((CAPACITY, 4))
        self.action, self.fallen = jnp.zeros(CAPACITY, int), jnp.zeros(CAPACITY, bool)
        self.position = self.filled = 0

    def add(self, before, action, after, fallen):
        rows = self.position + jnp.arange(len(before))
        self.before = self.before.at[rows].set(before)
        self.action = self.action.at[rows].set(action)
        self.after = self.after.at[rows].set(after)
        self.fallen = self.fallen.at[rows].set(fallen)
        self.position = (self.position + len(before)) % CAPACITY
        self.filled = min(self.filled + len(before), CAPACITY)

    def sample(self, key):
        rows = jax.random.randint(key, (BATCH,), 0, self.filled)
        return self.before[rows], self.action[rows], self.after[rows], self.fallen[rows]


class Agent:
    def __init__(self, seed):
        self.key, key, actor, critic = jax.random.split(jax.random.key(seed), 4)
        self.env = CartPoles(key)
        self.memory = Replay()
        self.params = {"actor": new_network(actor), "critic": new_network(critic)}
        self.target = self.params["critic"]
        self.opt_state = OPTIMIZER.init(self.params)
        self.updates = 0

    def new_key(self):
        self.key, key = jax.random.split(self.key)
        return key

    @jit
    def step(self):
        """One move of each cart; then, if there is enough to learn from, one update."""
        before = self.env.carts
        action = jax.random.categorical(self.new_key(), network(self.params["actor"], before))
        after, fallen = self.env.step(action)
        self.memory.add(before, action, after, fallen)
        if self.memory.filled >= ENOUGH:
            return self.learn()
        return jnp.zeros(())

    def learn(self):
        batch = self.memory.sample(self.new_key())
        loss, gradient = jax.value_and_grad(self.loss)(self.params, *batch)
        changes, self.opt_state = OPTIMIZER.update(gradient, self.opt_state)
        self.params = optax.apply_updates(self.params, changes)
        self.target = optax.incremental_update(self.params["critic"], self.target, 0.02)
        self.updates += 1
        return loss

    def loss(self, params, before, action, after, fallen):
        log_p = jax.nn.log_softmax(network(params["actor"], after))
        value = jnp.sum(jnp.exp(log_p) * (network(self.target, after) - TEMPERATURE * log_p), axis=1)
        wanted = jax.lax.stop_gradient(jnp.where(fallen, 0.0, 0.1 + DISCOUNT * value))
        q = network(params["critic"], before)
        critic_loss = jnp.mean((jnp.take_along_axis(q, action[:, None], axis=1)[:, 0] - wanted) ** 2)
        log_p = jax.nn.log_softmax(network(params["actor"], before))
        actor_loss = jnp.mean(
            jnp.sum(jnp.exp(log_p) * (TEMPERATURE * log_p - jax.lax.stop_gradient(q)), axis=1)
        )
        return critic_loss + actor_loss

    @jit
    def examine(self, seed):
        """The mean return of the greedy policy, one episode on each cart; training goes on where it was."""
        training, self.env = self.env, CartPoles(jax.random.key(seed))
        self.standing, self.score = jnp.ones(CARTS, bool), jnp.zeros(CARTS)

        def one_move(_, __):
            action = jnp.argmax(network(self.params["actor"], self.env.carts), axis=1)
            _, fallen = self.env.step(action)
            self.score = self.score + self.standing
            self.standing = self.standing & ~fallen
            return None, None

        jax.lax.scan(one_move, None, length=LIMIT)
        self.env = training
        return jnp.mean(self.score)


# -- the functional version -----------------------------------------------------------------------------


class Env(NamedTuple):
    key: Any
    carts: Any
    age: Any


class Memory(NamedTuple):
    before: Any
    action: Any
    after: Any
    fallen: Any


class State(NamedTuple):
    key: Any
    env: Env
    memory: Memory
    params: Any
    target: Any
    opt_state: Any


def new_env(key):
    key, subkey = jax.random.split(key)
    return Env(key, start(subkey, CARTS), jnp.zeros(CARTS, int))


def env_step(env, action):
    following, fallen = move(env.carts, action)
    key, subkey = jax.random.split(env.key)
    over = fallen | (env.age + 1 >= LIMIT)
    carts = jnp.where(over[:, None], start(subkey, CARTS), following)
    return Env(key, carts, jnp.where(over, 0, env.age + 1)), following, fallen


def init(seed):
    key, subkey, actor, critic = jax.random.split(jax.random.key(seed), 4)
    params = {"actor": new_network(actor), "critic": new_network(critic)}
    memory = Memory(
        before=jnp.zeros((CAPACITY, 4)),
        action=jnp.zeros(CAPACITY, int),
        after=jnp.zeros((CAPACITY, 4)),
        fallen=jnp.zeros(CAPACITY, bool),
    )
    return State(key, new_env(subkey), memory, params, params["critic"], OPTIMIZER.init(params))


def loss_of(params, target, batch):
    log_p = jax.nn.log_softmax(network(params["actor"], batch.after))
    value = jnp.sum(jnp.exp(log_p) * (network(target, batch.after) - TEMPERATURE * log_p), axis=1)
    wanted = jax.lax.stop_gradient(jnp.where(batch.fallen, 0.0, 0.1 + DISCOUNT * value))
    q = network(params["critic"], batch.before)
    critic_loss = jnp.mean((jnp.take_along_axis(q, batch.action[:, None], axis=1)[:, 0] - wanted) ** 2)
    log_p = jax.nn.log_softmax(network(params["actor"], batch.before))
    actor_loss = jnp.mean(jnp.sum(jnp.exp(log_p) * (TEMPERATURE * log_p - jax.lax.stop_gradient(q)), axis=1))
    return critic_loss + actor_loss


def play(state, position):
    key, subkey = jax.random.split(state.key)
    before = state.env.carts
    action = jax.random.categorical(subkey, network(state.params["actor"], before))
    env, after, fallen = env_step(state.env, action)
    rows = position + jnp.arange(CARTS)
    new = Memory(before, action, after, fallen)
    memory = jax.tree.map(lambda column, values: column.at[rows].set(values), state.memory, new)
    return state._replace(key=key, env=env, memory=memory)


@jax.jit
def functional_play(state, position):
    return play(state, position), jnp.zeros(())


@jax.jit
def functional_play_and_learn(state, position, filled):
    state = play(state, position)
    key, subkey = jax.random.split(state.key)
    rows = jax.random.randint(subkey, (BATCH,), 0, filled)
    batch = jax.tree.map(lambda column: column[rows], state.memory)
    loss, gradient = jax.value_and_grad(loss_of)(state.params, state.target, batch)
    changes, opt_state = OPTIMIZER.update(gradient, state.opt_state)
    params = optax.apply_updates(state.params, changes)
    target = optax.incremental_update(params["critic"], state.target, 0.02)
    return state._replace(key=key, params=params, target=target, opt_state=opt_state), loss


@jax.jit
def functional_examine(params, seed):
    def one_move(carry, _):
        env, standing, score = carry
        action = jnp.argmax(network(params["actor"], env.carts), axis=1)
        env, _, fallen = env_step(env, action)
        return (env, standing & ~fallen, score + standing), None

    first = new_env(jax.random.key(seed)), jnp.ones(CARTS, bool), jnp.zeros(CARTS)
    (_, _, score), _ = jax.lax.scan(one_move, first, length=LIMIT)
    return jnp.mean(score)


# -- both -----------------------------------------------------------------------------------------------


def run(steps=2000, seed=0, every=250):
    """Train both; the agent, the functional state, losses, the returns by step, and the race."""
    agent, state = Agent(seed), init(seed)
    position = filled = 0

    def functional():
        nonlocal state, position, filled
        after = min(filled + CARTS, CAPACITY)
        if after >= ENOUGH:
            state, loss = functional_play_and_learn(state, position, after)
        else:
            state, loss = functional_play(state, position)
        position, filled = (position + CARTS) % CAPACITY, after
        return loss

    race, losses, returns = Race(), [], []
    for i in track(range(1, steps + 1), description="Training both"):
        losses.append(race.turn(agent.step, functional))
        if i % every == 0:
            returns.append((i, float(agent.examine(i)), float(functional_examine(state.params, i))))
            if min(returns[-1][1:]) >= GOAL:
                break
    return agent, state, losses, returns, race


@click.command()
@click.option(
    "--steps", default=2000, show_default=True, help="At most so many moves of each of the 32 carts."
)
@click.option("--seed", default=0, show_default=True, help="Of the networks, the carts and the sampling.")
def main(steps, seed):
    """Train an agent to balance a pole on a cart, as plain classes and in functional form."""
    agent, state, losses, returns, race = run(steps, seed)
    race.print(
        "Cart-pole: actor-critic with a replay buffer (a return of 500 is perfect)",
        *((f"return after {i} moves", f"{a:.1f}", f"{b:.1f}") for i, a, b in returns),
        ("loss of the last step", *(f"{float(loss):.6f}" for loss in losses[-1])),
        ("parameters differ by", f"{largest_difference(agent.params, state.params):.1e}", "–"),
        ("updates counted", agent.updates, state.opt_state[0].count),
    )


if __name__ == "__main__":
    main()
