"""A target network starts as the very same arrays as the online network, diverges, and is synchronised again."""

import jax.numpy as jnp


class Learner:
    def __init__(self):
        self.params = jnp.array([1.0, 2.0])
        self.target = self.params

    def td_error(self, x):
        return jnp.sum((self.params - 0.5 * self.target) * x)

    def learn(self, x):
        self.params = self.params + x
        return self.td_error(x)

    def sync(self):
        self.target = self.params
        return jnp.sum(self.target)


def program(jit):
    lr = Learner()
    td, learn, sync = jit(lr.td_error), jit(lr.learn), jit(lr.sync)
    x = jnp.array([1.0, 10.0])
    seen = [float(td(x)), float(learn(x)), float(td(x)), lr.target.tolist()]
    seen += [float(sync()), float(td(x)), float(learn(x)), float(td(x))]
    lr.target = lr.params
    seen.append(float(td(x)))
    lr.params, lr.target = lr.target * 0, lr.params
    seen += [float(td(x)), float(learn(x)), lr.target.tolist()]
    return seen
