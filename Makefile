# One line each; the work is done by ci/ and by the tools that pyproject.toml configures.
BIN := .venv/bin
SEED = $(shell git rev-parse HEAD 2>/dev/null || echo none)

.DEFAULT_GOAL := help
.PHONY: help setup images certify matrix load test soak mutants bench check format docs site dist compiled lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.set-up-run ## make .venv with .venv/bin/groupproof, from the lock file

images: .venv/.set-up-dev ## build images of Apache Kafka, Toxiproxy (or what IMAGES names) out of this machine's files, where the official ones can't be had
	$(BIN)/python -m groupproof.chaos.images.build_images $(IMAGES)

certify: .venv/.set-up-run ## put registered clients (CLIENTS="franz-go java@3.1.1", or all) in front of the reference coordinator; reports in reports/; RESUME=1 goes on where it stopped
	$(BIN)/python ci/certify.py $(CLIENTS) $(if $(RESUME),--resume)

matrix: .venv/.set-up-run ## certify all registered clients, resumed where it stopped, and bring the public matrix in docs/matrix up to date
	-$(BIN)/python ci/certify.py all --resume
	$(BIN)/python ci/matrix.py reports/*/

load: .venv/.set-up-dev ## form a group of 1,000 members over Spark, lose a third of it, restart it in waves; the trace in reports/
	$(BIN)/groupproof load --members 1000 --duration 6m --churn bad-day --set session_timeout_ms=30000 --set heartbeat_interval_ms=5000 \
		--output reports/load-$(shell date +%m%d-%H%M%S) $(ARGS)

# The tests start Python hundreds of times, also where the environment has it compile everything each time.
test soak: export PYTHONDONTWRITEBYTECODE :=
test soak: export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/bytecode

# More workers than processors: half of the time a test that is slow waits for a program that it started. What is quick waits for nothing,
# and fills that time (`tests/choosing.py`).
PROCESSORS = $(shell getconf _NPROCESSORS_ONLN)
WORKERS = $(if $(FAST),$(PROCESSORS),$(shell expr 2 \* $(PROCESSORS)))

# In a new clone every worker would compile the whole project for itself. Two processes do it once for all; whether the tests can be collected the run says.
.cache/bytecode/.compiled: .venv/.set-up-dev
	@echo Compiling the project and its tests
	@printf '%s\n' tests/harness 'tests --ignore=tests/harness' | xargs -P 2 -I FOLDERS sh -c '$(BIN)/python -m pytest --collect-only -qq FOLDERS >/dev/null 2>&1 || true'
	@mkdir -p $(@D) && touch $@

test: export GROUPPROOF_FAST := $(FAST)
test: .venv/.set-up-dev .cache/bytecode/.compiled ## run the tests, in random order, warnings as errors; FAST=1 for a change in hand: what is quick, and a share of what is drawn
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

soak: .venv/.set-up-dev .cache/bytecode/.compiled ## run the long form of the proofs: thousands of seeds, every mutant, large bounds; SEED=... has another run again than the commit's
	GROUPPROOF_SOAK=$(SEED) $(BIN)/python -m pytest -n auto --dist worksteal -o faulthandler_timeout=1200 $(ARGS)

mutants: .venv/.set-up-dev ## mutate the machines: a sample of 400, each of which some test should kill
	$(BIN)/python ci/mutants.py $(ARGS)

bench: .venv/.set-up-dev ## measure groupproof beside its peers, part by part, with the machine's noise, and keep the run for the page docs/site/speed.md; ARGS="--only wire" measures one part
	$(BIN)/python -m tests.benchmarks.bench $(ARGS)

check: .venv/.set-up-dev ## format, lint, types, import contracts, generated documents; the same for a person and CI
	ci/check

format: .venv/.set-up-dev ## let the formatter and the linter mend what they can
	$(BIN)/ruff check --quiet --fix
	$(BIN)/ruff format --quiet

docs: .venv/.set-up-run ## print the generated documents, the snapshots of the tables, the names of the witnesses, what the cases judge, the count of planted bugs and the matrix anew
	$(BIN)/python ci/witnesses.py
	$(BIN)/python ci/planted.py
	$(BIN)/python ci/error_names.py
	$(BIN)/python ci/judged.py 2>/dev/null
	$(BIN)/python ci/museum.py
	$(BIN)/python ci/incidents.py
	$(BIN)/python ci/storm.py
	$(BIN)/python ci/figures.py
	$(BIN)/python -m tests.benchmarks.speed_page
	$(BIN)/python ci/matrix.py
	$(BIN)/python -m groupproof.protocol.documents.render docs/spec
	$(BIN)/python -m groupproof.chaos docs/chaos.md
	$(BIN)/python -m groupproof.protocol.rules

site: .venv/.set-up-dev ## build the documentation site into dist/site, without a network; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

dist: .venv/.set-up-dev ## build the wheel, and one file that runs with nothing but a Python, into dist/; PLATFORMS="linux-x86_64 macos-arm64" for others than this machine
	$(BIN)/python ci/dist.py $(PLATFORMS)

compiled: .venv/.set-up-dev ## build the wheel with compiled modules for this Python and this machine into dist/; it needs a C compiler
	$(BIN)/python ci/compiled.py

lock: .venv/.set-up-dev ## resolve the lock files anew from pyproject.toml
	ci/lock

clean: ## remove what can be made again
	rm -rf .venv .cache/bytecode .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.set-up-run: pyproject.toml ci/setup ci/uv.lock ci/requirements.lock
	@ci/setup run

.venv/.set-up-dev: pyproject.toml ci/setup ci/uv.lock ci/requirements-dev.lock
	@ci/setup dev
