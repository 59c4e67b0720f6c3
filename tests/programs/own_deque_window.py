"""A delay line is a deque with maxlen: the jitted call pushes, rotates and averages it."""

from collections import deque

import jax.numpy as jnp


def program(jit):
    line = deque([jnp.array(0.0)] * 3, maxlen=3)

    @jit
    def push(x):
        line.append(x)
        return sum(line) / len(line)

    @jit
    def turn():
        line.rotate(1)
        return line[0] * 100 + line[-1]

    seen = [float(push(jnp.array(v))) for v in (3.0, 6.0, 9.0, 12.0)]
    seen.append(float(turn()))
    line.popleft()
    seen.append(float(push(jnp.array(1.0))))
    line.extendleft([jnp.array(5.0)])
    seen += [float(turn()), len(line), line.maxlen]
    return seen, [float(v) for v in line]
