# Set-up and everyday commands. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
# one interpreter for every build of the core, so that nothing is built twice
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PATH := $(CURDIR)/$(BIN):$(PATH)
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export UV_PROJECT_ENVIRONMENT := $(VENV)
CORE_SOURCES := $(shell find crates -name '*.rs' -o -name '*.json' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml

.PHONY: help demo check test slow rust-tests setup checked-core browser-core lint lint-python lint-core lint-rust fmt wheel
.PHONY: release rig bench fuzz mutants map soak page docs evidence bless clean

help: ## list the commands
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

demo: $(STAMPS)/core ## set up, then the monster-VM study: table, comparison, out/demo/report.html
	@$(BIN)/python scripts/demo.py

check: checked-core ## style, types, and for a minute the tests nearest to what changed since BASE (where the branch began)
	@scripts/step "python style" $(BIN)/ruff check --quiet --output-format concise .
	@scripts/step "python format" $(BIN)/ruff format --check --quiet .
	@scripts/step "python types" $(BIN)/dmypy --status-file $(VENV)/dmypy.json run --timeout 3600 -- --no-error-summary
	@scripts/step "words" $(BIN)/python scripts/check_words.py
	@scripts/step "rooms" $(BIN)/lint-imports --no-cache
	@scripts/step "architecture" $(BIN)/python scripts/check_architecture.py
	@scripts/step "rust format" cargo fmt --all --check
	@$(BIN)/python scripts/nearest_tests.py $(if $(BASE),--base $(BASE))

test: $(STAMPS)/packages ## set up, then every check and all tests but the slow ones
	@$(MAKE) --jobs 3 --no-print-directory checked-core lint-python lint-rust browser-core
	@scripts/beside "nice -n 19 $(MAKE) --no-print-directory lint-core rust-tests" $(BIN)/pytest --numprocesses auto --dist worksteal

slow: $(STAMPS)/core ## tests of whole studies, and with other programs: a browser, guests, vCenter's simulator; installs these
	@scripts/install_test_tools $(VENV)/guest
	@$(BIN)/pytest --numprocesses auto --dist worksteal -m slow

rust-tests: $(STAMPS)/packages
	@scripts/step "rust tests" cargo test --quiet --profile checked --workspace

setup: $(STAMPS)/core browser-core ## create .venv, install the locked packages, build the core, also for pages that simulate

# the core between two edits, built in a third of the time; anything but `make check` builds a release again
checked-core: $(STAMPS)/packages
	@$(MAKE) --question --no-print-directory $(STAMPS)/core >/dev/null 2>&1 || $(MAKE) --no-print-directory $(STAMPS)/checked-core

# for pages that simulate; where Rust cannot build it, a note says why
browser-core: $(STAMPS)/packages
	@scripts/step "core for pages" $(BIN)/python scripts/browser_core.py

lint: lint-python lint-core lint-rust browser-core ## style, types, stub, architecture, links: every check, no tests

# while the core is built
lint-python: $(STAMPS)/packages
	@scripts/step "python style" $(BIN)/ruff check --quiet --output-format concise .
	@scripts/step "python format" $(BIN)/ruff format --check --quiet .
	@scripts/step "python types" $(BIN)/mypy --no-error-summary
	@scripts/step "words" $(BIN)/python scripts/check_words.py
	@scripts/step "page" $(BIN)/python scripts/check_page.py

lint-core: checked-core
	@scripts/step "rooms" $(BIN)/lint-imports --no-cache
	@scripts/step "architecture" $(BIN)/python scripts/check_architecture.py
	@scripts/step "stub of the core" $(BIN)/python -m mypy.stubtest hypertwin._core
	@scripts/step "links and promises" $(BIN)/python scripts/check_docs.py
	@scripts/step "evidence" $(BIN)/python scripts/evidence.py --check

lint-rust: $(STAMPS)/packages
	@scripts/step "rust format" cargo fmt --all --check
	@scripts/step "rust lints" cargo clippy --quiet --profile checked --workspace --all-targets -- -D warnings

fmt: $(STAMPS)/packages ## format Rust with its comments, Python, and the page where Node is
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .
	@cargo fmt --all
	@$(BIN)/python scripts/comments.py
	@$(BIN)/python scripts/check_page.py --format

wheel: $(STAMPS)/packages browser-core ## the wheel, for Linux with glibc 2.17 or later, and the source distribution, into out/dist
	@$(BIN)/uv sync --quiet --frozen --inexact --no-install-project --group release
	@rm -rf out/dist
	@scripts/step "wheel" $(BIN)/maturin build --release --locked --zig --compatibility manylinux_2_17 --out out/dist
	@scripts/step "source distribution" $(BIN)/maturin sdist --out out/dist
	@ls out/dist

release: $(STAMPS)/packages ## check tree and changelog, test, build the wheel, and print the command that tags the release
	@$(BIN)/python scripts/release.py

rig: $(STAMPS)/core ## three benchmark campaigns on network namespaces with databases, alone, into out/rig; takes root and half an hour
	@scripts/install_rig_tools
	@$(BIN)/python -m tests.rig.campaigns out/rig

bench: $(STAMPS)/core browser-core ## speed against peers, the bare loop and pages that simulate, into out/bench
	@$(BIN)/python bench/run.py
	@$(BIN)/python bench/page.py

fuzz: $(STAMPS)/core ## 100,000 inputs to every parser of outside data, guided by coverage
	@$(BIN)/python scripts/fuzz.py

mutants: $(STAMPS)/core ## changes that tests should notice: N (300) in each AREA (all), drawn by SEED (1); takes hours, may be interrupted
	@$(BIN)/uv sync --quiet --frozen --inexact --no-install-project --extra all --group mutants
	@command -v cargo-mutants >/dev/null || cargo install --quiet --locked cargo-mutants
	@$(BIN)/python scripts/mutants.py $(AREA) $(if $(N),-n $(N)) $(if $(SEED),--seed $(SEED))

map: $(STAMPS)/core ## record which test runs which function, for `make check`; takes an hour
	@$(BIN)/python scripts/tests_map.py

soak: export SWARM_SEEDS ?= 20000
soak: export SWARM_FROM ?= 1000000
soak: export SOAK ?= 20
soak: SOAK_TESTS ?= $(shell grep -lrE 'import.*SOAK|^@given' tests --include 'test_*.py')
soak: $(STAMPS)/core ## random clusters and pools, assertions on: SWARM_SEEDS of them (20,000) from SWARM_FROM (1,000,000); then SOAK (20) times the random cases of SOAK_TESTS (all)
	@cargo test --profile checked --package hypertwin-engine --test engine swarm::
	@$(BIN)/pytest --numprocesses auto --timeout 0 $(SOAK_TESTS)

page: browser-core ## build the core for pages, then their script and style from web/, which takes Node
	@$(BIN)/python scripts/check_page.py --write

docs: $(STAMPS)/core ## regenerate the generated pages under docs/
	@$(BIN)/python scripts/member_types.py
	@$(BIN)/python scripts/generate_docs.py

evidence: $(STAMPS)/core ## run every study, at most fifteen minutes of CPU, and write docs/evidence.md
	@$(BIN)/python scripts/evidence.py

bless: $(STAMPS)/core ## rewrite the snapshots of golden runs, and outputs shown in documents (slow ones with SLOW=1), for review
	@HYPERTWIN_BLESS=1 $(BIN)/pytest --quiet --numprocesses auto tests/golden tests/e2e/test_documents.py

clean: ## remove everything that was built
	rm -rf $(VENV) target out
	find python -name '*.so' -delete -o -name '*.wasm' -delete

$(STAMPS)/packages: uv.lock pyproject.toml scripts/find_python
	@python=$$(scripts/find_python) && { [ -x $(BIN)/python ] || "$$python" -m venv $(VENV); }
	@[ -x $(BIN)/uv ] || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv sync --quiet --frozen --inexact --no-install-project --extra all
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/core: $(STAMPS)/packages $(CORE_SOURCES)
	@scripts/step "building the core" $(BIN)/maturin develop --release --uv
	@rm -f $(STAMPS)/checked-core && touch $@

$(STAMPS)/checked-core: $(STAMPS)/packages $(CORE_SOURCES)
	@scripts/step "building the core" $(BIN)/maturin develop --profile checked --uv
	@rm -f $(STAMPS)/core && touch $@
