"""A haiku network with state is applied in a jitted function and its state kept on an object."""

import haiku as hk
import jax
import jax.numpy as jnp


def program(jit):
    cfg = {"act": jax.nn.relu, "width": 3}

    def net(x):
        h = hk.Linear(cfg["width"])(x)
        c = hk.get_state("c", [], init=jnp.zeros)
        hk.set_state("c", c + 1)
        return cfg["act"](h) * (c + 1)

    t = hk.transform_with_state(net)
    x = jnp.ones((1, 2))
    p, s = t.init(jax.random.key(0), x)

    class H:
        pass

    h = H()
    h.p, h.s = p, s

    @jit
    def f(x):
        y, h.s = t.apply(h.p, h.s, None, x)
        return y

    out = [f(x).tolist(), f(x).tolist()]
    cfg["act"] = jnp.tanh
    out.append(f(x).tolist())
    return out + [jax.tree.map(lambda a: float(a), h.s)]
