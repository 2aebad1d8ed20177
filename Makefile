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
SCOPE     ?=
LONG_TEXT ?=
PRECISION ?= auto
HEADER    ?=
MATCH     ?=
EQUIVALENCE ?=
GRID      ?=
BENCH     ?= repoeval

export PIP_DISABLE_PIP_VERSION_CHECK := 1

BIN   := .venv/bin
# The variable pins build environments too, which -c does not; its name is relative, for pip splits it at blanks.
PIP   := PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install -q
TOOL  := $(BIN)/repoeval-bench
# A value as one word of the shell, quotes in it included.
q = '$(subst ','\'',$(1))'
DATA  = --source $(call q,$(SOURCE)) --level $(call q,$(LEVEL)) --context $(call q,$(CONTEXT)) --tokenizer $(call q,$(TOKENIZER))
PICK  = $(if $(REPOS),--repos $(call q,$(REPOS))) $(if $(LIMIT),--limit $(call q,$(LIMIT)))
# coderag has documents of its own: only a chunker that was asked for is passed on (and then refused).
CUT   = $(if $(and $(filter coderag%,$(PROTOCOL)),$(filter file,$(origin CHUNKER))),,$(foreach c,$(CHUNKER),--chunker $(call q,$(c))))
RUN   = $(CUT) --protocol $(call q,$(PROTOCOL)) --embedder $(call q,$(EMBEDDER)) \
        --retriever $(call q,$(RETRIEVER)) --k $(call q,$(K)) --out $(call q,$(or $(OUT),results)) $(DATA) $(PICK) \
        $(if $(EXCLUDE),--exclusion $(call q,$(EXCLUDE))) $(if $(SCOPE),--scope $(call q,$(SCOPE))) \
        --precision $(call q,$(PRECISION)) $(if $(LONG_TEXT),--long-text $(call q,$(LONG_TEXT))) \
        $(if $(HEADER),--header $(call q,$(HEADER))) $(if $(MATCH),--match-size $(call q,$(MATCH)))

# A grid has protocols and retrievers of its own: only those that were asked for take their place.
CELLS = $(if $(filter-out file,$(origin PROTOCOL)),$(foreach p,$(PROTOCOL),--protocol $(call q,$(p)))) \
        $(if $(filter-out file,$(origin RETRIEVER)),$(foreach r,$(RETRIEVER),--retriever $(call q,$(r))))

.PHONY: help download eval compare report leaderboard run sensitivity reproduce test lint check bench clean

help: ## list the targets and variables
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo '  CHUNKER="ast fixed chonkie"  one or more specs; ast:max_nws=800 sets an option'
	@echo '  PROTOCOL=context             context, code-chunk, coderag, body, linemap'
	@echo '  EMBEDDER=minilm              minilm, st:NAME, openai:MODEL, static, lsa, hash'
	@echo '  RETRIEVER=dense              dense, bm25, hybrid, jaccard, rerank:overlap, rerank:MODEL, random, oracle'
	@echo '  EXCLUDE=repocoder            what a query may not see: prompt, repocoder, body'
	@echo '  SCOPE=pooled                 where a query searches: repository, pooled'
	@echo '  HEADER=scope                 what stands before every chunk: none, path, scope'
	@echo '  MATCH=fixed                  give every chunker the realised size of this one'
	@echo '  PRECISION=auto               auto (bf16 where the CPU has it), or fp32, the same everywhere'
	@echo '  LONG_TEXT=tail               what is read of a long text: head, tail, mean, max'
	@echo '  SOURCE=auto                  auto, github, pypi, or a folder or URL that mirrors the archives'
	@echo '  LEVEL=function CONTEXT=2k TOKENIZER=codex   which task file'
	@echo '  REPOS="a b" LIMIT=20         a part of the tasks'
	@echo '  K=100                        depth that is ranked and stored'
	@echo '  BASELINE=fixed EQUIVALENCE=0.01             compare: against which, and when means count as equal'
	@echo '  GRID=grid.json               sensitivity: where its settings go; report: where they are read'
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
	@$(TOOL) data fetch $(DATA)

eval: .venv/run.stamp ## chunk, embed, retrieve, score; print the nDCG/Recall table
	@$(TOOL) eval $(RUN)

compare: .venv/run.stamp ## run what is missing and say which differences are real
	@$(TOOL) compare $(RUN) $(if $(BASELINE),--baseline $(call q,$(BASELINE))) \
	  $(if $(EQUIVALENCE),--equivalence $(call q,$(EQUIVALENCE)))

run: .venv/run.stamp ## run the benchmark that a file describes, BENCH=bench.yaml
	@$(TOOL) run $(call q,$(BENCH)) --out $(call q,$(or $(OUT),results)) \
	  $(if $(filter-out auto,$(SOURCE)),--source $(call q,$(SOURCE)))

report: .venv/run.stamp ## one HTML page about the runs that compare compared last
	@$(TOOL) report --bm25 --source $(call q,$(SOURCE)) --out $(call q,$(or $(OUT),results)) \
	  -o $(call q,$(or $(OUT),results)/report.html) $(if $(GRID),--sensitivity $(call q,$(GRID)))

leaderboard: .venv/run.stamp ## rank all runs of OUT, protocol by protocol, on one HTML page
	@$(TOOL) leaderboard $(call q,$(or $(OUT),results)) -o $(call q,$(or $(OUT),results)/leaderboard.html)

sensitivity: .venv/run.stamp ## say in how many settings one chunker beats another
	@$(TOOL) sensitivity $(CUT) $(CELLS) --embedder $(call q,$(EMBEDDER)) --precision $(call q,$(PRECISION)) \
	  --out $(call q,$(or $(OUT),results)) $(DATA) $(PICK) $(if $(GRID),--output $(call q,$(GRID)))

reproduce: .venv/run.stamp ## measure published numbers again, with causes
	@$(BIN)/python scripts/reproduce.py --source $(call q,$(SOURCE)) --out $(call q,$(or $(OUT),results)/reproduce) \
	  $(if $(filter-out minilm,$(EMBEDDER)),--embedder $(call q,$(EMBEDDER)))

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
	@$(BIN)/python scripts/bench.py --source $(call q,$(SOURCE))

clean: ## remove the environment and tool caches; data, vectors and results stay
	@rm -rf .venv build dist .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -not -path './data/cache/*' -prune -exec rm -rf {} +
	@echo "kept: data/cache/ (data and vectors), $(or $(OUT),results)/ (runs)"
