# make test, make check, make demo: each sets up what it needs (a virtual environment in .venv) by itself.

ifndef PYTHON
PYTHON := $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
endif
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
PYTEST_ARGS ?=
SOAK_ARGS ?=
# Tests often wait for programs that they record: two more than there are processors.
TEST_JOBS ?= $(shell expr $$(nproc) + 2)
PACKAGES := gcc libc6-dev make binutils python3 python3-venv
C_FOLDERS := runtime preload io memory gpu appekg selfanalyze outside trace analysis/native
C_FILES := $(wildcard $(foreach folder,$(C_FOLDERS) fuzz,$(folder)/*.c $(folder)/*/*.[ch]))
BUILT_FROM := CMakeLists.txt incprof/version.py $(wildcard \
	$(foreach folder,$(C_FOLDERS),$(folder)/CMakeLists.txt $(folder)/*.[chS] $(folder)/*/*.[chS]))

# The tests start hundreds of programs of Python: each would compile numpy and scipy again where bytecode may not be kept.
unexport PYTHONDONTWRITEBYTECODE

# The requirements in a list of pyproject.toml, but for the extras that it includes.
required = $(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); \
	print(*(r for r in p$(1) if "[" not in r), sep="\n")'

.PHONY: all ready check test test-slow test-all demo bench realworld truth fuzz soak man docs release release-trials clean tools format
# Packages are fetched while the C libraries are compiled.
all: $(VENV)/.builders
	@$(MAKE) --no-print-directory -j2 ready $(VENV)/.tools

# What the tests of `make test` need.
ready: $(VENV)/.deps $(VENV)/.installed
	@:

# One line that says what to install, instead of a failure halfway through.
tools:
	@missing=; \
	for tool in gcc make as gprof; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	echo '#include <unistd.h>' | gcc -E -x c - >/dev/null 2>&1 || missing="$$missing libc-headers"; \
	test -n "$(PYTHON)" || missing="$$missing python3(>=3.11)"; \
	$(or $(PYTHON),python3) -c 'import ensurepip, venv' 2>/dev/null || missing="$$missing python3-venv"; \
	test -z "$$missing" || { echo "missing:$$missing; run: sudo apt-get install $(PACKAGES)" >&2; exit 1; }

# What incprof is built with. cmake comes from PyPI where the system has none.
$(VENV)/.builders: pyproject.toml | tools
	@echo "setting up $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(call required,["build-system"]["requires"]) > $(VENV)/requirements-build.txt
	@command -v cmake >/dev/null || echo cmake >> $(VENV)/requirements-build.txt
	@$(PIP) install --no-compile -r $(VENV)/requirements-build.txt
	@touch $@

# What it runs with.
$(VENV)/.packages: $(VENV)/.builders
	@echo "adding packages to $(VENV)"
	@$(call required,["project"]["dependencies"]) > $(VENV)/requirements.txt
	@$(PIP) install --no-compile -r $(VENV)/requirements.txt
	@touch $@

# And what the tests need: frameworks, other implementations to compare with.
$(VENV)/.deps: $(VENV)/.builders
	@echo "adding packages to $(VENV)"
	@$(call required,["project"]["dependencies"]) > $(VENV)/requirements.txt
	@$(call required,["project"]["optional-dependencies"]["test"]) > $(VENV)/requirements-test.txt
	@$(PIP) install --no-compile -r $(VENV)/requirements.txt -r $(VENV)/requirements-test.txt
	@touch $(VENV)/.packages $@

# And the slow tests, `make check` and the manual pages.
$(VENV)/.tools: $(VENV)/.deps
	@echo "adding developer tools to $(VENV)"
	@$(call required,["project"]["optional-dependencies"]["dev"]) > $(VENV)/requirements-dev.txt
	@$(PIP) install --no-compile -r $(VENV)/requirements-dev.txt
	@touch $@

# Editable: Python is used where it lies, the C library is built again when its sources change.
$(VENV)/.installed: $(VENV)/.builders $(BUILT_FROM)
	@echo "building the C libraries"
	@CMAKE_BUILD_PARALLEL_LEVEL=$$(nproc) $(PIP) install --no-build-isolation --no-deps -e .
	@touch $@

