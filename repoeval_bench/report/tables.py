"""Tables for the terminal, Markdown and CSV, made from stored runs alone."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from repoeval_bench.store import StoredRun
    from repoeval_bench.types import Comparison

ALPHA = 0.05
_NAMES = {"ndcg": "nDCG", "recall": "R", "precision": "P", "hit": "Hit", "mrr": "MRR"}


def heading(measure: str) -> str:
    """A measure's name as a column heading: `ndcg@10` as `nDCG@10`."""
    name, at, rest = measure.partition("@")
    return _NAMES.get(name, name) + at + rest


def rows(run: StoredRun, *, per_repo: bool) -> list[tuple[str, dict[str, float]]]:
    """(what is averaged, measure -> mean): the repositories if asked for, then micro and macro."""
    metrics = run.metrics
    means = [("micro", metrics["micro"]), ("macro", metrics["macro"])]
    return [*(metrics["per_repo"].items() if per_repo else ()), *means]


def score_table(runs: Sequence[StoredRun], *, per_repo: bool) -> Table:
    """One row per chunker and mean; all runs are of one protocol and dataset.

    A single run stands in the title, so that the repositories have the first column.
    """
    first = runs[0].metrics
    alone = len(runs) == 1
    title = [
        first["dataset"]["label"],
        f"protocol {first['protocol']} · embedder {first['embedder']} · retriever {first['retriever']}",
    ]
    if alone:
        title[1] = f"{first['chunker']} · {title[1]}"
    table = _table("\n".join(title))
    measures = list(first["micro"])
    if not alone:
        table.add_column("chunker", overflow="fold", max_width=36)
    table.add_column("mean over", no_wrap=True)
    for measure in measures:
        table.add_column(heading(measure), justify="right", no_wrap=True)
    for run in runs:
        name = [] if alone else [run.metrics["chunker"]]
        for label, means in rows(run, per_repo=per_repo):
            cells = [f"{means[measure]:.4f}" for measure in measures]
            bold = label == run.metrics["headline"]
            table.add_row(*name, _mean_label(label, run.metrics), *cells, style="bold" if bold else "")
            name = name and [""]
    return table


def _table(title: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)


def _mean_label(label: str, metrics: dict[str, Any]) -> str:
    n_queries, n_repos = metrics["counts"]["queries"], len(metrics["per_repo"])
    number = {
        "micro": f"{n_queries} {'query' if n_queries == 1 else 'queries'}",
        "macro": f"{n_repos} {'repository' if n_repos == 1 else 'repositories'}",
    }
    return f"{label}, {number[label]}" if label in number else label


def footnotes(run: StoredRun) -> list[str]:
    """What stands under a run's rows: sizes, truncation, and whatever was skipped or cannot be found."""
    metrics = run.metrics
    counts, sizes = metrics["counts"], metrics["chunk_nws"]
    lines = [
        f"{metrics['chunker']}: {counts['chunks']} chunks of {counts['files']} files, "
        f"nws mean {sizes['mean']:.0f}, median {sizes['median']}, p95 {sizes['p95']}",
        f"  truncated by the model: {counts['queries_truncated']} of {counts['queries']} queries, "
        f"{counts['chunks_truncated']} of {counts['chunks']} chunks · "
        f"queries with no relevant chunk: {counts['queries_without_relevant']} of {counts['queries']}",
    ]
    lost = {
        "files the chunker failed on, left out": counts["files_skipped"],
        "files that are no UTF-8, left out": counts["files_undecodable"],
        "non-blank lines in no chunk": counts["lines_uncovered"],
    }
    lines.extend(f"  {what}: {number}" for what, number in lost.items() if number)
    return lines


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """Differences to the baseline with interval, p and the verdict in words."""
    first = comparisons[0]
    table = _table(
        f"difference to {first.baseline}, mean over {first.n_queries} queries; "
        f"intervals and tests resample {first.n_clusters} files"
    )
    table.add_column("chunker", overflow="fold", max_width=36)
    table.add_column("measure", no_wrap=True)
    for name in ("baseline", "chunker", "difference", "95 % interval", "p (Holm)"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("win/tie/loss", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    name = ""
    for c in comparisons:
        table.add_row(
            c.treatment if c.treatment != name else "",
            heading(c.metric),
            f"{c.baseline_mean:.4f}",
            f"{c.treatment_mean:.4f}",
            f"{c.difference:+.4f}",
            f"[{c.ci[0]:+.4f}, {c.ci[1]:+.4f}]",
            f"{c.p_adjusted:.4f}",
            f"{c.wins}/{c.ties}/{c.losses}",
            verdict(c),
        )
        name = c.treatment
    return table


def verdict(comparison: Comparison) -> str:
    """`better`, `worse` or `no difference shown`: from the clustered sign-flip test alone, after Holm."""
    if comparison.p_adjusted >= ALPHA:
        return "no difference shown"
    return "better" if comparison.difference > 0 else "worse"


def as_records(run: StoredRun) -> list[dict[str, Any]]:
    """One flat record per repository and mean, each with the dataset and the specs it belongs to."""
    metrics = run.metrics
    identity = {
        "dataset": metrics["dataset"]["name"],
        "fingerprint": metrics["dataset"]["fingerprint"],
        "tasks": metrics["dataset"]["tasks"],
        "protocol": metrics["protocol"],
        "chunker": metrics["chunker"],
        "embedder": metrics["embedder"],
        "retriever": metrics["retriever"],
    }
    return [{**identity, "mean_over": label, **means} for label, means in rows(run, per_repo=True)]


def as_csv(run: StoredRun) -> str:
    """`as_records` as CSV with a header line."""
    records = as_records(run)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return stream.getvalue()


def as_markdown(run: StoredRun) -> str:
    """The score table and what stands under it, as Markdown."""
    metrics = run.metrics
    measures = list(metrics["micro"])
    lines = [
        f"**{metrics['dataset']['label']}** · protocol `{metrics['protocol']}` · chunker `{metrics['chunker']}` · "
        f"embedder `{metrics['embedder']}` · retriever `{metrics['retriever']}`",
        "",
        "| mean over | " + " | ".join(map(heading, measures)) + " |",
        "|---|" + "---:|" * len(measures),
    ]
    for label, means in rows(run, per_repo=True):
        cells = " | ".join(f"{means[measure]:.4f}" for measure in measures)
        lines.append(f"| {_mean_label(label, metrics)} | {cells} |")
    return "\n".join([*lines, "", *(f"- {note}" for note in footnotes(run)), ""])
