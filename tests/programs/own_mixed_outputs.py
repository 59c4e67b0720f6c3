"""The jitted function returns a report of arrays, strings, None, booleans, a set of names, a class and nested containers."""

import jax.numpy as jnp


class Model:
    name = "first"
    extra = None
    w = jnp.array([1.0, -1.0])


def program(jit):
    model = Model()

    @jit
    def report(x):
        y = model.w * x
        return {
            "y": y,
            "name": model.name,
            "extra": model.extra,
            "finite": True,
            "tags": ["a", ("b", None, jnp.sum(y))],
            "kind": type(model),
            "model": model,
        }

    def look():
        r = report(jnp.array([2.0, 3.0]))
        tags = [r["tags"][0], r["tags"][1][0], r["tags"][1][1], float(r["tags"][1][2])]
        return [
            r["y"].tolist(),
            r["name"],
            r["extra"],
            bool(r["finite"]),
            tags,
            r["kind"].__name__,
            r["model"] is model,
        ]

    seen = [look()]
    model.name = "second"
    seen.append(look())
    model.extra = "now set"
    model.w = jnp.array([10.0, 10.0])
    seen.append(look())
    model.extra = None
    return seen + [look()]
