"""Chunks for a judge, and scores between two judgements: the gold, and the gold with the judge's grades.

The gold misses relevant chunks, and the judge may be too kind. The true set is somewhere between the gold and gold plus
judge, so every measure lies between the bounds given here. For precision, hit and MRR they are the scores by gold alone
and by gold plus judge. For recall and nDCG they are wider.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import click
import numpy as np

from repoeval_bench.analysis.records import Interval
from repoeval_bench.analysis.statistics import LEVEL, Sample
from repoeval_bench.cli import options
from repoeval_bench.cli.console import echo, print_json, print_lines, print_table
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.run import Qrels
from repoeval_bench.core.words import count
from repoeval_bench.metrics import Measure
from repoeval_bench.plugins.logs.judged_log import JudgedLog, Statistic, effective_size, mean_of, resolve_depth
from repoeval_bench.plugins.logs.records import Calibrated, Judgement, LogError, read_rows
from repoeval_bench.report.table import Column, Estimate, Table, number, table_of
from repoeval_bench.report.text import heading, with_interval
from repoeval_bench.runs.log import LogRow
from repoeval_bench.runs.naming import find_run, find_runs
from repoeval_bench.runs.store import jsonl
from repoeval_bench.runs.view import RunView

Grades = dict[str, dict[str, int]]
"""query_id -> chunk_id -> 2, 1 or 0."""


def pool(runs: Sequence[RunView], k: int | None = None) -> tuple[int, list[dict[str, Any]]]:
    """Pool the first k chunks of the runs, each chunk once a query, with its text if a run keeps its sources.

    Return k and the rows to be judged, see `records.Judgement`. k is 10 unless given. Queries are in the order of the
    first run. Runs of different data, and a depth that a run does not have, are a UsageError.
    """
    depth = resolve_depth(runs, k)
    first = runs[0].metrics.dataset
    for run in runs:
        if (other := run.metrics.dataset).fingerprint != first.fingerprint:
            raise UsageError(
                f"{runs[0].run_id} and {run.run_id} have different data: {first.label} against {other.label}"
            )
    logs = [{row.query_id: row for row in run.log_rows()} for run in runs]
    return depth, list(pool_rows(logs, depth, runs[0].scores.query_ids, _texts(runs)))


def pool_rows(
    logs: Sequence[Mapping[str, LogRow]], depth: int, query_ids: Sequence[str], texts: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """`pool` of bare logs (query_id -> row); `texts` are chunks' texts. A row has what is known, and an empty grade."""
    for query_id in query_ids:
        rows = [row for log in logs if (row := log.get(query_id)) is not None]
        results = {entry.chunk_id: entry for row in reversed(rows) for entry in row.topk[:depth]}
        query = next((row.query for row in rows if row.query is not None), None)
        # By id: a judge who knew which run found a chunk, and how high, could be biased.
        for chunk_id, entry in sorted(results.items()):
            place = entry.model_dump(include={"file", "start_line", "end_line"})
            about = {**place, "query": query, "text": texts.get(chunk_id)}
            known = {name: value for name, value in about.items() if value is not None}
            yield {"query_id": query_id, "chunk_id": chunk_id, "grade": None, **known}


def _texts(runs: Sequence[RunView]) -> Mapping[str, str]:
    """Return chunk_id -> text, from the runs that keep their sources."""
    results: dict[str, str] = {}
    for run in runs:
        if (inspection := run.inspection) is not None:
            for chunks in (*inspection.chunks.values(), *inspection.own.values()):
                results.update({chunk.chunk_id: inspection.sources[chunk.file].slice(chunk.chars) for chunk in chunks})
    return results


def read_judgements(path: Path) -> tuple[Grades, int]:
    """Read a judged pool; return its grades, and how many rows still have none.

    A broken row and a chunk that is judged twice are a LogError with file:line; so is a file without a grade.
    """
    grades: Grades = {}
    seen: set[tuple[str, str]] = set()
    for line, row in read_rows(path, Judgement):
        if (row.query_id, row.chunk_id) in seen:
            raise LogError(f"{path}:{line}: {row.chunk_id!r} is judged twice for {row.query_id!r}; keep one row")
        seen.add((row.query_id, row.chunk_id))
        if row.grade is not None:
            grades.setdefault(row.query_id, {})[row.chunk_id] = row.grade
    if not grades:
        raise LogError(f"{path} has no grade; write 2, 1 or 0 as the grade of each row")
    return grades, len(seen) - sum(map(len, grades.values()))


