"""An old uint32 key and a new typed key are both split on self inside the jitted sampler, and reset from outside."""

import jax
import jax.numpy as jnp


class Sampler:
    def __init__(self, seed):
        self.reset(seed)

    def reset(self, seed):
        self.old = jax.random.PRNGKey(seed)
        self.new = jax.random.key(seed)

    def draw(self, scale):
        self.old, sub = jax.random.split(self.old)
        a = jax.random.normal(sub, (2,)) * scale
        self.new, *subs = jax.random.split(self.new, 3)
        b = sum(jax.random.uniform(k) for k in subs)
        return a, b


def program(jit):
    sampler = Sampler(0)
    draw = jit(sampler.draw)
    seen = []
    for turn in range(4):
        if turn == 2:
            sampler.reset(0)
        a, b = draw(1.0)
        seen.append([a.tolist(), float(b)])
    fresh = jnp.array_equal(jax.random.key_data(sampler.new), jax.random.key_data(jax.random.key(0)))
    return seen, seen[0] == seen[2], bool(fresh), sampler.old.tolist()
