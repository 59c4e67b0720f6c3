# Works on a machine that has python3 (3.11 or newer), make and a package index: `make demo`, `make test`.
#
# Each `.venv/.stamp-*` records one installation and depends on pyproject.toml, so re-runs are quick and a
# changed dependency is installed. Choose another interpreter with `make PYTHON=python3.13 …` (after
# `make clean`), other pytest options with `make test PYTEST_ARGS="-k store"`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
PYTEST_ARGS ?=

# The CPU is always there; set JAX_PLATFORMS to use another backend.
JAX_PLATFORMS ?= cpu
export JAX_PLATFORMS

PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest
LINTED := src tests benchmarks noxfile.py $(wildcard examples)

.DEFAULT_GOAL := help
.PHONY: help demo test lint pytest fuzz jax-suite bench examples docs clean

help:
	@echo "make demo    see three questions answered by jax.jit and by freshjit"
	@echo "make test    ruff, pyright, pytest, doctests, and the tracer-leak job"
	@echo "make lint    ruff and pyright only"
	@echo "make pytest  pytest, doctests and the tracer-leak job only"
	@echo "make fuzz    more random programs than make test runs: make fuzz N=1000 (some minutes)"
	@echo "make examples  three training programs, as plain classes and by hand (about a minute)"
	@echo "make jax-suite  JAX's own tests, with jax.jit replaced (git and the network; some minutes)"
	@echo "make bench   the benchmarks (some minutes)"
	@echo "make docs    the documentation, into site/"
	@echo "make clean   remove $(VENV) and everything generated"

demo: $(VENV)/.stamp-base
	$(BIN)/freshjit demo

test: lint pytest

lint: $(VENV)/.stamp-test
	$(BIN)/ruff check $(LINTED)
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/pyright --pythonpath $(BIN)/python

pytest: $(VENV)/.stamp-test
	$(PYTEST) -n $(WORKERS) tests $(PYTEST_ARGS)
	$(PYTEST) --doctest-modules src
	JAX_CHECK_TRACER_LEAKS=1 $(PYTEST) -n $(WORKERS) -m leaks tests

N ?= 1000
fuzz: $(VENV)/.stamp-test
	$(BIN)/python -m tests.fuzz --examples $(N) $(FUZZ_ARGS)

JAX_SOURCE ?= https://github.com/jax-ml/jax
JAX_TESTS ?= $(shell sed -n 's/^\[tests\.\(.*\)\]/\1/p' tests/jax_suite/deviations.toml)
jax-suite: $(VENV)/.stamp-test
	rm -rf .jax
	git clone --quiet --depth 1 --filter blob:none --no-checkout \
		--branch jax-v$$($(BIN)/python -c 'import jax; print(jax.__version__)') $(JAX_SOURCE) .jax
	git -C .jax checkout --quiet HEAD -- tests
	$(PYTEST) -p tests.jax_suite.plugin -n $(WORKERS) -c /dev/null --rootdir .jax \
		$(patsubst %,.jax/tests/%.py,$(JAX_TESTS)) $(PYTEST_ARGS)

bench: $(VENV)/.stamp-bench
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

examples: $(VENV)/.stamp-examples
	$(BIN)/python examples/digits_mlp.py
	$(BIN)/python examples/digits_gru.py
	$(BIN)/python examples/cart_pole_agent.py

docs: $(VENV)/.stamp-docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) .jax build dist site .pytest_cache .ruff_cache .hypothesis .fuzz
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# --- installation -----------------------------------------------------------------------------------

# Some systems split the `venv` module off python3; virtualenv, if present, does as well.
$(VENV)/.stamp-venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "freshjit needs Python 3.11 or newer: make PYTHON=python3.11 …"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || $(PYTHON) -m virtualenv $(VENV) \
		|| { rm -rf $(VENV); echo "$(PYTHON) can make no virtual environment: install its venv module"; exit 1; }
	@touch $@

$(VENV)/.stamp-base: $(VENV)/.stamp-venv pyproject.toml
	@echo "Installing freshjit into $(VENV)"
	@$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.stamp-test: $(VENV)/.stamp-venv pyproject.toml
	@echo "Installing freshjit, its tests' libraries and the linters into $(VENV)"
	@$(PIP_INSTALL) --editable '.[test,lint]'
	@touch $@ $(VENV)/.stamp-base

$(VENV)/.stamp-bench: $(VENV)/.stamp-venv pyproject.toml
	@echo "Installing freshjit and the benchmarks' contenders into $(VENV)"
	@$(PIP_INSTALL) --editable '.[bench]'
	@touch $@

$(VENV)/.stamp-examples: $(VENV)/.stamp-venv pyproject.toml
	@echo "Installing freshjit and what the examples need into $(VENV)"
	@$(PIP_INSTALL) --editable '.[examples]'
	@touch $@

$(VENV)/.stamp-docs: $(VENV)/.stamp-venv pyproject.toml
	@echo "Installing the documentation's tools into $(VENV)"
	@$(PIP_INSTALL) --editable '.[docs]'
	@touch $@
