"""One setting for all tests: eight CPU devices, and a JAX that does not guess."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    flags = os.environ.get("XLA_FLAGS", "").split()
    os.environ["XLA_FLAGS"] = " ".join([*flags, "--xla_force_host_platform_device_count=8"])

import jax
import pytest


@pytest.fixture(autouse=True)
def strict_jax(request):
    """Shapes must agree by themselves; the whole user programs keep JAX's own default."""
    whole_program = "programs" in request.path.parts
    with jax.numpy_rank_promotion("allow" if whole_program else "raise"):
        yield
