"""The tests on every supported Python, and with the oldest supported JAX (`pip install nox`, then `nox`).

The interpreters must be on PATH; with pyenv: `pyenv shell 3.11.7 3.12.1 3.13.0`.
"""

import re
import tomllib
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False

PYTHONS = ["3.11", "3.12", "3.13"]


def oldest_jax() -> str:
    """The lower bound of jax in pyproject.toml, the only place that states it."""
    project = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text())["project"]
    for requirement in project["dependencies"]:
        if bound := re.fullmatch(r"jax\s*>=\s*([\d.]+)", requirement):
            return bound[1]
    raise ValueError("pyproject.toml names no oldest jax (`jax>=…`) among the dependencies")


def run_tests(session: nox.Session) -> None:
    """The three jobs of `make pytest`."""
    session.env.setdefault("JAX_PLATFORMS", "cpu")
    session.run("python", "-c", "import sys, jax; print('Python', sys.version, '· JAX', jax.__version__)")
    session.run("pytest", "-n", "2", "tests", *session.posargs)
    session.run("pytest", "--doctest-modules", "src")
    session.run("pytest", "-n", "2", "-m", "leaks", "tests", env={"JAX_CHECK_TRACER_LEAKS": "1"})


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The tests with the newest JAX that this Python can install."""
    session.install("--upgrade", "--editable", ".[test]")
    run_tests(session)


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """The tests on the oldest Python with the oldest JAX, and the libraries that go with it."""
    session.install("--editable", ".[test]", f"jax=={oldest_jax()}")
    run_tests(session)
