# Everything one does here. A bare `make` lists the targets.
# Needs Python 3.11 or newer, git and make; all else is pinned by hash in the two locks.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Another interpreter: make setup PYTHON=/usr/bin/python3.13
PYTHON ?= $(shell command -v python3.11 || command -v python3)
CHECKED := $(wildcard registry indexer policies tests benchmarks)
LOCK := $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --universal \
	--python-version 3.11 pyproject.toml

.PHONY: help setup setup-dev demo test lint format types contracts check bench lock clean

help: ## List what one can do
	@echo "Playbook Registry. What one can do:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(VENV)/.installed ## Create .venv with what the registry needs to run

setup-dev: $(VENV)/.installed-dev ## The same with the tools for tests and checks

demo: setup ## Start a registry over example repositories and show what to try (Ctrl-C ends it)
	@$(BIN)/registry demo

test: setup-dev ## Run the tests (no network, no Redis, no PostgreSQL)
	@$(BIN)/pytest -n 2 --dist loadfile

lint: setup-dev ## Check style and formatting
	@$(BIN)/ruff check $(CHECKED)
	@$(BIN)/ruff format --check $(CHECKED)

format: setup-dev ## Apply the formatting and the fixes that are safe
	@$(BIN)/ruff check --fix $(CHECKED)
	@$(BIN)/ruff format $(CHECKED)

types: setup-dev ## Check types (mypy, strict)
	@$(BIN)/mypy

contracts: setup-dev ## Check which package may import which
	@$(BIN)/lint-imports

check: lint types contracts test ## All of lint, types, contracts and test

bench: setup-dev ## Run the benchmarks and print what they measured
	@set -e; shopt -s nullglob; for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python "$$file"; done

lock: setup-dev ## Resolve pyproject.toml anew into requirements.lock and requirements-dev.lock
	@$(LOCK) --group build --upgrade --output-file requirements.lock
	@$(LOCK) --group dev --extra postgres --upgrade --constraint requirements.lock --output-file requirements-dev.lock

clean: ## Remove .venv, caches and build output
	@rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache \
		.coverage htmlcov
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps: a set-up that is newer than the locks is left as it is.
$(VENV)/.installed: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "make setup: Python 3.11 or newer is needed, found: $$("$(PYTHON)" --version 2>&1 || echo none)." >&2; \
		echo "Install it, or name one: make setup PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up $(VENV) with $$("$(PYTHON)" --version) (a minute at most; later runs skip it)"
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@$(PIP) install --only-binary :all: --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	@echo "Adding the tools for tests and checks"
	@$(PIP) install --only-binary :all: --require-hashes -r requirements-dev.lock
	@touch $@
