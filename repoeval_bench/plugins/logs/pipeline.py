"""The effects of a logged system's stages: reranker, router, dates, queries without an answer, and time.

Each section is a function of a judged log. A section whose fields the log lacks says so in one sentence. Means are over
queries; intervals are by sign flips of clusters.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from math import inf, prod, sqrt
from pathlib import Path

import click
import numpy as np

from repoeval_bench.analysis.sign_flips import FloatArray, flip_signs
from repoeval_bench.analysis.statistics import Sample, bounded, holm, seeded
from repoeval_bench.cli.console import echo, print_json, print_lines, print_paragraph, print_tables
from repoeval_bench.cli.options import depth_option, json_option, plain, runs_folder, title_of
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count
from repoeval_bench.plugins.logs.judged_log import JudgedLog, Statistic, mean_of, resolve_depth, share_interval
from repoeval_bench.report.table import P_VALUE, Column, Estimate, Table, number, table_of
from repoeval_bench.report.text import heading, interval
from repoeval_bench.runs.log import Moment, Retrieved, moment
from repoeval_bench.runs.naming import find_run
from repoeval_bench.runs.request import NO_EMBEDDER
from repoeval_bench.runs.view import RunView

# Recall at 50 bounds what a reranker of 50 can reach.
RAW_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Section:
    """Figures under one title; `missing` says in one sentence why there are none, `notes` what limits them.

    `stages` names the two means of a change.
    """

    name: str
    title: str
    _: KW_ONLY
    figures: tuple[Statistic, ...] = ()
    stages: tuple[str, str] = ("before", "after")
    notes: tuple[str, ...] = ()
    missing: str = ""


def share_of(
    name: str, answers: FloatArray | Sequence[float], clusters: Sequence[Hashable], of: str = "queries"
) -> Statistic:
    """Share of ones among 0/1 answers, each of a cluster, with its interval."""
    ones = np.asarray(answers, dtype=np.float64)
    return Statistic(name, "share", float(ones.mean()), ci=share_interval(ones, clusters), n=len(ones), of=of)


def changes_of(
    before: Mapping[str, FloatArray], after: Mapping[str, FloatArray], clusters: Sequence[Hashable]
) -> list[Statistic]:
    """For each measure its change (after - before, paired by query) with interval and Holm-adjusted p."""
    sample = Sample.micro(np.column_stack([after[name] - before[name] for name in before]), clusters)
    flipped = flip_signs(*sample.parts(), seeded())
    ends, adjusted = bounded(flipped, sample.n_clusters), holm(flipped.p.tolist())
    changes = []
    for name, mean, ci, p in zip(before, sample.mean(), ends, adjusted, strict=True):
        means = float(before[name].mean()), float(after[name].mean())
        changes.append(
            Statistic(name, "change", float(mean), ci=ci, n=len(before[name]), before=means[0], after=means[1], p=p)
        )
    return changes


def reranker(log: JudgedLog, k: int) -> Section:
    """Raw retriever against reranker: recall@50 before; nDCG, precision and MRR at k before and after.

    Queries without `raw_topk` are left out and counted.
    """
    title = "raw retriever against reranker"
    part = log.where(lambda row: row.raw_topk is not None)
    if not len(part):
        return Section("reranker", title, missing="no row has raw_topk, the ranking before the reranker")
    raw = {row.query_id: [entry.chunk_id for entry in row.raw_topk or ()] for row in part.scored_rows()}
    deep = f"recall@{RAW_DEPTH}"
    shallow = (f"ndcg@{k}", f"precision@{k}", f"mrr@{k}")
    before = part.scores(raw.__getitem__, (deep, *shallow))
    figures = [mean_of(f"{deep} raw", before.pop(deep), part.clusters)]
    figures += changes_of(before, part.scores(part.ranked, shallow), part.clusters)
    longest = max(map(len, raw.values()))
    notes = skipped_note(log, part, "raw_topk")
    if longest < RAW_DEPTH:
        notes += (f"the raw rankings hold at most {longest} chunks: recall@{RAW_DEPTH} is recall@{longest}",)
    return Section("reranker", title, figures=tuple(figures), stages=("raw", "reranked"), notes=notes)


def router(log: JudgedLog, k: int) -> Section:
    """Coverage (share of queries routed), misroutes (share of these routed to a wrong source), recall per source.

    A source's queries are those with their answer in it (`expected_source`); if the log has none, those routed to it.
    """
    logged = log.where(lambda row: row.source is not None or row.expected_source is not None)
    routed = log.where(lambda row: row.source is not None)
    if not len(logged):
        return Section("router", "router", missing="no row has a source, where the query was routed to")
    sources = {row.query_id: row.source for row in routed.scored_rows()}
    figures = [share_of("coverage: queries routed to a source", [q in sources for q in log.query_ids], log.clusters)]
    known = routed.where(lambda row: row.expected_source is not None)
    if len(known):
        wrong = [row.source != row.expected_source for row in known.scored_rows()]
        figures.append(share_of("misroutes: routed to another source", wrong, known.clusters))
        unknown = len(routed) - len(known)
        note = f"routed queries without expected_source, whose route is not judged: {unknown}" if unknown else ""
    else:
        note = "no row has both source and expected_source: misroutes are not known"
    by_expected = any(row.expected_source is not None for row in logged.scored_rows())
    field, whose = ("expected_source", "with their answer in") if by_expected else ("source", "routed to")
    for name in sorted({value for row in logged.scored_rows() if (value := getattr(row, field)) is not None}):
        part = log.where(lambda row, name=name: getattr(row, field) == name)  # type: ignore[misc]
        recall = part.scores(part.ranked, (f"recall@{k}",))[f"recall@{k}"]
        figures.append(mean_of(f"recall@{k} of queries {whose} {name}", recall, part.clusters))
    return Section("router", "router", figures=tuple(figures), notes=(note,) if note else ())


def skipped_note(log: JudgedLog, part: JudgedLog, field: str) -> tuple[str, ...]:
    """Return a note that counts the queries whose row lacks a field; empty if all have it."""
    n = len(log) - len(part)
    return (f"queries without {field}, left out: {n} of {len(log)}",) if n else ()


def _written(chunk: Retrieved) -> Moment | None:
    """Return the time of a chunk's doc_version; None if it is not a date."""
    return None if chunk.doc_version is None else moment(chunk.doc_version)