RELEVANT = 1
"""The least grade that counts as relevant."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A judge's sensitivity over `n_relevant` chunks that are relevant, and specificity over `n_other` that are not."""

    sensitivity: float
    n_relevant: int
    specificity: float
    n_other: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """Precision of the first k as the judge sees it (`apparent`, over `n` chunks) and corrected, clipped to [0, 1].

    `ci` is the 95 % interval, its ends clipped too; None for one cluster.
    """

    k: int
    apparent: float
    n: int
    n_unjudged: int
    value: float
    ci: Interval
    calibration: Calibration


def read_calibration(path: Path) -> Calibration:
    """Sensitivity and specificity from chunks that both a trusted person and the judge graded 2, 1 or 0.

    Broken rows are a LogError with file:line. So are a file without relevant or without other chunks, and a judge no
    better than chance (sensitivity + specificity at most 1).
    """
    right: dict[bool, list[bool]] = {True: [], False: []}
    for _, row in read_rows(path, Calibrated):
        right[row.gold >= RELEVANT].append((row.judge >= RELEVANT) == (row.gold >= RELEVANT))
    for relevant, answers in right.items():
        if not answers:
            what = "relevant" if relevant else "not relevant"
            raise LogError(f"{path} has no row whose gold grade is {what}; calibrate on both kinds of chunks")
    calibration = Calibration(fmean(right[True]), len(right[True]), fmean(right[False]), len(right[False]))
    if calibration.sensitivity + calibration.specificity <= 1:
        raise LogError(
            f"{path}: sensitivity {calibration.sensitivity:.3f} and specificity {calibration.specificity:.3f} "
            "sum to at most 1: this judge is not better than chance, so precision cannot be corrected; use another"
        )
    return calibration


def rogan_gladen(apparent: float, size: float | None, calibration: Calibration) -> tuple[float, Interval]:
    """Return the corrected share and its 95 % interval, neither clipped nor rounded; no interval if `size` is None.

    (apparent + specificity - 1) / (sensitivity + specificity - 1).
    """
    from scipy.special import ndtri

    se, sp = calibration.sensitivity, calibration.specificity
    value = (apparent + sp - 1) / (se + sp - 1)
    if size is None:
        return value, None
    # Eq. 16 of Lang & Reiczigel: Agresti & Coull's adjustment of all three shares, a shift, and the delta method's
    # standard error.
    z = float(ndtri((1 + LEVEL) / 2))
    n, n_se, n_sp = size + z**2, calibration.n_relevant + 2, calibration.n_other + 2
    p = (size * apparent + z**2 / 2) / n
    se, sp = (calibration.n_relevant * se + 1) / n_se, (calibration.n_other * sp + 1) / n_sp
    if se + sp <= 1:
        # With so few rows the judge may be guessing, and the data exclude no precision.
        return value, (0.0, 1.0)
    middle = (p + sp - 1) / (se + sp - 1)
    spread_se, spread_sp = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    shift = 2 * z**2 * (middle * spread_se - (1 - middle) * spread_sp)
    error = math.sqrt(p * (1 - p) / n + middle**2 * spread_se + (1 - middle) ** 2 * spread_sp) / (se + sp - 1)
    return value, (middle + shift - z * error, middle + shift + z * error)


