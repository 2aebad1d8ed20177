"""The playbook, one function a symptom: the numbers, what they are held against, and what they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from repoeval_bench.analysis.diagnosis.evidence import DEEP, LEAST_DEEP, TOP, newer_share, quantiles, repeats
from repoeval_bench.analysis.diagnosis.gaps import find_gaps
from repoeval_bench.analysis.diagnosis.thresholds import Thresholds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from repoeval_bench.analysis.diagnosis.evidence import Evidence
    from repoeval_bench.analysis.diagnosis.gaps import Gap

    Numbers = Mapping[str, float | int | None]

Status = Literal["finding", "fine", "unknown"]


@dataclass(frozen=True, slots=True)
class Check:
    """One symptom looked for: `says` is what was found and what to try, or why nothing can be said.

    `numbers` led to it, `limits` (threshold -> value) are what they were held against. `gaps` are the segments that
    a finding on segments is about.
    """

    name: str
    status: Status
    says: str
    numbers: Numbers
    limits: Mapping[str, float]
    gaps: tuple[Gap, ...] = field(default=())


def diagnose(evidence: Evidence, measure: str, limits: Thresholds | None = None) -> list[Check]:
    """Every check of the playbook, in its order, whether it found something or not.

    Means are over queries; `measure` is what segments are compared by.
    """
    chosen = limits or Thresholds()
    return [
        _depth(evidence, chosen),
        _missing(evidence, chosen),
        _copies(evidence, chosen),
        _ranking(evidence, chosen),
        _segments(evidence, chosen, measure),
        _freshness(evidence, chosen),
        _latency(evidence, chosen),
        _truncation(evidence, chosen),
        _chunker(evidence, chosen),
        _retriever(evidence, chosen),
        _lost(evidence, chosen),
    ]


def _used(limits: Thresholds, *names: str) -> dict[str, float]:
    return {name: limits[name] for name in names}


def _recalls(evidence: Evidence, *cuts: int) -> dict[str, float | int | None]:
    found: dict[str, float | int | None] = {}
    for k in cuts:
        found[f"recall@{k}"] = evidence.mean(f"recall@{k}")
        found[f"recall@{k} / ceiling"] = evidence.recall_share(k)
    return found


def _too_shallow(name: str, evidence: Evidence) -> Check:
    way_out = f"import a log of {DEEP} results a query" if evidence.imported else f"rank with --k {DEEP}"
    says = f"the run ranks {evidence.depth} results; what stands deeper is not known, {way_out}"
    return Check(name, "unknown", says, {"k": evidence.depth}, {})


def _depth(evidence: Evidence, limits: Thresholds) -> Check:
    if evidence.depth < LEAST_DEEP:
        return _too_shallow("depth", evidence)
    numbers = _recalls(evidence, 5, evidence.deep)
    low = evidence.recall_share(5) < limits["recall-low"]
    found = low and evidence.recall_share(evidence.deep) >= limits["recall-high"]
    says = (
        f"what is relevant is retrieved, but stands below rank 5: rerank the first {evidence.deep}, or hand on more (k)"
        if found
        else f"recall@5 is low, and so is recall@{evidence.deep}: see missing"
        if low
        else "five results hold most of what five can"
    )
    return _check("depth", found, says, numbers, _used(limits, "recall-low", "recall-high"))


def _missing(evidence: Evidence, limits: Thresholds) -> Check:
    if evidence.depth < LEAST_DEEP:
        return _too_shallow("missing", evidence)
    files, known = evidence.file_recall()
    numbers = {
        **_recalls(evidence, evidence.deep),
        f"file recall@{evidence.deep}": files,
        "queries whose gold file is known": known,
    }
    found = evidence.recall_share(evidence.deep) < limits["recall-high"]
    if not found:
        says = "most of what is relevant is among them"
    elif files is None:
        says = "much is not retrieved at all: indexing or chunking; no file of the gold is known to tell which"
    elif files >= limits["recall-high"]:
        says = (
            "the right file is found, the right chunk of it is not: chunking (its size, what it cuts apart, what the "
            "model reads of it)"
        )
    else:
        says = (
            "not even the right file is found: indexing (is it there, is it embedded whole?) or a query that says too "
            "little"
        )
    return _check("missing", found, says, numbers, _used(limits, "recall-high"))


def _copies(evidence: Evidence, limits: Thresholds) -> Check:
    k = min(TOP, evidence.depth)
    if k < TOP:
        says = f"the run ranks {k} results; near-duplicates are looked for in ten"
        return Check("near-duplicates", "unknown", says, {"k": evidence.depth}, {})
    share = float(np.mean([repeats(evidence.top(query_id, k)) for query_id in evidence.scores.query_ids]))
    numbers = {**_recalls(evidence, 10), "precision@10": evidence.mean("precision@10"), "repeats@10": share}
    worst = share
    if "novelty@10" in evidence.scores.values:
        numbers["1 - novelty@10"] = 1 - float(evidence.scores.values["novelty@10"].mean())
        worst = max(share, 1 - float(evidence.scores.values["novelty@10"].mean()))
    counts = evidence.metrics.counts
    if counts.chunks_duplicate is not None:
        numbers["chunks with a copy in the repository"] = counts.chunks_duplicate
    found = (
        evidence.recall_share(10) >= limits["recall-high"]
        and evidence.mean("precision@10") < limits["precision-low"]
        and worst >= limits["repeats"]
    )
    says = (
        "what is relevant is found, and places are taken by what stands higher already: drop near-duplicates (copies, "
        "overlap between chunks) before or after ranking"
        if found
        else "the top 10 repeat themselves, but that is not what holds precision down"
        if worst >= limits["repeats"]
        else "the top 10 hardly repeat themselves"
    )
    return _check("near-duplicates", found, says, numbers, _used(limits, "recall-high", "precision-low", "repeats"))


def _ranking(evidence: Evidence, limits: Thresholds) -> Check:
    found_at_all = evidence.values[f"hit@{evidence.deep}"] > 0
    numbers: dict[str, float | int | None] = {
        "mrr": evidence.mean("mrr"),
        f"hit@{evidence.deep}": float(found_at_all.mean()),
        "mrr of queries with a hit": None,
    }
    used = _used(limits, "mrr-low")
    if not found_at_all.any():
        return Check("ranking", "unknown", "no query has a hit: there is nothing to rank", numbers, used)
    mrr = float(evidence.values["mrr"][found_at_all].mean())
    numbers["mrr of queries with a hit"] = mrr
    found = mrr < limits["mrr-low"]
    says = (
        f"the first relevant result stands at about rank {1 / mrr:.0f}: ranking (a reranker, another retriever)"
        if found
        else "where something relevant is found, it stands high"
    )
    return _check("ranking", found, says, numbers, used)


def _segments(evidence: Evidence, limits: Thresholds, measure: str) -> Check:
    gaps, untested = find_gaps(evidence.scores, measure)
    behind = tuple(gap for gap in gaps if gap.p_adjusted < 0.05 and gap.difference <= -limits["gap"])
    numbers = {
        f"mean {measure}": float(evidence.scores.values[measure].mean()),
        "segments tested": len(gaps),
        "of them behind": len(behind),
        "segments with too few clusters to test": untested,
    }
    used = _used(limits, "gap")
    if not gaps:
        return Check("segments", "unknown", "no segment can be tested; bring facts, or more files", numbers, used)
    says = "no segment is clearly behind the others"
    if behind:
        listed = ", ".join(f"{gap.by} = {gap.name}" for gap in behind[:5]) + (", …" if len(behind) > 5 else "")
        says = f"clearly behind the other queries (Holm over {len(gaps)} tests): {listed}; look at these first"
    return Check("segments", "finding" if behind else "fine", says, numbers, used, behind)


def _freshness(evidence: Evidence, limits: Thresholds) -> Check:
    share, judged = newer_share(evidence.rows.values(), TOP)
    numbers = {"share of the top 10 newer than as_of": share, "results with both dates": judged}
    used = _used(limits, "newer")
    if share is None:
        return Check("freshness", "unknown", "no query has an as_of with dated results (doc_version)", numbers, used)
    found = share > limits["newer"]
    says = (
        "results are newer than the query may know of: filter by date before ranking, and index earlier versions"
        if found
        else "no result is newer than its query may know of"
    )
    return _check("freshness", found, says, numbers, used)


def _latency(evidence: Evidence, limits: Thresholds) -> Check:
    used = _used(limits, "latency-ms")
    if not evidence.latency:
        return Check("latency", "unknown", "the run has no times of its queries", {}, used)
    # Scores of a reranker that were in the cache took no time; that says nothing of what it takes.
    timed = [taken for taken in evidence.latency.values() if "rerank" in taken or not evidence.reranked]
    if not timed:
        says = "the scores of the reranker's pairs were in the cache, so nobody knows what it takes"
        return Check("latency", "unknown", says, {}, used)
    numbers: dict[str, float | int | None] = {}
    totals: dict[str, float] = {}
    for step in ("retrieve", "rerank"):
        times = [taken[step] for taken in timed if step in taken]
        if times:
            numbers |= {f"{step} {name}, ms": value for name, value in quantiles(times).items()}
            totals[step] = sum(times)
    whole = quantiles(sum(taken.values()) for taken in timed)
    numbers |= {f"both {name}, ms": value for name, value in whole.items()} if len(totals) > 1 else {}
    slowest = max(totals, key=lambda step: totals[step])
    share = totals[slowest] / sum(totals.values()) if sum(totals.values()) else 1.0
    found = whole["p90"] > limits["latency-ms"]
    split = f"{slowest} takes {share:.0%} of the time" if len(totals) > 1 else f"{slowest} is the only step with times"
    remedy = {"rerank": "rerank fewer, or with a smaller model", "retrieve": "a quicker index, or fewer vectors"}[
        slowest
    ]
    says = f"one query in ten takes {whole['p90']:.0f} ms or more; {split}: {remedy}" if found else split
    return _check("latency", found, says, numbers, used)


def _truncation(evidence: Evidence, limits: Thresholds) -> Check:
    counts = evidence.metrics.counts
    used = _used(limits, "truncated")
    if not evidence.metrics.chunk_tokens:
        says = (
            "the log does not say what its model cut" if evidence.imported else "nothing was embedded, so nothing cut"
        )
        silent = not evidence.imported and counts.queries_truncated is None
        if silent:
            says = f"{evidence.metrics.embedder} does not tell its tokens, so nobody knows what it cut"
        return Check("truncation", "unknown" if evidence.imported or silent else "fine", says, {}, used)
    numbers: dict[str, float | int | None] = {}
    shares = {}
    for name, total, truncated in (
        ("queries", counts.queries, counts.queries_truncated),
        ("chunks", counts.chunks, counts.chunks_truncated),
    ):
        shares[name] = (truncated or 0) / total if total else 0.0
        numbers |= {f"{name} cut by the model": truncated, f"share of {name}": shares[name]}
    cut = [f"{share:.0%} of the {name}" for name, share in shares.items() if share > limits["truncated"]]
    says = (
        f"the model does not read the end of {' and '.join(cut)}: --long-text tail or mean, smaller chunks, or a model "
        "that reads more"
        if cut
        else "the model reads nearly everything whole"
    )
    return _check("truncation", bool(cut), says, numbers, used)


def _chunker(evidence: Evidence, limits: Thresholds) -> Check:
    used = _used(limits, "ceiling-low")
    ceilings = evidence.metrics.ceilings.micro if evidence.metrics.ceilings else {}
    if "line_rprec" not in ceilings:
        return Check("chunker", "unknown", "line ceilings are not stored of this run", {}, used)
    ceiling = ceilings["line_rprec"]
    found = ceiling < limits["ceiling-low"]
    says = (
        "even a ranker that knows the gold reads (greedily) little of it from these chunks in its own size: the chunker"
        if found
        else "a perfect ranker could read nearly all gold lines from these chunks"
    )
    return _check("chunker", found, says, {"ceiling of line_rprec": ceiling, "1 - ceiling": 1 - ceiling}, used)


def _retriever(evidence: Evidence, limits: Thresholds) -> Check:
    used = _used(limits, "share-low")
    ceilings = evidence.metrics.ceilings.micro if evidence.metrics.ceilings else {}
    numbers: dict[str, float | int | None]
    if ceilings.get("line_rprec"):
        name, value, ceiling = "line_rprec", evidence.metrics.micro["line_rprec"], ceilings["line_rprec"]
    else:
        k = min(TOP, evidence.depth)
        name, ceiling = f"recall@{k}", evidence.recall_ceiling(k)
        value = evidence.mean(name) if name in evidence.values else 0.0
    if not ceiling or (name not in evidence.values and name != "line_rprec"):
        return Check("retriever", "unknown", "nothing can be found, or the run ranks too few", {}, used)
    share = value / ceiling
    numbers = {name: value, "its ceiling": ceiling, "share of the ceiling": share}
    found = share < limits["share-low"]
    says = (
        "of what these chunks could give, the retriever leaves much: another model, BM25 or both, what is read of long "
        "texts"
        if found
        else "the retriever takes most of what these chunks can give"
    )
    return _check("retriever", found, says, numbers, used)


def _lost(evidence: Evidence, limits: Thresholds) -> Check:
    counts = evidence.metrics.counts
    total = counts.queries
    without = sum(not gains for gains in evidence.relevant.values())
    share = without / total if total else 0.0
    numbers: dict[str, float | int | None] = {"queries without a relevant chunk": without, "share of queries": share}
    lost = {
        "files skipped": counts.files_skipped,
        "files undecodable": counts.files_undecodable,
        "lines uncovered": counts.lines_uncovered,
        "queries not in log": counts.queries_not_in_log,
    }
    numbers |= {what: number for what, number in lost.items() if number}
    skipped = counts.files_skipped + counts.queries_not_in_log
    found = share > limits["lost"] or skipped > 0
    says = (
        "queries score 0 whatever is retrieved, for their gold is in no chunk, or they were never answered: see what "
        "was skipped"
        if found
        else "every query can be answered from the index, or nearly"
    )
    return _check("lost", found, says, numbers, _used(limits, "lost"))


def _check(name: str, found: bool, says: str, numbers: Numbers, limits: Mapping[str, float]) -> Check:
    return Check(name, "finding" if found else "fine", says, numbers, limits)
