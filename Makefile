# `make plan` and `make test` work on a fresh machine that has Python 3.11 to 3.13, make and a
# package index; they create .venv here and install nothing outside it. Another interpreter:
# make plan PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PLAN := eagle-k2finetune-game-plan.md

# MkDocs-Material announces a successor of MkDocs on every start.
export NO_MKDOCS_2_WARNING := 1

.PHONY: plan test engine engine-test lint format types check perf client peers site zensical clean
.DEFAULT_GOAL := plan
.DELETE_ON_ERROR:
# Two pips at work in one environment disturb each other.
.NOTPARALLEL:

# --- What people ask for -------------------------------------------------------------------------

# Measure what can be measured here, derive the documents, build the site.
plan: $(VENV)/.site
	@touch $(VENV)/.plan-began
	$(BIN)/gamekit bench --append
	$(BIN)/gamekit render
	OFFLINE=true $(BIN)/mkdocs build --strict --quiet
	@new=$$(find findings/measured -name '*.yaml' -newer $(VENV)/.plan-began | sort | paste -sd' ' -); \
	  echo "plan: $(PLAN); new findings: $$new; site: site/index.html"

test: $(VENV)/.test
	$(BIN)/pytest -n auto

# gamekit against the real sglang, which serves a real small model on the CPU. The first time it
# builds the engine in .venv/engine (2.5 to 6 GB, 2 to 8 minutes); the tests take 3 to 10.
# ENGINE_TESTS is an expression of pytest's -k.
engine-test: $(VENV)/.test engine
	$(BIN)/pytest --durations=5 engine -k '$(ENGINE_TESTS)'

engine: $(VENV)/engine/.built

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.lint $(VENV)/.test
	$(BIN)/mypy

# Are the findings right, and the committed documents what they say?
check: $(VENV)/.site
	$(BIN)/gamekit check
	$(BIN)/gamekit render --check

# How long the speculation model takes over a million scenarios.
perf: $(VENV)/.site
	$(BIN)/python perf/speculation.py

# How precise the client is against a scripted server, and how many chunks a second it follows.
# Nothing else should run on the machine meanwhile; three minutes.
client: $(VENV)/.site
	$(BIN)/python -m perf.client

# The same scripted server under gamekit and under the tools that people use; writes
# docs/guide/peers.md. Installs them into .venv/peers (gigabytes); a quarter of an hour.
peers: $(VENV)/.site
	$(BIN)/python -m perf.peers

site: $(VENV)/.site
	$(BIN)/gamekit render
	OFFLINE=true $(BIN)/mkdocs build --strict --quiet
	@echo "site: site/index.html"

# The site must also build with Zensical, the successor of MkDocs by the authors of Material.
zensical: $(VENV)/.zensical
	$(BIN)/gamekit render
	$(VENV)/zensical/bin/zensical build --clean

clean:
	rm -rf $(VENV) site build dist

# --- Environments, made again when pyproject.toml changes ----------------------------------------

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "gamekit needs Python 3.11 to 3.13; name one: make plan PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	  { echo "$(PYTHON) cannot make environments; on Debian: apt-get install python3-venv" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'  # reads dependency groups
	@touch $@

$(VENV)/.site: pyproject.toml $(VENV)/.python
	$(BIN)/python -m pip install --quiet --editable '.[site]'
	@touch $@

$(VENV)/.test: $(VENV)/.site
	$(BIN)/python -m pip install --quiet --group test
	@touch $@

# Of no use to any other environment, so that it can be built beside them.
$(VENV)/engine/.built: engine/build engine/requirements.txt \
    engine/write_model.py engine/vision_operators.py
	engine/build $(VENV)/engine $(PYTHON)
	@touch $@

$(VENV)/.lint: $(VENV)/.site
	$(BIN)/python -m pip install --quiet --group lint
	@touch $@

$(VENV)/.zensical: pyproject.toml $(VENV)/.site
	$(PYTHON) -m venv $(VENV)/zensical
	$(VENV)/zensical/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)/zensical/bin/python -m pip install --quiet --group zensical
	@touch $@
