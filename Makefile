# One command a task. Each makes .venv by itself; the machine needs Python 3.11 or newer and make.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
# The environment is remade whenever a file that decides what is in it changes.
PINS := requirements.txt constraints.txt pyproject.toml
READY := $(VENV)/.ready-$(shell cat $(PINS) | cksum | cut -d' ' -f1)
# Fonts are listed where they are installed: a list of another environment's may name none of them.
export MPLCONFIGDIR := $(CURDIR)/$(VENV)/matplotlib
# Matrices are small here, and processes many: threads of each cost ten times what they save.
export OPENBLAS_NUM_THREADS := 1

.PHONY: help book site pdf pdf-packages publish test test-slow test-study test-fresh record report test-book serve lab bench canary clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): $(PINS)
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else \
	  f"Python 3.11 or newer is needed, this is {v[0]}.{v[1]}; say make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	rm -rf $(VENV)/.ready-* $(MPLCONFIGDIR)
	$(BIN)/python -c 'import matplotlib.font_manager'
	touch $@

book: $(READY)  ## build the book into _build/html; warnings are errors, every cell runs
	rm -rf _build/html  # a page that is gone would stay, with styles of another day
	$(BIN)/jupyter-book build . --all -W -n --keep-going
	@echo "open _build/html/index.html, or: make serve"

site: $(READY)  ## pack the built book into one zip that reads without a network
	@test -f _build/html/index.html || $(MAKE) book
	$(BIN)/python _ext/bookext/archive.py _build/html _build/all-the-needles.zip

pdf: $(READY)  ## print the built book into _build/all-the-needles.pdf (needs XeLaTeX)
	@test -f _build/html/index.html || $(MAKE) book
	$(BIN)/python _ext/bookext/press.py

pdf-packages:
	@$(PYTHON) -c 'import sys; sys.path.insert(0, "_ext/bookext"); import press; print(press.PACKAGES)'

publish: $(READY)  ## the site with its zip and PDF, for an address (BOOK_URL=https://...)
	$(MAKE) book
	$(MAKE) pdf site
	mv _build/all-the-needles.zip _build/all-the-needles.pdf _build/html/downloads/

# The notebooks come first: they are long, and short tests fill the end.
test: $(READY)  ## test the library, run the notebooks, lint both
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n auto --dist worksteal --nbmake --nbmake-timeout=600 -m "not slow" chapters tests --ignore-glob='tests/book/test_book*.py'

test-slow: $(READY)  ## the tests that take minutes: posteriors, calibration, evidence, warnings
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-slow.txt
	$(BIN)/python -m pytest -n auto --dist worksteal -m "slow and not study" tests

test-study: $(READY)  ## every sampler with every model, jointly and by ranks
	$(BIN)/python -m pytest -n auto --dist worksteal -m study tests

# Every statistical check again with seeds of the day and SCALE times the size, in two stages.
SEED ?= $(shell date +%Y%m%d)
SCALE ?= 10
test-fresh: $(READY)  ## judge the samplers with the seeds of the day (SEED=20240131 SCALE=10)
	FRESH_SEED=$(SEED) FRESH_SCALE=$(SCALE) $(BIN)/python -m pytest -n auto --dist worksteal -rP -m fresh tests

# All parts are run to their ends: a failure is a finding, too.
record: $(READY)  ## keep what these three find, for the page on trust and speed
	failed=0; for part in test test-slow test-study; do \
	  RECORD=tests/results/trust.json $(MAKE) $$part || failed=1; \
	done; $(BIN)/python tests/tools/stamp.py tests/results/trust.json; exit $$failed

report: $(READY)  ## print every table behind the page on trust and speed
	$(BIN)/python tests/tools/report.py
	$(BIN)/python -m benchmarks.report

test-book: $(READY)  ## test the built book in browsers (Chromium, and Firefox and WebKitGTK if there; make book first)
	$(BIN)/python -m pytest -n auto --dist worksteal tests/book/test_book*.py

serve: $(READY)  ## read the book at localhost:8000 (PORT=...), building it first if need be
	@test -f _build/html/index.html || $(MAKE) book
	$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

# What is there already may hold a reader's answers.
lab: $(READY)  ## work with the notebooks live, in _build/live
	@test -f _build/html/index.html || $(MAKE) book
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt jupyterlab
	test -d _build/live || $(BIN)/python -m zipfile -e _build/html/downloads/all-the-needles-notebooks.zip _build/live
	$(BIN)/jupyter lab _build/live/all-the-needles/chapters

# The peers have an environment of their own; one that does not install is reported, and missing.
PEERS := .venv-peers
PEER_PINS := benchmarks/peers.in benchmarks/peers.txt
PEERS_READY := $(PEERS)/.ready-$(shell cat $(PEER_PINS) | cksum | cut -d' ' -f1)

$(PEERS_READY): $(PEER_PINS)
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	rm -f $(PEERS)/.ready-*
	missing=; for peer in $$(tac benchmarks/peers.in); do \
	  $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check \
	    -c benchmarks/peers.txt "$$peer" || missing="$$missing $$peer"; \
	done; if [ -z "$$missing" ]; then touch $@; else echo "missing:$$missing"; fi

bench: $(READY) $(PEERS_READY)  ## measure speed against other samplers and C (BENCH=--quick: a trial)
	$(BIN)/python -m benchmarks $(BENCH)

canary:  ## try the newest versions of all packages in .venv-canary, and say what breaks
	$(PYTHON) .ci/canary.py .venv-canary

clean:  ## delete the built book and every cache here, keep .venv, .venv-peers and .venv-canary
	rm -rf _build .pytest_cache .ruff_cache
	find . -path './.venv*' -prune -o -name __pycache__ -type d -exec rm -rf {} +
