"""JAX's own tests, with ``jax.jit`` replaced by ``freshjit.jit``. See README.md."""
