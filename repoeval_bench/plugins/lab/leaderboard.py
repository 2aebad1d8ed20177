"""Rank the runs of a folder, each only against runs that answer the same question.

Two runs are on one leaderboard if `compare` would compare them: by protocol, data, queries, depth, definition, and the
precision of vectors. A folder that cannot be ranked is listed with its reason.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from repoeval_bench.analysis.comparable import check_comparable, headline_measure
from repoeval_bench.analysis.means import headline_means
from repoeval_bench.analysis.records import Comparison, Interval
from repoeval_bench.analysis.verdicts import Choice, choose
from repoeval_bench.cli.console import echo, print_tables
from repoeval_bench.cli.options import OUTPUT, runs_folder, write_and_say
from repoeval_bench.core.errors import BenchError, UsageError
from repoeval_bench.core.progress import progress
from repoeval_bench.core.words import count, plural
from repoeval_bench.report import table
from repoeval_bench.report.formats import as_csv
from repoeval_bench.report.run_command import run_command
from repoeval_bench.report.scores import chunk_sizes
from repoeval_bench.report.text import CHARACTERS_NOTE, heading
from repoeval_bench.report.verdict import choice_sentences
from repoeval_bench.runs.naming import stored_runs, unfinished_runs
from repoeval_bench.runs.query_scores import DIGITS
from repoeval_bench.runs.records import MANIFEST, Headline
from repoeval_bench.runs.view import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRun:
    """One run on its leaderboard. `score` is its mean of the leaderboard's measure, `ci` the 95 % interval of the mean.

    `to_first` compares it with the first run; None for the first run itself.
    """

    rank: int
    run: RunView
    score: float
    ci: Interval
    to_first: Comparison | None

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.run.run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Runs that answer one question, best first, ranked by the `over` mean of `measure`.

    Runs of equal score are in the order of the cost of a query. `choice` is the answer which to choose; None for one
    run.
    """

    protocol: str
    dataset: str
    k: int
    precision: str
    measure: str
    over: Headline
    clustered_by: str
    entries: tuple[RankedRun, ...]
    choice: Choice | None

    @property
    def runs(self) -> tuple[RunView, ...]:
        """The runs of the entries, in their order."""
        return tuple(entry.run for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Leaderboards:
    """The leaderboards of a folder, and the folders that are on none: name -> reason."""

    ranked: tuple[Leaderboard, ...]
    not_ranked: dict[str, str]


def leaderboards(runs: Iterable[RunView]) -> Leaderboards:
    """Rank runs; a run that cannot be read or ranked is left out with the reason.

    Only numbers and names decide the order of runs and of leaderboards.
    """
    checked: list[RunView] = []
    not_ranked: dict[str, str] = {}
    # A run joins the first leaderboard that it fits.
    for run in sorted(runs, key=lambda run: run.run_id):
        try:
            _check(run)
        except BenchError as error:
            not_ranked[run.run_id] = str(error)
        else:
            checked.append(run)
    ranked = [_leaderboard(group) for group in progress(_groups(checked), desc="rank", unit="leaderboards")]
    ranked.sort(key=lambda one: (one.dataset, one.protocol, one.precision, one.k, one.measure, one.entries[0].run_id))
    return Leaderboards(tuple(ranked), not_ranked)


def leaderboards_of(results: Path) -> Leaderboards:
    """Rank the runs in a folder; a UsageError if there is none."""
    runs = stored_runs(results)
    unfinished = unfinished_runs(results, runs)
    if not runs and not unfinished:
        raise UsageError(f"{results} has no runs yet; make one with repoeval-bench eval")
    ranked = leaderboards(runs)
    return Leaderboards(ranked.ranked, unfinished | ranked.not_ranked)


def _check(run: RunView) -> None:
    """Read all that a leaderboard needs; refuse a repeated ranking."""
    done = run.manifest.completion
    if done is not None and (run.folder.parent / done.base / MANIFEST).is_file():
        raise UsageError(f"its ranking is that of {done.base}; compare completions with compare -m edit_similarity")
    _ = headline_measure([run]), run.scores


def _groups(runs: Sequence[RunView]) -> list[list[RunView]]:
    """Return groups within which every two runs can be compared; a run joins the first that it fits."""
    groups: list[list[RunView]] = []
    for run in runs:
        fitting = next((group for group in groups if _fits(run, group)), None)
        if fitting is None:
            groups.append([run])
        else:
            fitting.append(run)
    return groups


def _fits(run: RunView, group: Sequence[RunView]) -> bool:
    """Return whether the run can be compared with every run of the group."""
    if headline_measure([run]) != headline_measure(group[:1]):
        return False
    try:
        check_comparable([(other, run) for other in group])
    except UsageError:
        return False
    return True


def _leaderboard(runs: Sequence[RunView]) -> Leaderboard:
    first = runs[0].metrics
    measure, over = headline_measure(runs[:1]), first.headline
    choice = choose(runs) if len(runs) > 1 else None
    by_id = {run.run_id: run for run in runs}
    ordered = list(runs) if choice is None else [by_id[candidate.run_id] for candidate in choice.candidates]
    to_first: list[Comparison | None] = [None, *(() if choice is None else choice.verdict.differences)]
    entries: list[RankedRun] = []
    for index, run in enumerate(ordered):
        score, ci = headline_means(run, [measure])[measure]
        tied = bool(entries) and round(entries[-1].score, DIGITS) == round(score, DIGITS)
        rank = entries[-1].rank if tied else index + 1
        entries.append(RankedRun(rank=rank, run=run, score=score, ci=ci, to_first=to_first[index]))
    configs = [run.manifest.config for run in runs if run.manifest.config]
    precisions = (str(config.embedder_identity.get("precision", "")) for config in configs)
    return Leaderboard(
        protocol=first.protocol,
        dataset=first.dataset.label,
        k=first.k,
        precision=next(filter(None, precisions), ""),
        measure=measure,
        over=over,
        clustered_by=runs[0].scores.cluster_kind if choice is None else choice.verdict.clustered_by,
        entries=tuple(entries),
        choice=choice,
    )


def leaderboard_tables(leaderboards: Leaderboards) -> list[table.Table]:
    """Return a table for each leaderboard; the last has notes on the columns and on the folders that are not ranked."""
    notes = []
    if any(len(leaderboard.entries) > 1 for leaderboard in leaderboards.ranked):
        notes.append(
            "A rank does not prove a difference. Column “against the first” is the verdict of the sign-flip test "
            "on that pair, corrected for all pairs (Holm), as in `compare`."
        )
    if leaderboards.ranked:
        flipped = sorted({plural(leaderboard.clustered_by) for leaderboard in leaderboards.ranked})
        notes += [
            f"Intervals are 95 %, with {' or '.join(flipped)} as units.",
            f"{CHARACTERS_NOTE[0].upper()}{CHARACTERS_NOTE[1:]}.",
        ]
    notes += [f"not ranked: {name}: {reason}" for name, reason in leaderboards.not_ranked.items()]
    return table.with_notes(map(_table, leaderboards.ranked), notes)


def _table(leaderboard: Leaderboard) -> table.Table:
    vectors = f" · vectors in {leaderboard.precision}" if leaderboard.precision else ""
    return table.table_of(
        leaderboard_columns(leaderboard),
        leaderboard.entries,
        title=f"{leaderboard.dataset} · protocol {leaderboard.protocol}\n"
        f"by the {leaderboard.over} mean of {heading(leaderboard.measure)} over the top {leaderboard.k}{vectors}",
        notes=[] if leaderboard.choice is None else choice_sentences(leaderboard.choice),
    )


def summary(leaderboards: Leaderboards) -> str:
    """Return one line: how many runs are ranked on how many leaderboards, and how many folders are not ranked."""
    n_runs = sum(len(leaderboard.entries) for leaderboard in leaderboards.ranked)
    line = f"{count(n_runs, 'run')} on {count(len(leaderboards.ranked), 'leaderboard')}"
    return line + (f"; {count(len(leaderboards.not_ranked), 'folder')} not ranked" if leaderboards.not_ranked else "")


def leaderboard_columns(leaderboard: Leaderboard) -> list[table.Column]:
    """Return the columns of a leaderboard, with a `RankedRun` a row, for tables and CSV."""
    measure, over = leaderboard.measure, leaderboard.over

    def share(entry: RankedRun) -> float | None:
        return entry.run.metrics.shares_of_ceiling.get(measure)

    def beside(name: str) -> table.Column:
        return table.number(heading(name), lambda entry: entry.run.metrics.over(over).get(name))

    def fact(key: str, value: Callable[[RankedRun], Any]) -> table.Column:
        return table.Column(name=key, value=value, forms=("record",))

    def spec(name: str, value: Callable[[RankedRun], str]) -> table.Column:
        return table.Column(name=name, width=36, value=value, forms=("table", "record"))

    return [
        table.number("", lambda entry: entry.rank, "d", key="rank", lowest_first=True),
        fact("run_id", lambda entry: entry.run_id),
        spec("chunker", lambda entry: entry.run.metrics.chunker),
        spec("embedder", lambda entry: entry.run.metrics.embedder),
        spec("retriever", lambda entry: entry.run.metrics.retriever),
        table.number(
            f"{heading(measure)}, 95 % CI",
            lambda entry: table.Estimate(entry.score, entry.ci),
            key="score",
            interval=True,
        ),
        fact("share_of_ceiling", share),
        table.number("% of ceiling", share, ".1%", missing="-", forms=("table", "page")),
        table.number(
            "minus the first, 95 % CI",
            lambda entry: entry.to_first and table.Estimate(entry.to_first.difference, entry.to_first.ci),
            "+.4f",
            key="difference_to_first",
            missing="",
            interval=True,
        ),
        table.Column(
            name="against the first", key="against_first", value=lambda entry: entry.to_first and entry.to_first.verdict
        ),
        *map(beside, ("ndcg@10", "recall@10")),
        table.number(
            heading("mean_nws"), lambda entry: chunk_sizes(entry.run).get("chunk mean"), ".0f", lowest_first=True
        ),
        fact("fingerprint", lambda entry: entry.run.metrics.dataset.fingerprint),
        fact("commit", lambda entry: entry.run.manifest.code.commit),
        fact("changed_files", lambda entry: entry.run.manifest.code.dirty),
        fact("command", lambda entry: run_command(entry.run)),
    ]


def leaderboard_csv(leaderboards: Leaderboards) -> str:
    """Return a line per run and leaderboard, numbers in full precision; empty cells are not known."""
    return as_csv(
        table.record_table(
            {name: getattr(leaderboard, name) for name in ("dataset", "protocol", "k", "precision")}
            | {"measure": heading(leaderboard.measure), "over": leaderboard.over}
            | table.record_of(columns, entry)
            for leaderboard in leaderboards.ranked
            for columns in [leaderboard_columns(leaderboard)]
            for entry in leaderboard.entries
        )
    )


@click.command("leaderboard")
@click.option("-o", "--output", type=OUTPUT, metavar="FILE", help="Write all rows as CSV too.")
@runs_folder
def leaderboard_command(*, out: Path, output: Path | None) -> None:
    """Rank the runs in --out by protocol and data, never across them.

    Unfinished folders, and runs of another version, are named with the reason. `report RUN RUN` writes a page about
    runs of one leaderboard.
    """
    ranked = leaderboards_of(out)
    if output:
        write_and_say(output, leaderboard_csv(ranked), "another file with -o")
    print_tables(leaderboard_tables(ranked))
    echo(summary(ranked))
