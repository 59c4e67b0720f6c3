"""A small units class overloads arithmetic, reflected and in-place operators over captured and global state."""

import jax.numpy as jnp

RATES = {"m": jnp.array(1.0), "km": jnp.array(1000.0)}


class Length:
    def __init__(self, value, unit="m"):
        self.value, self.unit = value, unit

    def metres(self):
        return self.value * RATES[self.unit]

    def __add__(self, other):
        return Length(self.metres() + other.metres())

    def __rmul__(self, k):
        return Length(k * self.value, self.unit)

    def __neg__(self):
        return -1.0 * self

    def __iadd__(self, other):
        self.value = self.value + other.metres() / RATES[self.unit]
        return self

    def __matmul__(self, other):
        return self.metres() * other.metres()

    def __lt__(self, other):
        return self.metres() < other.metres()


def program(jit):
    road, path = Length(jnp.array(2.0), "km"), Length(jnp.array(50.0))

    @jit
    def run(x):
        nonlocal road
        total = road + 2.0 * path + -path
        road += Length(x)
        return total.metres(), road @ path, path < road

    def look():
        a, b, c = run(jnp.array(100.0))
        return [float(a), float(b), bool(c)]

    seen = [look(), look()]
    RATES["km"] = jnp.array(1.0)
    seen.append(look())
    path.unit = "km"
    seen.append(look())
    Length.__neg__ = lambda self: self
    return seen + [look(), float(road.value)]
