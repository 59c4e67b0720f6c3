"""A list of weight arrays is captured: items are replaced, the list grows, shrinks and is emptied."""

import jax.numpy as jnp


def program(jit):
    weights = [jnp.array(2.0), jnp.array(3.0)]

    @jit
    def chain(x):
        for w in weights:
            x = x * w + 1
        return x, len(weights)

    def look():
        y, n = chain(jnp.array(1.0))
        return [float(y), int(n)]

    seen = [look()]
    weights[0] = jnp.array(-2.0)
    seen.append(look())
    weights.append(jnp.array(10.0))
    seen.append(look())
    weights.insert(0, 0.5)
    seen.append(look())
    del weights[1:3]
    seen.append(look())
    weights.reverse()
    seen.append(look())
    weights.clear()
    seen.append(look())
    weights += [jnp.array(2.0), jnp.array(3.0)]
    return seen + [look()]
