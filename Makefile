# Every target makes what it needs and never redoes finished work. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON  ?= python3
# coderag has documents of its own: only a chunker that was asked for is passed on (and then refused).
CHUNKER ?= $(if $(filter coderag%,$(PROTOCOL)),,ast)
BENCH   ?= repoeval
SOURCE  ?= $(REPOEVAL_SOURCE)
# Variables of make's command line reach the tool, which reads its options from them: MATCH_SIZE=fixed is --match-size fixed.
export CHUNKER SOURCE

export PIP_DISABLE_PIP_VERSION_CHECK := 1

BIN   := .venv/bin
# The variable pins build environments too, which -c does not; its name is relative, for pip splits it at blanks.
PIP   := PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install -q
TOOL  := $(BIN)/repoeval-bench
# A value as one word of the shell, quotes in it included.
q = '$(subst ','\'',$(1))'
ASK     = $(TOOL) --variables
FROM    = $(call q,$(or $(SOURCE),auto))
RUNS    = $(or $(OUT),results)

.PHONY: help download eval compare report leaderboard run sensitivity reproduce test lint check bench clean

help: ## list the targets and variables
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo '  Every option of a command has a variable of its name in capitals; repoeval-bench eval --help lists them:'
	@echo '  CHUNKER="ast fixed"          one or more specs; ast:max_nws=800 sets an option'
	@echo '  PROTOCOL=body RETRIEVER=bm25 EMBEDDER=st:NAME EXCLUDE=repocoder MATCH_SIZE=fixed LONG_TEXT=tail …'
	@echo '  SOURCE=FOLDER                auto, github, pypi, or a folder or URL that mirrors the archives'
	@echo '  REPOS="a b" LIMIT=20         a part of the tasks'
	@echo '  BASELINE=fixed EQUIVALENCE=0.01   compare: against which, and when means count as equal'
	@echo '  OUTPUT=grid.json             sensitivity: where its settings go'
	@echo '  SENSITIVITY=grid.json        report: the settings to draw'
	@echo '  BENCH=repoeval               run: a YAML file, or the name of the one that is shipped'
	@echo '  OUT=results                  where run folders go'

# torch comes first and alone, so that a CPU build that an index offers is kept by everything after it.
.venv/run.stamp: pyproject.toml constraints.txt
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@echo 'installing into .venv (once; a few minutes)' >&2
	@$(PIP) "$$(grep '^torch==' constraints.txt)"
	@$(PIP) -e .
	@touch $@

.venv/dev.stamp: .venv/run.stamp
	@echo 'installing the tools for tests and checks' >&2
	@$(PIP) -e '.[dev]'
	@touch $@

download: .venv/run.stamp ## obtain and verify the RepoEval data
	@$(ASK) data fetch

eval: .venv/run.stamp ## chunk, embed, retrieve, score; print the nDCG/Recall table
	@$(ASK) eval

compare: .venv/run.stamp ## run what is missing and say which differences are real
	@$(ASK) compare

run: .venv/run.stamp ## run the benchmark that a file describes, BENCH=bench.yaml
	@$(ASK) run $(call q,$(BENCH))

report: .venv/run.stamp ## one HTML page about the runs that compare compared last
	@$(ASK) report --bm25 -o $(call q,$(RUNS)/report.html)

leaderboard: .venv/run.stamp ## rank all runs of OUT, protocol by protocol, on one HTML page
	@$(TOOL) leaderboard $(call q,$(RUNS)) -o $(call q,$(RUNS)/leaderboard.html)

sensitivity: .venv/run.stamp ## say in how many settings one chunker beats another
	@$(ASK) sensitivity

reproduce: .venv/run.stamp ## measure published numbers again, with causes
	@$(BIN)/python scripts/reproduce.py --source $(FROM) --out $(call q,$(RUNS)/reproduce) \
	  $(if $(EMBEDDER),--embedder $(call q,$(EMBEDDER)))

test: .venv/dev.stamp ## the whole test suite
	@$(BIN)/python -m pytest -n auto

lint: .venv/dev.stamp ## style, types and architecture
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

check: lint ## style, types, architecture, and the fast tests
	@$(BIN)/python -m pytest -n auto -m 'not slow and not network and not full_data'

bench: .venv/dev.stamp ## speed and memory as ratios, side by side in one run
	@$(BIN)/python scripts/bench.py --source $(FROM)

clean: ## remove the environment and tool caches; data, vectors and results stay
	@rm -rf .venv build dist .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -not -path './data/cache/*' -prune -exec rm -rf {} +
	@echo "kept: data/cache/ (data and vectors), $(RUNS)/ (runs)"
