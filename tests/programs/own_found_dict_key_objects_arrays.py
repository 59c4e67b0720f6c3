"""A table is keyed by functions of jax.numpy, and looked up with one of them."""

import jax.numpy as jnp


class Node:
    def __init__(s, n):
        s.n = n


def program(jit):
    a, b = Node("a"), Node("b")
    w = {a: 1.0, b: jnp.array(2.0)}
    fn = {abs: 2.0, jnp.sin: 3.0}
    tk = {("a", 1): 1.0, (a, 2): 5.0}
    f = jit(lambda x: sum(v * len(k.n) for k, v in w.items()) * x + fn[jnp.sin] + tk[a, 2] + w[a])
    out = [float(f(1.0))]
    a.n = "aaa"
    out.append(float(f(1.0)))
    w[a] = 7.0
    out.append(float(f(1.0)))
    fn[jnp.sin] = 0.0
    tk[a, 2] = 100.0
    out.append(float(f(1.0)))
    return out
