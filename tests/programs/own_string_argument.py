"""A string and None are passed as ordinary arguments, without being declared static, by position and by keyword."""

import jax.numpy as jnp


def program(jit):
    @jit
    def reduce(x, how="mean", *, mask=None, dtype=None):
        if mask is not None:
            x = jnp.where(mask, x, 0.0)
        y = {"mean": jnp.mean, "sum": jnp.sum, "max": jnp.max}[how](x)
        return y if dtype is None else y.astype(dtype), f"{how}:{mask is None}"

    x = jnp.array([1.0, 2.0, 6.0])
    mask = jnp.array([True, False, True])
    seen = []
    for args, kwargs in [
        ((x,), {}),
        ((x, "sum"), {}),
        ((x,), {"how": "max"}),
        ((x, "sum"), {"mask": mask}),
        ((x, "mean"), {"dtype": jnp.int32}),
        ((x, "mean"), {"mask": None}),
        ((x,), {}),
    ]:
        y, text = reduce(*args, **kwargs)
        seen.append([float(y), str(y.dtype), text])
    return seen
