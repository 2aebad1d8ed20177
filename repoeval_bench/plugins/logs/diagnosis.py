"""Diagnose a run: known problems with what to try, and the queries that scored worst.

A new check is one function under `check`, and a row of the table in docs/logs.md.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import click
import numpy as np

from repoeval_bench.analysis.comparable import headline_measure, shared_measures
from repoeval_bench.analysis.sign_flips import FloatArray
from repoeval_bench.cli.console import echo, print_json, print_lines, print_tables
from repoeval_bench.cli.options import json_option, plain, runs_folder
from repoeval_bench.core.words import count, few, one_line
from repoeval_bench.plugins.logs.judged_log import JudgedLog
from repoeval_bench.report.table import Column, Table, figures, make_table
from repoeval_bench.report.text import heading
from repoeval_bench.runs.inspection import StoredChunk
from repoeval_bench.runs.log import Retrieved
from repoeval_bench.runs.naming import find_run
from repoeval_bench.runs.query_scores import QueryScores
from repoeval_bench.runs.records import Metrics
from repoeval_bench.runs.view import RunView

Numbers = dict[str, float | int | None]
"""What a number is called -> its value, None where it is not known."""

TOP = 10
# Results that a reranker usually reads.
DEEP = 50
# A ranking that is stored less deep than this says nothing about lower ranks.
LEAST_DEEP = 20

LIMITS: Mapping[str, float] = {
    "recall-low": 0.6,
    "recall-high": 0.8,
    "precision-low": 0.5,
    "repeats": 0.2,
    "mrr-low": 0.5,
    "truncated": 0.1,
    "ceiling-low": 0.8,
    "lost": 0.01,
}
"""Threshold -> its value, by convention; docs/logs.md says what each is compared with."""


@dataclass(frozen=True, kw_only=True)
class DiagnosisEvidence:
    """The content of a run's folder that the checks read."""

    scores: QueryScores
    log: JudgedLog
    """It may lack a row for a query of the gold."""
    metrics: Metrics
    chunks: Mapping[str, StoredChunk] = field(default_factory=dict)
    """Chunk_id -> its place, where the run stored its chunks: an imported one did not."""

    @cached_property
    def deep(self) -> int:
        """The depth that counts as "retrieved at all": 50, or what was ranked."""
        return min(DEEP, self.metrics.k)

    @cached_property
    def values(self) -> Mapping[str, FloatArray]:
        """Score the stored ranking: recall@5, @10 and @deep, hit@deep, precision@10 and mrr, one value per query."""
        names = ["recall@5", "recall@10", f"recall@{self.deep}", f"hit@{self.deep}", "precision@10", "mrr"]
        return self.log.scores(self.log.ranked, names)

    def mean(self, name: str) -> float:
        """The mean over queries."""
        return float(self.values[name].mean())

    def recall_share(self, k: int) -> float:
        """Mean recall@k over its ceiling; 1 where nothing can be found."""
        sizes = [len(gains) for gains in self.log.qrels.values()]
        # A query with more relevant chunks than k cannot have all of them among the first k.
        ceiling = float(np.mean([min(k, size) / size if size else 0.0 for size in sizes]))
        return self.mean(f"recall@{k}") / ceiling if ceiling else 1.0

    @cached_property
    def places(self) -> dict[str, Retrieved]:
        """Return chunk_id -> the log's entry of it, for every chunk that was retrieved for any query."""
        return {entry.chunk_id: entry for row in self.log.rows.values() for entry in row.topk}

    def file_recall(self) -> tuple[float | None, int]:
        """Return the mean share of a query's gold files with a chunk in the first `deep`, and over how many queries."""
        shares = []
        for query_id, named in zip(self.scores.query_ids, self.scores.gold_files, strict=True):
            gold = (self.places[chunk_id].file for chunk_id in self.log.qrels[query_id] if chunk_id in self.places)
            if files := set(named) or set(filter(None, gold)):
                seen = {entry.file for entry in self.log.topk(query_id)[: self.deep]}
                shares.append(len(files & seen) / len(files))
        return (float(np.mean(shares)) if shares else None), len(shares)


