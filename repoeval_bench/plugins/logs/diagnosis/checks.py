"""The checks of a diagnosis: each is a function that computes its numbers, with a row that asks and answers.

A new check is one function under `check`, and a row of the table in docs/logs.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from repoeval_bench.plugins.logs.diagnosis.evidence import DEEP, LEAST_DEEP, TOP, DiagnosisEvidence, repeats
from repoeval_bench.plugins.logs.diagnosis.gaps import Gap, find_gaps
from repoeval_bench.plugins.logs.pipeline.report import latency
from repoeval_bench.plugins.logs.pipeline.stages import freshness

if TYPE_CHECKING:
    Numbers = dict[str, float | int | None]

MIN_GROUP = 20
"""The fewest definitions of a group that can be named as missed most often."""

LIMITS: Mapping[str, float] = {
    "recall-low": 0.6,
    "recall-high": 0.8,
    "precision-low": 0.5,
    "repeats": 0.2,
    "mrr-low": 0.5,
    "gap": 0.1,
    "newer": 0.0,
    "latency-ms": 500.0,
    "truncated": 0.1,
    "ceiling-low": 0.8,
    "share-low": 0.6,
    "never-retrieved": 0.2,
    "lost": 0.01,
}
"""Threshold -> its value, by convention; docs/logs.md says what each is compared with."""

Status = Literal["finding", "fine", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check on a run."""

    name: str
    question: str
    status: Status
    says: str
    """The result and what to try, or why there is no result."""
    numbers: Mapping[str, float | int | None]
    limits: Mapping[str, float]
    """Threshold -> value, for those that the numbers were compared with."""
    gaps: tuple[Gap, ...] = ()
    """The segments that a finding on segments is about."""


class Found(NamedTuple):
    """The result of a check's function: whether there is a problem, and the numbers that show it."""

    is_problem: bool
    numbers: Numbers
    says: str = ""
    """The sentence, if the row's two do not say enough."""
    gaps: tuple[Gap, ...] = ()


Missing = str
"""The result of a check's function on a run that does not have what it needs: the reason."""

Look = Callable[[DiagnosisEvidence], Found | Missing | None]

CHECKS: list[Callable[[DiagnosisEvidence], Check | None]] = []
"""Every check, in the order of this file; None of a run that it does not ask."""


def check(name: str, question: str, *limits: str, finding: str = "", fine: str) -> Callable[[Look], Look]:
    """Register a function as a check that answers a question.

    Its sentence is `finding` (the problem, then what to try) or `fine`. `limits` are the thresholds of `LIMITS` that
    its numbers are compared with.
    """

    def register(look: Look) -> Look:
        def answer(evidence: DiagnosisEvidence) -> Check | None:
            if (seen := look(evidence)) is None:
                return None
            status: Status = "unknown"
            if isinstance(seen, str):
                seen = Found(False, {}, seen)
            else:
                status = "finding" if seen.is_problem else "fine"
            return Check(
                name=name,
                question=question,
                status=status,
                says=seen.says or (finding if seen.is_problem else fine),
                numbers=seen.numbers,
                limits={limit: LIMITS[limit] for limit in limits},
                gaps=seen.gaps,
            )

        CHECKS.append(answer)
        return look

    return register


def check_all(evidence: DiagnosisEvidence) -> list[Check]:
    """Return the result of every check that asks something of a run."""
    return [result for answer in CHECKS if (result := answer(evidence))]


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
    "Is what is relevant retrieved, but below rank 5?",
    "recall-low",
    "recall-high",
    finding=f"what is relevant is retrieved, but below rank 5: rerank the first {DEEP}, or pass on more results (k)",
    fine="what is retrieved does not wait below rank 5",
)
def _depth(evidence: DiagnosisEvidence) -> Found | Missing:
    if evidence.metrics.k < LEAST_DEEP:
        return _too_shallow(evidence)
    is_low = evidence.recall_share(5) < LIMITS["recall-low"]
    is_problem = is_low and evidence.recall_share(evidence.deep) >= LIMITS["recall-high"]
    return Found(is_problem, _recalls(evidence, 5, evidence.deep))