def corrected_precision(log: JudgedLog, grades: Grades, calibration: Calibration, k: int) -> Corrected | None:
    """Return the corrected share of relevant chunks among the graded ones of the first k; None if none is graded.

    Chunks without a grade are left out and counted.
    """
    answers: list[float] = []
    clusters: list[Hashable] = []
    unjudged = 0
    for query_id, cluster in zip(log.query_ids, log.clusters, strict=True):
        of_query = grades.get(query_id, {})
        for chunk_id in log.ranked(query_id)[:k]:
            if chunk_id in of_query:
                answers.append(float(of_query[chunk_id] >= RELEVANT))
                clusters.append(cluster)
            else:
                unjudged += 1
    if not answers:
        return None
    apparent = float(np.mean(answers))
    value, ci = rogan_gladen(apparent, effective_size(Sample.micro(np.array(answers), clusters)), calibration)
    clipped = None if ci is None else (_clip(ci[0]), _clip(ci[1]))
    return Corrected(
        k=k,
        apparent=apparent,
        n=len(answers),
        n_unjudged=unjudged,
        value=_clip(value),
        ci=clipped,
        calibration=calibration,
    )


def _clip(share: float) -> float:
    return min(1.0, max(0.0, share))


# The gain of a chunk that only the judge calls relevant: that of a gold chunk, unless its gold gives another.
JUDGED_GAIN = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """A measure's mean by gold alone, by gold plus judge, and the ends between which the truth lies."""

    measure: str
    gold: Statistic
    lower: Statistic
    upper: Statistic
    both: Statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAgreement:
    """The agreement of judge and gold: pairs judged, gold pairs judged and called not relevant, pairs added."""

    judged: int
    gold_judged: int
    gold_refused: int
    added: int
    unjudged_top: int
    top: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsReport:
    """The bounds of a run's measures, what the judge covered, and the precision of the first `k` corrected.

    `without_grade` counts the rows of the judgements that have no grade yet. `corrected` is None without a calibration,
    or if no chunk of the first `k` has a grade. `qrels` are gold plus judge, query_id -> chunk_id -> gain, 0 for what
    was judged not relevant.
    """

    run: str
    k: int
    bounds: tuple[Bounds, ...]
    agreement: JudgeAgreement
    without_grade: int
    corrected: Corrected | None
    qrels: Qrels


def bounds(
    run: RunView,
    judgements: Path,
    *,
    measures: Sequence[str] = (),
    k: int | None = None,
    calibration: Path | None = None,
) -> BoundsReport:
    """Score a run by gold alone and by gold plus judge, and bound the true scores.

    `judgements` is a judged pool. `calibration` is a JSONL file of chunks that a trusted person graded too. With it the
    precision of the first k (10 by default) is corrected. `measures` are by default all that need ranks alone. Measures
    that cannot be bounded and judgements of other queries are a UsageError, broken files a LogError.
    """
    depth = resolve_depth([run], k)
    log = JudgedLog.read(run)
    names = tuple(dict.fromkeys(str(Measure.parse(name)) for name in measures)) or log.measures
    if unknown := [name for name in names if name not in log.measures]:
        raise UsageError(
            f"{', '.join(unknown)} cannot be bounded; choose from the run's measures of ranks alone: "
            f"{', '.join(log.measures) or 'it has none'}"
        )
    grades, without_grade = read_judgements(judgements)
    if not grades.keys() & set(log.query_ids):
        raise UsageError(f"{judgements} judges none of the run's queries, such as {log.query_ids[0]!r}")
    judge = read_calibration(calibration) if calibration else None
    return BoundsReport(
        run=run.run_id,
        k=depth,
        bounds=tuple(judged_bounds(log, grades, names)),
        agreement=agreement(log, grades, depth),
        without_grade=without_grade,
        corrected=corrected_precision(log, grades, judge, depth) if judge else None,
        qrels=gold_plus_judge(log, grades),
    )


