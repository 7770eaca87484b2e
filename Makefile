# Everything runs in a virtual environment of the project's own; a bare Python 3.11+ is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CORE := $(VENV)/.core

.PHONY: demo test lint types bench-engine bench-toy clean

demo: $(CORE)
	$(BIN)/imabo demo

test: $(STAMP) lint types
	$(BIN)/python -m pytest -n 2 --dist loadgroup

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

bench-engine: $(STAMP)
	$(BIN)/python -m imabo.bench.engine

bench-toy: $(STAMP)
	$(BIN)/python -m imabo.bench.regret

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The demo needs the core alone; the tests need everything.
$(CORE): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e .
	@touch $(CORE)

$(STAMP): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(CORE) $(STAMP)

clean:
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
