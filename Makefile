# Everything below needs Python 3.11 or newer and make; what else it takes is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
NATIVE := $(wildcard native/*.cpp native/*.hpp) native/build.py
# What code needs to run: an environment, and the library of the sources as they are.
READY := $(VENV)/.dev $(VENV)/.native

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-wheel test-oldest lint docs fuzz mutants bench bench-quick bench-speed bench-scale bench-methods bench-trust bench-pages reproduce results-page shown-outputs same-models wheel-check clean

help: ## Show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "saltmine needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	@touch $@

# Installing builds the library too.
$(VENV)/.report: $(VENV)/.made pyproject.toml hatch_build.py
	$(PIP) -e '.[report]'
	@touch $@ $(VENV)/.native

$(VENV)/.docs: $(VENV)/.made pyproject.toml hatch_build.py
	$(PIP) -e '.[docs]'
	@touch $@ $(VENV)/.report $(VENV)/.native

$(VENV)/.dev: $(VENV)/.made pyproject.toml hatch_build.py
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.report $(VENV)/.docs $(VENV)/.native

# Sources that have changed since are compiled; where the system has no compiler, one is installed.
$(VENV)/.native: $(NATIVE) | $(VENV)/.made
	@$(BIN)/python native/build.py --check >/dev/null 2>&1 || $(PIP) ziglang
	$(BIN)/python native/build.py
	@touch $@

demo: $(VENV)/.report $(VENV)/.native ## Find patterns in handwritten digits, 3 against 8; writes a picture and a report to out/demo
	$(BIN)/saltmine demo --output out/demo

test: $(READY) ## Run all tests
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-fast: $(READY) ## Run the tests that need no cluster and no browser and take less than about a second each
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow and not cluster and not browser"

# Another version of Python, and other options of pytest: make test-wheel PYTHON=python3.13 PYTEST="-n 2 -m 'not slow'"
PYTEST ?= -n 2 --dist worksteal

test-wheel: $(VENV)/.dev ## Run all tests with the installed wheel, in an environment of its own
	$(BIN)/python -m benchmarks.installed_tests --python $(PYTHON) $(PYTEST)

test-oldest: $(VENV)/.dev ## The same with the oldest dependencies that pyproject.toml allows; not the slow and browser tests
	$(BIN)/python -m benchmarks.installed_tests --oldest --python $(PYTHON) $(PYTEST) -m "not slow and not browser"

lint: $(VENV)/.dev ## Check style, types, and that layers import only from layers below them
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# How long, from which seed on, and on how many cores: make fuzz FUZZ_SECONDS=3600 FUZZ_SEED=7 FUZZ_JOBS=2
FUZZ_SECONDS ?= 300
FUZZ_SEED ?= 0
FUZZ_JOBS ?= 1

fuzz: $(READY) ## Read changed files of all formats; what goes wrong is kept in fuzz/findings
	$(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) --jobs $(FUZZ_JOBS)

# How many small changes of every group and language are tried: make mutants MUTANTS=300
MUTANTS ?= 100

mutants: $(READY) ## Change the code in small ways and see whether the tests notice (hours)
	$(PIP) 'mutmut>=3.8,<4'
	$(BIN)/python -m benchmarks.mutants --sample $(MUTANTS)

# Where the text matrices of benchmarks/text.py are, if anywhere: make bench TEXT=folder
TEXT ?=

bench: $(READY) ## Measure quality and time, all cases (about half an hour)
	$(BIN)/python -m benchmarks.speed nmf iteration published
	$(BIN)/python -m benchmarks.plain
	$(BIN)/python -m benchmarks.digits
	$(BIN)/python -m benchmarks.noise
	$(BIN)/python -m benchmarks.reading
	$(BIN)/python -m benchmarks.report
	$(if $(TEXT),$(BIN)/python -m benchmarks.text $(TEXT))
	$(BIN)/python -m benchmarks.planted -o out/planted.csv
	$(BIN)/python -m benchmarks.ablation

bench-quick: $(READY) ## A few of these measurements in a few minutes
	$(BIN)/python -m benchmarks.speed --quick
	$(BIN)/python -m benchmarks.planted --quick -o out/planted-quick.csv

# Where tables and texts are, if anywhere: make bench-speed DATA=folder
DATA ?=

bench-speed: $(READY) ## Measure how long everything takes, also against an older revision (hours)
	$(BIN)/python -m benchmarks.speed $(if $(DATA),--data $(DATA)) --resume --figure out/speed/growth.png

# Where a simulated genome is, if anywhere: make bench-scale GENOME=folder
GENOME ?=

bench-scale: $(READY) ## Measure how time and memory grow, and the cluster's overhead (about half an hour)
	$(BIN)/python -m benchmarks.products
	$(BIN)/python -m benchmarks.cluster
	$(if $(GENOME),$(BIN)/python -m benchmarks.scale --genome $(GENOME))
	$(BIN)/python -m benchmarks.scale -o out

bench-methods: $(READY) ## Compare all methods on the paper's default matrices (about half an hour)
	$(BIN)/python -m benchmarks.methods -o out/methods.csv

bench-trust: $(READY) ## Measure what must not happen: damaged files, kills, little time and memory (hours)
	$(BIN)/python -m benchmarks.trust $(if $(DATA),--data $(DATA)) --resume

# Which experiment of the paper, and its options: make reproduce EXPERIMENT=noise OPTIONS="--quick --jobs 2"
EXPERIMENT ?= --help
OPTIONS ?=

reproduce: $(READY) ## Run an experiment of the paper; without EXPERIMENT=..., list them
	$(BIN)/python -m experiments $(EXPERIMENT) $(OPTIONS)

results-page: $(READY) ## Write docs/benchmarks/experiment_results.md from the runs stored in experiments/results
	$(BIN)/python -m experiments.results_page

shown-outputs: $(READY) ## Write what the commands and the code in README and docs print into them
	$(BIN)/python -m tests.helpers.documents

bench-pages: $(READY) ## Write the tables of the benchmark pages from the runs stored in benchmarks/results
	$(BIN)/python -m benchmarks.pages

same-models: $(READY) ## Digest all fitted arrays, and compare with BEFORE=file; see CONTRIBUTING
	$(BIN)/python -m benchmarks.same_models $(if $(BEFORE),--compare $(BEFORE),-o out/models.json)

# Warnings are errors. Pages that no longer exist must not stay, so the old site goes first.
docs: $(VENV)/.docs $(VENV)/.native ## Build the documentation in docs/_build/html (some minutes; tutorials are run)
	rm -rf docs/_build/html docs/gallery docs/reference/generated docs/reference/used_in
	$(BIN)/python -m sphinx -b html -W -n --keep-going -j 2 docs docs/_build/html

wheel-check: $(VENV)/.dev ## Build archive and wheel twice, compare, and try the wheel in an empty environment
	$(BIN)/python -m benchmarks.wheel

clean: ## Remove the environment and all output
	rm -rf $(VENV) out dist build src/saltmine/_native.*