def judged_bounds(log: JudgedLog, grades: Grades, measures: Sequence[str]) -> list[Bounds]:
    """Bounds of each measure over the run's queries; a grade of 1 or 2 counts as relevant."""
    # For a fixed number of relevant chunks a measure is largest if they rank highest, and least if they rank lowest or
    # were not retrieved. So one order of adding the judge's chunks bounds it from above, the reverse order from below:
    # the extremes along these two orders are the extremes over all sets.
    chains = {query_id: _chain(log, query_id, grades.get(query_id, {})) for query_id in log.query_ids}
    longest = max((len(chain) for chain in chains.values()), default=0)
    gold = log.scores(log.ranked, measures)
    # Recall and nDCG are divided by what is relevant, so a chunk that the judge found and the run did not pulls them
    # below the score by gold alone. A relevant chunk that the run ranks low can also pull nDCG down.
    lower, upper = dict(gold), dict(gold)
    both = gold
    for size in range(1, longest + 1):
        high = log.scores(log.ranked, measures, _with(log.qrels, {q: chain[:size] for q, chain in chains.items()}))
        low = log.scores(log.ranked, measures, _with(log.qrels, {q: chain[-size:] for q, chain in chains.items()}))
        for name in measures:
            upper[name] = np.maximum(upper[name], high[name])
            lower[name] = np.minimum(lower[name], low[name])
        both = high

    ends = {"gold": gold, "lower": lower, "upper": upper, "both": both}
    return [
        Bounds(measure=name, **{end: mean_of(f"{name} {end}", of[name], log.clusters) for end, of in ends.items()})
        for name in measures
    ]


def agreement(log: JudgedLog, grades: Grades, k: int) -> JudgeAgreement:
    """Return what the judgements cover of the run's queries, and of the first k chunks of each."""
    graded = {(q, c): grade for q in log.query_ids for c, grade in grades.get(q, {}).items()}
    gold = {(q, c) for q in log.query_ids for c in log.qrels[q]}
    top = [(q, c) for q in log.query_ids for c in log.ranked(q)[:k]]
    return JudgeAgreement(
        judged=len(graded),
        gold_judged=len(gold & graded.keys()),
        gold_refused=sum(graded[pair] < RELEVANT for pair in gold & graded.keys()),
        added=sum(grade >= RELEVANT and pair not in gold for pair, grade in graded.items()),
        unjudged_top=sum(pair not in graded and pair not in gold for pair in top),
        top=len(top),
    )


def gold_plus_judge(log: JudgedLog, grades: Grades) -> dict[str, dict[str, float]]:
    """Return query_id -> chunk_id -> gain of both judgements together, 0 for what was judged not relevant."""
    results: dict[str, dict[str, float]] = {}
    for query_id in log.query_ids:
        graded = {c: JUDGED_GAIN if grade >= RELEVANT else 0.0 for c, grade in grades.get(query_id, {}).items()}
        results[query_id] = {**graded, **log.qrels[query_id]}
    return results


def _chain(log: JudgedLog, query_id: str, grades: Mapping[str, int]) -> list[str]:
    """Return the chunks that only the judge calls relevant: the ranked ones by rank, then those not retrieved."""
    added = {c for c, grade in grades.items() if grade >= RELEVANT and c not in log.qrels[query_id]}
    ranked = [c for c in log.ranked(query_id) if c in added]
    return ranked + sorted(added.difference(ranked))


def _with(qrels: Qrels, added: Mapping[str, Sequence[str]]) -> Qrels:
    return {q: {**gains, **dict.fromkeys(added[q], JUDGED_GAIN)} for q, gains in qrels.items()}


_JUDGEMENTS = "JSONL: query_id, chunk_id, grade 2, 1 or 0, as repoeval-bench logs pool writes it."
_CALIBRATION = "JSONL: gold and judge, both 2, 1 or 0, of chunks that a trusted person graded too."
_GOLD = "Write gold plus judge as gold for `logs import`; chunks that are not relevant get gain 0."


