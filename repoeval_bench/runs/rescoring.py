"""Score a stored ranking by other measures of lines, or another gold; nothing is cut or retrieved again."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.metrics import Lines, RunScores, score_run
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.retrieval.registry import choose_retriever
from repoeval_bench.runs.inspection import stored_corpus
from repoeval_bench.runs.judgements import judge_corpus
from repoeval_bench.runs.view import RunView


class Rescored:
    """A stored run of a chunker over these files; `lines` is the result of `count_lines`, if it is known."""

    def __init__(self, run: RunView, benchmark: Benchmark, lines: Lines | None = None) -> None:
        assert run.inspection is not None
        self._benchmark, self._lines = benchmark, lines
        self._corpus = stored_corpus(run.inspection, benchmark)
        self._rankings, self._headers = run.rankings(), run.header_sizes()
        self._around = choose_retriever(run.metrics.retriever).around

    def by(self, measures: Sequence[str], protocol: Protocol) -> RunScores:
        """Return the scores of each query by measures of lines."""
        judge = partial(judge_corpus, self._benchmark, self._corpus, protocol, measures)
        judged = judge(line_nws=self._lines, around=self._around)
        places = {**(judged.context.places or {})}
        for chunk_id, nws in self._headers.items():
            places[chunk_id] = replace(places[chunk_id], header_nws=nws)
        return score_run(self._rankings, judged.qrels, measures, replace(judged.context, places=places))
