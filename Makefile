# `make demo` and `make test` set up everything they need; no root, no services, nothing by hand.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# One more than the processors of a small machine: tests of hosts and of disks mostly wait.
JOBS ?= 3

.PHONY: demo test lint hosts torture fuzz bench docs lock clean

demo: $(VENV)/.package
	$(BIN)/python examples/killed_agent.py

test: lint
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

lint: $(VENV)/.package $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Real agent hosts, offline; those that cannot be installed are skipped with the reason.
hosts: $(VENV)/.package $(VENV)/.test
	-$(BIN)/python tests/hosts/setup.py
	$(BIN)/python -m pytest -m hosts tests/hosts tests/packages

# The long versions of the crash tests: FACTOR times the counts of `make test`.
FACTOR ?= 20
torture: $(VENV)/.package $(VENV)/.test
	HOLDFAST_TORTURE=$(FACTOR) $(BIN)/python -m pytest -n $(JOBS) tests/crash tests/concurrency tests/git tests/fuzz

# Guided fuzzing of what reads bytes from outside; atheris is no part of the test requirements.
fuzz: $(VENV)/.package $(VENV)/.test
	$(PIP) install atheris
	HOLDFAST_TORTURE=$(FACTOR) $(BIN)/python -m pytest tests/fuzz

bench: $(VENV)/.package
	$(PIP) install -r bench/requirements.txt
	$(BIN)/python -m bench

docs: $(VENV)/.package
	$(BIN)/python tools/reference.py
	$(BIN)/python tools/api_reference.py
	$(BIN)/python tools/fault_reference.py
	$(BIN)/python tools/index_reference.py
	$(BIN)/python tools/packages.py

lock:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install pip-tools
	$(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-emit-index-url --no-emit-trusted-host \
	  --no-emit-find-links --no-header --output-file requirements/test.txt requirements/test.in

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.test: requirements/test.txt | $(BIN)/python
	$(PIP) install --require-hashes -r requirements/test.txt
	touch $@

# The tests run against the installed package, not against the source tree.
$(VENV)/.package: pyproject.toml README.md $(shell find src -type f -not -name '*.pyc') | $(VENV)/.test
	$(PIP) install --no-build-isolation --no-deps --force-reinstall .
	touch $@

clean:
	rm -rf $(VENV) build dist
