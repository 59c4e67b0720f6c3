"""A window table comes from an lru_cache helper written in NumPy; its constants change and the cache is cleared."""

from functools import lru_cache

import jax.numpy as jnp
import numpy as np

SHARPNESS = 1.0


@lru_cache(maxsize=None)
def window(n):
    ramp = np.linspace(-1.0, 1.0, n, dtype=np.float32)
    return 1.0 - np.abs(ramp) * np.float32(SHARPNESS)


class Smoother:
    size = 3

    def __call__(self, x):
        return jnp.convolve(x, jnp.asarray(window(self.size)), mode="same")


def program(jit):
    global SHARPNESS
    smooth = Smoother()
    run = jit(lambda x: smooth(x))
    x = jnp.array([1.0, 0.0, 0.0, 2.0])
    seen = [run(x).tolist(), window.cache_info().currsize]
    smooth.size = 1
    seen.append(run(x).tolist())
    SHARPNESS = 0.25
    window.cache_clear()
    seen.append(run(x).tolist())
    smooth.size = 3
    seen += [run(x).tolist(), window(3).tolist()]
    return seen
