"""A dict whose attributes are its items, by methods of dict's own in the class."""

import jax.numpy as jnp


class Config(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


def plain(value):
    return float(value) if hasattr(value, "dtype") else value


def program(jit):
    config = Config(n=0, lr=1.0, old="x")

    @jit
    def step(x):
        config.n = config.n + 1
        config.new = x * config.lr
        if "old" in config:
            del config.old
        return config.n, config.new

    @jit
    def make(x):
        made = Config()
        made.x, made.k = x, 2
        return made

    seen = []
    for lr in (1.0, 5.0, 5.0):
        config.lr = lr
        seen += [*step(jnp.float32(2.0)), dict(config), vars(config)]
    made = make(jnp.float32(3.0))
    seen += [dict(made), vars(made), type(made).__name__]
    return [{k: plain(v) for k, v in s.items()} if isinstance(s, dict) else plain(s) for s in seen]
