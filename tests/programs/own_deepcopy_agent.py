"""An agent is deep-copied as a frozen opponent; the learner then changes, is pickled and is restored from the copy."""

import copy
import pickle

import jax.numpy as jnp


class Agent:
    def __init__(self):
        self.table = jnp.zeros(3)
        self.memory = {"last": jnp.array(0.0), "names": ["start"]}

    def learn(self, reward):
        self.table = self.table.at[1].add(reward)
        self.memory["last"] = reward + self.memory["last"]
        self.memory["names"].append("learn")
        return jnp.sum(self.table) + self.memory["last"]


def program(jit):
    step = jit(lambda agent, r: agent.learn(r))
    learner = Agent()
    seen = [float(step(learner, 1.0))]
    frozen = copy.deepcopy(learner)
    shallow = copy.copy(learner)
    seen += [float(step(learner, 2.0)), float(step(frozen, 10.0)), float(step(shallow, 0.0))]
    learner = pickle.loads(pickle.dumps(frozen))
    seen.append(float(step(learner, 1.0)))
    return seen, frozen.memory["names"], shallow.memory["names"], learner.table.tolist()
