"""A leaderboard as tables with notes, as records, and in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.words import count, plural
from repoeval_bench.plugins.lab.standings import mean_nws
from repoeval_bench.plugins.lab.verified import VerificationStatus
from repoeval_bench.report.choosing import choice_record, choice_sentences
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

if TYPE_CHECKING:
    from repoeval_bench.plugins.lab.leaderboard import Board, Entry, Leaderboard
    from repoeval_bench.plugins.lab.verified import VerificationState


def leaderboard_tables(leaderboard: Leaderboard) -> list[Table]:
    """A table per board; below the last one what the columns mean and which folders are not ranked."""
    return with_notes(map(_table, leaderboard.boards), notes(leaderboard))


def board_sentences(board: Board) -> list[str]:
    """Return what the tests say of a board's best run, and what would settle the first two."""
    return [] if board.choice is None else choice_sentences(board.choice)


def summary(leaderboard: Leaderboard) -> str:
    """Return how many runs are ranked on how many boards, and how many folders are not, in one line."""
    line = f"{count(leaderboard.n_runs, 'run')} on {count(len(leaderboard.boards), 'board')}"
    return line + (f"; {count(len(leaderboard.left_out), 'folder')} not ranked" if leaderboard.left_out else "")


def board_title(board: Board) -> tuple[str, str]:
    """Return what the board is about, and how it is ranked."""
    vectors = f" · vectors in {board.precision}" if board.precision else ""
    return (
        f"{board.dataset} · protocol {board.protocol}",
        f"by the {board.over} mean of {heading(board.measure)} over the top {board.k}{vectors}",
    )


def notes(leaderboard: Leaderboard) -> list[str]:
    """Return what is said under the boards."""
    left_out = [f"not ranked: {name}: {reason}" for name, reason in leaderboard.left_out.items()]
    return [*explained(leaderboard), *verification_notes(leaderboard), *left_out]


def verification_notes(leaderboard: Leaderboard) -> list[str]:
    """Return what is known of each run from elsewhere."""
    return [
        f"{entry.run_id}: {verification_words(entry.verification)}"
        for board in leaderboard.boards
        for entry in board.entries
        if entry.verification
    ]


def verification_words(state: VerificationState | None) -> str:
    """Return what is known of a run from elsewhere, in words; nothing of one that was made here."""
    if state is None:
        return ""
    if state.status is VerificationStatus.VERIFIED:
        return f"verified, ranking {state.ranking}"
    if state.status is VerificationStatus.CHANGED:
        return f"not verified: {state.reason} changed since the run was added"
    return f"not verified: {state.reason}"


def explained(leaderboard: Leaderboard) -> list[str]:
    """Return what ranks, columns and intervals mean."""
    lines = []
    if any(len(board.entries) > 1 for board in leaderboard.boards):
        lines.append(
            "Runs are ranked only against runs that answer the same question: protocol, data, queries, depth, "
            "precision."
        )
        lines.append(
            "A rank does not prove a difference. “against the first” is the verdict of the sign-flip test on that "
            "pair, Holm over all pairs, as `compare` has it."
        )
    if leaderboard.boards:
        flipped = sorted({plural(board.clustered_by) for board in leaderboard.boards})
        lines.append(f"Intervals are 95 %, by {' or '.join(flipped)}.")
        lines.append(f"{CHARACTERS_NOTE[0].upper()}{CHARACTERS_NOTE[1:]}.")
    return lines


# Longer than 60 lines: an entry for each column, and nothing else to read.
def board_columns(board: Board) -> list[Column]:
    """The columns of a board in their order, of an `Entry` each; tables, CSV, JSON and pages have these."""
    measure, over = board.measure, board.over
    # With an expansion a hit brings more, so the ceiling is another: a column of its own.
    expansions = list(dict.fromkeys(run.metrics.expand for run in board.runs))

    def share(entry: Entry) -> float | None:
        return entry.run.metrics.shares_of_ceiling.get(measure)

    def ceiling(expand: str | None) -> Column:
        return number(
            f"% of ceiling, expand {expand}" if expand else "% of ceiling",
            lambda entry: share(entry) if entry.run.metrics.expand == expand else None,
            ".1%",
            missing="-" if len(expansions) == 1 else "",
            forms=("table", "page"),
        )

    def beside(name: str) -> Column:
        return number(heading(name), lambda entry: entry.run.metrics.over(over).get(name))

    def fact(key: str, value: Callable[[Entry], Any]) -> Column:
        return Column(name=key, value=value, forms=("record",))

    def spec(name: str, value: Callable[[Entry], str]) -> Column:
        return Column(name=name, width=36, value=value, forms=("table", "record"))

    return [
        number("", lambda entry: entry.rank, "d", key="rank", lowest_first=True),
        fact("run_id", lambda entry: entry.run_id),
        spec("chunker", lambda entry: entry.run.metrics.chunker),
        spec("embedder", lambda entry: entry.run.metrics.embedder),
        spec("retriever", lambda entry: entry.run.metrics.ranked_by),
        number(
            f"{heading(measure)}, 95 % CI",
            lambda entry: Estimate(entry.score, entry.ci),
            key="score",
            interval=True,
            bar=True,
        ),
        fact("share_of_ceiling", share),
        *map(ceiling, expansions),
        number(
            "to the first, 95 % CI",
            lambda entry: entry.behind and Estimate(*entry.behind),
            "+.4f",
            key="difference_to_first",
            missing="",
            interval=True,
        ),
        Column(name="against the first", key="against_first", value=lambda entry: entry.against_first),
        *map(beside, ("ndcg@10", "recall@10")),
        number(heading("mean_nws"), lambda entry: mean_nws(entry.run), ".0f", lowest_first=True),
        fact("verification", lambda entry: entry.verification and entry.verification.status),
        fact("ranking", lambda entry: entry.verification and entry.verification.ranking),
        fact("reason", lambda entry: entry.verification and entry.verification.reason),
        fact("fingerprint", lambda entry: entry.run.metrics.dataset.fingerprint),
        fact("commit", lambda entry: entry.run.manifest.code.commit),
        fact("changed_files", lambda entry: entry.run.manifest.code.dirty),
        fact("command", lambda entry: run_command(entry.run)),
    ]


def leaderboard_records(leaderboard: Leaderboard) -> dict[str, Any]:
    """Boards and what is not ranked as plain values."""
    boards = [
        _about(board)
        | {
            "measure": board.measure,
            "clustered_by": board.clustered_by,
            "entries": [record_of(columns, entry) for entry in board.entries],
            "choice": board.choice and choice_record(board.choice),
        }
        for board in leaderboard.boards
        for columns in [board_columns(board)]
    ]
    return {"boards": boards, "not_ranked": leaderboard.left_out}


def leaderboard_csv(leaderboard: Leaderboard) -> str:
    """One line per run and board, numbers in full precision; empty where a run does not know one."""
    return as_csv(
        record_table(
            _about(board) | record_of(columns, entry)
            for board in leaderboard.boards
            for columns in [board_columns(board)]
            for entry in board.entries
        )
    )


def _about(board: Board) -> dict[str, Any]:
    """Return what its runs share, as plain values."""
    names = ("dataset", "protocol", "k", "precision", "measure", "over")
    return {name: getattr(board, name) for name in names} | {"measure": heading(board.measure)}


def _table(board: Board) -> Table:
    title = "\n".join(board_title(board))
    return table_of(board_columns(board), board.entries, title=title, notes=board_sentences(board))
