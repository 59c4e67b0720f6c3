"""An equinox module is captured by one jitted function and passed to another; tree_at makes edited copies of it."""

import equinox as eqx
import jax
import jax.numpy as jnp


class Unit(eqx.Module):
    w: jax.Array
    act: str = eqx.field(static=True, default="none")
    depth: int = 1

    def __call__(self, x):
        for _ in range(self.depth):
            x = self.w * x
        return jnp.tanh(x) if self.act == "tanh" else x


def program(jit):
    unit = Unit(jnp.array(2.0))

    @jit
    def captured(x):
        return unit(x)

    @jit
    def loss(params, x):
        merged = eqx.combine(
            params, jax.tree_util.tree_map(lambda v: v, eqx.filter(unit, eqx.is_array, inverse=True))
        )
        return merged(x) ** 2

    x = jnp.array(3.0)
    seen = [float(captured(x)), float(loss(eqx.filter(unit, eqx.is_array), x))]
    unit = eqx.tree_at(lambda u: u.w, unit, jnp.array(0.5))
    seen += [float(captured(x)), float(loss(eqx.filter(unit, eqx.is_array), x))]
    unit = Unit(jnp.array(0.1), act="tanh")
    seen.append(float(captured(x)))
    unit = Unit(jnp.array(0.1), depth=2)
    return seen + [float(captured(x)), float(loss(eqx.filter(unit, eqx.is_array), x))]
