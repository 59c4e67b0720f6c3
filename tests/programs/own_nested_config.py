"""A configuration is a dict of lists of tuples of dicts, as read from a file; one deep entry at a time is edited."""

import jax.numpy as jnp

CONFIG = {
    "stem": {"gain": 2.0, "enabled": True},
    "blocks": [
        ("conv", {"weights": [jnp.array(1.0), jnp.array(2.0)]}),
        ("norm", {"eps": 0.5}),
    ],
}


def build(cfg, x):
    if cfg["stem"]["enabled"]:
        x = x * cfg["stem"]["gain"]
    for kind, options in cfg["blocks"]:
        if kind == "conv":
            for w in options["weights"]:
                x = x * w + 1
        elif kind == "norm":
            x = x / (1 + options["eps"])
    return x


def program(jit):
    f = jit(lambda x: build(CONFIG, x))
    x = jnp.array(1.0)
    seen = [float(f(x))]
    CONFIG["blocks"][0][1]["weights"][1] = jnp.array(-1.0)
    seen.append(float(f(x)))
    CONFIG["stem"]["enabled"] = False
    seen.append(float(f(x)))
    CONFIG["blocks"][0][1]["weights"].append(jnp.array(3.0))
    seen.append(float(f(x)))
    CONFIG["blocks"].insert(0, ("norm", {"eps": 1.0}))
    seen.append(float(f(x)))
    CONFIG["blocks"] = []
    CONFIG["comment"] = "nobody reads this"
    return seen + [float(f(x))]
