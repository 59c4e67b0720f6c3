"""Parameters live in a dict subclass that also allows attribute access, as configuration libraries offer."""

import jax.numpy as jnp


class AttrDict(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


def program(jit):
    cfg = AttrDict(w=jnp.array(2.0), opts=AttrDict(relu=True, steps=1))

    @jit
    def run(x):
        for _ in range(cfg.opts.steps):
            x = cfg.w * x
        if getattr(cfg, "bias", None) is not None:
            x = x + cfg["bias"]
        cfg.last = x
        return jnp.maximum(x, 0.0) if cfg.opts.relu else x

    x = jnp.array(-3.0)
    seen = [float(run(x)), float(cfg.last)]
    cfg.opts.relu = False
    seen.append(float(run(x)))
    cfg.bias = jnp.array(100.0)
    seen.append(float(run(x)))
    cfg["opts"] = AttrDict(relu=False, steps=3)
    cfg.w = jnp.array(-1.0)
    seen.append(float(run(x)))
    del cfg["bias"]
    return seen + [float(run(x)), sorted(cfg), type(cfg.opts).__name__]