def freshness(log: JudgedLog, k: int) -> Section:
    """Share of the first k chunks not newer than their query's `as_of`, and every measure without the newer ones.

    Chunks that the log dates after the query count neither as retrieved nor as relevant. Measures are those of the run
    that need ranks alone.
    """
    title = "freshness"
    part = log.where(lambda row: row.as_of is not None)
    if not len(part):
        return Section("freshness", title, missing="no row has as_of, the time after which nothing may be retrieved")
    # The results of all queries date the gold: a query's own may lack it.
    dates = {hit.chunk_id: written for row in log.rows.values() for hit in row.topk if (written := _written(hit))}
    newer: dict[str, set[str]] = {}
    qrels: dict[str, dict[str, float]] = {}
    shown: list[tuple[bool, Hashable]] = []  # of each dated chunk of the first k, whether it is not newer
    undated = 0
    for cluster, row in zip(part.clusters, part.scored_rows(), strict=True):
        as_of = moment(row.as_of or "")
        assert as_of is not None, "the contract lets no other as_of pass"
        dated = {hit.chunk_id: written.is_after(as_of) for hit in row.topk if (written := _written(hit))}
        undated += len(row.topk) - len(dated)
        shown += [(not dated[hit.chunk_id], cluster) for hit in row.topk[:k] if hit.chunk_id in dated]
        late = newer[row.query_id] = {chunk_id for chunk_id, is_late in dated.items() if is_late}
        late_gold = {c for c in part.qrels[row.query_id] if c in dates and dates[c].is_after(as_of)}
        qrels[row.query_id] = {c: gain for c, gain in part.qrels[row.query_id].items() if c not in late | late_gold}
    if not shown:
        return Section("freshness", title, missing="no retrieved chunk has a doc_version that is an ISO 8601 date")
    answers, clusters = zip(*shown, strict=True)
    figures = [share_of(f"chunks of the first {k} not newer than as_of", answers, clusters, "chunks")]
    figures.append(share_of("queries that were given a newer chunk", [*map(bool, newer.values())], part.clusters))
    if part.measures:
        before = part.scores(part.ranked, part.measures)
        after = part.scores(lambda q: [c for c in part.ranked(q) if c not in newer[q]], part.measures, qrels)
        figures += changes_of(before, after, part.clusters)
    notes = skipped_note(log, part, "as_of")
    if undated:
        notes += (f"retrieved chunks without a dated doc_version, taken for not newer in the measures: {undated}",)
    if dropped := sum(len(part.qrels[q]) - len(qrels[q]) for q in part.query_ids):
        notes += (f"relevant chunks newer than their query, not counted as relevant: {dropped}",)
    return Section("freshness", title, figures=tuple(figures), stages=("as retrieved", "without newer"), notes=notes)


