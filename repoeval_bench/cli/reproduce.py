"""Numbers that others published, next to what is measured here: reproduced or not, by how much, and why.

Nothing is tuned towards a published number: every setting below was chosen from its source's description.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from repoeval_bench import api
from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.core.errors import EmbeddingError, ResultError
from repoeval_bench.core.files import write_atomic
from repoeval_bench.embedding.choice import choose_embedder
from repoeval_bench.embedding.precision import with_precision
from repoeval_bench.report.reproduction import (
    CODERAG_TOLERANCE,
    MEASURES,
    NOT_JUDGED,
    TOLERANCE,
    Row,
    format_page,
    judge,
)
from repoeval_bench.runs.stages import embed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.runs.view import RunView

EXPECTED = {"ast": (0.75, 0.82, 0.65, 0.78), "fixed": (0.55, 0.62, 0.45, 0.58)}
"""The table of expected results, in the order of `MEASURES`; quoted as approximate, its model not stated."""

CODERAG = {
    "BM25": 93.2, "BAAI/bge-base-en-v1.5": 77.5, "BAAI/bge-large-en-v1.5": 80.4, "avsolatorio/GIST-Embedding-v0": 81.2,
    "avsolatorio/GIST-large-Embedding-v0": 82.9, "codesage/codesage-small": 94.1,
    "jinaai/jina-embeddings-v2-base-code": 90.5,
}  # fmt: skip
"""CodeRAG-Bench (arXiv 2406.14497), table 3, RepoEval function level: NDCG@10 x 100."""

CODERAG_BM25 = "bm25:tokenizer=words"
"""Lower-cased words, k1 1.2, b 0.75: the least that a BM25 can do, chosen before anything was measured."""

BM25_SETTINGS = (
    ("lower-cased words, title read, k1 1.2, b 0.75", CODERAG_BM25, "this project, before measuring"),
    ("k1 0.9, b 0.4", "bm25:k1=0.9,b=0.4,tokenizer=words", "pyserini's default"),
    ("Lucene's English terms", "bm25:tokenizer=english", "pyserini's default"),
    ("both of pyserini's defaults", "bm25:k1=0.9,b=0.4,tokenizer=english", "pyserini's default"),
    ("title not indexed", "bm25:tokenizer=words,header=skip", "CodeRAG-Bench's code"),
    ("terms cut at blanks, as written", "bm25:tokenizer=whitespace", "CodeRAG-Bench's code"),
    ("both of CodeRAG-Bench's", "bm25:tokenizer=whitespace,header=skip", "CodeRAG-Bench's code"),
)
"""(what differs from the first, the retriever, whose setting it is): what BM25 may have read for the published row.

