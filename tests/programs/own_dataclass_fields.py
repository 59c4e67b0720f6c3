"""A plain dataclass with a default_factory field is captured; fields are assigned, replaced and updated inside the call."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp


@dataclass
class State:
    position: jax.Array
    velocity: jax.Array
    tags: list = field(default_factory=list)
    damping: float = 0.5


def program(jit):
    body = State(jnp.zeros(2), jnp.array([1.0, -1.0]))

    @jit
    def push(dt):
        body.velocity = body.velocity * (1 - body.damping)
        body.position = body.position + dt * body.velocity
        body.tags.append(f"d{body.damping}")
        return jnp.sum(body.position)

    seen = [float(push(1.0)), float(push(1.0))]
    body.damping = 0.0
    seen.append(float(push(2.0)))
    twin = replace(body, velocity=jnp.array([3.0, 3.0]), tags=["twin"])
    body = twin
    seen.append(float(push(1.0)))
    return seen, body.position.tolist(), body.velocity.tolist(), body.tags