Status = Literal["finding", "fine", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check on a run."""

    name: str
    status: Status
    says: str
    """The result and what to try, or why there is no result."""
    numbers: Mapping[str, float | int | None]
    limits: Mapping[str, float]
    """Threshold -> value, for those that the numbers were compared with."""


class Found(NamedTuple):
    """The result of a check's function: whether there is a problem, and the numbers that show it."""

    is_problem: bool
    numbers: Numbers
    says: str = ""
    """The sentence, if the check's two do not say enough."""


Missing = str
"""The result of a check's function on a run that does not have what it needs: the reason."""

CHECKS: list[Callable[[DiagnosisEvidence], Check]] = []
"""Every check, in the order of this file."""

Look = Callable[[DiagnosisEvidence], Found | Missing]


def check(name: str, *limits: str, finding: str = "", fine: str) -> Callable[[Look], Look]:
    """Register a function as a check.

    Its sentence is `finding` (the problem, then what to try) or `fine`. `limits` are the thresholds of `LIMITS` that
    its numbers are compared with.
    """

    def register(look: Look) -> Look:
        def answer(evidence: DiagnosisEvidence) -> Check:
            seen = look(evidence)
            status: Status = "unknown"
            if isinstance(seen, str):
                seen = Found(False, {}, seen)
            else:
                status = "finding" if seen.is_problem else "fine"
            says = seen.says or (finding if seen.is_problem else fine)
            bounds = {limit: LIMITS[limit] for limit in limits}
            return Check(name=name, status=status, says=says, numbers=seen.numbers, limits=bounds)

        CHECKS.append(answer)
        return look

    return register


def _recalls(evidence: DiagnosisEvidence, *cuts: int) -> Numbers:
    numbers: Numbers = {}
    for k in cuts:
        numbers[f"recall@{k}"] = evidence.mean(f"recall@{k}")
        numbers[f"recall@{k} / ceiling"] = evidence.recall_share(k)
    return numbers


def _too_shallow(evidence: DiagnosisEvidence) -> Missing:
    way_out = f"import a log of {DEEP} results a query" if evidence.metrics.imported else f"rank with --k {DEEP}"
    return f"the run ranks {evidence.metrics.k} results; lower ranks are not known, {way_out}"


@check(
    "depth",
    "recall-low",
    "recall-high",
    finding=f"relevant chunks are retrieved, but below rank 5: rerank the first {DEEP}, or use more results (k)",
    fine="most relevant chunks that are retrieved rank among the first 5",
)
def _depth(evidence: DiagnosisEvidence) -> Found | Missing:
    if evidence.metrics.k < LEAST_DEEP:
        return _too_shallow(evidence)
    is_low = evidence.recall_share(5) < LIMITS["recall-low"]
    is_problem = is_low and evidence.recall_share(evidence.deep) >= LIMITS["recall-high"]
    says = "some relevant chunks rank below 5, but more of them are not retrieved at all" if is_low else ""
    return Found(is_problem, _recalls(evidence, 5, evidence.deep), "" if is_problem else says)


@check("missing", "recall-high", fine="most relevant chunks are retrieved")
def _missing(evidence: DiagnosisEvidence) -> Found | Missing:
    if evidence.metrics.k < LEAST_DEEP:
        return _too_shallow(evidence)
    files, known = evidence.file_recall()
    numbers = _recalls(evidence, evidence.deep)
    numbers |= {f"file recall@{evidence.deep}": files, "queries whose target file is known": known}
    if evidence.recall_share(evidence.deep) >= LIMITS["recall-high"]:
        return Found(False, numbers)
    if files is None:
        says = "many relevant chunks are not retrieved: check indexing and chunking (the target files are not known)"
    elif files >= LIMITS["recall-high"]:
        says = (
            "the right file is retrieved, but not the right chunk of it: try another chunker or chunk size, or a model "
            "that reads whole chunks"
        )
    else:
        says = "not even the right file is retrieved: check that it is indexed and embedded whole, or rewrite the query"
    return Found(True, numbers, says)


@check(
    "near-duplicates",
    "recall-high",
    "precision-low",
    "repeats",
    finding="relevant chunks are retrieved, but many results repeat higher ranks: drop near-duplicates (copies, "
    "overlap between chunks) before or after ranking",
    fine="near-duplicates are not what keeps precision low",
)
def _near_duplicates(evidence: DiagnosisEvidence) -> Found | Missing:
    if evidence.metrics.k < TOP:
        return f"the run ranks {evidence.metrics.k} results; near-duplicates are looked for in ten"
    share = float(np.mean([repeats(evidence.log.topk(query_id)[:TOP]) for query_id in evidence.scores.query_ids]))
    precision = evidence.mean("precision@10")
    numbers = {**_recalls(evidence, TOP), "precision@10": precision, "repeats@10": share}
    is_found = evidence.recall_share(TOP) >= LIMITS["recall-high"]
    return Found(is_found and share >= LIMITS["repeats"] and precision < LIMITS["precision-low"], numbers)


def repeats(entries: Sequence[Retrieved]) -> float:
    """Return the share of a ranking that repeats higher ranks: lines shown before, or a copy (of the same score)."""
    shown: dict[str, set[int]] = defaultdict(set)
    scores: set[float] = set()
    total = 0.0
    for entry in entries:
        # Texts are not stored, but copies of a text get the same score from any retriever that sees texts alone. A
        # score of 0 does not mark a copy: every chunk that shares nothing with the query has it.
        share = 1.0 if entry.score in scores and entry.score != 0 else 0.0
        if entry.file is not None and entry.lines:
            lines = set(entry.lines)
            share = max(share, len(lines & shown[entry.file]) / len(lines))
            shown[entry.file] |= lines
        scores.add(entry.score)
        total += share
    return total / len(entries) if entries else 0.0


@check("ranking", "mrr-low", fine="relevant chunks that are retrieved rank high")
def _ranking(evidence: DiagnosisEvidence) -> Found | Missing:
    is_hit = evidence.values[f"hit@{evidence.deep}"] > 0
    if not is_hit.any():
        return "no query has a hit: there is nothing to rank"
    mrr = float(evidence.values["mrr"][is_hit].mean())
    numbers: Numbers = {
        "mrr": evidence.mean("mrr"),
        f"hit@{evidence.deep}": float(is_hit.mean()),
        "mrr of queries with a hit": mrr,
    }
    if mrr >= LIMITS["mrr-low"]:
        return Found(False, numbers)
    says = f"the first relevant result is at about rank {1 / mrr:.0f}: try a reranker or another retriever"
    return Found(True, numbers, says)


@check("truncation", "truncated", fine="the model reads nearly all")
def _truncation(evidence: DiagnosisEvidence) -> Found | Missing:
    counts = evidence.metrics.counts
    if not evidence.metrics.chunk_tokens:
        if evidence.metrics.imported:
            return "the log does not say what its model truncated"
        if counts.queries_truncated is None:
            return f"{evidence.metrics.embedder} does not report its tokens, so it is not known what it truncated"
        return Found(False, {}, "nothing was embedded, so nothing was truncated")
    numbers: Numbers = {}
    cut = []
    for name, total, truncated in (
        ("queries", counts.queries, counts.queries_truncated),
        ("chunks", counts.chunks, counts.chunks_truncated),
    ):
        share = (truncated or 0) / total if total else 0.0
        numbers |= {f"{name} truncated by the model": truncated, f"share of {name}": share}
        if share > LIMITS["truncated"]:
            cut.append(f"{share:.0%} of the {name}")
    says = (
        f"the model does not read the end of {' and '.join(cut)}: try smaller chunks, a model that reads more, or the "
        "embedder's options long_queries=tail and long_chunks=tail"
    )
    return Found(bool(cut), numbers, says if cut else "")


@check(
    "chunker",
    "ceiling-low",
    finding="even a near-optimal ranking of these chunks has few target lines at a budget of the target's own size: "
    "try another chunker or smaller chunks",
    fine="a near-optimal ranking of these chunks has nearly all target lines at a budget of the target's own size",
)
def _chunker(evidence: DiagnosisEvidence) -> Found | Missing:
    ceilings = evidence.metrics.ceilings
    ceiling = None if ceilings is None else ceilings.micro.get("line_rprec")
    if ceiling is None:
        return "line ceilings are not stored for this run"
    return Found(ceiling < LIMITS["ceiling-low"], {"ceiling of lines R-prec": ceiling})


@check(
    "lost",
    "lost",
    finding="some queries always score 0, because no chunk has their target or the log lacks them: see what was "
    "skipped",
    fine="nearly every query has a relevant chunk in the index",
)
def _lost(evidence: DiagnosisEvidence) -> Found:
    counts = evidence.metrics.counts
    without = sum(not gains for gains in evidence.log.qrels.values())
    share = without / counts.queries if counts.queries else 0.0
    lost = {
        "files skipped": counts.files_skipped,
        "files undecodable": counts.files_undecodable,
        "lines uncovered": counts.lines_uncovered,
        "queries not in log": counts.queries_not_in_log,
    }
    numbers: Numbers = {"queries without a relevant chunk": without, "share of queries": share}
    numbers |= {what: number for what, number in lost.items() if number}
    return Found(share > LIMITS["lost"] or counts.files_skipped + counts.queries_not_in_log > 0, numbers)


@dataclass(frozen=True, slots=True)
class ResultLocation:
    """A chunk and, where they are known, its file and lines (0-based, half-open)."""

    chunk_id: str
    file: str | None
    start_line: int | None
    end_line: int | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """One result: its rank, location and score, and whether it is relevant."""

    rank: int
    place: ResultLocation
    score: float
    relevant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstQuery:
    """A query with its value, its gold, and its ten best results."""

    query_id: str
    value: float
    query: str | None
    """None where the log has no text."""
    relevant: int
    first_hit: int | None
    """The rank of the first relevant chunk in the stored ranking."""
    gold: tuple[ResultLocation, ...]
    top: tuple[Ranked, ...]


def worst_queries(evidence: DiagnosisEvidence, measure: str, number: int) -> list[WorstQuery]:
    """Return the `number` queries with the lowest values, lowest first; ties by the later first hit, then by id."""
    log, values = evidence.log, evidence.scores.by_query(measure)
    hits = {
        query_id: next((entry.rank for entry in log.topk(query_id) if entry.chunk_id in log.qrels[query_id]), None)
        for query_id in values
    }
    lowest = sorted(values, key=lambda one: (values[one], -(hits[one] or evidence.metrics.k + 1), one))

    def located(chunk_id: str) -> ResultLocation:
        if hit := evidence.places.get(chunk_id):
            return ResultLocation(chunk_id, hit.file, hit.start_line, hit.end_line)
        if chunk := evidence.chunks.get(chunk_id):  # no query retrieved it
            return ResultLocation(chunk_id, chunk.file, chunk.lines.start, chunk.lines.end)
        return ResultLocation(chunk_id, None, None, None)

    def described(query_id: str) -> WorstQuery:
        relevant = log.qrels[query_id]
        return WorstQuery(
            query_id=query_id,
            value=values[query_id],
            query=log.rows[query_id].query if query_id in log.rows else None,
            relevant=len(relevant),
            first_hit=hits[query_id],
            gold=tuple(sorted(map(located, relevant), key=lambda at: (at.file or "", at.start_line or 0, at.chunk_id))),
            top=tuple(
                Ranked(hit.rank, located(hit.chunk_id), hit.score, hit.chunk_id in relevant)
                for hit in log.topk(query_id)[:TOP]
            ),
        )

    return [described(query_id) for query_id in lowest[:number]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The checks of a run and its worst queries."""

    run: str
    retriever: str
    measure: str
    """The measure that the worst queries are by."""
    n_queries: int
    checks: tuple[Check, ...]
    worst: tuple[WorstQuery, ...]


def diagnose(run: RunView, *, measure: str | None = None, worst: int = 20) -> Diagnosis:
    """Check a run for known problems, and list its `worst` queries with gold and results.

    Worst queries are by `measure` (by default ndcg@10 if it was scored). UsageError: the run lacks the measure.
    """
    usual = "ndcg@10" if "ndcg@10" in run.metrics.micro else headline_measure([run])
    (measure,) = shared_measures([run], [measure or usual])
    stored = run.inspection if worst else None
    by_file = [*stored.chunks.values(), *stored.own.values()] if stored else []
    chunks = {chunk.chunk_id: chunk for chunks in by_file for chunk in chunks}
    evidence = DiagnosisEvidence(scores=run.scores, log=JudgedLog.read(run), metrics=run.metrics, chunks=chunks)
    return Diagnosis(
        run=run.run_id,
        retriever=run.metrics.retriever,
        measure=measure,
        n_queries=len(run.scores),
        checks=tuple(answer(evidence) for answer in CHECKS),
        worst=tuple(worst_queries(evidence, measure, worst)),
    )


_GOLD_SHOWN = 8
_TEXT = 110


@click.command("diagnose")
@click.argument("run")
@click.option(
    "--worst",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    metavar="N",
    help="Number of worst queries to list.",
)
@click.option("--measure", "-m", help="Measure for the worst queries; default: ndcg@10.")
@runs_folder
@json_option
def diagnose_command(*, run: str, worst: int, measure: str | None, out: Path, as_json: bool) -> None:
    """Check RUN for common problems; print each finding with its numbers, then the queries that scored worst.

    The exit code is always 0; use `gate` to fail a job.
    """
    result = diagnose(find_run(run, out), measure=measure, worst=worst)
    if as_json:
        print_json(plain(result))
        return
    print_tables([_checks_table(result.checks, result.run)])
    if result.worst:
        by = f"{count(result.n_queries, 'query')} by {heading(result.measure)}"
        print_lines([f"The worst {len(result.worst)} of {by}; * is relevant, lines count from 1."])
    for table in _worst_tables(result):
        echo()
        print_tables([table])


def _checks_table(checks: Sequence[Check], title: str) -> Table:
    """One row per check, findings first: what it says, the numbers, and the thresholds they are compared with."""
    order = {"finding": 0, "fine": 1, "unknown": 2}
    columns = [
        Column(name=""),
        Column(name="check"),
        Column(name="result and what to try", width=64, prose=True),
        Column(name="numbers", width=52, prose=True),
        Column(name="thresholds", width=24, prose=True),
    ]
    rows = [
        (
            check.status,
            check.name,
            one_line(check.says),
            tuple(f"{_named(name)}: {_number(value)}" for name, value in check.numbers.items()),
            tuple(f"{name} {value:g}" for name, value in check.limits.items()),
        )
        for check in sorted(checks, key=lambda any_check: order[any_check.status])
    ]
    return make_table(columns, rows, title=title)


def _named(figure: str) -> str:
    """A figure's name with its measures as tables have them: `recall@5 / ceiling` as `R@5 / ceiling`."""
    words = figure.split(" ")
    return " ".join(heading(word) if "@" in word or "_" in word or word == "mrr" else word for word in words)


def _number(value: float | None) -> str:
    if value is None:
        return "not known"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _worst_tables(diagnosis: Diagnosis) -> list[Table]:
    """One table per query: gold above, then the run's top 10, relevant ones marked."""
    return [
        make_table(
            [*figures("rank", number="d"), one_line(diagnosis.retriever)],
            [(hit.rank, ("* " if hit.relevant else "  ") + _location_text(hit.place)) for hit in query.top],
            title=f"{number}. {_about(query, diagnosis.measure)}",
        )
        for number, query in enumerate(diagnosis.worst, start=1)
    ]


def _about(query: WorstQuery, measure: str) -> str:
    first = f"first relevant at rank {query.first_hit}" if query.first_hit else "none retrieved"
    gold = few([_location_text(location) for location in query.gold], _GOLD_SHOWN)
    lines = [
        f"{one_line(query.query_id)}: {query.value:.4f} {heading(measure)}, {first}",
        f"target ({query.relevant}): {gold or 'no chunk'}",
    ]
    if query.query:
        words = [line.strip() for line in query.query.splitlines() if any(map(str.isalnum, line))]
        # A prompt ends where code is to be written, so its last line says what is asked for.
        shown = "last line of the query" if len(words) > 1 else "query"
        lines.append(f"{shown}: {one_line(words[-1][:_TEXT]) if words else ''}")
    return "\n".join(lines)


def _location_text(location: ResultLocation) -> str:
    """`file:13-40` with lines as editors count them, else the chunk's id."""
    if location.file is None or location.start_line is None or location.end_line is None:
        return one_line(location.chunk_id)
    return one_line(f"{location.file}:{location.start_line + 1}-{location.end_line}")
