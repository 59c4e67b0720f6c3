"""Whole user programs: the jitted run shows what plain Python shows, and leaves no tracer behind."""

import pytest
from tests.programs import harness

from freshjit import jit

# Programs that still cost more than their author wants, and why.
FURTHER_COMPILATIONS = {
    # The argument is a Python number at first and an array afterwards: weakly typed, then strongly, which is
    # another type to JAX (and to jax.jit).
    "case_053": 1,
}


@pytest.mark.parametrize("path", harness.program_files(), ids=lambda p: p.stem)
def test_program(path):
    try:
        eager = harness.run(path, harness.identity)  # also compiles the operations outside jit
    except ModuleNotFoundError as e:
        if (e.name or "").partition(".")[0] in harness.OPTIONAL:
            pytest.skip(f"needs {e.name}")
        raise
    right = eager.value if eager.expected is None else eager.expected
    fresh = harness.run(path, jit)
    assert harness.same(right, fresh.value), f"right {right}\nfresh {fresh.value}"
    assert not fresh.tracers, f"tracers left at {fresh.tracers}"
    if fresh.wanted is not None:
        allowed = fresh.wanted + FURTHER_COMPILATIONS.get(path.stem, 0)
        assert fresh.compiles <= allowed, f"{fresh.compiles} compilations, wanted {fresh.wanted}"
