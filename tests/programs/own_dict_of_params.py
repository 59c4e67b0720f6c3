"""A parameter dictionary is updated inside the jitted step, gains and loses keys, and is merged from a checkpoint."""

import jax.numpy as jnp


def program(jit):
    params = {"w": jnp.array([1.0, 2.0]), "b": jnp.array(0.0)}

    @jit
    def step(x):
        y = jnp.sum(params["w"] * x) + params.get("b", 0.0)
        for name in list(params):
            params[name] = params[name] - 0.1 * y
        params.setdefault("updates", jnp.array(0.0))
        params["updates"] += 1.0
        if "drop" in params:
            params.pop("drop")
        return y

    x = jnp.array([1.0, 1.0])
    seen = [float(step(x)), float(step(x))]
    params["b"] = jnp.array(7.0)
    seen.append(float(step(x)))
    params.update(drop=jnp.array(1.0), w=jnp.array([0.5, 0.5]))
    seen += [float(step(x)), "drop" in params]
    del params["b"]
    seen.append(float(step(x)))
    return seen, {k: v.tolist() for k, v in sorted(params.items())}
