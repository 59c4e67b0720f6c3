"""An OrderedDict gets a new key inside the jitted function."""

import collections
import jax.numpy as jnp


class LRU:
    def __init__(s, n):
        s.n = n
        s.d = collections.OrderedDict()
        s.miss = 0

    def get(s, k, mk):
        if k in s.d:
            s.d.move_to_end(k)
            return s.d[k]
        s.miss += 1
        s.d[k] = mk()
        if len(s.d) > s.n:
            s.d.popitem(last=False)
        return s.d[k]


def program(jit):
    c = LRU(2)
    k = 2.0
    f = jit(lambda x, key: x * c.get(key, lambda: jnp.ones(2) * k))
    out = []
    for key in "abacb":
        k += 1
        out.append(f(1.0, key).tolist())
    return out + [c.miss, list(c.d), [v.tolist() for v in c.d.values()]]
