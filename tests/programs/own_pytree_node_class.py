"""A class registered as a pytree node is captured, passed and returned; its auxiliary data changes, and it carries more."""

import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Affine:
    def __init__(self, a, b, mode="plain"):
        self.a, self.b, self.mode = a, b, mode

    def tree_flatten(self):
        return (self.a, self.b), self.mode

    @classmethod
    def tree_unflatten(cls, mode, children):
        return cls(*children, mode=mode)

    def __call__(self, x):
        y = self.a * x + self.b
        return jnp.abs(y) if self.mode == "abs" else y


def program(jit):
    captured = Affine(jnp.array(2.0), jnp.array(-10.0))

    @jit
    def run(x, given):
        grown = jax.tree_util.tree_map(lambda v: v + 1, given)
        return captured(x) + given(x), grown

    x = jnp.array(3.0)
    given = Affine(jnp.array(0.0), jnp.array(0.0), "abs")
    seen = []
    for change in range(5):
        if change == 1:
            captured.a = jnp.array(1.0)
        elif change == 2:
            captured.mode = "abs"
        elif change == 3:
            captured = Affine(jnp.array(0.0), jnp.array(5.0))
        elif change == 4:
            given.mode = "plain"
        y, given = run(x, given)
        seen.append([float(y), float(given.a), given.mode, type(given).__name__])
    return seen
