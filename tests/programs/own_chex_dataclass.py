"""A chex dataclass with a mutable twin keeps agent state; one is replaced with .replace, the other assigned to under jit."""

import chex
import jax.numpy as jnp


@chex.dataclass(frozen=True)
class Frozen:
    q: chex.Array
    n: chex.Array


@chex.dataclass
class Loose:
    reward: chex.Array
    done: bool = False


def program(jit):
    class Agent:
        def __init__(self):
            self.state = Frozen(q=jnp.zeros(2), n=jnp.array(0))
            self.env = Loose(reward=jnp.array(1.0))

        @jit
        def act(self, x):
            reward = jnp.array(0.0) if self.env.done else self.env.reward
            self.state = self.state.replace(q=self.state.q + x * reward, n=self.state.n + 1)
            self.env.reward = self.env.reward * 2
            return self.state

    agent = Agent()
    x = jnp.array([1.0, -1.0])
    seen = []
    for step in range(4):
        out = agent.act(x)
        seen.append([out.q.tolist(), int(out.n)])
        agent.env.done = step == 1
    agent.state = Frozen(q=jnp.ones(2), n=jnp.array(50))
    return seen + [agent.act(x).q.tolist(), int(agent.state.n), float(agent.env.reward)]
