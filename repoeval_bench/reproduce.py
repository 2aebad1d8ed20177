"""Numbers that others published, next to what is measured here: reproduced or not, by how much, and why.

Nothing is tuned towards a published number: every setting below was chosen from its source's description.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from repoeval_bench import api
from repoeval_bench.embedding.precision import with_precision
from repoeval_bench.errors import EmbeddingError, ResultError
from repoeval_bench.files import write_atomic
from repoeval_bench.pipeline import embed
from repoeval_bench.stats import mean_intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from repoeval_bench.store import StoredRun
    from repoeval_bench.types import Benchmark

MEASURES = ("ndcg@5", "ndcg@10", "recall@5", "recall@10")

EXPECTED = {"ast": (0.75, 0.82, 0.65, 0.78), "fixed": (0.55, 0.62, 0.45, 0.58)}
"""The table of expected results, in the order of `MEASURES`; quoted as approximate, its model not stated."""

TOLERANCE = 0.05
"""Distance from a number quoted as approximate that still counts as reproduced."""

CODERAG = {
    "BM25": 93.2, "BAAI/bge-base-en-v1.5": 77.5, "BAAI/bge-large-en-v1.5": 80.4, "avsolatorio/GIST-Embedding-v0": 81.2,
    "avsolatorio/GIST-large-Embedding-v0": 82.9, "codesage/codesage-small": 94.1,
    "jinaai/jina-embeddings-v2-base-code": 90.5,
}  # fmt: skip
"""CodeRAG-Bench (arXiv 2406.14497), table 3, RepoEval function level: NDCG@10 x 100."""

CODERAG_TOLERANCE = 1.5
"""Points of NDCG@10."""

CODERAG_BM25 = "bm25:tokenizer=words"
"""Lower-cased words, k1 1.2, b 0.75: the least that a BM25 can do, chosen before anything was measured."""

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


@dataclass(frozen=True, slots=True)
class Row:
    """One number: where it belongs, what was published (None where nothing was), what was measured, and how."""

    table: str
    setting: str
    system: str
    measure: str
    published: float | None
    measured: float | None
    low: float | None
    high: float | None
    verdict: str
    command: str


def reproduce(
    benchmark: Benchmark,
    out: Path,
    *,
    embedders: Sequence[str] = (),
    home: Path | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> str:
    """Measure every row, write `out/reproduction.json` and `out/reproduction.md`, and return the page.

    Runs that are stored in `out` already, made by this very code, are not made again. `embedders` are specs of models
    whose CodeRAG-Bench row is wanted; one that cannot be had is a row that says so.
    """
    found: list[Row] = []

    def run(
        chunker: str | None, *, retriever: str = api.RETRIEVER, protocol: str, embedder: str = api.EMBEDDER
    ) -> tuple[StoredRun, str]:
        parts = ["repoeval-bench eval", f"-c {chunker}" if chunker else "", f"--protocol {protocol}"]
        parts += [f"--retriever {retriever}" if retriever != api.RETRIEVER else ""]
        parts += [f"--embedder {embedder}" if embedder != api.EMBEDDER else ""]
        command = " ".join(filter(None, parts))
        if api.needs_vectors(retriever):
            # A page that others measure again must not depend on the processor.
            embedder = with_precision(embedder, "fp32")
            command += " --precision fp32"
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

    _embed_ahead(benchmark, home)
    for protocol in ("context", "code-chunk"):
        for chunker, values in EXPECTED.items():
            made = run(chunker, protocol=protocol)
            for measure, value in zip(MEASURES, values, strict=True):
                found.append(_row(made, "expected", protocol, chunker, measure, published=value))
    for setting, changed in CAUSES:
        for chunker in EXPECTED:
            settings = {"protocol": "code-chunk", **changed}
            made = run(chunker + settings.pop("options", ""), **settings)
            found += [_row(made, "causes", setting, chunker, measure) for measure in MEASURES]
    for chunker in EXPECTED:
        for size in SIZES:
            made = run(f"{chunker}:max_nws={size}", protocol="code-chunk", retriever="bm25")
            for measure in (*MEASURES, "line_recall_auc"):
                found.append(_row(made, "sizes", f"{size}", chunker, measure))
    made = run(None, protocol="coderag", retriever=CODERAG_BM25)
    found.append(_row(made, "coderag", "coderag", "BM25", "ndcg@10", published=CODERAG["BM25"] / 100))
    made = run(None, protocol="coderag")
    found.append(_row(made, "coderag", "coderag", UNPUBLISHED, "ndcg@10"))
    for embedder in embedders:
        name = embedder.partition(":")[2] or embedder
        points = CODERAG.get(name.partition(",")[0])
        published = None if points is None else points / 100
        try:
            made = run(None, protocol="coderag", embedder=embedder)
        except EmbeddingError as error:
            reason = f"skipped: {error}"
            found.append(Row("coderag", "coderag", name, "ndcg@10", published, None, None, None, reason, ""))
        else:
            found.append(_row(made, "coderag", "coderag", name, "ndcg@10", published=published))
    page = format_page(benchmark.label, found)
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


def _row(
    made: tuple[StoredRun, str], table: str, setting: str, system: str, measure: str, *, published: float | None = None
) -> Row:
    stored, command = made
    scored = stored.scored
    values = scored.table([measure])
    (mean,), (ci,) = mean_intervals(values, scored.clusters, scored.repos, stored.metrics["headline"])
    low, high = ci or (None, None)
    tolerance = CODERAG_TOLERANCE / 100 if table == "coderag" else TOLERANCE
    verdict = "" if published is None else judge(mean, published, tolerance)
    return Row(table, setting, system, measure, published, mean, low, high, verdict, command)


def judge(measured: float, published: float, tolerance: float) -> str:
    """`reproduced` within the tolerance, else `not reproduced`; with the distance."""
    distance = measured - published
    return f"{'reproduced' if abs(distance) <= tolerance + 1e-9 else 'not reproduced'} ({distance:+.3f})"


def format_page(label: str, found: Sequence[Row]) -> str:
    """The Markdown page: tables, verdicts and the commands that print the figures."""
    expected = [row for row in found if row.table == "expected"]
    verdicts = Counter(row.verdict.partition(" (")[0] for row in expected)
    lines = [
        "# Published numbers, measured again",
        "",
        f"{label}. Means are each protocol's headline (micro under `context`, macro over repositories otherwise); "
        "intervals are 95 %, clustered by file. Under each table stand the commands that print its figures.",
        "",
        "## The expected results",
        "",
        f"Quoted as approximate, the embedding model not stated. A cell is reproduced within {TOLERANCE}: "
        f"{verdicts['reproduced']} of {len(expected)} cells are.",
        "",
        "| protocol | chunker | measure | expected | measured | 95 % interval | verdict |",
        "|---|---|---|---:|---:|---|---|",
        *(
            f"| {row.setting} | {row.system} | {row.measure} | ~{row.published:.2f} | {_figures(row)} | {row.verdict} |"
            for row in expected
        ),
        "",
        *_commands(expected),
        "## Causes, each switched on alone",
        "",
        "The base is protocol `code-chunk` with MiniLM, which reads 256 tokens of a text, and no context headers.",
        "",
        *_wide(found, "causes", "what is changed", MEASURES),
        *_effects([row for row in found if row.table == "causes" and row.measure == "ndcg@10"]),
        "## What size alone buys",
        "",
        "Protocol `code-chunk`, BM25, so that no model's window takes part. nDCG over chunks moves with the size; the "
        "area under line recall reads equal budgets.",
        "",
        *_wide(found, "sizes", "max_nws", (*MEASURES, "line_recall_auc")),
        *_size_effect([row for row in found if row.table == "sizes"]),
        "## CodeRAG-Bench, RepoEval function level",
        "",
        f"nDCG@10, macro over six repositories; reproduced within {CODERAG_TOLERANCE} points.",
        "",
        "| system | published | measured | 95 % interval | verdict |",
        "|---|---:|---:|---|---|",
        *(
            f"| {row.system} | {'' if row.published is None else f'{row.published:.3f}'} | {_figures(row)} | "
            f"{row.verdict} |"
            for row in found
            if row.table == "coderag"
        ),
        "",
        *_commands([row for row in found if row.table == "coderag"]),
        "Rows of dense models are measured where a model is named: "
        "`make reproduce EMBEDDER=st:BAAI/bge-base-en-v1.5`; one that cannot be had is a row that says so.",
    ]
    return "\n".join(lines).rstrip() + "\n"


def _figures(row: Row) -> str:
    if row.measured is None:
        return "| "
    return f"{row.measured:.4f} | [{row.low:.4f}, {row.high:.4f}]"


def _wide(found: Sequence[Row], table: str, heading: str, measures: Sequence[str]) -> list[str]:
    cells = {(row.setting, row.system, row.measure): row for row in found if row.table == table}
    lines = [f"| {heading} | chunker | {' | '.join(measures)} |", "|---|---|" + "---:|" * len(measures)]
    for setting, system in dict.fromkeys((setting, system) for setting, system, _ in cells):
        figures = (f"{cells[setting, system, measure].measured:.4f}" for measure in measures)
        lines.append(f"| {setting} | {system} | {' | '.join(figures)} |")
    return [*lines, "", *_commands([row for row in found if row.table == table])]


def _effects(found: Sequence[Row]) -> list[str]:
    """One sentence: what each cause alone moves nDCG@10 by, the largest first."""
    first = found[0].setting if found else ""
    base = {row.system: row.measured or 0.0 for row in found if row.setting == first}
    moved: dict[str, dict[str, float]] = {}
    for row in found:
        if row.setting != first:
            moved.setdefault(row.setting, {})[row.system] = (row.measured or 0.0) - base[row.system]
    if not moved:
        return []
    order = sorted(moved, key=lambda setting: -max(map(abs, moved[setting].values())))
    parts = [
        f"{setting}: " + ", ".join(f"{system} {value:+.3f}" for system, value in moved[setting].items())
        for setting in order
    ]
    return ["Alone, they move nDCG@10 by, the largest first: " + "; ".join(parts) + ".", ""]


def _size_effect(found: Sequence[Row]) -> list[str]:
    """One sentence: what going from the smallest size to the largest moves, over chunks and over lines."""
    cells = {(row.system, row.setting, row.measure): row.measured or 0.0 for row in found}
    sizes = list(dict.fromkeys(row.setting for row in found))
    if len(sizes) < 2:
        return []
    parts = []
    for system in dict.fromkeys(row.system for row in found):
        moved = {m: cells[system, sizes[-1], m] - cells[system, sizes[0], m] for m in ("ndcg@10", "line_recall_auc")}
        parts.append(f"{system} by {moved['ndcg@10']:+.3f} and {moved['line_recall_auc']:+.3f}")
    return [f"From {sizes[0]} to {sizes[-1]}, nDCG@10 and the area move for " + ", for ".join(parts) + ".", ""]


def _commands(found: Sequence[Row]) -> list[str]:
    return ["```", *dict.fromkeys(row.command for row in found if row.command), "```", ""]
