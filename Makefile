# Everything needs only python3 (3.11 or newer) with pip and venv, and make.
# Stamps keep repeated runs quick: the environment is touched only when a lock file or pyproject.toml changes.

PYTHON  ?= python3
WORKERS ?= 2

VENV    := .venv
BIN     := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEV     := $(VENV)/.dev
SPARK   := $(VENV)/.spark
MYSQL   := $(VENV)/.mysql
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# An environment whose interpreter is gone, as after a system upgrade, is made anew.
_ := $(shell test -x $(BIN)/python || rm -f $(RUNTIME) $(DEV) $(SPARK) $(MYSQL))

.DEFAULT_GOAL := help
.PHONY: help demo workbench test coverage servers docs bench fuzz mutants lint licences sbom format lock clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUNTIME)  ## install, anonymize a generated table, show the result and its risks
	@$(BIN)/veil demo

workbench: $(RUNTIME)  ## install, and open the workbench in the browser
	@$(BIN)/veil workbench

# Where tests run unattended (CI=true), all of them do, and the servers that they can use are installed first. On
# anybody's own machine the slow ones (`-m slow`) are left out, and servers are installed when asked for: tests of a
# server that is not there are skipped and say so.
UNATTENDED := $(filter true 1,$(CI))
PYTEST     := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test: lint $(if $(UNATTENDED),servers)  ## install, check style, types and imports, run the tests
	$(PYTEST) $(if $(UNATTENDED),,-m "not slow")

# Apart from `test`: tracing takes half as long again, and in Python 3.11 two threads that start at the same moment
# may fail to be traced, which ends one of them.
coverage: $(DEV)  ## run all tests, and print which share of the lines and branches they run
	$(PYTEST) --cov --cov-report=
	@echo "Covered: $$($(BIN)/coverage report --format=total --precision=1) % of the lines and branches that" \
	  "Python runs. Compiled kernels are left out (nothing can trace them) and so are processes that tests start."

# What mysqlclient is compiled against.
HAS_CLIENT  := { pkg-config --exists libmariadb || pkg-config --exists mysqlclient; } 2>/dev/null
HAS_HEADERS := $(BIN)/python -c 'import os, sysconfig as s; os.stat(s.get_path("include") + "/Python.h")' 2>/dev/null

# Of MariaDB the core is enough: the tests start a server of their own, and none starts on the machine by itself.
servers: $(DEV)  ## install PostgreSQL, MariaDB, Java and Chromium (on Debian, as root) and Spark for the tests that use them
	@$(MAKE) --no-print-directory $(SPARK) || echo "Spark could not be installed; its tests will be skipped."
	@wanted=""; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || wanted="postgresql"; \
	command -v java >/dev/null || wanted="$$wanted default-jre-headless"; \
	command -v chromium >/dev/null || wanted="$$wanted chromium"; \
	PATH="$$PATH:/usr/sbin:/usr/libexec" command -v mariadbd >/dev/null \
	  || wanted="$$wanted mariadb-server-core mariadb-client-core"; \
	if [ ! -f $(MYSQL) ]; then \
	  $(HAS_CLIENT) || wanted="$$wanted libmariadb-dev pkg-config"; \
	  command -v cc >/dev/null || wanted="$$wanted gcc libc6-dev"; \
	  $(HAS_HEADERS) || wanted="$$wanted python3-dev"; \
	fi; \
	if [ -z "$$wanted" ]; then exit 0; fi; \
	if [ -f /etc/debian_version ] && [ "$$(id -u)" = 0 ]; then \
	  echo Installing $$wanted ...; \
	  export DEBIAN_FRONTEND=noninteractive; \
	  install="apt-get -qq --yes --no-install-recommends install"; \
	  { apt-get -qq update && $$install $$wanted; } >/dev/null || for each in $$wanted; do \
	    $$install $$each >/dev/null || echo "$$each could not be installed; the tests that need it will be skipped."; \
	  done; \
	else \
	  echo Not installed, as this is not Debian or you are not root: $$wanted. Their tests will be skipped.; \
	fi
	@if [ -f $(MYSQL) ] || { $(HAS_CLIENT) && command -v cc >/dev/null && $(HAS_HEADERS); }; then \
	  $(MAKE) --no-print-directory $(MYSQL) || echo "mysqlclient could not be built; the tests of MySQL will be skipped."; \
	else \
	  echo "mysqlclient is not built, as a compiler or the headers are missing; the tests of MySQL will be skipped."; \
	fi

docs: $(DEV)  ## build the documentation site in docs/_build/html; every warning and every broken link is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

