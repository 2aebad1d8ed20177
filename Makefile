# Each target builds what it needs and does not repeat finished work. `make` without a target lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON  ?= python3
# coderag uses its own documents, so the default chunker is left out; a chunker given explicitly is passed on and refused.
CHUNKER ?= $(if $(filter coderag%,$(PROTOCOL)),,ast)
BENCH   ?= repoeval
# What leaderboard-full asks beside RepoEval: every pack that ships.
DATA    ?= $(basename $(notdir $(wildcard data/packs/*.yaml)))
SOURCE  ?= $(REPOEVAL_SOURCE)
# The tool reads its options from make's variables: MATCH_SIZE=fixed is --match-size fixed.
export CHUNKER SOURCE

export PIP_DISABLE_PIP_VERSION_CHECK := 1

BIN   := .venv/bin
# The variable also pins build environments, unlike -c. The path is relative because pip splits the value at blanks.
PIP   := PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install -q
TOOL  := $(BIN)/repoeval-bench
# Tests and benchmarks start hundreds of processes. Without bytecode each would compile every module again.
COMPILED := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python
# The marks of tests that take long or need what is not everywhere; `make test` runs the others.
LONG   := slow or network or full_data
PYTEST ?=
# Quote a value as one shell word.
q = '$(subst ','\'',$(1))'
ASK     = $(TOOL) --variables
FROM    = $(call q,$(or $(SOURCE),auto))
RUNS    = $(or $(OUT),results)

.PHONY: help download recommend eval compare report leaderboard leaderboard-full run sensitivity reproduce test test-all lint check docs bench clean

help: ## list the targets and variables
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo '  `. .venv/bin/activate` puts repoeval-bench on the PATH, as the commands that it prints need it.'
	@echo
	@echo '  Each option is a variable in capitals; repoeval-bench eval --help-all lists them:'
	@echo '  CHUNKER="ast fixed"          one or more specs; ast:max_nws=800 sets an option'
	@echo '  PROTOCOL=body RETRIEVER=bm25 EMBEDDER=st:NAME MATCH_SIZE=fixed …'
	@echo '  SOURCE=FOLDER                auto, github, pypi, or a folder or URL with the archives'
	@echo '  REPOS="a b" LIMIT=20         some of the tasks only'
	@echo '  BASELINE=fixed               compare: the run to compare the others with'
	@echo '  DETAILS=1                    eval, compare, run: every table and note'
	@echo '  BENCH=repoeval               run, sensitivity: a YAML file, or the name of a shipped one'
	@echo '  OUT=results                  the folder for runs'
	@echo '  EXECUTOR=local:8             leaderboard-full: the workers; DATA=pypi-40: the packs'

# torch is installed first and alone, so that later installs keep a CPU build from the index.
.venv/torch.stamp: pyproject.toml constraints.txt
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@echo 'installing into .venv (once; a few minutes); . .venv/bin/activate puts repoeval-bench on the PATH' >&2
	@$(PIP) "$$(grep '^torch==' constraints.txt)"
	@touch $@

.venv/run.stamp: .venv/torch.stamp
	@$(PIP) -e '.[usual]'
	@touch $@

# What is installed from here on holds all that `run.stamp` stands for.
.venv/all.stamp: .venv/torch.stamp
	@echo 'installing every chunker' >&2
	@$(PIP) -e '.[all]'
	@touch .venv/run.stamp $@

.venv/dev.stamp: .venv/torch.stamp
	@echo 'installing the tools for tests and checks' >&2
	@$(PIP) -e '.[dev]'
	@touch .venv/run.stamp $@

download: .venv/run.stamp ## obtain and verify the RepoEval data
	@$(ASK) data fetch

recommend: .venv/run.stamp ## say which chunker and size suit the code in SOURCE=path
	@$(if $(SOURCE),$(if $(filter file,$(origin CHUNKER)),CHUNKER= )$(ASK) recommend $(FROM),echo 'error: name the code with SOURCE=path' >&2; exit 2)

eval: .venv/run.stamp ## chunk, embed, retrieve, score; print lines found and nDCG@10
	@$(ASK) eval

compare: .venv/run.stamp ## compare CHUNKER="ast fixed": run what is missing, test which differences are significant
	@$(ASK) compare

run: .venv/run.stamp ## run the benchmark described by a file, BENCH=bench.yaml
	@$(ASK) run $(call q,$(BENCH))

report: .venv/run.stamp ## write one HTML page about the runs of the last compare
	@$(ASK) report -o $(call q,$(RUNS)/report.html)

leaderboard: .venv/run.stamp ## rank all runs in OUT by protocol; write OUT/leaderboard.csv
	@$(TOOL) lab leaderboard --out $(call q,$(RUNS)) -o $(call q,$(RUNS)/leaderboard.csv)

# A run that is stored is not made again, so the same line goes on where it was stopped.
leaderboard-full: .venv/all.stamp ## run and rank all chunkers on all shipped data (hours)
	@for bench in leaderboard leaderboard-dense; do for data in $(FROM) $(DATA); do \
	  $(ASK) run $$bench --source "$$data"; done; done
	@$(TOOL) lab leaderboard --out $(call q,$(RUNS)) -o $(call q,$(RUNS)/leaderboard.csv)

sensitivity: .venv/run.stamp ## count the settings of BENCH=FILE in which a chunker wins
	@$(ASK) lab sensitivity $(if $(filter file,$(origin BENCH)),sensitivity,$(call q,$(BENCH)))

reproduce: .venv/run.stamp ## reproduce published numbers, with causes
	@$(ASK) lab reproduce --out $(call q,$(RUNS)/reproduce)

test: .venv/dev.stamp ## test what a change can break; minutes
	@$(COMPILED) -m pytest -n auto --dist worksteal -m 'not ($(LONG))' $(PYTEST)

test-all: .venv/dev.stamp ## run the long tests: full data, indexes, browsers, clusters
	@$(COMPILED) -m pytest -n auto --dist worksteal -m '$(LONG) or hypothesis' --hypothesis-profile deep $(PYTEST)

lint: .venv/dev.stamp ## check style, types and architecture
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

check: lint test ## lint and test

docs: .venv/dev.stamp ## build the documentation into build/site, and run its notebooks
	@# Kernels warn of sockets without encryption; these are local and live as long as the build.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q 2> >(grep -v '^\[IPKernelApp\] WARNING' >&2)

bench: .venv/dev.stamp ## measure speed and memory as ratios, side by side in one run
	@$(COMPILED) scripts/bench.py --source $(FROM)

clean: ## remove the environment and caches of tools, not the data
	@rm -rf .venv build dist .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -not -path './data/cache/*' -prune -exec rm -rf {} +
	@echo "kept: data/cache/ (data and vectors), $(RUNS)/ (runs)"
