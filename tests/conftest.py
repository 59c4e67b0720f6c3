"""One setting for all tests: eight CPU devices, quick compilation, and a JAX that does not guess."""

import os

import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Compiling is most of the time of the tests, and what is compiled runs once or twice.
FLAGS = {
    "--xla_force_host_platform_device_count": "8",
    "--xla_backend_optimization_level": "0",
    "--xla_llvm_disable_expensive_passes": "true",
}
given = os.environ.get("XLA_FLAGS", "").split()
names = {flag.partition("=")[0] for flag in given}
os.environ["XLA_FLAGS"] = " ".join([*given, *(f"{k}={v}" for k, v in FLAGS.items() if k not in names)])

import jax  # noqa: E402 - it reads the flags


@pytest.fixture(autouse=True)
def strict_jax(request):
    """Shapes must agree by themselves; the whole user programs keep JAX's own default."""
    whole_program = "programs" in request.path.parts
    with jax.numpy_rank_promotion("allow" if whole_program else "raise"):
        jax.config.update("jax_traceback_filtering", "off")  # a test that fails shows where
        yield
