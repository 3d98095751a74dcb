# Two commands matter: `make run` and `make test`. Both set up what they need on a bare Debian.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= python3
VENV   := .venv
STAMP  := $(VENV)/.installed
SUDO   := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
BIN    := $(CURDIR)/$(VENV)/bin
export PYTHONUNBUFFERED := 1

.PHONY: help system setup run test lint types imports conf-check unit nightly fmt docs lock clean

help:         ## this list
	@grep -E '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

system:       # installs only what deploy/apt.txt lists and this machine lacks; NO_APT=1 prints and stops
	@command -v dpkg-query >/dev/null || exit 0; \
	missing=$$( (xargs -a deploy/apt.txt dpkg-query -W -f='$${db:Status-Status} $${Package}\n' 2>/dev/null || true) \
	  | awk '$$1=="installed"{print $$2}' | sort | comm -13 - <(sort deploy/apt.txt)); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ -n "$${NO_APT:-}" ]; then echo "missing system packages:" $$missing; exit 1; fi; \
	$(SUDO) apt-get update -q -o DPkg::Lock::Timeout=500 >/dev/null; \
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends \
	  -o DPkg::Lock::Timeout=500 $$missing >/dev/null

$(STAMP): requirements.lock | system
	@echo "setting up $(VENV) (about a minute, once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

setup: $(STAMP)  ## the venv and system packages, nothing started

run: $(STAMP) ## the whole stack in the foreground; simulator unless ROBOT=NAME
	@exec $(BIN)/python -m tools.run

test: $(STAMP) lint types imports conf-check unit ## everything CI checks

lint: $(STAMP)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(STAMP)
	@$(BIN)/mypy

imports: $(STAMP)
	@$(BIN)/lint-imports --no-cache

conf-check: $(STAMP)
	@$(BIN)/python -m tools.gen_supervisord --check
	@$(BIN)/python -m tools.gen_docs --check
	@$(BIN)/python -m tools.gen_vectors --check

unit: $(STAMP)
	@$(BIN)/python -m pytest

nightly: $(STAMP) ## the long forms: slow tests and full benchmarks
	@$(BIN)/python -m pytest -m "" --timeout 1800
	@for b in footprint pipeline tick; do $(BIN)/python -m tools.bench $$b --full; done

fmt: $(STAMP)
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

docs: $(STAMP) ## regenerate deploy/supervisord.conf and docs/specs/topics.md
	@$(BIN)/python -m tools.gen_supervisord
	@$(BIN)/python -m tools.gen_docs

lock: $(STAMP) ## recompile requirements.lock (needs uv)
	@$(BIN)/pip install -q uv && $(BIN)/uv pip compile --universal --python-version 3.10 \
	  --generate-hashes --no-header -q requirements.in -o requirements.lock

clean:
	@rm -rf $(VENV)