check: $(VENV)/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/clang-format --dry-run -Werror $(C_FILES)

format: $(VENV)/.tools
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(C_FILES)

PYTEST = $(BIN)/pytest -n $(TEST_JOBS) --dist loadfile

test: $(VENV)/.builders
	@$(MAKE) --no-print-directory -j2 ready
	$(PYTEST) -m "not slow" $(PYTEST_ARGS)

# What builds, records or clusters for longer, and more examples of what holds for all inputs.
test-slow: all
	$(PYTEST) --no-loadscope-reorder -m "slow or drawn" $(PYTEST_ARGS)

test-all: test test-slow

# Tries to break what reliability.md promises: TIME seconds long, SOAK_ARGS="--only inputs --seed 7" for a part.
soak: all
	$(BIN)/python -m soak --seconds $(or $(TIME),600) $(SOAK_ARGS)

# Builds an example, records it, shows its phases, and writes a page on the run. No developer tools are needed.
demo: $(VENV)/.packages $(VENV)/.installed
	@$(MAKE) --no-print-directory -C examples build/phases
	@rm -rf build/demo && mkdir -p build/demo
	$(BIN)/incprof record -i 200ms -o build/demo/gmon -- examples/build/phases 0.5
	$(BIN)/incprof phases build/demo/gmon
	$(BIN)/incprof report build/demo/gmon --source examples -o build/demo/report.html
	@echo
	@echo "The page on this run: file://$(abspath build/demo/report.html)"
	@echo 'Next, with a program of yours:'
	@echo '  export PATH="$(abspath $(BIN)):$$PATH"'
	@echo '  incprof record -- ./app'

bench: all
	$(BIN)/python benchmarks/run.py

realworld: all
	PATH="$(abspath $(BIN)):$$PATH" sh benchmarks/realworld/run.sh

# How often the methods are right on runs whose phases are known: writes truth.md. QUICK=1: a few of them, printed.
truth: all
	@$(BIN)/python -c 'import ruptures' 2>/dev/null || $(PIP) install 'ruptures>=1.1'
	$(BIN)/python -m truth $(if $(QUICK),--quick)

# The C that reads bytes of others, TIME seconds for each harness, or for those that HARNESS names.
TIME ?= 60
fuzz: $(VENV)/.deps
	$(BIN)/python -m fuzz --seconds $(TIME) $(HARNESS)

# The manual pages, from the command line's own definitions.
man: all
	$(BIN)/python docs/man/generate.py

$(VENV)/.docs: pyproject.toml | $(VENV)/.packages
	@$(call required,["project"]["optional-dependencies"]["docs"]) > $(VENV)/requirements-docs.txt
	@$(PIP) install -r $(VENV)/requirements-docs.txt
	@touch $@

# docs/, the manual pages and the docstrings as a site that opens from disk. What leads nowhere is an error.
docs: $(VENV)/.docs $(VENV)/.installed
	@rm -rf build/docs
	@$(BIN)/sphinx-build -q -E -W --keep-going -b html -d build/doctrees -c docs/site docs build/docs
	@echo "The site: file://$(abspath build/docs/index.html)"

# What is given out, from the committed state, in build/release/dist: sources, wheels, tarballs, Debian's packages, SHA256SUMS.
# RELEASE_ARGS="--arch x86_64 --no-debian" for a part.
RELEASE := build/release/venv
release: | tools
	@test -x $(RELEASE)/bin/python || $(PYTHON) -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip --disable-pip-version-check -q install -r packaging/requirements.txt
	@$(RELEASE)/bin/python packaging/release.py $(RELEASE_ARGS)

# Installed and used in roots of Debian 11, 12 and 13, and compiled in one of Ubuntu 20.04, that mmdebstrap makes; TRIAL_ARGS=--suite runs the tests in them instead.
release-trials: | tools
	@$(PYTHON) packaging/trials.py $(TRIAL_ARGS)

clean:
	rm -rf build .venv examples/build examples/mpi/build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