def false_evidence(log: JudgedLog) -> Section:
    """False-evidence rate: share of the `no_answer` queries for which a chunk was retrieved; and the scores' AUROC.

    The AUROC is of the score of the first chunk: the share of pairs in which the answerable query has the higher one.
    """
    title = "queries without an answer"
    rows = log.unanswerable
    if not rows:
        return Section("no-answer", title, missing="no row is no_answer, known to have no answer in the corpus")
    # A query without gold has no file: such queries are clustered by conversation, else each by itself.
    clusters = [row.conversation or row.query_id for row in rows]
    answerable = log.where(lambda _: True)
    false = share_of(
        "false-evidence rate: given a chunk", [bool(row.topk) for row in rows], clusters, "no_answer queries"
    )
    # A system that never returns a chunk has no false evidence either.
    true = share_of(
        "answerable queries given a chunk", [bool(row.topk) for row in answerable.scored_rows()], answerable.clusters
    )
    first = [
        np.array([row.topk[0].score if row.topk else -inf for row in of_kind])
        for of_kind in (answerable.scored_rows(), rows)
    ]
    return Section("no-answer", title, figures=(false, true, auroc(*first)), notes=_threshold(*first))


def auroc(answerable: FloatArray, others: FloatArray) -> Statistic:
    """Return the share of pairs in which the answerable query scores higher, ties for half, with its interval.

    No interval for fewer than two of either kind.
    """
    wins = (answerable[:, None] > others) + 0.5 * (answerable[:, None] == others)
    value, ci = float(wins.mean()), None
    if min(wins.shape) > 1:
        # DeLong, DeLong and Clarke-Pearson 1988; each query is by itself.
        parts = (wins.mean(axis=1), wins.mean(axis=0))
        error = sqrt(sum(float(part.var(ddof=1)) / len(part) for part in parts))
        ci = _auroc_end(value, 0.0, error, wins.shape), _auroc_end(value, 1.0, error, wins.shape)
    return Statistic(
        "AUROC of the first score, answerable above no_answer", "share", value, ci=ci, n=wins.size, of="pairs"
    )


def _auroc_end(value: float, furthest: float, error: float, sizes: tuple[int, ...]) -> float:
    """Return the AUROC between `value` and `furthest` at which `value` is 1.96 standard errors away, by bisection."""
    if abs(furthest - value) <= 1.96 * error:
        return furthest
    # `error` is DeLong, DeLong and Clarke-Pearson's (1988), which is far too small if there are few queries or hardly a
    # pair in the wrong order. So the standard error is at least the one that Newcombe (2006, method 5) takes at that
    # AUROC.
    inside, outside = value, furthest
    while (end := (inside + outside) / 2) not in (inside, outside):
        of_others = (1 - end) / (2 - end) + end / (1 + end)
        least = sqrt(end * (1 - end) * (1 + (sum(sizes) / 2 - 1) * of_others) / prod(sizes))
        inside, outside = (end, outside) if abs(end - value) <= 1.96 * max(error, least) else (inside, end)
    return inside


