"""The gap between the greedy line ceilings and the best order: python scripts/ceiling_gap.py [--source SOURCE].

For a query with few relevant chunks, the best order is found by trying every order of them.
"""

from __future__ import annotations

import argparse
import os
import sys
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench import load_benchmark
from repoeval_bench.cli import fail
from repoeval_bench.core.errors import BenchError
from repoeval_bench.core.notices import show_notices
from repoeval_bench.core.progress import progress
from repoeval_bench.metrics import score_ceilings
from repoeval_bench.metrics.reading import BUDGETS, Lines, read_lines
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.report.text import heading
from repoeval_bench.runs.judgements import judge_corpus
from repoeval_bench.runs.runner import plan_run

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark

MEASURES = ("line_rprec", "line_recall_auc")
MOST = 6
"""The most relevant chunks of a query whose orders are tried; with more, the greedy order is taken for the best."""


def gap(benchmark: Benchmark, protocol: Protocol, chunker: str) -> tuple[dict[str, tuple[float, float]], int]:
    """Return measure -> mean greedy and mean best ceiling over queries, and how many queries were not tried."""
    planned = plan_run(benchmark, chunker, protocol=protocol)
    judgements = judge_corpus(benchmark, planned.corpus, protocol, MEASURES)
    context = judgements.context
    assert context.places is not None
    assert context.gold is not None
    lines = Lines.of(context.line_nws or {})
    greedy = score_ceilings(judgements.qrels, MEASURES, context, excluded=judgements.excluded).values
    best = {measure: greedy[measure].copy() for measure in MEASURES}
    skipped = 0
    for i, (query_id, relevant) in enumerate(progress(list(judgements.qrels.items()), desc="orders", unit="queries")):
        if len(relevant) > MOST:
            skipped += 1
            continue
        orders = [[context.places[chunk_id] for chunk_id in order] for order in permutations(relevant)]
        reading = read_lines(orders, [context.gold[query_id]] * len(orders), lines, BUDGETS[-1])
        for measure, scores in zip(MEASURES, (reading.recall_at_gold(), reading.recall_area()), strict=True):
            best[measure][i] = max(best[measure][i], scores.max())
    return {measure: (float(np.mean(greedy[measure])), float(np.mean(best[measure]))) for measure in MEASURES}, skipped


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default=os.environ.get("REPOEVAL_SOURCE", "auto"))
    parser.add_argument("--repos", help="separated by commas")
    arguments = parser.parse_args()
    try:
        repos = arguments.repos.split(",") if arguments.repos else None
        show_notices(lambda line: print(line, file=sys.stderr))
        benchmark = load_benchmark(arguments.source, repos=repos)
        print(benchmark.label)
        print(f"{'protocol':<10}{'chunker':<9}{'measure':<17}{'greedy':>8}{'best':>8}{'short by':>10}{'not tried':>11}")
        for name in ("context", "body"):
            for chunker in ("ast", "fixed"):
                ceilings, skipped = gap(benchmark, Protocol.parse(name), chunker)
                for measure, (greedy, best) in ceilings.items():
                    row = f"{greedy:>8.4f}{best:>8.4f}{best - greedy:>10.4f}{skipped:>11}"
                    print(f"{name:<10}{chunker:<9}{heading(measure):<17}{row}")
    except BenchError as error:
        fail(str(error), error.exit_code)
