# The words a person types. Each sets up what it needs, says what it does, and can be repeated.
SHELL := /bin/bash
# Empty: the first Python from 3.11 to 3.13 on PATH.
PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
# All packages of requirements/dev.txt, or those of a part of it.
STAMP := $(VENV)/.installed-dev
# What a broker and lagwarden need beside packages; without the archive of classes Spark starts slower.
# Each line is one program, so that a signal to make reaches it and no shell.
define RUNNABLE
@$(BIN)/python -m sandbox.kafka.jars
@$(BIN)/python -m deploy.bake_classes --unless-busy
endef
# Seconds the demo runs; empty means until Ctrl-C.
DURATION ?=
# When which test runs: tests/tiers/table.py.
QUICK := not (spark or kafka or chart or container or cluster or page or long or play or chaos or soak)
CORE := core and (spark or kafka) and not long
FULL := (spark or kafka or chart or container or page or chaos or long) and not (cluster or play or soak or chaos and long)
FUZZ := long and not (spark or kafka or chart or container or page or chaos or soak)
# `make chaos LONG=1`: more rounds of each attack, and the attacks that are too slow for every run.
LONG ?=
# Minutes that the soak lasts.
MINUTES ?= 20
# The git tag of a release, and the image that its chart runs (NAME@sha256:DIGEST).
TAG ?=
RELEASED_IMAGE ?=
# The address of the files on the forge, to which `make docs` and `make release` append paths; empty: no links to them.
SOURCE_URL ?=
# How often `make stable` runs the core; the second half of the runs is beside a load.
N ?= 10
# Seconds that one second of the scenarios of `make play` takes. With 2 a machine with two cores has twice the time for the
# same work, and the play takes ten minutes; 1 takes six and needs a quiet machine. Multiples of 0.5, up to 4.
STRETCH ?= 2
# Tests that run at the same time: some of them wait more than they compute, those with a JVM or a broker most of all.
WORKERS ?= 3

# With it, each process that a test starts would compile every module, and pytest would rewrite every test.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo pictures test full quick lint types contracts coverage cluster play chaos fuzz soak stable atlas programs bench docs audit wheel release release-check clean

help:  ## this list
	@grep -hE '^[a-z]+:.*  ## ' $(MAKEFILE_LIST) | awk -F ':.*  ## ' '{ printf "  make %-10s %s\n", $$1, $$2 }'

setup: $(STAMP)  ## virtual environment from hashed requirements, jars through Ivy, the archive of the JVM's classes
	$(RUNNABLE)

$(VENV)/.installed-%: requirements/%.txt pyproject.toml sandbox/programs/install.sh
	@PYTHON='$(PYTHON)' bash sandbox/programs/install.sh $(VENV) $*

demo: $(VENV)/.installed-demo  ## a real broker, living traffic and lagwarden on this machine; DURATION=60 stops and checks by itself
	$(RUNNABLE)
	@$(BIN)/python -m sandbox.demo $(if $(DURATION),--duration $(DURATION))

pictures: setup  ## the pictures of the documentation, from a real run of the demo and a headless browser; eight minutes
	@$(BIN)/python -m tests.page.pictures

lint: $(STAMP)  ## ruff: rules and format; the word list; code that nothing calls
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/vulture

types: $(STAMP)  ## mypy: strict for the product; names and signatures in the tests
	$(BIN)/mypy --num-workers auto

contracts: $(STAMP)  ## which package may import which
	$(BIN)/lint-imports --no-cache

quick: lint types contracts  ## what needs no JVM: lint, types, import contracts, laws and units (seconds)
	$(BIN)/pytest -q -n $(WORKERS) -m "$(QUICK)"

test: setup quick  ## quick, then the core: Spark and a real broker
	$(BIN)/pytest -v -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=20 -m "$(CORE)"

full: setup quick programs  ## all tests but those with commands of their own; an hour and more
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -v -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=20 -m "$(FULL)"

