# Every target makes what it needs and never redoes finished work. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON    ?= python3
CHUNKER   ?= ast
PROTOCOL  ?= context
EMBEDDER  ?= minilm
RETRIEVER ?= dense
LEVEL     ?= function
CONTEXT   ?= 2k
TOKENIZER ?= codex
K         ?= 100
OUT       ?= results
SOURCE    ?= $(or $(REPOEVAL_SOURCE),auto)
REPOS     ?=
LIMIT     ?=
BASELINE  ?=
EXCLUDE   ?=
LONG_TEXT ?=

# Data and vectors stay in the checkout unless you say otherwise.
export REPOEVAL_HOME ?= $(CURDIR)/data/cache
# Build environments are pinned too.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

BIN   := .venv/bin
BENCH := $(BIN)/repoeval-bench
DATA  = --source '$(SOURCE)' --level '$(LEVEL)' --context '$(CONTEXT)' --tokenizer '$(TOKENIZER)'
PICK  = $(if $(REPOS),--repos '$(REPOS)') $(if $(LIMIT),--limit '$(LIMIT)')
# coderag has documents of its own: only a chunker that was asked for is passed on (and then refused).
CUT   = $(if $(and $(filter coderag%,$(PROTOCOL)),$(filter file,$(origin CHUNKER))),,$(foreach c,$(CHUNKER),--chunker '$(c)'))
RUN   = $(CUT) --protocol '$(PROTOCOL)' --embedder '$(EMBEDDER)' \
        --retriever '$(RETRIEVER)' --k '$(K)' --out '$(OUT)' $(DATA) $(PICK) \
        $(if $(EXCLUDE),--exclude '$(EXCLUDE)') $(if $(LONG_TEXT),--long-text '$(LONG_TEXT)')

.PHONY: help download eval compare sensitivity reproduce test check bench clean

help: ## list the targets and variables
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo '  CHUNKER="ast fixed chonkie"  one or more specs; ast:max_nws=800 sets an option'
	@echo '  PROTOCOL=context             context, code-chunk, coderag, body, linemap'
	@echo '  EMBEDDER=minilm              minilm or st:NAME'
	@echo '  RETRIEVER=dense              dense, bm25, random, oracle'
	@echo '  EXCLUDE=repocoder            what a query may not see: prompt, repocoder, body'
	@echo '  LONG_TEXT=tail               what is read of a long text: head, tail, mean'
	@echo '  SOURCE=auto                  auto, github, pypi, or a folder or URL that mirrors the archives'
	@echo '  LEVEL=function CONTEXT=2k TOKENIZER=codex   which task file'
	@echo '  REPOS="a b" LIMIT=20         a part of the tasks'
	@echo '  K=100                        depth that is ranked and stored'
	@echo '  OUT=results                  where run folders go'

# torch comes first and alone, so that a CPU build that an index offers is kept by everything after it.
.venv/run.stamp: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo 'installing into .venv (once; a few minutes)' >&2
	@$(BIN)/python -m pip install -q "$$(grep '^torch==' constraints.txt)"
	@$(BIN)/python -m pip install -q -e .
	@touch $@

.venv/dev.stamp: .venv/run.stamp
	@echo 'installing the tools for tests and checks' >&2
	@$(BIN)/python -m pip install -q -e '.[dev]'
	@touch $@

download: .venv/run.stamp ## obtain and verify the RepoEval data
	@$(BENCH) data fetch $(DATA)

eval: .venv/run.stamp ## chunk, embed, retrieve, score; print the nDCG/Recall table
	@$(BENCH) eval $(RUN)

compare: .venv/run.stamp ## run what is missing and say which differences are real
	@$(BENCH) compare $(RUN) $(if $(BASELINE),--baseline '$(BASELINE)')

sensitivity: .venv/run.stamp ## say in how many settings one chunker beats another
	@$(BENCH) sensitivity $(CUT) --embedder '$(EMBEDDER)' $(DATA) $(PICK)

reproduce: .venv/run.stamp ## measure published numbers again, with causes
	@$(BIN)/python scripts/reproduce.py --source '$(SOURCE)' --out '$(OUT)/reproduce' \
	  $(if $(filter-out minilm,$(EMBEDDER)),--embedder '$(EMBEDDER)')

test: .venv/dev.stamp ## the whole test suite
	@$(BIN)/python -m pytest -n auto

check: .venv/dev.stamp ## style, types, architecture, and the fast tests
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -n auto -m 'not slow and not network and not full_data'

bench: .venv/dev.stamp ## speed and memory as ratios, side by side in one run
	@$(BIN)/python scripts/bench.py --source '$(SOURCE)'

clean: ## remove the environment and tool caches; data, vectors and results stay
	@rm -rf .venv build dist .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -not -path './data/cache/*' -prune -exec rm -rf {} +
	@echo "kept: $(REPOEVAL_HOME) (data and vectors), $(OUT)/ (runs)"
