"""A jitted method takes *args and **kwargs and defaults, and is called in every permitted way."""

import jax.numpy as jnp


class Mixer:
    def __init__(self):
        self.gains = [jnp.array(1.0), jnp.array(10.0), jnp.array(100.0)]
        self.names = {"left": 0, "right": 1}

    def mix(self, first, *more, scale=1.0, **named):
        total = self.gains[0] * first
        for g, v in zip(self.gains[1:], more):
            total = total + g * v
        for name in sorted(named):
            total = total + self.gains[self.names[name]] * named[name]
        return total * scale


def program(jit):
    mixer = Mixer()
    mix = jit(mixer.mix)
    one = jnp.array(1.0)

    def every_way():
        return [
            float(mix(one)),
            float(mix(one, 2.0, 3.0)),
            float(mix(first=one)),
            float(mix(one, left=4.0)),
            float(mix(one, one, right=one, left=one)),
            float(mix(*[one] * 3, **{"scale": 0.5})),
        ]

    seen = [every_way()]
    mixer.names["left"] = 2
    seen.append(every_way())
    mixer.gains[0] = jnp.array(-1.0)
    return seen + [every_way()]
