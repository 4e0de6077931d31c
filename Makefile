# Everything needs only python3 (3.11 or newer) with pip and venv, and make.
# Two stamps keep repeated runs quick: the environment is touched only when a lock file or pyproject.toml changes.

PYTHON  ?= python3
WORKERS ?= 2

VENV    := .venv
BIN     := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEV     := $(VENV)/.dev
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# An environment whose interpreter is gone, as after a system upgrade, is made anew.
_ := $(shell test -x $(BIN)/python || rm -f $(RUNTIME) $(DEV))

.DEFAULT_GOAL := help
.PHONY: help demo test bench lint format lock clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUNTIME)  ## install, anonymize a generated table, show the result and its risks
	@$(BIN)/veil demo

test: lint  ## install, check style and types, run all tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

bench: $(RUNTIME)  ## measure the optimal search (bench/ has more)
	$(BIN)/python bench/optimal.py

lint: $(DEV)  ## check style and types only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV)  ## put the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) .lock-venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment. A venv without pip (Debian without python3-venv) or an old Python stops here, with the way out.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Veil needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) \
	  || { rm -rf $(VENV); echo "No virtual environment could be made; on Debian: apt install python3-venv"; exit 1; }

# Wheels only and every hash checked; then Veil itself, from this checkout.
$(RUNTIME): requirements.lock pyproject.toml | $(BIN)/python
	@echo "Installing what Veil needs into $(VENV) ..."
	@$(INSTALL) --only-binary :all: --require-hashes -r requirements.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): requirements-dev.lock $(RUNTIME)
	@echo "Installing what the tests need into $(VENV) ..."
	@$(INSTALL) --only-binary :all: --require-hashes -r requirements-dev.lock
	@touch $@

# The locks are made from the public index whatever pip is told on this machine, so that no mirror's address or
# repackaged wheel gets into them. `make lock UPGRADE=--upgrade` moves to the newest versions.
COMPILE := env -u PIP_INDEX_URL -u PIP_EXTRA_INDEX_URL -u PIP_FIND_LINKS -u PIP_TRUSTED_HOST \
  PIP_CONFIG_FILE=/dev/null CUSTOM_COMPILE_COMMAND="make lock" .lock-venv/bin/pip-compile \
  --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links \
  --no-emit-trusted-host --no-emit-options --pip-args="--only-binary :all:" $(UPGRADE)

lock:  ## resolve the lock files again
	$(PYTHON) -m venv --clear .lock-venv
	.lock-venv/bin/pip install --quiet --disable-pip-version-check "pip-tools>=7.5"
	$(COMPILE) --extra all --build-deps-for editable --output-file requirements.lock pyproject.toml
	$(COMPILE) --extra all --extra dev --constraint requirements.lock \
	  --output-file requirements-dev.lock pyproject.toml
