"""Leaderboards as tables with notes, as records, and in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.words import count, plural
from repoeval_bench.report.formats import as_csv
from repoeval_bench.report.run_command import run_command
from repoeval_bench.report.table import (
    Column,
    Estimate,
    Table,
    number,
    record_of,
    record_table,
    table_of,
    with_notes,
)
from repoeval_bench.report.text import CHARACTERS_NOTE, heading
from repoeval_bench.report.verdict import choice_record, choice_sentences

if TYPE_CHECKING:
    from repoeval_bench.plugins.lab.leaderboard import Leaderboard, Leaderboards, RankedRun


def leaderboard_tables(leaderboards: Leaderboards) -> list[Table]:
    """Return a table for each leaderboard; the last has notes on the columns and on the folders that are not ranked."""
    notes = []
    if any(len(leaderboard.entries) > 1 for leaderboard in leaderboards.ranked):
        notes.append(
            "A rank does not prove a difference. Column “against the first” is the verdict of the sign-flip test "
            "on that pair, adjusted (Holm) over all pairs, as in `compare`."
        )
    if leaderboards.ranked:
        flipped = sorted({plural(leaderboard.clustered_by) for leaderboard in leaderboards.ranked})
        notes += [
            f"Intervals are 95 %, by {' or '.join(flipped)}.",
            f"{CHARACTERS_NOTE[0].upper()}{CHARACTERS_NOTE[1:]}.",
        ]
    notes += [f"not ranked: {name}: {reason}" for name, reason in leaderboards.not_ranked.items()]
    return with_notes(map(_table, leaderboards.ranked), notes)


def _table(leaderboard: Leaderboard) -> Table:
    vectors = f" · vectors in {leaderboard.precision}" if leaderboard.precision else ""
    return table_of(
        leaderboard_columns(leaderboard),
        leaderboard.entries,
        title=f"{leaderboard.dataset} · protocol {leaderboard.protocol}\n"
        f"by the {leaderboard.over} mean of {heading(leaderboard.measure)} over the top {leaderboard.k}{vectors}",
        notes=[] if leaderboard.choice is None else choice_sentences(leaderboard.choice),
    )


def summary(leaderboards: Leaderboards) -> str:
    """Return one line: how many runs are ranked on how many leaderboards, and how many folders are not ranked."""
    line = f"{count(leaderboards.n_runs, 'run')} on {count(len(leaderboards.ranked), 'leaderboard')}"
    return line + (f"; {count(len(leaderboards.not_ranked), 'folder')} not ranked" if leaderboards.not_ranked else "")


# Longer than 60 lines: an entry for each column, and nothing else to read.
def leaderboard_columns(leaderboard: Leaderboard) -> list[Column]:
    """Return the columns of a leaderboard, with a `RankedRun` a row, for tables, CSV, JSON and pages."""
    measure, over = leaderboard.measure, leaderboard.over

    def share(entry: RankedRun) -> float | None:
        return entry.run.metrics.shares_of_ceiling.get(measure)

    def beside(name: str) -> Column:
        return number(heading(name), lambda entry: entry.run.metrics.over(over).get(name))

    def fact(key: str, value: Callable[[RankedRun], Any]) -> Column:
        return Column(name=key, value=value, forms=("record",))

    def spec(name: str, value: Callable[[RankedRun], str]) -> Column:
        return Column(name=name, width=36, value=value, forms=("table", "record"))

    return [
        number("", lambda entry: entry.rank, "d", key="rank", lowest_first=True),
        fact("run_id", lambda entry: entry.run_id),
        spec("chunker", lambda entry: entry.run.metrics.chunker),
        spec("embedder", lambda entry: entry.run.metrics.embedder),
        spec("retriever", lambda entry: entry.run.metrics.retriever),
        number(
            f"{heading(measure)}, 95 % CI",
            lambda entry: Estimate(entry.score, entry.ci),
            key="score",
            interval=True,
        ),
        fact("share_of_ceiling", share),
        number("% of ceiling", share, ".1%", missing="-", forms=("table", "page")),
        number(
            "to the first, 95 % CI",
            lambda entry: entry.to_first and Estimate(*entry.to_first),
            "+.4f",
            key="difference_to_first",
            missing="",
            interval=True,
        ),
        Column(name="against the first", key="against_first", value=lambda entry: entry.against_first),
        *map(beside, ("ndcg@10", "recall@10")),
        number(heading("mean_nws"), _mean_nws, ".0f", lowest_first=True),
        fact("fingerprint", lambda entry: entry.run.metrics.dataset.fingerprint),
        fact("commit", lambda entry: entry.run.manifest.code.commit),
        fact("changed_files", lambda entry: entry.run.manifest.code.dirty),
        fact("command", lambda entry: run_command(entry.run)),
    ]


def _mean_nws(entry: RankedRun) -> float | None:
    sizes = entry.run.metrics.chunk_nws
    return sizes.mean if sizes else None


def leaderboard_records(leaderboards: Leaderboards) -> dict[str, Any]:
    """Return the leaderboards, and the folders that are not ranked, as plain values."""
    records = [
        _about(leaderboard)
        | {
            "measure": leaderboard.measure,
            "clustered_by": leaderboard.clustered_by,
            "entries": [record_of(columns, entry) for entry in leaderboard.entries],
            "choice": leaderboard.choice and choice_record(leaderboard.choice),
        }
        for leaderboard in leaderboards.ranked
        for columns in [leaderboard_columns(leaderboard)]
    ]
    return {"boards": records, "not_ranked": leaderboards.not_ranked}


def leaderboard_csv(leaderboards: Leaderboards) -> str:
    """Return a line per run and leaderboard, numbers in full precision; empty cells are not known."""
    return as_csv(
        record_table(
            _about(leaderboard) | record_of(columns, entry)
            for leaderboard in leaderboards.ranked
            for columns in [leaderboard_columns(leaderboard)]
            for entry in leaderboard.entries
        )
    )


def _about(leaderboard: Leaderboard) -> dict[str, Any]:
    """Return what the runs of a leaderboard share, as plain values."""
    names = ("dataset", "protocol", "k", "precision", "measure", "over")
    return {name: getattr(leaderboard, name) for name in names} | {"measure": heading(leaderboard.measure)}
