# make demo · make test · make test-all · make e2e · make bench · make lint    Each sets up what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := examples/ledger
# optional parts of the package that the tests get
EXTRAS ?= dev
# RETRY=yes runs what failed beside other tests once more, alone
RETRY ?=
# one more than processors: tests also wait, for what they start and for files
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: help setup demo test test-all test-python test-slow test-extension test-314 e2e lint lint-python lint-extension format docs package check-packages changelog bench bench-peers studies fuzz clean

help:
	@echo "make demo     find the bug in $(DEMO): ranked suspects here, and an HTML report"
	@echo "make test     the tests that need Python 3.10+, Node 20.19+ and a C compiler, but for slow ones"
	@echo "make test-all those and the slow ones"
	@echo "make test-314 the recorder's tests with Python 3.14, which it sets up"
	@echo "make e2e      the tests in real editors: VS Code, Neovim, Emacs"
	@echo "make bench    every speed claim, measured"
	@echo "make studies  how well faults are found, in a quarter of an hour (benchmarks/evaluation.md);  CORPUS=FOLDER  for other spectra"
	@echo "make bench-peers   the whole job beside other tools, from PyPI;  make fuzz SECONDS=60   random examples, every reader, and the server"
	@echo "make package  the wheels and the VS Code extension;  make check-packages   what goes to PyPI, built and tried"
	@echo "make lint · make format · make docs · make clean"

$(VENV)/.ready: pyproject.toml analysis/pyproject.toml tests/plugins.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Suspectra needs Python 3.10 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	tests/pythons/install $(BIN)/python --editable ./analysis --editable '.[$(EXTRAS)]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(VENV)/plugins --requirement tests/plugins.txt
	@$(BIN)/python -m compileall -q analysis server || true # where Python may not write them, each run would compile all
	@touch $@

node_modules/.ready: package.json package-lock.json
	@command -v npm >/dev/null || { echo "the extension needs Node 20.19 or newer with npm"; exit 1; }
	npm ci --no-audit --no-fund
	@touch $@

setup: $(VENV)/.ready node_modules/.ready

demo: $(VENV)/.ready
	@echo "── running the tests of $(DEMO); some fail, that is the point"
	@cd $(DEMO) && $(abspath $(BIN))/suspectra record -- pytest -q --tb=line -rN -p no:asyncio; test $$? -le 1
	@echo; echo "── why they fail"
	@cd $(DEMO) && $(abspath $(BIN))/suspectra why
	@echo; echo "── the suspects"
	@cd $(DEMO) && $(abspath $(BIN))/suspectra rank --top 10
	@cd $(DEMO) && $(abspath $(BIN))/suspectra report --html $(abspath $(DEMO))/suspects.html

test: test-python test-extension

test-all: test test-slow

# each kind of test keeps by itself which ones failed, since several kinds may run at once
alone = $(if $(RETRY),|| env -u TESTS_END $(BIN)/python -m pytest --last-failed --last-failed-no-failures none -o cache_dir=.pytest_cache/$@)

test-python: $(VENV)/.ready
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" -o cache_dir=.pytest_cache/$@ $(alone)

test-slow: $(VENV)/.ready
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "slow" -o cache_dir=.pytest_cache/$@ $(EXAMPLES) $(alone)

test-extension: node_modules/.ready $(VENV)/.ready
	npm test

test-314: $(VENV)/.ready
	tests/pythons/run 3.14

e2e: setup
	tests/e2e/run

bench-peers: $(VENV)/.ready
	$(BIN)/python benchmarks/peers.py $(PEERS)

# folders of spectra with known faults
CORPUS ?= benchmarks/bugsinpy/subjects
studies: study := $(BIN)/suspectra study $(CORPUS:%=--corpus %) --format markdown
studies: $(VENV)/.ready
	@echo "── beside published ranks"
	$(BIN)/python benchmarks/bugsinpy/table.py
	@echo "── all evidence, and the order of functions"
	$(study) --technique op2 --technique ochiai --technique kulczynski2 --technique evidence --technique op2+cp
	$(BIN)/python benchmarks/function_order.py $(CORPUS) --technique evidence --technique ochiai --technique op2
	@echo "── paper 000: CP and its peers"
	$(study) --technique cp --technique tarantula --technique sbi --technique jaccard --technique cbi
	@echo "── paper 003: expected steps, and plans of reading"
	$(study) --ht-rank --technique ochiai --technique evidence
	$(BIN)/python benchmarks/markov_tables.py $(CORPUS) --versions 2
	$(BIN)/python benchmarks/reading_plans.py $(CORPUS)
	@echo "── paper 004: cloning, with one fault and with several in one program"
	$(study) --both --technique ochiai --technique jaccard --technique wong2 --technique dstar --technique tarantula
	$(BIN)/python benchmarks/faults_together.py
	@echo "── failure groups, and what would tell suspects apart"
	$(BIN)/python benchmarks/group_accuracy.py $(CORPUS) --technique evidence
	$(BIN)/python benchmarks/tie_steps.py $(CORPUS) --technique evidence
	@echo "── programs whose tests run again"
	$(BIN)/python benchmarks/state_based.py --technique investigation --again
	$(BIN)/python benchmarks/slice_ranks.py
	$(BIN)/python benchmarks/slice_truth.py

SECONDS ?= 60
SEED ?= $(shell $(PYTHON) -c 'import random; print(random.randrange(1, 2**32))')
fuzz: seed := $(SEED)
fuzz: $(VENV)/.ready
	@echo "── tests with random examples; the same ones again: make fuzz SEED=$(seed)"
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "hypothesis or random_seed" --hypothesis-profile=random --hypothesis-seed=$(seed)
	@echo "── readers and the server, led by coverage"
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check 'atheris>=2.3'
	$(BIN)/python tests/fuzz/fuzz.py --all --seconds $(SECONDS)

lint: lint-python lint-extension

lint-python: $(VENV)/.ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python docs/check_docstrings.py
	$(BIN)/zizmor --quiet --offline .github github-actions
	$(BIN)/python -m pytest -q tests/lint

lint-extension: setup
	npm run lint

format: setup
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	npm run format

docs: $(VENV)/.ready
	$(BIN)/python docs/generate.py

package: setup
	npm run package
	@mkdir -p dist && cp vscode-extension/bundled/*.whl dist/

# what PyPI gets: each wheel is built from its sdist, and the two work without this repository
check-packages: packages := dist/pypi
check-packages: $(VENV)/.ready
	rm -rf $(packages) && mkdir -p $(packages)
	$(BIN)/python -m build --outdir $(packages) analysis
	$(BIN)/python -m build --outdir $(packages) .
	$(BIN)/twine check --strict $(packages)/*
	$(BIN)/check-wheel-contents $(packages)
	$(PYTHON) -m venv $(packages)/venv
	tests/pythons/install $(packages)/venv/bin/python pytest $(packages)/*.whl
	cp -r $(DEMO) $(packages)/demo
	cd $(packages)/demo && ../venv/bin/suspectra record -- pytest -q --tb=no -p no:cacheprovider; test $$? -eq 1
	cd $(packages)/demo && ../venv/bin/suspectra rank --top 3

changelog: $(VENV)/.ready
	$(BIN)/towncrier build --draft --version unreleased

clean:
	rm -rf $(VENV) node_modules dist artifacts .e2e .pythons vscode-extension/dist vscode-extension/bundled vscode-extension/node_modules
