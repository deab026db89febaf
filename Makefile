# make audit: set up everything and run the main job. make test: set up and pass the tests.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CORES ?= all
# A waiting OpenMP thread that spins takes the core from the other job.
export OMP_WAIT_POLICY := PASSIVE
# Everything runs offline once the environment stands.
export HF_HUB_OFFLINE ?= 1
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PYTHONPATH := $(CURDIR)

# The stamp holds the digest of the locks; it is stale when a lock has changed.
LOCKS := envs/lock.txt envs/torch.txt envs/torch-cpu.txt
STAMP := .venv/installed
ifneq ($(shell cat $(LOCKS) | sha256sum),$(shell cat $(STAMP) 2>/dev/null))
.PHONY: $(STAMP)
endif

.PHONY: help audit report test lint
help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP):
	@envs/install.sh

audit: $(STAMP) ## set up, audit the default dataset, print the table (about 10 minutes)
	@snakemake --cores $(CORES)
	@python workflow/scripts/summary.py results/tables/table2.csv

report: $(STAMP) ## write results/report.html, and make what it shows where that is missing
	@snakemake --cores $(CORES) reported
	@snakemake --cores $(CORES) --report results/report.html -- reported

test: $(STAMP) lint ## set up, check style and types, run the tests (under 15 minutes)
	@python -m pytest -n 2 -m "not slow and not encoders and not slurm"

lint: $(STAMP) ## style, types, and the workflow's linter
	@ruff check .
	@ruff format --check .
	@snakefmt --check --compact-diff Snakefile workflow
	@mypy
	@snakemake --lint