programs: $(STAMP)
	@bash sandbox/programs/install_browser.sh
	@bash sandbox/programs/install_axe.sh
	@$(BIN)/python -m sandbox.programs.prometheus_tools

coverage: $(STAMP)  ## branch coverage of the quick tests: the whole product, and at least 95 % of the pure packages
	$(BIN)/pytest -q -n $(WORKERS) -m "$(QUICK)" --cov --cov-report=
	$(BIN)/coverage report
	$(BIN)/coverage report --fail-under=95 --include='decoders/*,stream/groups/*,stream/health/*'

cluster: $(STAMP)  ## the chart on a real API server, OTLP to a real collector, KEDA's scalers; built from Go modules the first time
	$(BIN)/python -m sandbox.kubernetes.programs
	$(BIN)/python -m sandbox.keda.program
	$(BIN)/pytest -v -m cluster

play: setup  ## more than sixty groups, sick and healthy, on a real broker, and the verdict of each; ten minutes, STRETCH=1 for six on a quiet machine
	PLAY_STRETCH=$(STRETCH) $(BIN)/pytest -v -m play

chaos: setup  ## kills, broker outages, damaged checkpoints, hostile names; five minutes, LONG=1 for more rounds
	$(BIN)/pytest -v -n 2 --dist loadfile --no-loadscope-reorder -m "chaos and not soak$(if $(LONG),, and not long)"

fuzz: $(STAMP)  ## laws and fuzzes without a JVM, with four times the random inputs of .ci/run
	HYPOTHESIS_PROFILE=fuzz $(BIN)/pytest -v -n auto --maxschedchunk=1 --timeout=7200 --durations=20 -m "$(FUZZ)"

soak: setup  ## descriptors, threads, memory and checkpoint of a monitor under traffic stay flat; MINUTES=20
	SOAK_MINUTES=$(MINUTES) $(BIN)/pytest -v -s -m soak

stable: setup  ## the core N=10 times, half of them beside two busy cores, and which tests failed how often
	$(BIN)/python -m sandbox.stability --runs $(N) --loaded $$(($(N) / 2)) -- -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "$(CORE)"

# The release of Kafka that `make atlas` runs.
VERSION ?= 4.3.1
RELEASE_TESTS := tests/integration/releases/test_each_release.py tests/stream/cluster/broker/test_expiry.py

atlas: setup  ## VERSION=4.4.0: the tests with a broker of that release, and how what clients write there differs from docs/clients.md
	@$(BIN)/python -m pytest -q -n 1 $(RELEASE_TESTS) -k '$(VERSION)'; tests=$$?; \
	  $(BIN)/python -m sandbox.recorded_clients.compare $(VERSION) && exit $$tests

bench: setup  ## benchmarks: a table and ratios, minutes
	$(BIN)/python -m bench

docs: $(STAMP)  ## the documentation as a site in build/site/html; fails on a broken link; SOURCE_URL=address of the files
	@SOURCE_URL='$(SOURCE_URL)' $(BIN)/python -m deploy.site

release-check: $(VENV)/.installed-build
	@$(BIN)/python -m deploy.release --only-check --tag "$(TAG)"

audit: $(STAMP)  ## known vulnerabilities of the pinned packages; needs the vulnerability data of the package index
	$(BIN)/pip-audit --strict --disable-pip --require-hashes -r requirements/run.txt

wheel: $(VENV)/.installed-build  ## the wheel in dist/; requirements/constraints.txt has the tested versions for pip
	@$(BIN)/python -m hatchling build -t wheel -d dist

release: $(VENV)/.installed-build  ## wheel, constraints, chart, SBOM and checksums in dist/; TAG=v0.1.0 compares the versions, RELEASED_IMAGE=NAME@DIGEST
	@$(BIN)/python -m deploy.release --tag "$(TAG)" --image "$(RELEASED_IMAGE)" --source "$(SOURCE_URL)"

clean:  ## remove .venv and what tools left in the tree; the cache of jars stays
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .work
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