@click.command("bounds")
@click.argument("run")
@click.option("--judgements", required=True, type=options.INPUT, metavar="FILE", help=_JUDGEMENTS)
@click.option("--calibration", type=options.INPUT, metavar="FILE", help=_CALIBRATION)
@options.depth_option("The depth of the precision that is corrected.")
@options.measures_option("Only this measure; may be repeated. All measures of ranks if not given.")
@click.option("--write-gold", type=options.OUTPUT, metavar="FILE", help=_GOLD)
@options.runs_folder
@options.json_option
def bounds_command(
    *,
    run: str,
    judgements: Path,
    calibration: Path | None,
    k: int | None,
    measures: tuple[str, ...],
    write_gold: Path | None,
    out: Path,
    as_json: bool,
) -> None:
    """Print RUN's scores by the gold alone, by gold plus judge, and the bounds between which the truth lies.

    With --calibration the judge's precision is corrected by its sensitivity and specificity (Rogan-Gladen).
    """
    stored = find_run(run, out)
    result = bounds(stored, judgements, measures=measures, k=k, calibration=calibration)
    if write_gold:
        rows = [
            {"query_id": query_id, "chunk_id": chunk_id, "gain": gain}
            for query_id, gains in result.qrels.items()
            for chunk_id, gain in gains.items()
        ]
        options.write_and_say(write_gold, jsonl(rows))
    if as_json:
        print_json(options.plain(result, "k", "qrels"))
        return
    print_table(_bounds_table(result.bounds, options.title_of(stored)))
    print_lines(_agreement_lines(result.agreement, result.k, result.without_grade))
    if result.corrected:
        print_lines(_corrected_lines(result.corrected))
    elif calibration:
        echo(f"note: no chunk of the top {result.k} has a grade, so no precision can be corrected")


def _bounds_table(all_bounds: Sequence[Bounds], title: str) -> Table:
    """One row per measure: by gold alone, the ends of the truth, by gold plus judge."""
    columns = [
        Column(name="measure", value=lambda one: heading(one.measure)),
        number("gold alone", lambda one: one.gold.value),
        number("lower bound, 95 % CI", lambda one: Estimate(one.lower.value, one.lower.ci)),
        number("upper bound, 95 % CI", lambda one: Estimate(one.upper.value, one.upper.ci)),
        number("gold plus judge", lambda one: one.both.value),
    ]
    return table_of(columns, all_bounds, title=title)


def _agreement_lines(agreement: JudgeAgreement, k: int, without_grade: int) -> list[str]:
    """Return what the judgements cover, in sentences."""
    lines = [
        f"{count(agreement.judged, 'judgement')} of the run's queries: the judge adds {agreement.added} relevant "
        f"chunks; it calls {agreement.gold_refused} of {agreement.gold_judged} gold chunks not relevant (they stay "
        "gold)"
    ]
    if agreement.unjudged_top:
        lines.append(
            f"note: {agreement.unjudged_top} of the {agreement.top} chunks in the top {k} are in neither: they count "
            "as not relevant, so the upper bounds are too low"
        )
    if without_grade:
        verb = "has" if without_grade == 1 else "have"
        lines.append(f"note: {count(without_grade, 'row')} of the file {verb} no grade yet")
    return lines


def _corrected_lines(corrected: Corrected) -> list[str]:
    used = corrected.calibration
    lines = [
        f"precision@{corrected.k} as the judge sees it: {corrected.apparent:.4f} over {count(corrected.n, 'chunk')}",
        f"the judge: sensitivity {used.sensitivity:.3f} over {used.n_relevant}, specificity {used.specificity:.3f} "
        f"over {used.n_other} calibrated chunks",
        f"corrected (Rogan-Gladen): {with_interval(corrected.value, corrected.ci)}",
    ]
    if corrected.n_unjudged:
        lines.append(f"note: {count(corrected.n_unjudged, 'chunk')} of the top {corrected.k} without a grade left out")
    return lines


@click.command("pool")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@options.depth_option("Number of chunks of each ranking.")
@click.option(
    "-o", "--output", required=True, type=options.OUTPUT, metavar="FILE", help="Where to write the pool (JSONL)."
)
@options.runs_folder
def pool_command(*, runs: tuple[str, ...], k: int | None, output: Path, out: Path) -> None:
    """Pool the first k chunks of each RUN into a file to judge: write 2, 1 or 0 as the `grade` of each row.

    The file hides the systems and the gold from the judge. `logs bounds RUN --judgements FILE` reads it.
    """
    stored = list({run.folder: run for run in find_runs(runs, out)}.values())
    if output.exists():
        raise UsageError(f"{output} exists already, perhaps with judgements; take another name or delete it")
    depth, rows = pool(stored, k)
    options.write_and_say(output, jsonl(rows))
    queries = len({row["query_id"] for row in rows})
    echo(
        f"{count(len(rows), 'chunk')} of {count(queries, 'query')} to be judged, "
        f"from the top {depth} of {count(len(stored), 'run')}"
    )