@check(
    "missing",
    "Is much of what is relevant not retrieved at all?",
    "recall-high",
    fine="most of what is relevant is among them",
)
def _missing(evidence: DiagnosisEvidence) -> Found | Missing:
    if evidence.metrics.k < LEAST_DEEP:
        return _too_shallow(evidence)
    files, known = evidence.file_recall()
    numbers = _recalls(evidence, evidence.deep)
    numbers |= {f"file recall@{evidence.deep}": files, "queries whose gold file is known": known}
    if evidence.recall_share(evidence.deep) >= LIMITS["recall-high"]:
        return Found(False, numbers)
    if files is None:
        says = "much is not retrieved at all: indexing or chunking; no file of the gold is known to say which"
    elif files >= LIMITS["recall-high"]:
        says = (
            "the right file is found, but not the right chunk of it: chunking (its size, what it cuts apart, what the "
            "model reads of it)"
        )
    else:
        says = (
            "not even the right file is found: indexing (is it there, is it embedded whole?) or a query that says too "
            "little"
        )
    return Found(True, numbers, says)


@check(
    "near-duplicates",
    "Do results that repeat higher ranks take the places of relevant ones?",
    "recall-high",
    "precision-low",
    "repeats",
    finding="what is relevant is found, and results repeat higher ranks: drop near-duplicates (copies, overlap between "
    "chunks) before or after ranking",
    fine="repeats do not keep precision low",
)
def _near_duplicates(evidence: DiagnosisEvidence) -> Found | Missing:
    if evidence.metrics.k < TOP:
        return f"the run ranks {evidence.metrics.k} results; near-duplicates are looked for in ten"
    share = float(np.mean([repeats(evidence.log.topk(query_id)[:TOP]) for query_id in evidence.scores.query_ids]))
    precision = evidence.mean("precision@10")
    numbers = {**_recalls(evidence, TOP), "precision@10": precision, "repeats@10": share}
    is_found = evidence.recall_share(TOP) >= LIMITS["recall-high"]
    return Found(is_found and share >= LIMITS["repeats"] and precision < LIMITS["precision-low"], numbers)


@check(
    "ranking",
    "Does the first relevant result rank low?",
    "mrr-low",
    fine="where something relevant is found, it ranks high",
)
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
    says = f"the first relevant result is at about rank {1 / mrr:.0f}: ranking (a reranker, another retriever)"
    return Found(True, numbers, says)


@check(
    "segments",
    "Does a segment of the queries score clearly lower than all others?",
    "gap",
    finding="the segments in the table below are clearly behind the other queries; look at these first",
    fine="no segment is clearly behind the others",
)
def _segments(evidence: DiagnosisEvidence) -> Found | Missing:
    gaps, untested = find_gaps(evidence.scores, evidence.measure)
    if not gaps:
        return "no segment can be tested; it takes more files"
    worse = tuple(gap for gap in gaps if gap.p_adjusted < 0.05 and gap.difference <= -LIMITS["gap"])
    numbers: Numbers = {
        f"mean {evidence.measure}": float(evidence.scores.values[evidence.measure].mean()),
        "segments tested": len(gaps),
        "of them behind": len(worse),
        "segments with too few clusters to test": untested,
    }
    return Found(bool(worse), numbers, gaps=worse)


@check(
    "freshness",
    "Are results newer than the query may know of?",
    "newer",
    finding="results are newer than the query may know of: filter by date before ranking, and index earlier versions",
    fine="no result is newer than its query may know of",
)
def _freshness(evidence: DiagnosisEvidence) -> Found | Missing:
    section = freshness(evidence.log, TOP)
    if section.missing:
        return section.missing
    fresh = next(figure for figure in section.figures if figure.of == "chunks")
    numbers: Numbers = {"share of the top 10 newer than as_of": 1 - fresh.value, "results with both dates": fresh.n}
    return Found(1 - fresh.value > LIMITS["newer"], numbers)


_QUICKER = {"rerank": "rerank fewer, or with a smaller model", "retrieve": "a quicker index, or fewer vectors"}


@check("latency", "Does one query in ten take too long?", "latency-ms", fine="nine queries in ten are quick enough")
def _latency(evidence: DiagnosisEvidence) -> Found | Missing:
    # Scores from the cache took no time, so they say nothing about the reranker's.
    times = {q: steps for q, steps in evidence.latency.items() if "rerank" in steps or not evidence.reranked}
    if not times:
        in_cache = "the scores of the reranker's pairs were in the cache, so its time is not known"
        return in_cache if evidence.latency else "the run has no times of its queries"
    numbers: Numbers = {f"{figure.name}, ms": figure.value for figure in latency(times, {}).figures}
    p90 = max(value for name, value in numbers.items() if name.endswith("p90, ms") and value is not None)
    if p90 <= LIMITS["latency-ms"]:
        return Found(False, numbers)
    totals = {step: sum(steps.get(step, 0.0) for steps in times.values()) for step in _QUICKER}
    slowest = max(totals, key=lambda step: totals[step])
    share = totals[slowest] / sum(totals.values())
    says = f"one query in ten takes {p90:.0f} ms or more; {slowest} takes {share:.0%} of the time: {_QUICKER[slowest]}"
    return Found(True, numbers, says)


