# Everything sets itself up on a fresh machine: packages, virtual environment, cluster programs, images. Set-up is kept
# in the user's cache directory under a hash of what it was made from, so the second time takes seconds.
SHELL := /bin/bash
CACHE := $(or $(ASSAY_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/assay)
LOCK := $(shell sha256sum requirements.txt | cut -c1-16)
VENV := $(CACHE)/venv/$(LOCK)
PYTHON := $(VENV)/bin/python
CLUSTER := python3 dev/cluster/cluster.py
export PYTHONPATH := operator
export PYTHONUNBUFFERED := 1

.PHONY: help setup venv demo test explore lint chaos generate cluster-up cluster-down cluster-env images clean

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

setup: venv ## Debian packages, virtual environment, cluster programs
	@$(CLUSTER) setup

venv: $(VENV)/.complete

$(VENV)/.complete: requirements.txt
	@echo "[assay] virtual environment: $(VENV)"
	@mkdir -p $(dir $(VENV)) && python3 -m venv $(VENV)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.txt
	@touch $@

images: setup ## Build Assay's image and those of the examples
	@python3 dev/image/build.py
	@$(PYTHON) examples/build.py images

demo: setup ## Start a cluster, install the chart, validate the examples (ONLY=NAME,NAME: some of them)
	@$(PYTHON) dev/demo.py --only "$(ONLY)"

test: setup ## All checks and tests, on clusters of their own
	@$(MAKE) --no-print-directory lint
	@$(PYTHON) dev/test.py $(TESTS)

explore: setup ## Unit tests with property examples that no run has seen
	@HYPOTHESIS_PROFILE=default $(PYTHON) dev/test.py unit

lint: venv ## Format, lint, types, import contracts, generated files
	@$(VENV)/bin/ruff format --check --quiet .
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports
	@$(PYTHON) -m assay.api.generate --check
	@$(PYTHON) dev/generate_docs.py --check

chaos: setup ## Play episodes while everything around them is killed or cut off
	@PYTHONPATH=operator:tests $(PYTHON) benchmarks/chaos.py

generate: venv ## Write the generated files
	@$(PYTHON) -m assay.api.generate
	@$(PYTHON) dev/generate_docs.py

cluster-up: setup ## Start the local cluster
	@$(CLUSTER) up

cluster-down: ## End the local cluster
	@$(CLUSTER) down

cluster-env: ## Print what a shell needs to use it: eval "$$(make -s cluster-env)"
	@$(CLUSTER) env

clean: ## End all local clusters and forget caches
	@$(CLUSTER) down --all
	rm -rf $(CACHE) .mypy_cache .ruff_cache .pytest_cache .hypothesis
