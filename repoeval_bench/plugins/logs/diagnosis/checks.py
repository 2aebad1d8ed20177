"""The checks of a diagnosis, one function a symptom: its numbers, their limits, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from repoeval_bench.core.words import count
from repoeval_bench.plugins.logs.diagnosis.evidence import (
    DEEP,
    LEAST_DEEP,
    TOP,
    DiagnosisEvidence,
    never_retrieved,
    newer_share,
    quantiles,
    repeats,
)
from repoeval_bench.plugins.logs.diagnosis.gaps import Gap, find_gaps

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
    """The check for one symptom: `says` is the result and what to try, or why there is no result.

    `numbers` are the evidence, and `limits` (threshold -> value) what they were compared with. `gaps` are the segments
    that a finding on segments is about.
    """

    name: str
    status: Status
    says: str
    numbers: Mapping[str, float | int | None]
    limits: Mapping[str, float]
    gaps: tuple[Gap, ...] = ()


def check_all(evidence: DiagnosisEvidence, measure: str) -> list[Check]:
    """Return every check, in a fixed order; also those that found nothing.

    Means are over queries. Segments are compared by `measure`.
    """
    return [
        _depth(evidence),
        _missing(evidence),
        _copies(evidence),
        _ranking(evidence),
        _segments(evidence, measure),
        _freshness(evidence),
        _latency(evidence),
        _truncation(evidence),
        _chunker(evidence),
        _retriever(evidence),
        _lost(evidence),
        *([_definitions(evidence)] if evidence.needed else []),
    ]


def _check(
    name: str, is_problem: bool | None, says: str, numbers: Numbers, *limits: str, gaps: tuple[Gap, ...] = ()
) -> Check:
    """Return a check that was compared with these thresholds; `is_problem` is None if the result is not known."""
    status: Status = "unknown" if is_problem is None else "finding" if is_problem else "fine"
    used = {limit: LIMITS[limit] for limit in limits}
    return Check(name=name, status=status, says=says, numbers=numbers, limits=used, gaps=gaps)


def _recalls(evidence: DiagnosisEvidence, *cuts: int) -> Numbers:
    numbers: Numbers = {}
    for k in cuts:
        numbers[f"recall@{k}"] = evidence.mean(f"recall@{k}")
        numbers[f"recall@{k} / ceiling"] = evidence.recall_share(k)
    return numbers


def _too_shallow(name: str, evidence: DiagnosisEvidence) -> Check:
    way_out = f"import a log of {DEEP} results a query" if evidence.metrics.imported else f"rank with --k {DEEP}"
    says = f"the run ranks {evidence.metrics.k} results; lower ranks are not known, {way_out}"
    return _check(name, None, says, {"k": evidence.metrics.k})


def _depth(evidence: DiagnosisEvidence) -> Check:
    if evidence.metrics.k < LEAST_DEEP:
        return _too_shallow("depth", evidence)
    low = evidence.recall_share(5) < LIMITS["recall-low"]
    is_problem = low and evidence.recall_share(evidence.deep) >= LIMITS["recall-high"]
    if is_problem:
        says = (
            f"what is relevant is retrieved, but below rank 5: rerank the first {evidence.deep}, or pass on more "
            "results (k)"
        )
    elif low:
        says = f"recall@5 is low, and so is recall@{evidence.deep}: see missing"
    else:
        says = "the first five results hold most of what five can hold"
    return _check("depth", is_problem, says, _recalls(evidence, 5, evidence.deep), "recall-low", "recall-high")


def _missing(evidence: DiagnosisEvidence) -> Check:
    if evidence.metrics.k < LEAST_DEEP:
        return _too_shallow("missing", evidence)
    files, known = evidence.file_recall()
    numbers: Numbers = {
        **_recalls(evidence, evidence.deep),
        f"file recall@{evidence.deep}": files,
        "queries whose gold file is known": known,
    }
    is_problem = evidence.recall_share(evidence.deep) < LIMITS["recall-high"]
    if not is_problem:
        says = "most of what is relevant is among them"
    elif files is None:
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
    return _check("missing", is_problem, says, numbers, "recall-high")


def _copies(evidence: DiagnosisEvidence) -> Check:
    k = min(TOP, evidence.metrics.k)
    if k < TOP:
        says = f"the run ranks {k} results; near-duplicates are looked for in ten"
        return _check("near-duplicates", None, says, {"k": evidence.metrics.k})
    share = float(np.mean([repeats(evidence.log.topk(query_id)[:k]) for query_id in evidence.scores.query_ids]))
    numbers = {**_recalls(evidence, 10), "precision@10": evidence.mean("precision@10"), "repeats@10": share}
    if "novelty@10" in evidence.scores.values:
        repeated = 1 - float(evidence.scores.values["novelty@10"].mean())
        numbers["1 - novelty@10"] = repeated
        share = max(share, repeated)
    if evidence.metrics.counts.chunks_duplicate is not None:
        numbers["chunks with a copy in the repository"] = evidence.metrics.counts.chunks_duplicate
    high = evidence.recall_share(10) >= LIMITS["recall-high"]
    repeat = share >= LIMITS["repeats"]
    is_problem = high and repeat and evidence.mean("precision@10") < LIMITS["precision-low"]
    if is_problem:
        says = (
            "what is relevant is found, and results repeat higher ranks: drop near-duplicates (copies, overlap between "
            "chunks) before or after ranking"
        )
    elif repeat:
        says = "the top 10 repeat themselves, but that is not what keeps precision low"
    else:
        says = "the top 10 hardly repeat themselves"
    return _check("near-duplicates", is_problem, says, numbers, "recall-high", "precision-low", "repeats")


def _ranking(evidence: DiagnosisEvidence) -> Check:
    is_hit = evidence.values[f"hit@{evidence.deep}"] > 0
    numbers: Numbers = {
        "mrr": evidence.mean("mrr"),
        f"hit@{evidence.deep}": float(is_hit.mean()),
        "mrr of queries with a hit": None,
    }
    if not is_hit.any():
        return _check("ranking", None, "no query has a hit: there is nothing to rank", numbers, "mrr-low")
    mrr = float(evidence.values["mrr"][is_hit].mean())
    numbers["mrr of queries with a hit"] = mrr
    if mrr < LIMITS["mrr-low"]:
        says = f"the first relevant result is at about rank {1 / mrr:.0f}: ranking (a reranker, another retriever)"
    else:
        says = "where something relevant is found, it ranks high"
    return _check("ranking", mrr < LIMITS["mrr-low"], says, numbers, "mrr-low")


def _segments(evidence: DiagnosisEvidence, measure: str) -> Check:
    gaps, untested = find_gaps(evidence.scores, measure)
    worse = tuple(gap for gap in gaps if gap.p_adjusted < 0.05 and gap.difference <= -LIMITS["gap"])
    numbers: Numbers = {
        f"mean {measure}": float(evidence.scores.values[measure].mean()),
        "segments tested": len(gaps),
        "of them behind": len(worse),
        "segments with too few clusters to test": untested,
    }
    if not gaps:
        return _check("segments", None, "no segment can be tested; bring facts, or more files", numbers, "gap")
    if not worse:
        return _check("segments", False, "no segment is clearly behind the others", numbers, "gap")
    listed = ", ".join(f"{gap.by} = {gap.name}" for gap in worse[:5]) + (", …" if len(worse) > 5 else "")
    says = f"clearly behind the other queries (Holm over {count(len(gaps), 'test')}): {listed}; look at these first"
    return _check("segments", True, says, numbers, "gap", gaps=worse)


def _freshness(evidence: DiagnosisEvidence) -> Check:
    share, n_dated = newer_share(evidence.log.rows.values(), TOP)
    numbers: Numbers = {"share of the top 10 newer than as_of": share, "results with both dates": n_dated}
    if share is None:
        return _check("freshness", None, "no query has an as_of with dated results (doc_version)", numbers, "newer")
    is_problem = share > LIMITS["newer"]
    says = (
        "results are newer than the query may know of: filter by date before ranking, and index earlier versions"
        if is_problem
        else "no result is newer than its query may know of"
    )
    return _check("freshness", is_problem, says, numbers, "newer")


_QUICKER = {"rerank": "rerank fewer, or with a smaller model", "retrieve": "a quicker index, or fewer vectors"}


def _latency(evidence: DiagnosisEvidence) -> Check:
    if not evidence.latency:
        return _check("latency", None, "the run has no times of its queries", {}, "latency-ms")
    # Scores from the cache took no time, so they say nothing about the reranker's.
    timed = [query for query in evidence.latency.values() if "rerank" in query or not evidence.reranked]
    if not timed:
        says = "the scores of the reranker's pairs were in the cache, so its time is not known"
        return _check("latency", None, says, {}, "latency-ms")
    times = {step: [query[step] for query in timed if step in query] for step in ("retrieve", "rerank")}
    times = {step: column for step, column in times.items() if column}
    whole = quantiles(sum(query.values()) for query in timed)
    named = {
        **{step: quantiles(column) for step, column in times.items()},
        **({"both": whole} if len(times) > 1 else {}),
    }
    numbers: Numbers = {f"{what} {name}, ms": value for what, both in named.items() for name, value in both.items()}
    totals = {step: sum(column) for step, column in times.items()}
    slowest = max(totals, key=lambda step: totals[step])
    share = totals[slowest] / sum(totals.values()) if sum(totals.values()) else 1.0
    split = f"{slowest} takes {share:.0%} of the time" if len(totals) > 1 else f"{slowest} is the only step with times"
    is_problem = whole["p90"] > LIMITS["latency-ms"]
    says = (
        f"one query in ten takes {whole['p90']:.0f} ms or more; {split}: {_QUICKER[slowest]}" if is_problem else split
    )
    return _check("latency", is_problem, says, numbers, "latency-ms")


def _truncation(evidence: DiagnosisEvidence) -> Check:
    counts = evidence.metrics.counts
    if not evidence.metrics.chunk_tokens:
        if evidence.metrics.imported:
            return _check("truncation", None, "the log does not say what its model cut", {}, "truncated")
        if counts.queries_truncated is None:
            says = f"{evidence.metrics.embedder} does not report its tokens, so it is not known what it cut"
            return _check("truncation", None, says, {}, "truncated")
        return _check("truncation", False, "nothing was embedded, so nothing was cut", {}, "truncated")
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
        if cut
        else "the model reads nearly everything whole"
    )
    return _check("truncation", bool(cut), says, numbers, "truncated")


def _chunker(evidence: DiagnosisEvidence) -> Check:
    ceiling = evidence.line_ceiling
    if ceiling is None:
        return _check("chunker", None, "line ceilings are not stored for this run", {}, "ceiling-low")
    is_problem = ceiling < LIMITS["ceiling-low"]
    says = (
        "even the best known order of these chunks shows little of the gold in as many characters as it has: chunking"
        if is_problem
        else "a perfect ranker could read nearly all gold lines from these chunks"
    )
    return _check(
        "chunker", is_problem, says, {"ceiling of lines R-prec": ceiling, "1 - ceiling": 1 - ceiling}, "ceiling-low"
    )


def _retriever(evidence: DiagnosisEvidence) -> Check:
    name, value = "line_rprec", evidence.metrics.micro.get("line_rprec")
    ceiling = evidence.line_ceiling
    if not ceiling:
        k = min(TOP, evidence.metrics.k)
        name, ceiling = f"recall@{k}", evidence.recall_ceiling(k)
        value = evidence.mean(name) if name in evidence.values else None
    if not ceiling or value is None:
        return _check("retriever", None, "nothing can be found, or the run ranks too few", {}, "share-low")
    is_problem = value / ceiling < LIMITS["share-low"]
    says = (
        "the retriever misses much of what these chunks could give: another model, BM25 or both, what is read of long "
        "texts"
        if is_problem
        else "the retriever takes most of what these chunks can give"
    )
    numbers: Numbers = {name: value, "its ceiling": ceiling, "share of the ceiling": value / ceiling}
    return _check("retriever", is_problem, says, numbers, "share-low")


def _lost(evidence: DiagnosisEvidence) -> Check:
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
    is_problem = share > LIMITS["lost"] or counts.files_skipped + counts.queries_not_in_log > 0
    says = (
        "queries always score 0, because their gold is in no chunk or they were never answered: see what was skipped"
        if is_problem
        else "every query can be answered from the index, or nearly"
    )
    return _check("lost", is_problem, says, numbers, "lost")


def _definitions(evidence: DiagnosisEvidence) -> Check:
    groups = never_retrieved(evidence.needed)
    numbers: Numbers = {f"{name}, never retrieved of {of}": missed for name, (missed, of) in groups.items()}
    missed, of = groups.pop("all definitions")
    is_problem = missed / of > LIMITS["never-retrieved"]
    # Small groups say little, so the larger ones come first.
    worst = max(groups, key=lambda name: (groups[name][1] >= MIN_GROUP, groups[name][0] / groups[name][1]))
    says = (
        f"{missed} of {of} definitions that completion needs are in none of the {evidence.metrics.k} chunks that were "
        f"ranked; most often {worst} ({groups[worst][0]} of {groups[worst][1]})"
        if is_problem
        else "nearly every definition that completion needs is in a chunk that was ranked"
    )
    return _check("definitions", is_problem, says, numbers, "never-retrieved")