def _threshold(answerable: FloatArray, others: FloatArray) -> tuple[str, ...]:
    """Return a note on the score below which to abstain, the one that tells these queries apart best, if any does."""
    scores = np.unique(answerable[np.isfinite(answerable)]).tolist()
    if not scores:
        return ()
    best = max(scores, key=lambda score: (answerable >= score).mean() - (others >= score).mean())
    return (
        f"a threshold of {best:.5g} on the first score rejects {(others < best).mean():.0%} of the no_answer queries "
        f"and {(answerable < best).mean():.0%} of the others; it is the best on these queries, so worse on new ones",
    )


def latency(times: Mapping[str, Mapping[str, float]], *, search_only: bool = False) -> Section:
    """Median and p90 of each step, and of all steps together.

    `times` is query_id -> step -> milliseconds. `search_only`: `retrieve` does not include embedding the query.
    """
    title = "latency, milliseconds"
    steps = list(dict.fromkeys(step for of_query in times.values() for step in of_query))
    if not steps:
        return Section("latency", title, missing="no row has latency_ms, milliseconds of retrieve and rerank")
    columns = {step: [of_query[step] for of_query in times.values() if step in of_query] for step in steps}
    whole = [sum(of_query.values()) for of_query in times.values() if len(of_query) == len(steps)]
    if len(steps) > 1 and whole:
        columns["together"] = whole
    figures = [
        Statistic(f"{step}, {name}", "milliseconds", float(np.quantile(column, q)), n=len(column))
        for step, column in columns.items()
        for name, q in (("median", 0.5), ("p90", 0.9))
    ]
    search_only = search_only and "retrieve" in steps
    notes = ("retrieve is the search alone, without embedding the query",) if search_only else ()
    return Section("latency", title, figures=tuple(figures), notes=notes)


OF_LOG = {"reranker": reranker, "router": router, "freshness": freshness}
SECTIONS = (*OF_LOG, "no-answer", "latency")


@dataclass(frozen=True, slots=True)
class PipelineReport:
    """The sections of a run at depth `k`, and what its queries are clustered by."""

    run: str
    k: int
    sections: tuple[Section, ...]
    clustered_by: str


def pipeline_report(run: RunView, *, k: int | None = None, sections: Sequence[str] = SECTIONS) -> PipelineReport:
    """Measure the stages of the system that wrote a run's log.

    `k` is the number of results read (10 unless given); a depth that the run does not have is a UsageError.
    """
    depth = resolve_depth([run], k)
    log = JudgedLog.read(run)

    def section(name: str) -> Section:
        if name in OF_LOG:
            return OF_LOG[name](log, depth)
        if name == "no-answer":
            return false_evidence(log)
        search_only = not run.metrics.imported and run.metrics.embedder != NO_EMBEDDER
        times = {row.query_id: row.latency_ms for row in run.timings if row.query_id}
        return latency(times, search_only=search_only)

    result = tuple(map(section, dict.fromkeys(sections)))
    return PipelineReport(run.run_id, depth, result, log.clustered_by)


@dataclass(frozen=True, slots=True)
class HardNegatives:
    """A section for each number of negatives."""

    run: str
    sections: tuple[Section, ...]


NUMBERS = (1, 3, 5)
"""The usual numbers of negatives."""


def hard_negatives(run: RunView, numbers: Sequence[int] = NUMBERS) -> HardNegatives:
    """Measure the loss by n hard negatives at ranks 1..n of every ranking, for each n of `numbers`.

    They are chunks that no query retrieved, and push all results down. A run without a measure of ranks is a
    UsageError.
    """
    log = JudgedLog.read(run)
    if not log.measures:
        raise UsageError(f"{run.run_id} has no measure of ranks alone; score it with ndcg@10 or the like")
    return HardNegatives(run.run_id, tuple(negatives_section(log, n) for n in dict.fromkeys(numbers)))


