"""The tables of scores, made from stored runs alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.metrics import CEILING, LINE_MEASURES, SHARE
from repoeval_bench.report.frame import count, heading, new_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from repoeval_bench.runs.store import StoredRun

SHOWN = ("line_rprec", "line_recall_auc", "line_recall@500", "line_recall@1500", "line_recall@3000", "line_recall@6000")
"""Of the default line measures, what the terminal's table has room for."""


def rows(run: StoredRun, *, per_repo: bool) -> list[tuple[str, dict[str, float]]]:
    """(what is averaged, measure -> mean): the repositories if asked for, then micro and macro."""
    metrics = run.metrics
    means = [("micro", metrics["micro"]), ("macro", metrics["macro"])]
    return [*(metrics["per_repo"].items() if per_repo else ()), *means]


def score_tables(runs: Sequence[StoredRun], *, per_repo: bool) -> list[Table]:
    """The line measures (comparable between chunkers, so they come first), then the measures over chunks.

    One row per chunker and mean; all runs are of one protocol and dataset. Under each run's headline mean stand the
    ends of its 95 % interval, the ceiling and the score's share of it. A single run stands in the title, so
    that the repositories have the first column.
    """
    first = runs[0].metrics
    alone = len(runs) == 1
    title = [
        first["dataset"]["label"],
        f"protocol {first['protocol']} · embedder {first['embedder']} · retriever {first['retriever']}",
    ]
    if alone:
        title[1] = f"{first['chunker']} · {title[1]}"
    # Ceilings stand in rows of their own, so their columns are for `compare`.
    measures = [measure for measure in first["micro"] if not measure.endswith((CEILING, SHARE))]
    lines = [measure for measure in measures if measure.startswith("line_")]
    chunks = [measure for measure in measures if measure not in lines]
    if set(LINE_MEASURES) <= set(lines):
        # Every budget is in the files; a table of them all would be wider than a screen.
        lines = [measure for measure in lines if measure not in LINE_MEASURES or measure in SHOWN]
    tables = []
    for what, measures in (("lines, at equal budgets of nws", lines), ("chunks", chunks)):
        if measures:
            tables.append(_score_table("\n".join([*title, what]), measures, runs, per_repo=per_repo))
            title = []
    return tables


def _score_table(title: str, measures: Sequence[str], runs: Sequence[StoredRun], *, per_repo: bool) -> Table:
    alone = len(runs) == 1
    table = new_table(title)
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
        for label, values in (
            *_ends(run, measures).items(),
            ("ceiling", _ceilings(run)),
            ("share of it", shares_of_ceiling(run)),
        ):
            cells = [f"{values[measure]:.4f}" if measure in values else "" for measure in measures]
            table.add_row(*name, f"  {run.metrics['headline']} {label}", *cells, style="dim")
    return table


def _ends(run: StoredRun, measures: Sequence[str]) -> dict[str, dict[str, float]]:
    """The two ends of the headline mean's 95 % interval, each with its label; nothing where one cluster gives none."""
    scored = run.scored
    table = scored.table(measures)
    _, intervals = mean_intervals(table, scored.clusters, scored.repos, run.metrics["headline"])
    known = {measure: interval for measure, interval in zip(measures, intervals, strict=True) if interval}
    ends = {f"95 % {end}": {name: known[name][i] for name in known} for i, end in enumerate(("from", "to"))}
    return ends if known else {}


def _ceilings(run: StoredRun) -> dict[str, float]:
    ceilings: dict[str, float] = run.metrics.get("ceilings", {}).get(run.metrics["headline"], {})
    return ceilings


def shares_of_ceiling(run: StoredRun) -> dict[str, float]:
    """Measure -> headline mean over its ceiling's mean: 1 - it is what the retriever lost, 1 - ceiling the chunker.

    A measure whose ceiling is 0 has no share and is left out.
    """
    means = run.metrics[run.metrics["headline"]]
    return {name: means[name] / ceiling for name, ceiling in _ceilings(run).items() if ceiling > 0}


def _mean_label(label: str, metrics: dict[str, Any]) -> str:
    n_queries, n_repos = metrics["counts"]["queries"], len(metrics["per_repo"])
    number = {
        "micro": count(n_queries, "query", "queries"),
        "macro": count(n_repos, "repository", "repositories"),
    }
    return f"{label}, {number[label]}" if label in number else label


def _cut(counts: Mapping[str, int], what: str) -> str:
    """How many texts of a kind the model does not read whole, and what share of all their tokens is lost."""
    share = ""
    if lost := counts.get(f"{what}_tokens_lost"):
        share = f" ({lost / counts[f'{what}_tokens']:.1%} of their tokens lost)"
    return f"{counts[f'{what}_truncated']} of {counts[what]} {what}{share}"


def footnotes(run: StoredRun) -> list[str]:
    """What stands under a run's rows: sizes, truncation, and whatever was skipped or cannot be found."""
    metrics = run.metrics
    counts, sizes = metrics["counts"], metrics["chunk_nws"]
    leak, tokens = metrics["leak"][metrics["headline"]], metrics["chunk_tokens"]
    unknown = metrics["embedder"] if counts["queries_truncated"] is None else ""
    truncated = "nothing embedded, nothing truncated"
    if tokens:
        truncated = "truncated by the model: " + ", ".join(_cut(counts, what) for what in ("queries", "chunks"))
    elif unknown:
        truncated = f"truncated by the model: not known, {unknown} does not tell its tokens"
    lines = [
        f"{metrics['chunker']}: {count(counts['chunks'], 'chunk')} of {count(counts['files'], 'file')}, "
        f"nws mean {sizes['mean']:.0f}, median {sizes['median']}, p95 {sizes['p95']}"
        + (f"; tokens mean {tokens['mean']:.0f}, median {tokens['median']}, p95 {tokens['p95']}" if tokens else ""),
        f"  {truncated} · queries with no relevant chunk: {counts['queries_without_relevant']} of {counts['queries']}",
        f"  leak: {leak['gold_lines_in_query']:.1%} of the gold lines stand in the query, "
        f"{leak['top10_over_prompt']:.1%} of the top 10 overlap the prompt's own lines",
    ]
    lost = {
        "chunks whose text stands elsewhere in the repository too": counts["chunks_duplicate"],
        "documents merged into an identical one": counts["chunks_merged"],
        f"of {counts.get('pairs', 0)} pairs of query and chunk, cut by the reranker": counts.get("pairs_truncated", 0),
        "files the chunker failed on, left out": counts["files_skipped"],
        "files that are no UTF-8, left out": counts["files_undecodable"],
        "non-blank lines in no chunk": counts["lines_uncovered"],
    }
    if 2 * (without := counts["queries_without_relevant"]) > counts["queries"]:
        lines.append(
            f"  mind: {without} of {counts['queries']} queries have no relevant chunk and score 0 whatever is ranked, "
            "so these means say more of the chunks than of the ranking"
        )
    lines.extend(f"  {what}: {number}" for what, number in lost.items() if number)
    return lines


def as_records(run: StoredRun) -> list[dict[str, Any]]:
    """One flat record per repository, mean, ceiling and share of it, each with the dataset and specs it belongs to."""
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
    means = rows(run, per_repo=True)
    if "ceilings" in metrics:
        headline = metrics["headline"]
        means += [(f"{headline} ceiling", _ceilings(run)), (f"{headline} share of it", shares_of_ceiling(run))]
    return [{**identity, "mean_over": label, **values} for label, values in means]
