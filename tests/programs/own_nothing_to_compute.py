"""Functions whose result needs no computation still go by the kinds of their arguments, and keep effects."""

import jax
import jax.numpy as jnp
import numpy as np


class Sizes:
    def __init__(self):
        self.total, self.log = 0, []


def program(jit):
    @jit
    def length(x):
        return x.shape[0]

    @jit
    def names(tree):
        return sorted(tree), len(tree)

    @jit
    def kind(x):
        return str(x.dtype), np.zeros(x.shape).tolist()

    @jit
    def check(x):
        if x.ndim != 2:
            raise ValueError("two dimensions, please")

    sizes, heard = Sizes(), []

    @jit
    def count(x):
        sizes.total += x.shape[0]

    @jit
    def say(x):
        jax.debug.callback(lambda v: heard.append(float(v)), x)

    @jit
    def default_kind():
        return str(jnp.zeros(()).dtype)

    seen = {
        "lengths": [length(jnp.ones(n)) for n in (3, 5, 3, 4)],
        "names": [names({n: 1.0 for n in ns}) for ns in ("ab", "abc", "xy", "ab")],
        "kinds": [kind(jnp.ones(2, t)) for t in (jnp.float32, jnp.int32, jnp.float32)],
    }
    refused = []
    for x in (jnp.ones((2, 3)), jnp.ones(2), jnp.ones((3, 3))):
        try:
            check(x)
            refused.append(False)
        except ValueError as error:
            refused.append(str(error))
    for n in (2, 3, 2):
        count(jnp.ones(n))
    for x in (1.0, 2.0, 1.0):
        say(x)
    jax.effects_barrier()
    kinds = [default_kind()]
    with jax.enable_x64(True):
        kinds.append(default_kind())
    kinds.append(default_kind())
    return {**seen, "refused": refused, "total": sizes.total, "heard": heard, "default": kinds}