def negatives_section(log: JudgedLog, n: int) -> Section:
    """Score every measure as it is and with n negatives at ranks 1..n, with the paired change."""
    negatives = [f"\0negative {i}" for i in range(n)]
    before = log.scores(log.ranked, log.measures)
    after = log.scores(lambda q: [*negatives, *log.ranked(q)], log.measures)
    figures = changes_of(before, after, log.clusters)
    title = f"{count(n, 'hard negative')} at the top"
    return Section(f"hard-negatives-{n}", title, figures=tuple(figures), stages=("as it is", f"with {n}"))


@click.command("pipeline")
@click.argument("run")
@depth_option("Number of results to read.")
@click.option(
    "--section", "sections", multiple=True, type=click.Choice(SECTIONS), help="Only this section; may be repeated."
)
@runs_folder
@json_option
def pipeline_command(*, run: str, k: int | None, sections: tuple[str, ...], out: Path, as_json: bool) -> None:
    """Print the effect of RUN's stages: raw retriever against reranker, router, freshness, queries without
    an answer, and latency. A section says so if the log lacks its fields.

    docs/logs.md has an example of each.
    """  # noqa: D205 - click prints the first paragraph as it is
    stored = find_run(run, out)
    result = pipeline_report(stored, k=k, sections=sections or SECTIONS)
    if as_json:
        print_json(plain(result, "clustered_by"))
        return
    clusters = f"clustered by {result.clustered_by}" if result.clustered_by != "query" else "each query by itself"
    print_paragraph(f"{title_of(stored)} · means over queries, {clusters}")
    for section in result.sections:
        echo()
        if section.missing:
            echo(f"{section.title}: not in this log ({section.missing})")
        else:
            print_tables(_tables(section))
            print_lines(f"note: {note}" for note in section.notes)


@click.command("hard-negatives")
@click.argument("run")
@click.option(
    "-n",
    "numbers",
    multiple=True,
    type=click.IntRange(min=1),
    default=NUMBERS,
    show_default=True,
    help="Number of negatives; may be repeated.",
)
@runs_folder
@json_option
def hard_negatives_command(*, run: str, numbers: tuple[int, ...], out: Path, as_json: bool) -> None:
    """Insert hard negatives at ranks 1..n of every ranking of RUN, and print each measure's loss."""
    stored = find_run(run, out)
    result = hard_negatives(stored, numbers)
    if as_json:
        print_json(plain(result))
        return
    print_paragraph(title_of(stored))
    for section in result.sections:
        print_tables(_tables(section))


def _tables(section: Section) -> list[Table]:
    """A table of the section's figures and one of its changes, each if there are any."""
    tables = []
    changes = [figure for figure in section.figures if figure.kind == "change"]
    others = [figure for figure in section.figures if figure.kind != "change"]
    if others:
        ends = number("95 % CI", lambda figure: interval(figure.ci, _format(figure)))
        columns = [
            Column(name="", width=64, value=lambda figure: _name(figure.name)),
            number("value", lambda figure: format(figure.value, _format(figure))),
            *([ends] if any(figure.kind != "milliseconds" for figure in others) else []),
            number("of", _of),
        ]
        tables.append(table_of(columns, others, title=section.title))
    if changes:
        before, after = section.stages
        columns = [
            Column(name="", value=lambda figure: _name(figure.name)),
            number(before, lambda figure: figure.before),
            number(after, lambda figure: figure.after),
            number("change, 95 % CI", lambda figure: Estimate(figure.value, figure.ci), "+.4f"),
            number("of", _of),
            number("p (Holm)", lambda figure: figure.p, P_VALUE),
        ]
        tables.append(table_of(columns, changes, title="" if others else section.title))
    return tables


def _name(name: str) -> str:
    """A figure's name with its measure in the usual spelling: `nDCG@10 raw`."""
    measure, blank, rest = name.partition(" ")
    return heading(measure) + blank + rest if "@" in measure or not blank else name


def _of(figure: Statistic) -> str:
    one = f"{figure.of.removesuffix('queries')}query" if figure.of.endswith("queries") else figure.of.removesuffix("s")
    return count(figure.n, one, figure.of)


def _format(figure: Statistic) -> str:
    return ".2f" if figure.kind == "milliseconds" else ".4f"
