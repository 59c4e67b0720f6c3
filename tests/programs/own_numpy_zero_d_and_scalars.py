"""Settings are 0-d NumPy arrays and NumPy scalars of several dtypes, which are set in place or replaced."""

import jax.numpy as jnp
import numpy as np


class Settings:
    rate = np.array(0.5, np.float32)  # 0-d, changed in place
    steps = np.int32(3)  # scalar, replaced
    flag = np.bool_(True)
    gain = np.float16(2.0)


def program(jit):
    s = Settings()

    @jit
    def run(x):
        for _ in range(s.steps):
            x = x * s.rate
        if s.flag:
            x = x + 100
        return x * s.gain

    x = jnp.array(8.0)
    seen = [float(run(x))]
    s.rate[...] = 2.0
    seen.append(float(run(x)))
    s.steps = np.int32(1)
    seen.append(float(run(x)))
    s.flag = np.bool_(False)
    seen.append(float(run(x)))
    s.rate[()] = -1.0
    s.gain = np.float16(0.25)
    seen.append(float(run(x)))
    s.steps, s.flag = np.int64(0), np.array(True)
    return seen + [float(run(x))]
