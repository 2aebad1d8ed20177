"""Measure numbers again that others published: reproduced or not, by how much, and why.

Nothing is tuned towards a published number: every setting below was chosen from its source's description.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

import click

from repoeval_bench.analysis.means import headline_means
from repoeval_bench.cli.console import echo, print_json
from repoeval_bench.cli.options import OUTPUT_FOLDER, home_option, json_option, request_options
from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import EmbeddingError
from repoeval_bench.core.files import write_named
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.spec import Spec, format_spec
from repoeval_bench.core.words import count
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.embedding.choice import choose_embedder
from repoeval_bench.report.text import heading
from repoeval_bench.runs.parts import RESULTS
from repoeval_bench.runs.request import DataRequest, RunRequest, shell_line
from repoeval_bench.runs.runner import evaluate
from repoeval_bench.runs.store import check_writable
from repoeval_bench.runs.view import RunView

MEASURES = ("ndcg@5", "ndcg@10", "recall@5", "recall@10")

TOLERANCE = 0.05
"""The largest distance from an approximate number that counts as reproduced."""

CODERAG_TOLERANCE = 1.5
"""The same in points of nDCG@10, for CodeRAG-Bench."""


class Status(StrEnum):
    """The outcome for a published number; `NOT_JUDGED`: measured on other data, `SKIPPED`: not measured."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not_reproduced"
    NOT_JUDGED = "not_judged"
    NOT_PUBLISHED = "not_published"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One number: its table and row, what was published (None: nothing), what was measured, and by which command.

    `reason` says why it was not judged or was skipped.
    """

    table: str
    setting: str
    system: str
    measure: str
    _: KW_ONLY
    published: float | None = None
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    status: Status = Status.NOT_PUBLISHED
    reason: str = ""
    command: str = ""


def judge(measured: float, published: float, tolerance: float) -> Status:
    """Judge a number: reproduced within the tolerance."""
    return Status.REPRODUCED if abs(measured - published) <= tolerance + 1e-9 else Status.NOT_REPRODUCED


EXPECTED = {"ast": (0.75, 0.82, 0.65, 0.78), "fixed": (0.55, 0.62, 0.45, 0.58)}
"""The table of expected results, in the order of `MEASURES`; quoted as approximate, its model not stated."""

CODERAG = {
    "BM25": 93.2,
    "BAAI/bge-base-en-v1.5": 77.5,
    "BAAI/bge-large-en-v1.5": 80.4,
    "avsolatorio/GIST-Embedding-v0": 81.2,
    "avsolatorio/GIST-large-Embedding-v0": 82.9,
    "codesage/codesage-small": 94.1,
    "jinaai/jina-embeddings-v2-base-code": 90.5,
}
"""CodeRAG-Bench (arXiv 2406.14497), table 3, RepoEval function level: NDCG@10 x 100."""

# Lower-cased words, k1 1.2, b 0.75: a minimal BM25, chosen before anything was measured.
CODERAG_BM25 = "bm25:tokenizer=words"

# A dense row for every machine: this project's default model in CodeRAG-Bench's setting.
UNPUBLISHED = "all-MiniLM-L6-v2, as bundled (no published row)"

CAUSES: tuple[tuple[str, dict[str, str]], ...] = (
    ("default", {}),
    ("the end of the query is read instead of its head", {"embedder": "minilm:long_queries=tail"}),
    ("all of each text is read (mean over windows)", {"embedder": "minilm:long_queries=mean,long_chunks=mean"}),
    ("every chunk has a context header", {"options": ":header=scope"}),
    ("words instead of vectors (BM25 reads everything)", {"retriever": "bm25"}),
    ("the target is the prompt and the function", {"protocol": "code-chunk+gold=context"}),
    ("the target is the function alone", {"protocol": "code-chunk+gold=body"}),
    ("a chunk is relevant from IoU 0.2 on", {"protocol": "code-chunk+relevance=iou:0.2"}),
)
"""Differences from the base run, one at a time: fields of its request (`options` are the chunker's).

The base is protocol code-chunk with MiniLM."""


_Planned = tuple[RunRequest, list[PublishedRow]]
"""A run that is not made yet, and the rows that it gives."""


def reproduce(
    benchmark: Benchmark, out: Path, *, embedders: Sequence[str] = (), source: str = "", home: Path | None = None
) -> tuple[list[PublishedRow], int]:
    """Measure every row; the CodeRAG-Bench rows of further `embedders` (specs) come last.

    Return the rows, and the number of repositories that CodeRAG-Bench's rows are averaged over.

    Runs stored in `out` by exactly this code are reused. The row of a model that is not available says so. `source` is
    the --source that the printed commands need to read the same data, if any. Nothing is judged on less than all
    published tasks.
    """
    for embedder in embedders:
        choose_embedder(embedder)
    why_not = "" if benchmark.is_whole else f"{len(benchmark.tasks)} of {benchmark.whole_tasks} tasks"
    if not benchmark.is_published:
        why_not = f"{benchmark.name} is not what was published"
    plan = [*_expected(), *_causes(), *_coderag()]
    rows: list[PublishedRow] = []
    repositories = 0
    for index, (request, published) in enumerate((*plan, *map(_of_model, embedders))):
        named = request.model_copy(update={"source": source}) if source else request
        command = shell_line(["eval", *named.words("protocol")])
        NOTICES.info(command)
        try:
            options = request.model_dump(exclude_unset=True, exclude={"chunker"})
            run = evaluate(benchmark, request.chunker, **options, out=out, reuse=True, home=home)
        except EmbeddingError as error:
            if index < len(plan):
                raise
            rows += [replace(row, status=Status.SKIPPED, reason=str(error)) for row in published]
        else:
            rows += [_measured(run, row, command, why_not) for row in published]
            repositories = len(run.metrics.per_repo)
    return rows, repositories


def _expected() -> Iterator[_Planned]:
    for protocol in ("context", "code-chunk"):
        for chunker, values in EXPECTED.items():
            pairs = zip(MEASURES, values, strict=True)
            rows = [PublishedRow("expected", protocol, chunker, measure, published=value) for measure, value in pairs]
            yield _precise(chunker=chunker, protocol=protocol), rows


def _causes() -> Iterator[_Planned]:
    for setting, changed in CAUSES:
        for chunker in EXPECTED:
            fields = {"protocol": "code-chunk", **changed}
            request = _precise(chunker=chunker + fields.pop("options", ""), **fields)
            yield request, [PublishedRow("causes", setting, chunker, measure) for measure in MEASURES]


def _coderag() -> Iterator[_Planned]:
    published = CODERAG["BM25"] / 100
    row = PublishedRow("coderag", "coderag", "BM25", "ndcg@10", published=published)
    yield _precise(protocol="coderag", retriever=CODERAG_BM25), [row]
    yield _precise(protocol="coderag"), [PublishedRow("coderag", "coderag", UNPUBLISHED, "ndcg@10")]


def _of_model(embedder: str) -> _Planned:
    name = embedder.partition(":")[2] or embedder
    points = CODERAG.get(name.partition(",")[0])
    row = PublishedRow("coderag", "coderag", name, "ndcg@10", published=None if points is None else points / 100)
    return _precise(protocol="coderag", embedder=embedder), [row]


def _precise(**fields: str) -> RunRequest:
    """Return a request in single precision."""
    request = RunRequest.of(fields)
    if not request.needs_vectors:
        return request
    spec = Spec.parse(request.embedder)
    # So the page does not depend on the processor.
    precise = format_spec(spec.name, {**spec.params, "precision": "fp32"}, spec.target)
    return request.model_copy(update={"embedder": precise})


def _measured(run: RunView, row: PublishedRow, command: str, why_not: str) -> PublishedRow:
    """Return the measured row; it is judged if something was published, unless `why_not` says why not."""
    mean, ci = headline_means(run, [row.measure])[row.measure]
    low, high = ci or (None, None)
    tolerance = TOLERANCE if row.table == "expected" else CODERAG_TOLERANCE / 100
    measured = replace(row, measured=mean, low=low, high=high, command=command)
    if row.published is None:
        return measured
    if why_not:
        return replace(measured, status=Status.NOT_JUDGED, reason=why_not)
    return replace(measured, status=judge(mean, row.published, tolerance))


def format_page(label: str, rows: Sequence[PublishedRow], repositories: int) -> str:
    """Return the Markdown page: tables, verdicts and the commands that print the figures.

    `repositories` is the number of repositories that CodeRAG-Bench's rows are averaged over.
    """
    expected = [row for row in rows if row.table == "expected"]
    reproduced = sum(row.status is Status.REPRODUCED for row in expected)
    tally = next((_verdict(row) for row in expected if row.status is Status.NOT_JUDGED), "")
    tally = tally or f"{reproduced} of {len(expected)} cells are"
    lines = [
        "# Published numbers, measured again",
        "",
        f"{label}. Means are each protocol's headline (micro under `context`, macro over repositories otherwise); "
        "intervals are 95 %, clustered by file. The commands below each table print its figures.",
        "",
        "## The expected results",
        "",
        "The source gives approximate values and does not name the embedding model. "
        f"A cell counts as reproduced within {TOLERANCE}: {tally}.",
        "",
        "| protocol | chunker | measure | expected | measured | 95 % interval | verdict |",
        "|---|---|---|---:|---:|---|---|",
        *(
            f"| {row.setting} | {row.system} | {heading(row.measure)} | ~{row.published:.2f} | {_figures(row)} | "
            f"{_verdict(row)} |"
            for row in expected
        ),
        "",
        *_commands(expected),
        "## Causes, each switched on alone",
        "",
        "The base is protocol `code-chunk` without headers, with MiniLM, which reads each text's first 256 tokens.",
        "",
        *_causes_table([row for row in rows if row.table == "causes"]),
        "## CodeRAG-Bench, RepoEval function level",
        "",
        f"nDCG@10, macro over {count(repositories, 'repository')}; a row counts as reproduced "
        f"within {CODERAG_TOLERANCE} points.",
        "",
        "| system | published | measured | 95 % interval | verdict |",
        "|---|---:|---:|---|---|",
        *(
            f"| {row.system} | {'' if row.published is None else f'{row.published:.3f}'} | {_figures(row)} | "
            f"{_verdict(row)} |"
            for row in rows
            if row.table == "coderag"
        ),
        "",
        *_commands([row for row in rows if row.table == "coderag"]),
        "Rows of dense models are measured where a model is named: "
        "`repoeval-bench lab reproduce --embedder st:BAAI/bge-base-en-v1.5`; a model that is not available is a row "
        "that says so.",
    ]
    return "\n".join(lines).rstrip() + "\n"


def _verdict(row: PublishedRow) -> str:
    """Return the status in words, with the distance or the reason; empty if nothing was published."""
    if row.status is Status.NOT_PUBLISHED:
        return ""
    words = row.status.replace("_", " ")
    if row.reason or row.measured is None or row.published is None:
        return f"{words}: {row.reason}"
    return f"{words} ({row.measured - row.published:+.3f})"


def _figures(row: PublishedRow) -> str:
    if row.measured is None:
        return "| "
    # Fewer than six files have no interval.
    return f"{row.measured:.4f} | " + ("" if row.low is None else f"[{row.low:.4f}, {row.high:.4f}]")


def _causes_table(rows: Sequence[PublishedRow]) -> list[str]:
    cells = {(row.setting, row.system, row.measure): row.measured for row in rows}
    lines = [f"| what is changed | chunker | {' | '.join(map(heading, MEASURES))} |", "|---|---|---:|---:|---:|---:|"]
    for setting, system in dict.fromkeys((row.setting, row.system) for row in rows):
        figures = (f"{cells[setting, system, measure]:.4f}" for measure in MEASURES)
        lines.append(f"| {setting} | {system} | {' | '.join(figures)} |")
    return [*lines, "", *_commands(rows)]


def _commands(rows: Sequence[PublishedRow]) -> list[str]:
    return ["```", *dict.fromkeys(row.command for row in rows if row.command), "```", ""]


@click.command("reproduce")
@click.option(
    "--embedder",
    "embedders",
    multiple=True,
    metavar="SPEC",
    help="A model to add to the CodeRAG-Bench table, such as st:BAAI/bge-base-en-v1.5; may be repeated.",
)
@request_options(DataRequest, only=["source"])
@click.option(
    "--out",
    type=OUTPUT_FOLDER,
    default=RESULTS / "reproduce",
    show_default=True,
    help="Where the runs and the page are written.",
)
@home_option
@json_option
def reproduce_command(*, embedders: tuple[str, ...], source: str, out: Path, home: Path | None, as_json: bool) -> None:
    """Measure every published number again, and print a page of tables, verdicts, causes and commands.

    The page is also written to reproduction.md in --out, its rows to reproduction.json. Vectors and runs are kept, so a
    repeated command resumes. For a model that is not available, the row says so.
    """
    check_writable(out)
    # The commands of the page need no --source that `eval` finds by itself.
    named = "" if source in ("auto", os.environ.get("REPOEVAL_SOURCE")) else source
    benchmark = load_benchmark(source, home=home)
    measured, repositories = reproduce(benchmark, out, embedders=embedders, source=named, home=home)
    page = format_page(benchmark.label, measured, repositories)
    rows = [asdict(row) for row in measured]
    for name, content in (("json", json.dumps(rows, indent=2) + "\n"), ("md", page)):
        write_named(out / f"reproduction.{name}", content, "another folder with --out")
    if as_json:
        print_json(rows)
    else:
        echo(page, nl=False)
