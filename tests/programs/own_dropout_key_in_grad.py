"""A dropout layer splits its own key while the loss is being differentiated inside the jitted step."""

import jax
import jax.numpy as jnp


class Dropout:
    def __init__(self, rate, seed):
        self.rate = rate
        self.key = jax.random.key(seed)

    def __call__(self, x):
        if self.rate == 0.0:
            return x
        self.key, sub = jax.random.split(self.key)
        keep = jax.random.bernoulli(sub, 1 - self.rate, x.shape)
        return jnp.where(keep, x / (1 - self.rate), 0.0)


def program(jit):
    drop = Dropout(0.5, seed=3)

    @jit
    def step(w, x):
        def loss(w):
            return jnp.sum(drop(w * x) ** 2)

        value, g = jax.value_and_grad(loss)(w)
        return w - 0.01 * g, value

    w, x = jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.ones(4)
    seen = []
    for rate in (0.5, 0.5, 0.0, 0.5):
        drop.rate = rate
        w, value = step(w, x)
        seen.append([w.tolist(), float(value)])
    return seen, float(jax.random.uniform(drop.key))
