"""``self.__dict__ = self``: a dict whose items are its attributes; and objects that share a dictionary."""

import jax.numpy as jnp


class Config(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self

    def __getitem__(self, key):  # attributes do not ask it
        return dict.__getitem__(self, key)


class Shared:
    state = {"n": 0}

    def __init__(self):
        self.__dict__ = self.state


def plain(value):
    return float(value) if hasattr(value, "dtype") else value


def program(jit):
    config, shared = Config(n=1, sub=Config(k=2)), Shared()
    kept = {}

    @jit
    def step(x):
        config.n += 1
        config["by_item"] = config["n"] * 2
        config.sub["k"] += config.by_item
        if "old" in config:
            del config.old
        config.x = x
        return config["n"], config.n, config.sub.k, list(config), vars(config) is config

    @jit
    def make(x):
        made = Config(a=x, inner=Config(b=1))
        made.c = 2
        kept["made"] = made
        return made

    @jit
    def borg(x):
        new = Shared()
        new.n += 1
        shared.n += 10
        Shared.state["by_item"] = x
        return new.n, shared.by_item, Shared().n, new

    seen = []
    for i in range(4):
        parts = step(jnp.float32(2.0))
        seen += [*parts, {k: plain(v) for k, v in config.items() if k != "sub"}, len(config)]
        seen.append(config.__dict__ is config)
        made = make(jnp.float32(3.0))
        made["late"], made.later = 5, 6
        seen += [made.late, made["later"], made.__dict__ is made, made.inner.__dict__ is made.inner]
        seen += [kept["made"] is made, float(made["a"]), sorted(made)]
        first, second, third, new = borg(jnp.float32(4.0))
        new.outside = i
        seen += [first, float(second), third, shared.outside, new.__dict__ is Shared.state]
        if i == 1:
            config.n, config["old"] = 50, 1
            shared.n = 100
        if i == 2:
            config["sub"] = Config(k=7)
            Shared.state["n"] = 0.5
    return seen
