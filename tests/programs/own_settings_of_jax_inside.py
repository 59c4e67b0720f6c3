"""JAX's settings by context managers: set inside the function as its state says, and around the calls."""

import jax
import jax.numpy as jnp


class Settings:
    impl, precision = "rbg", "float32"


def program(jit):
    settings = Settings()

    @jit
    def draw(x):
        outer = jax.random.normal(jax.random.key(0))
        with jax.default_prng_impl(settings.impl), jax.default_matmul_precision(settings.precision):
            inner = jax.random.normal(jax.random.key(0))
            return x * outer, x * inner, jax.config.jax_default_matmul_precision

    seen = []

    def look():
        outer, inner, precision = draw(jnp.float32(2.0))
        seen.append([float(outer), float(inner), precision])

    for impl in ("rbg", "threefry2x32", "unsafe_rbg"):
        settings.impl = impl
        look()
        with jax.default_prng_impl("rbg"), jax.default_matmul_precision("bfloat16"):
            look()
        settings.precision = "bfloat16" if impl == "rbg" else "float32"
        look()
    return seen
