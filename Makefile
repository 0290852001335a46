# The two commands of a fresh machine: `make demo` and `make test`. Both make what they need in .venv.
# `make PYTHON=/path/to/python3.12 ...` chooses the interpreter; otherwise the first of 3.11 or newer is taken.

VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# The gate's own tests first: they take a second, and what they find makes the rest moot.
STRUCTURE := tests/quality/test_layers.py tests/quality/test_shape.py

# Most of the tests wait for a lab: two at a time, each with a lab of its own, a file's tests always together and in order.
TOGETHER := --numprocesses 2 --dist loadfile --no-loadscope-reorder

# Nothing is left outside the working tree: pip's cache, and the lab's engine source, which the tests share with the demo.
export PIP_CACHE_DIR ?= $(CURDIR)/$(VENV)/cache
export FLEETOPS_CACHE ?= $(CURDIR)/.demo

.PHONY: help demo bench soak screenshots test test-long test-releases test-live recovery-matrix interruptions cuts contention deep-matrix fuzz check format lint types layers docs clean

help: ## what can be made
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | awk -F '|' '{printf "  make %-16s %s\n", $$1, $$2}'

demo: $(VENV)/installed ## break a small fleet as in the incident, and heal it
	@sh tools/demo.sh $(BIN)/fleetops

test: $(VENV)/installed-dev ## the whole test suite
	$(BIN)/pytest $(TOGETHER)

test-long: $(VENV)/installed-dev ## the suite with those of its tests that wait for minutes (half an hour)
	$(BIN)/pytest $(TOGETHER) -m "(long or not long) and not live and not matrix and not releases"

test-releases: $(VENV)/installed-dev ## every engine release there is, and the page about them (needs the network)
	$(BIN)/python tools/releases.py
	$(BIN)/pytest -m releases tests/source/releases

test-live: $(VENV)/installed-dev ## a real vLLM on the CPU, launched, orphaned and recovered in the lab (network, 9 GB of disk)
	$(BIN)/pytest -s -m live tests/live

recovery-matrix: $(VENV)/installed-dev ## every breakage on every platform, recovered, and the page about it (a quarter of an hour)
	$(BIN)/python tools/recovery_matrix.py

deep-matrix: $(VENV)/installed-dev ## what real containers can show of it: LXC, lxcfs, OpenSSH (root, Debian packages, ten minutes)
	$(BIN)/pytest -m "matrix or not matrix" tests/deep

fuzz: $(VENV)/installed-dev ## hostile input: other examples each time, and many times those of `make test` (twenty minutes)
	FLEETOPS_FUZZ=$${FLEETOPS_FUZZ:-50} $(BIN)/pytest -q --timeout 3600 tests/hostile tests/facts/test_facts_hostile.py

interruptions: $(VENV)/installed-dev ## a recovery's controller killed at every point between two effects, and the next one judged (an hour or more)
	$(BIN)/python tools/interruptions.py

cuts: $(VENV)/installed-dev ## the SSH connection of a recovery cut around every command that changes something, and what follows judged (two hours)
	$(BIN)/python tools/cuts.py

contention: $(VENV)/installed-dev ## two operators at the same moment, two hundred times (half an hour)
	$(BIN)/python tools/contention.py

soak: $(VENV)/installed-dev ## a thousand sweeps of the lab in a row: memory, threads, descriptors, processes left (half an hour)
	$(BIN)/python tools/soak.py

bench: $(VENV)/installed-dev $(BENCH)/installed ## fleetops beside clush, pssh, ansible and others, on loopback (an hour; PIECES="cold-64 warm-64", OPTIONS=--write)
	$(BIN)/python -m bench $(PIECES) $(OPTIONS)

screenshots: $(VENV)/installed-dev ## pictures of the page of a made-up week, for the documentation (Debian's chromium)
	$(BIN)/python tools/screenshots.py

check: $(VENV)/installed-dev ## the whole gate: format, lint, types, layers, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -q $(STRUCTURE)
	$(BIN)/pytest $(TOGETHER)

format: $(VENV)/installed-dev ## format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/installed-dev ## format and lint only
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/installed-dev ## types only
	$(BIN)/mypy

layers: $(VENV)/installed-dev ## layers and shape only
	$(BIN)/pytest -q $(STRUCTURE)

docs: $(VENV)/installed-dev ## write the generated pages of docs/ anew
	$(BIN)/python tools/document.py
	$(BIN)/python -m fleetops.inventory.reference docs/inventory.md

clean: ## remove the environment and everything built
	rm -rf $(VENV) $(BENCH) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .demo
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: a second run installs nothing, a changed pyproject.toml installs anew.
$(VENV)/installed: pyproject.toml tools/environment.sh
	@sh tools/environment.sh $(VENV)
	$(INSTALL) --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml tools/environment.sh
	@sh tools/environment.sh $(VENV)
	$(INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/installed

# The tools that fleetops is measured against, apart from its own environment: they bring other releases of the same libraries.
$(BENCH)/installed: bench/requirements.txt tools/environment.sh
	@sh tools/environment.sh $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --requirement bench/requirements.txt
	@touch $@
