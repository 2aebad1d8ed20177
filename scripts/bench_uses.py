"""What protocol `uses` takes on RepoEval: resolving names from nothing and by the index, a comparison, proxies.

python scripts/bench_uses.py --source SOURCE
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

from _bench import Row, command, one_core, print_rows, spent

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.metrics import score_ceilings, score_run
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.retrieval.choice import Material, choose_retriever
from repoeval_bench.runs.judgements import judge_corpus
from repoeval_bench.runs.planning import plan

if TYPE_CHECKING:
    from collections.abc import Iterator

CORES = 2
"""Processor time is held against bars in seconds on so many cores."""

_BUDGETS = (1500, 3000, 6000, 12_000)
_CHUNKERS = ("-c", "fixed", "-c", "ast", "-c", "recursive", "--baseline", "fixed", "--retriever", "bm25")
_LOAD = (
    "import sys; from repoeval_bench import load_benchmark as load; assert load(sys.argv[1]).tasks[0].uses is not None"
)


def rows(source: str) -> Iterator[Row]:
    """Every figure with its bar."""
    with tempfile.TemporaryDirectory() as name:
        build = Path(__file__).parent / "build_uses.py"
        resolved = spent(build, "--source", source, "--output", name).busy
        bar = CORES * 180
        yield Row(
            "resolving RepoEval's tasks from nothing, processor time", f"{resolved:.0f} s", f"< {bar} s", resolved < bar
        )
        indexed = spent("-c", _LOAD, source).busy
        yield Row("loading them with the index", f"{indexed:.1f} s", "< 5 s", indexed < 5)
        yield Row("from nothing, over with the index", f"{resolved / indexed:.0f}x")

        words = ("compare", *_CHUNKERS, "--protocol", "uses", "--source", source, "--out", name)
        with one_core():
            compared = command(*words).busy
        what = "compare under uses by BM25, three chunkers, processor time"
        yield Row(what, f"{compared:.1f} s", "< 10 s", compared < 10)
    for measure in ("identifier_recall", "ngram_bits"):
        scored, ceilings = scoring(source, [f"{measure}@{budget}" for budget in _BUDGETS])
        figure = f"{scored + ceilings:.1f} s ({scored:.1f} s)"
        what = f"{measure} of 455 tasks at {len(_BUDGETS)} budgets (without ceilings)"
        yield Row(what, figure, "< 20 s", scored + ceilings < 20)


def scoring(source: str, measures: list[str]) -> tuple[float, float]:
    """Seconds of processor time of scoring what BM25 finds in `ast`'s chunks under context, and of the ceilings."""
    planned = plan(load_benchmark(source), make_chunker("ast"), Protocol.parse("context"))
    judged = judge_corpus(planned.benchmark, planned.corpus, planned.protocol, measures)
    run = choose_retriever("bm25").build(Material(planned.corpus.chunks, {}, None, dict)).search(planned.queries, 50)
    started = process_time()
    scores = score_run(run.rankings, judged.qrels, measures, judged.context)
    between = process_time()
    score_ceilings(judged.qrels, measures, judged.context, observed=scores)
    return between - started, process_time() - between


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default="auto", help="where the RepoEval data is: a folder or a URL")
    print_rows("Protocol uses", rows(parser.parse_args().source))
