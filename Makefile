# `make up` and `make test` need only python3 (3.11 or later) with venv and pip.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
# The stamp's name holds the checksum of what was installed: another lock, another stamp.
STAMP := .venv/installed-$(shell cat requirements-dev.txt client/pyproject.toml | cksum | cut -d' ' -f1)
N ?= 5000
# Two work while two wait on processes; a selection runs in one, which starts sooner.
WORKERS ?= 4
PARALLEL = -n $(WORKERS) --max-worker-restart 0
# Programs that are started again and again must not compile our modules each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install lock up demo test test-fast lint check bench screenshots fuzz chaos mutants dist clean

help: ## Say what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /make \1\t/' | expand -t 16

install: $(STAMP) ## Make .venv with the locked requirements and the client

$(STAMP): requirements-dev.txt client/pyproject.toml
	@echo "Installing the locked requirements into .venv (once)" >&2
	@$(PYTHON) -m venv .venv >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable ./client >&2
	@rm -f .venv/installed-* && touch $@

# What is locked stays unless a .in file asks for another; make lock ARGS=--upgrade takes the newest.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-strip-extras --system-certs --custom-compile-command "make lock"

lock: $(STAMP) ## Write requirements*.txt anew from requirements*.in
	$(LOCK) $(ARGS) requirements.in --output-file requirements.txt
	$(LOCK) $(ARGS) requirements-dev.in --constraints requirements.txt --output-file requirements-dev.txt

up: $(STAMP) ## Run the whole service here; Ctrl-C stops it
	@exec $(BIN)/python -m scheduler_service.embedded up

demo: $(STAMP) ## Run a mixed workload on what make up started, and check the bill
	@$(BIN)/python -m scheduler_service.embedded demo

test: $(STAMP) ## Run the tests; make test ARGS="tests/jobs -k cancel"
	@$(BIN)/python -m pytest $(or $(ARGS),$(PARALLEL))

test-fast: WORKERS = 2
test-fast: $(STAMP) ## Run those that need no process and little time, all day long
	@$(BIN)/python -m pytest $(PARALLEL) --hypothesis-profile fast -m "not process and not slow" $(ARGS)

lint: $(STAMP) ## Format, lint, types, imports, migrations, API schema
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file /dev/null

check: lint test ## Everything CI does

bench: $(STAMP) ## Print figures as JSON lines; make bench NAME=x for one
	@$(BIN)/python -m lab.benchmarks $(NAME)

screenshots: $(STAMP) ## Take pictures of the console's pages, with the system's chromium
	@$(BIN)/python -m lab screenshots $(NAME)

fuzz: $(STAMP) ## Fuzz the API from its schema; make fuzz N=100000 for a campaign
	@$(BIN)/python -m tests.fuzz --requests $(N)

chaos: N = 60
chaos: SEED = 1
chaos: $(STAMP) ## Hurt a stack of its own and check every promise; N=1000 SEED=2, CRASH=all
	@$(BIN)/python -m lab.chaos run --faults $(N) --seed $(SEED) $(if $(CRASH),--crash $(CRASH))

mutants: $(STAMP) ## Remove each guard of the safety code in turn: do the tests notice?
	@$(BIN)/python -m lab.chaos mutants

# From what is committed, in a folder of its own: builds leave files beside their sources.
dist: $(STAMP) ## Build the wheels of service, agent and client into dist/, with checksums
	@rm -rf dist && mkdir dist
	@source=$$(mktemp -d) && trap 'rm -rf "$$source"' EXIT && git archive HEAD | tar -x -C "$$source" && \
		SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m pip wheel --quiet --no-deps \
		--disable-pip-version-check --wheel-dir dist "$$source" "$$source/agent" "$$source/client"
	@cp requirements.txt dist/
	@cd dist && sha256sum *.whl requirements.txt | tee SHA256SUMS

clean: ## Remove .venv and caches; the data in var/ stays
	rm -rf .venv .mypy_cache .ruff_cache .import_linter_cache .hypothesis .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
