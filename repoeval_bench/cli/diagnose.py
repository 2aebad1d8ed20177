"""`diagnose`: what is wrong with a run, by which numbers, and the queries it fails worst."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repoeval_bench import api
from repoeval_bench.analysis.comparison import shared_measures
from repoeval_bench.analysis.diagnosis import (
    LIMITS,
    Diagnosis,
    Evidence,
    Thresholds,
    diagnose,
    worst_ids,
    worst_queries,
)
from repoeval_bench.analysis.diagnosis.lexical import BM25, Beside, rank_by_words
from repoeval_bench.cli.console import print_table
from repoeval_bench.cli.facts import facts_option, with_facts
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.report.diagnosis import (
    checks_table,
    diagnosis_markdown,
    gaps_table,
    summary,
    worst_note,
    worst_tables,
)
from repoeval_bench.runs.records import MANIFEST
from repoeval_bench.runs.view import RunView, find_run

if TYPE_CHECKING:
    from collections.abc import Sequence


def _thresholds(_context: click.Context, _parameter: click.Parameter, settings: tuple[str, ...]) -> Thresholds:
    return Thresholds.parse(settings)


@click.command("diagnose", short_help="Say what is wrong with a run, and show its worst queries.",
               epilog="Thresholds: " + "; ".join(f"{name} {limit.default:g} ({limit.meaning})"
                                                 for name, limit in LIMITS.items()) + ".")  # fmt: skip
@click.argument("run")
@click.option("--worst", type=click.IntRange(min=0), default=20, show_default=True, metavar="N",
              help="How many of the worst queries to list.")  # fmt: skip
@click.option("--metric", "-m", help="What segments and worst queries are judged by; ndcg@10 unless given.")
@click.option("--threshold", "limits", multiple=True, metavar="NAME=VALUE", callback=_thresholds,
              help="Where a number begins to be a finding; repeat it. The names stand below.")  # fmt: skip
@facts_option
@click.option("--bm25", metavar="RUN", help="BM25's run, to be shown beside; found or computed unless given.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=api.RESULTS, show_default=True,
              help="Where run folders are.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the tables.")
@click.option("--markdown", is_flag=True, help="Print Markdown in place of the tables.")
def diagnose_command(
    *,
    run: str,
    worst: int,
    metric: str | None,
    limits: Thresholds,
    facts: Path | None,
    bm25: str | None,
    out: Path,
    as_json: bool,
    markdown: bool,
) -> None:
    """Hold RUN against the known playbook: each finding with its numbers, then the queries that scored worst.

    Exits 0 whatever is found; `gate` is what fails a job.
    """
    if as_json and markdown:
        raise UsageError("--json and --markdown exclude each other; give one")
    stored = find_run(run, out)
    (measure,) = shared_measures([stored], [metric] if metric else [_usual(stored)])
    evidence = _evidence(stored, facts)
    checks = diagnose(evidence, measure, limits)
    ids = worst_ids(evidence, measure, worst)
    beside, note = _bm25(stored, evidence, bm25, ids, out)
    queries = worst_queries(evidence, measure, ids, beside)
    found = Diagnosis(
        stored.run_id, stored.metrics.retriever, measure, tuple(checks), tuple(queries),
        beside.origin if beside else None, note,
    )  # fmt: skip
    if as_json:
        click.echo(json.dumps(asdict(found), indent=2, ensure_ascii=False))
        return
    if markdown:
        click.echo(diagnosis_markdown(found, len(evidence.scores)), nl=False)
        return
    print_table(checks_table(checks, f"{stored.run_id}\n{summary(checks)}"))
    for check in checks:
        if check.gaps:
            print_table(gaps_table(check.gaps, measure))
    if queries:
        click.echo(worst_note(found, len(evidence.scores)))
    for table in worst_tables(found):
        click.echo()
        print_table(table)


def _usual(run: RunView) -> str:
    scored = run.metrics.micro
    if not scored:
        raise UsageError(f"{run.run_id} was scored with no measure; nothing can be told of it")
    return "ndcg@10" if "ndcg@10" in scored else next(iter(scored))


def _evidence(run: RunView, facts: Path | None) -> Evidence:
    return Evidence(
        scores=with_facts(run.scores, facts)[0],
        rows={row.query_id: row for row in run.log_rows()},
        qrels=run.qrels(),
        metrics=run.metrics,
        latency=run.timings.queries,
    )


def _bm25(
    run: RunView, evidence: Evidence, named: str | None, ids: Sequence[str], out: Path
) -> tuple[Beside | None, str]:
    """(BM25's ranking of these queries if it is to be had, where it is from or why there is none, in one line)."""
    if named is not None:
        given = find_run(named, out)
        if not set(ids) <= set(given.scores.query_ids):
            raise UsageError(f"--bm25 {named} answers other queries than {run.run_id}; give a run of the same data")
        return _stored(given), f"BM25 is {given.run_id}."
    if not ids:
        return None, ""
    if _is_bm25(run):
        return None, "The run is BM25's own."
    for folder in sorted(path.parent for path in run.folder.parent.glob(f"*/{MANIFEST}")):
        try:
            other = RunView.open(folder)
            fits = _is_bm25(other) and _answers_the_same(run, other)
        except ResultError:  # a broken neighbour, or another version's, is not asked
            continue
        if fits:
            return _stored(other), f"BM25 is {other.run_id}."
    try:
        found = rank_by_words(evidence, run.inspection, run.manifest.config, ids)
    except UsageError as error:
        return None, f"BM25's top 10 is not shown: {error}; name a run of it with --bm25 RUN."
    return found, f"BM25 is {found.origin}."


def _stored(run: RunView) -> Beside:
    return Beside({row.query_id: row.ranked for row in run.log_rows()}, run.qrels(), run.run_id)


def _is_bm25(run: RunView) -> bool:
    return BM25 in run.metrics.retriever.lower()


def _answers_the_same(run: RunView, other: RunView) -> bool:
    """Whether the same data, protocol and chunks were searched."""
    a, b = run.metrics, other.metrics
    same = a.dataset.fingerprint == b.dataset.fingerprint
    return same and (a.protocol, a.chunker) == (b.protocol, b.chunker)