bench: $(RUNTIME)  ## measure the optimal search (bench/ has more)
	$(BIN)/python bench/optimal.py

# Others each time, for some minutes; `make fuzz MINUTES=600` for a night. What was too much is kept in tests/fuzz/found.
MINUTES ?= 5
fuzz: $(DEV)  ## hand damaged documents and files to every command that reads some
	cd tests && PYTHONPATH=../src ../$(BIN)/python -m support.fuzz.run --minutes $(MINUTES) --keep

# `make mutants SINCE=main` for the lines that are changed since then; `make mutants ROOMS=models/shares.py` for a module.
SAMPLE ?= 30
mutants: $(DEV)  ## change one sign of the code at a time, and see whether a test fails
	cd tests && PYTHONPATH=../src ../$(BIN)/python -m support.mutants.run $(ROOMS) --sample $(SAMPLE) $(if $(SINCE),--since $(SINCE))

licences: $(DEV)  ## check the licences of all locked packages
	$(BIN)/python supply/packages.py licences

sbom: $(RUNTIME)  ## write a bill of materials (CycloneDX) to sbom.json
	$(BIN)/python supply/packages.py sbom > sbom.json

lint: $(DEV)  ## check style, types and imports only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV)  ## put the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) .lock-venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage build dist docs/_build docs/api
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment. A venv without pip (Debian without python3-venv) or an old Python stops here, with the way out.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Veil needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) \
	  || { rm -rf $(VENV); echo "No virtual environment could be made; on Debian: apt install python3-venv"; exit 1; }

# Wheels only, every hash checked, and nothing resolved anew: an older pip takes `coverage[toml]` of a locked package
# for a wish of its own and refuses the lock on the day a newer version appears. Then Veil itself, from this checkout.
$(RUNTIME): requirements.lock pyproject.toml | $(BIN)/python
	@echo "Installing what Veil needs into $(VENV) ..."
	@$(INSTALL) --only-binary :all: --no-deps --require-hashes -r requirements.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): requirements-dev.lock $(RUNTIME)
	@echo "Installing what the tests need into $(VENV) ..."
	@$(INSTALL) --only-binary :all: --no-deps --require-hashes -r requirements-dev.lock
	@touch $@

# Published as source only, so it is built here; every hash is checked all the same.
$(SPARK): requirements-spark.lock $(DEV)
	@echo "Installing Spark into $(VENV) (450 MB) ..."
	@$(INSTALL) --no-deps --require-hashes -r requirements-spark.lock
	@touch $@

# Published as source only as well. setuptools, which builds it, stands at the end of the lock and is installed first:
# so nothing takes part in the build whose hash is not checked.
$(MYSQL): requirements-mysql.lock $(DEV)
	@echo "Building mysqlclient into $(VENV) ..."
	@sed -n '/^setuptools==/,$$p' $< | $(INSTALL) --only-binary :all: --no-deps --require-hashes -r /dev/stdin
	@$(INSTALL) --no-deps --no-build-isolation --require-hashes -r $<
	@touch $@

# The locks are made from the public index whatever pip is told on this machine, so that no mirror's address or
# repackaged wheel gets into them. `make lock UPGRADE=--upgrade` moves to the newest versions.
COMPILE := env -u PIP_INDEX_URL -u PIP_EXTRA_INDEX_URL -u PIP_FIND_LINKS -u PIP_TRUSTED_HOST \
  PIP_CONFIG_FILE=/dev/null CUSTOM_COMPILE_COMMAND="make lock" .lock-venv/bin/pip-compile \
  --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links \
  --no-emit-trusted-host --no-emit-options --pip-args="--only-binary :all:" $(UPGRADE)

# What mysqlclient depends on is told by building it as far as that; the flags are there so that it needs no headers.
lock:  ## resolve the lock files again
	$(PYTHON) -m venv --clear .lock-venv
	.lock-venv/bin/pip install --quiet --disable-pip-version-check "pip-tools>=7.5"
	$(COMPILE) --extra all --build-deps-for editable --output-file requirements.lock pyproject.toml
	$(COMPILE) --extra all --extra dev --constraint requirements.lock \
	  --output-file requirements-dev.lock pyproject.toml
	printf 'mysqlclient\nsetuptools\n' | MYSQLCLIENT_CFLAGS=-O2 MYSQLCLIENT_LDFLAGS=-O2 $(COMPILE) \
	  --pip-args="--only-binary :all: --no-binary mysqlclient" --output-file requirements-mysql.lock -