CodeRAG-Bench publishes k1 1.2 and b 0.75 with the row. Its code (github.com/code-rag-bench/code-rag-bench, retrieval/)
indexes the text without the title, with pyserini's -pretokenized (modify_corpus_for_bm25.py), and searches with
pyserini's JWhiteSpaceAnalyzer (eval_beir_pyserini_repo.py). pyserini by itself sets k1 0.9 and b 0.4
(LuceneSearcher.set_bm25) and reads texts with Lucene's English analyser (Anserini's DefaultEnglishAnalyzer)."""

UNPUBLISHED = "all-MiniLM-L6-v2, as bundled (no published row)"
"""The dense row that every machine can measure: what this project's default model makes of CodeRAG-Bench's setting."""

CAUSES: tuple[tuple[str, dict[str, str]], ...] = (
    ("as the default does it", {}),
    ("the query's end is read, not its head", {"embedder": "minilm:long_queries=tail"}),
    ("all of every text is read (mean over windows)", {"embedder": "minilm:long_queries=mean,long_chunks=mean"}),
    ("every chunk has a context header", {"options": ":header=scope"}),
    ("words in place of vectors (BM25 reads everything)", {"retriever": "bm25"}),
    ("gold is the prompt and the whole function", {"protocol": "code-chunk+gold=context"}),
    ("gold is the function alone", {"protocol": "code-chunk+gold=body"}),
    ("a chunk is relevant from IoU 0.2 on", {"protocol": "code-chunk+relevance=iou:0.2"}),
)
"""What differs from the base run, one thing at a time (`options` are the chunker's).

The base is protocol code-chunk with MiniLM."""

SIZES = (500, 1000, 1500, 3000, 6000)
"""Nominal sizes (nws) that show what size alone buys; with BM25, so that no model's window takes part."""


def reproduce(  # noqa: C901, PLR0912
    benchmark: Benchmark,
    out: Path,
    *,
    embedders: Sequence[str] = (),
    source: str = "",
    home: Path | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> str:
    """Measure every row, write `out/reproduction.json` and `out/reproduction.md`, and return the page.

    Runs that are stored in `out` already, made by this very code, are not made again. `embedders` are specs of models
    whose CodeRAG-Bench row is wanted; one that cannot be had is a row that says so. `source` is what the commands have
    to name as theirs to read the same data, if anything. On less than all published tasks nothing is judged.
    """
    for embedder in embedders:
        choose_embedder(embedder)
    found: list[Row] = []

    def run(
        chunker: str | None, *, retriever: str = api.RETRIEVER, protocol: str, embedder: str = api.EMBEDDER
    ) -> tuple[RunView, str]:
        parts = ["repoeval-bench eval", f"-c {chunker}" if chunker else "", f"--protocol {protocol}"]
        parts += [f"--retriever {retriever}" if retriever != api.RETRIEVER else ""]
        parts += [f"--embedder {embedder}" if embedder != api.EMBEDDER else ""]
        command = " ".join(filter(None, parts))
        if api.needs_vectors(retriever):
            # A page that others measure again must not depend on the processor.
            embedder = with_precision(embedder, "fp32")
            command += " --precision fp32"
        command += f" --source {shlex.quote(source)}" if source else ""
        notify(command)
        stored = api.evaluate(
            benchmark,
            chunker,
            protocol=protocol,
            retriever=retriever,
            embedder=embedder,
            out=out,
            reuse=True,
            home=home,
        )
        return stored, command

    why_not = _why_not_judged(benchmark)

    def row(
        made: tuple[RunView, str],
        table: str,
        setting: str,
        system: str,
        measure: str,
        *,
        published: float | None = None,
        source: str = "",
    ) -> Row:
        return _row(made, Row(table, setting, system, measure, published, source=source), why_not)

    _embed_ahead(benchmark, home)
    for protocol in ("context", "code-chunk"):
        for chunker, values in EXPECTED.items():
            made = run(chunker, protocol=protocol)
            for measure, value in zip(MEASURES, values, strict=True):
                found.append(row(made, "expected", protocol, chunker, measure, published=value))
    for setting, changed in CAUSES:
        for chunker in EXPECTED:
            settings = {"protocol": "code-chunk", **changed}
            made = run(chunker + settings.pop("options", ""), **settings)
            found += [row(made, "causes", setting, chunker, measure) for measure in MEASURES]
    for chunker in EXPECTED:
        for size in SIZES:
            made = run(f"{chunker}:max_nws={size}", protocol="code-chunk", retriever="bm25")
            for measure in (*MEASURES, "line_recall_auc"):
                found.append(row(made, "sizes", f"{size}", chunker, measure))
    made = run(None, protocol="coderag", retriever=CODERAG_BM25)
    found.append(row(made, "coderag", "coderag", "BM25", "ndcg@10", published=CODERAG["BM25"] / 100))
    for what, retriever, whose in BM25_SETTINGS:
        made = run(None, protocol="coderag", retriever=retriever)
        found.append(row(made, "bm25", what, "BM25", "ndcg@10", published=CODERAG["BM25"] / 100, source=whose))
    made = run(None, protocol="coderag")
    found.append(row(made, "coderag", "coderag", UNPUBLISHED, "ndcg@10"))
    for embedder in embedders:
        name = embedder.partition(":")[2] or embedder
        points = CODERAG.get(name.partition(",")[0])
        published = None if points is None else points / 100
        try:
            made = run(None, protocol="coderag", embedder=embedder)
        except EmbeddingError as error:
            reason = f"skipped: {error}"
            found.append(Row("coderag", "coderag", name, "ndcg@10", published, verdict=reason))
        else:
            found.append(row(made, "coderag", "coderag", name, "ndcg@10", published=published))
    scored = len(made[0].metrics.per_repo)
    page = format_page(benchmark.label, found, scored)
    try:
        write_atomic(out / "reproduction.json", json.dumps([asdict(row) for row in found], indent=2) + "\n")
        write_atomic(out / "reproduction.md", page)
    except OSError as error:
        raise ResultError(f"{out} cannot be written ({error}); choose another with --out") from error
    return page


def _embed_ahead(benchmark: Benchmark, home: Path | None) -> None:
    """Embed what the dense rows need, but for those of models that are named: a pass for each policy for long texts."""
    plans = {api.EMBEDDER: [api.plan_run(benchmark, None, protocol="coderag")]}
    dense = [{"protocol": protocol} for protocol in ("context", "code-chunk")]
    dense += [{"protocol": "code-chunk", **changed} for _, changed in CAUSES if "retriever" not in changed]
    for settings in dense:
        for chunker in EXPECTED:
            cutter = chunker + settings.get("options", "")
            planned = api.plan_run(benchmark, cutter, protocol=settings["protocol"])
            plans.setdefault(settings.get("embedder", api.EMBEDDER), []).append(planned)
    for embedder, planned_with in plans.items():
        embed(planned_with, api.make_embedder(with_precision(embedder, "fp32"), home=home))


def _row(made: tuple[RunView, str], asked: Row, why_not: str) -> Row:
    """The row with what was measured; judged where something was published, unless `why_not` says why not."""
    stored, command = made
    scored = stored.scores
    (mean,), (ci,) = mean_intervals(
        scored.table([asked.measure]), scored.clusters, scored.repos, stored.metrics.headline
    )
    low, high = ci or (None, None)
    tolerance = TOLERANCE if asked.table == "expected" else CODERAG_TOLERANCE / 100
    verdict = "" if asked.published is None else why_not or judge(mean, asked.published, tolerance)
    return replace(asked, measured=mean, low=low, high=high, verdict=verdict, command=command)


def _why_not_judged(benchmark: Benchmark) -> str:
    """Published numbers are of the whole published benchmark: of anything else, why no verdict is given."""
    if not benchmark.is_published:
        return f"{NOT_JUDGED}: {benchmark.name} is not what was published"
    return "" if benchmark.is_whole else f"{NOT_JUDGED}: {len(benchmark.tasks)} of {benchmark.whole_tasks} tasks"
