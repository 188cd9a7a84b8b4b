# What a person does with this repository: demo, lab, test, bench, format.
#
# Nothing but Python 3.11, 3.12 or 3.13 and a package index is needed. Everything is installed into
# $(VENV), which is made again when pyproject.toml, this file or the chosen Python changes.

VENV ?= .venv
BUILD ?= build

# The newest Python that fits and can make environments; `make test PYTHON=python3.12` takes another.
# A candidate must really run: version managers leave commands on the path that only print advice.
ifndef PYTHON
PYTHON := $(shell for python in python3.13 python3.12 python3.11 python3; do \
	"$$python" -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	>/dev/null 2>&1 && { echo "$$python"; break; }; done)
endif

BIN := $(VENV)/bin
MADE := $(VENV)/made-by-$(notdir $(PYTHON))
# Kernels come from $(VENV), not from the user's home.
export JUPYTER_PREFER_ENV_PATH := 1
export PATH := $(abspath $(BIN)):$(PATH)

# Two workers; browser tests share one of them (see tests/browser/conftest.py).
PYTEST_OPTIONS ?= -n 2 --dist loadgroup

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo lab test lint types tests bench format clean

help:
	@echo "make demo    run examples/quickstart.ipynb, write it as HTML, print what happened"
	@echo "make lab     open JupyterLab on examples/"
	@echo "make test    lint, types and all tests"
	@echo "make bench   compare with NumPy, numba.njit and others; prints one table"
	@echo "make format  format the sources and sort their imports"
	@echo "make clean   remove everything that these commands made"

demo: $(VENV)/has-lab
	@$(BIN)/python examples/run.py examples/quickstart.ipynb --html $(BUILD)/quickstart.html

lab: $(VENV)/has-lab
	$(BIN)/python -m jupyterlab --notebook-dir=examples $(if $(filter 0,$(shell id -u)),--allow-root)

test: lint types tests

lint: $(VENV)/has-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/has-test
	$(BIN)/mypy

tests: $(VENV)/has-test
	$(BIN)/python -m pytest $(PYTEST_OPTIONS)

bench: $(VENV)/has-test
	$(BIN)/python -m tests.benchmarks

format: $(VENV)/has-test
	$(BIN)/ruff check --fix --select I
	$(BIN)/ruff format

clean:
	rm -rf .venv .venv-* $(BUILD) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(MADE): pyproject.toml Makefile
	@test -n "$(PYTHON)" || { echo "No Python 3.11, 3.12 or 3.13 with the venv module was found." \
	"Install one, or name one: make PYTHON=/path/to/python"; exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV)
	@touch $@

$(VENV)/has-lab: $(MADE)
	$(BIN)/python -m pip install --quiet --editable ".[lab]"
	@touch $@

$(VENV)/has-test: $(MADE)
	$(BIN)/python -m pip install --quiet --editable ".[test,lab]"
	@touch $@ $(VENV)/has-lab
