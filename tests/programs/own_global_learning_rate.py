"""Training constants are module globals which a schedule rebinds between jitted steps, in steps and back."""

import jax
import jax.numpy as jnp

LEARNING_RATE = jnp.array(0.1)
CLIP = None
PENALTY = {"l2": jnp.array(0.0)}


def loss(w, x):
    return jnp.sum((w * x - 1.0) ** 2) + PENALTY["l2"] * jnp.sum(w**2)


def sgd(w, x):
    g = jax.grad(loss)(w, x)
    if CLIP is not None:
        g = jnp.clip(g, -CLIP, CLIP)
    return w - LEARNING_RATE * g


def program(jit):
    global LEARNING_RATE, CLIP, PENALTY
    step = jit(sgd)
    w, x = jnp.array([0.0, 2.0]), jnp.array([1.0, 2.0])
    seen = [step(w, x).tolist()]
    LEARNING_RATE = LEARNING_RATE * 0.5
    seen.append(step(w, x).tolist())
    CLIP = 1.0
    seen.append(step(w, x).tolist())
    PENALTY["l2"] = jnp.array(3.0)
    CLIP = None
    seen.append(step(w, x).tolist())
    PENALTY = {"l2": jnp.array(-3.0)}
    return seen + [step(w, x).tolist()]
