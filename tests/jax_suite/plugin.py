"""A plugin of pytest: ``jax.jit`` is ``freshjit.jit``. Tests that cannot pass so are expected to fail."""

import inspect
import tomllib
from pathlib import Path

import jax
import pytest

import freshjit

KNOWN = tomllib.loads(Path(__file__).with_name("deviations.toml").read_text())


def pytest_configure(config):
    jax.jit = freshjit.jit  # before the modules with the tests are imported


def pytest_report_header():
    return f"freshjit.jit in the place of jax.jit, JAX {jax.__version__}; deviations of {KNOWN['jax']}"


def pytest_collection_modifyitems(items):
    reasons = {
        f"{module}::{test}": KNOWN["reasons"][reason]
        for module, lists in KNOWN["tests"].items()
        for reason, tests in lists.items()
        for test in tests
    }
    for item in items:
        reason = reasons.get(f"{item.path.stem}::{item.cls.__name__}::{item.name}")
        if reason is not None:
            # One that passes after all is a failure: the list is to stay true. Subtests do not count.
            has_subtests = "subTest" in inspect.getsource(item.function)
            item.add_marker(pytest.mark.xfail(reason=reason, strict=not has_subtests))