@check("truncation", "Does the model not read the end of long texts?", "truncated", fine="the model reads nearly all")
def _truncation(evidence: DiagnosisEvidence) -> Found | Missing:
    counts = evidence.metrics.counts
    if not evidence.metrics.chunk_tokens:
        if evidence.metrics.imported:
            return "the log does not say what its model cut"
        if counts.queries_truncated is None:
            return f"{evidence.metrics.embedder} does not report its tokens, so it is not known what it cut"
        return Found(False, {}, "nothing was embedded, so nothing was cut")
    numbers: Numbers = {}
    cut = []
    for name, total, truncated in (
        ("queries", counts.queries, counts.queries_truncated),
        ("chunks", counts.chunks, counts.chunks_truncated),
    ):
        share = (truncated or 0) / total if total else 0.0
        numbers |= {f"{name} cut by the model": truncated, f"share of {name}": share}
        if share > LIMITS["truncated"]:
            cut.append(f"{share:.0%} of the {name}")
    says = (
        f"the model does not read the end of {' and '.join(cut)}: the embedder's options long_queries=tail and "
        "long_chunks=tail, smaller chunks, or a model that reads more"
    )
    return Found(bool(cut), numbers, says if cut else "")


@check(
    "chunker",
    "Could no ranking of these chunks show the gold?",
    "ceiling-low",
    finding="even the best known order of these chunks shows little of the gold in as many characters as it has: "
    "chunking",
    fine="a perfect ranker could read nearly all gold lines from these chunks",
)
def _chunker(evidence: DiagnosisEvidence) -> Found | Missing:
    ceiling = evidence.line_ceiling
    if ceiling is None:
        return "line ceilings are not stored for this run"
    return Found(ceiling < LIMITS["ceiling-low"], {"ceiling of lines R-prec": ceiling})


@check(
    "retriever",
    "Does the ranking miss much of what these chunks could give?",
    "share-low",
    finding="the retriever misses much of what these chunks could give: another model, BM25 or both, what is read of "
    "long texts",
    fine="the retriever takes most of what these chunks can give",
)
def _retriever(evidence: DiagnosisEvidence) -> Found | Missing:
    name, value = "line_rprec", evidence.metrics.micro.get("line_rprec")
    ceiling = evidence.line_ceiling
    if not ceiling:
        k = min(TOP, evidence.metrics.k)
        name, ceiling = f"recall@{k}", evidence.recall_ceiling(k)
        value = evidence.mean(name) if name in evidence.values else None
    if not ceiling or value is None:
        return "nothing can be found, or the run ranks too few"
    numbers: Numbers = {name: value, "its ceiling": ceiling, "share of the ceiling": value / ceiling}
    return Found(value / ceiling < LIMITS["share-low"], numbers)


@check(
    "lost",
    "Can some queries never be answered?",
    "lost",
    finding="queries always score 0, because their gold is in no chunk or they were never answered: see what was "
    "skipped",
    fine="every query can be answered from the index, or nearly",
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


@check(
    "definitions",
    "Are definitions that completion needs in no ranked chunk?",
    "never-retrieved",
    fine="nearly every definition that completion needs is in a chunk that was ranked",
)
def _definitions(evidence: DiagnosisEvidence) -> Found | None:
    groups = dict(evidence.never_retrieved)
    if not groups:
        return None
    numbers: Numbers = {f"{name}, never retrieved of {of}": missed for name, (missed, of) in groups.items()}
    missed, of = groups.pop("all definitions")
    if missed / of <= LIMITS["never-retrieved"]:
        return Found(False, numbers)
    # Small groups say little, so the larger ones come first.
    worst = max(groups, key=lambda name: (groups[name][1] >= MIN_GROUP, groups[name][0] / groups[name][1]))
    says = (
        f"{missed} of {of} definitions that completion needs are in none of the {evidence.metrics.k} chunks that were "
        f"ranked; most often {worst} ({groups[worst][0]} of {groups[worst][1]})"
    )
    return Found(True, numbers, says)
