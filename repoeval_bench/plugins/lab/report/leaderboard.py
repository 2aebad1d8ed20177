"""A leaderboard as tables with notes, as records, and in words."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.words import count, plural
from repoeval_bench.plugins.lab.leaderboard import BESIDE, Board, Entry, Leaderboard
from repoeval_bench.report.choosing import choice_record, choice_sentences
from repoeval_bench.report.formats import as_csv
from repoeval_bench.report.run_command import run_command
from repoeval_bench.report.table import (
    Column,
    Estimate,
    Table,
    figures,
    make_table,
    record_table,
    spec_column,
    with_notes,
)
from repoeval_bench.report.text import CHARACTERS_NOTE, heading, outcome_name
from repoeval_bench.runs.verified import VerificationStatus

if TYPE_CHECKING:
    from repoeval_bench.runs.verified import VerificationState
    from repoeval_bench.runs.view import RunView


def leaderboard_tables(found: Leaderboard) -> list[Table]:
    """A table per board; below the last one what the columns mean and which folders are not ranked."""
    return with_notes(map(_table, found.boards), notes(found))


def board_sentences(board: Board) -> list[str]:
    """What the tests say of a board's best run, and what would settle the first two."""
    return [] if board.choice is None else choice_sentences(board.choice)


def summary(found: Leaderboard) -> str:
    """How many runs are ranked on how many boards, and how many folders are not, in one line."""
    line = f"{count(found.n_runs, 'run')} on {count(len(found.boards), 'board')}"
    return line + (f"; {count(len(found.left_out), 'folder')} not ranked" if found.left_out else "")


def board_title(board: Board) -> tuple[str, str]:
    """What the board is about, and how it is ranked."""
    vectors = f" · vectors in {board.precision}" if board.precision else ""
    return (
        f"{board.dataset} · protocol {board.protocol}",
        f"by the {board.over} mean of {heading(board.measure)} over the top {board.k}{vectors}",
    )


def notes(found: Leaderboard) -> list[str]:
    """What is said under the boards."""
    left_out = [f"not ranked: {name}: {reason}" for name, reason in found.left_out.items()]
    return [*explained(found), *verification_notes(found), *left_out]


def verification_notes(found: Leaderboard) -> list[str]:
    """What is known of each run from elsewhere."""
    return [
        f"{each.run_id}: {verification_words(each.verification)}"
        for board in found.boards
        for each in board.entries
        if each.verification
    ]


def verification_words(state: VerificationState | None) -> str:
    """What is known of a run from elsewhere, in words; nothing of one that was made here."""
    if state is None:
        return ""
    if state.status is VerificationStatus.VERIFIED:
        return f"verified, ranking {state.ranking}"
    if state.status is VerificationStatus.CHANGED:
        return f"not verified: {state.reason} changed since the run was added"
    return f"not verified: {state.reason}"


def explained(found: Leaderboard) -> list[str]:
    """What ranks, columns and intervals mean."""
    lines = []
    if any(len(board.entries) > 1 for board in found.boards):
        lines.append(
            "Runs are ranked only against runs that answer the same question: protocol, data, queries, depth, "
            "precision."
        )
        lines.append(
            "A rank does not prove a difference. “against the first” is the verdict of the sign-flip test on that "
            "pair, Holm over all pairs, as `compare` has it."
        )
    if found.boards:
        flipped = sorted({plural(board.clustered_by) for board in found.boards})
        lines.append(f"Intervals are 95 %, by {' or '.join(flipped)}.")
        lines.append(f"{CHARACTERS_NOTE[0].upper()}{CHARACTERS_NOTE[1:]}.")
    return lines


def leaderboard_records(found: Leaderboard) -> dict[str, Any]:
    """Boards and what is not ranked as plain values."""
    boards = []
    for board in found.boards:
        content = asdict(replace(board, runs=()))
        del content["runs"]
        content["choice"] = board.choice and choice_record(board.choice)
        for entry, run in zip(content["entries"], board.runs, strict=True):
            entry.update(_made(run))
            entry["beside"] = dict(zip(BESIDE, entry["beside"], strict=True))
            behind = entry["behind"]
            entry["behind"] = behind and {"difference": behind[0], "ci": behind[1]}
        boards.append(content)
    return {"boards": boards, "not_ranked": found.left_out}


def leaderboard_csv(found: Leaderboard) -> str:
    """One line per run and board, numbers in full precision; empty where a run does not know one."""
    return as_csv(
        record_table(
            _record(board, entry, run)
            for board in found.boards
            for entry, run in zip(board.entries, board.runs, strict=True)
        )
    )


def _made(run: RunView) -> dict[str, Any]:
    """What a run was made of, and the command that makes it again."""
    code = run.manifest.code
    return {
        "fingerprint": run.metrics.dataset.fingerprint,
        "commit": code.commit,
        "changed_files": code.dirty,
        "command": run_command(run),
    }


def _record(board: Board, entry: Entry, run: RunView) -> dict[str, Any]:
    difference, ci = entry.behind or (None, None)
    low, high = ci or (None, None)
    return {
        "dataset": board.dataset,
        "protocol": board.protocol,
        "k": board.k,
        "precision": board.precision,
        "measure": heading(board.measure),
        "over": board.over,
        "rank": entry.rank,
        "run_id": entry.run_id,
        "chunker": entry.chunker,
        "embedder": entry.embedder,
        "retriever": entry.retriever,
        "score": entry.score,
        "ci": entry.ci or (None, None),
        "share_of_ceiling": entry.share,
        "difference_to_first": difference,
        "difference_to_first.low": low,
        "difference_to_first.high": high,
        "against_first": entry.against_first and entry.against_first.outcome,
        **dict(zip(map(heading, BESIDE), entry.beside, strict=True)),
        heading("mean_nws"): entry.nws,
        "verification": entry.verification and entry.verification.status,
        "ranking": entry.verification and entry.verification.ranking,
        "reason": entry.verification and entry.verification.reason,
        **_made(run),
    }


def _table(board: Board) -> Table:
    # With an expansion a hit brings more, so the ceiling is another: a column of its own.
    expansions = list(dict.fromkeys(run.metrics.expand for run in board.runs))
    ceilings = [f"% of ceiling, expand {each}" if each else "% of ceiling" for each in expansions]
    columns = [
        *figures("", number="d"),
        *map(spec_column, ("chunker", "embedder", "retriever")),
        *figures(f"{heading(board.measure)}, 95 % CI"),
        *figures(*ceilings, number=".1%", missing="-" if len(ceilings) == 1 else ""),
        *figures("to the first, 95 % CI", number="+.4f", missing=""),
        Column(name="against the first"),
        *figures(*map(heading, BESIDE)),
        *figures(heading("mean_nws"), number=".0f"),
    ]
    rows = [
        (
            *(entry.rank, entry.chunker, entry.embedder, entry.retriever),
            Estimate(entry.score, entry.ci),
            *(entry.share if run.metrics.expand == each else None for each in expansions),
            entry.behind and Estimate(*entry.behind),
            against_first(entry),
            *(*entry.beside, entry.nws),
        )
        for entry, run in zip(board.entries, board.runs, strict=True)
    ]
    return make_table(columns, rows, title="\n".join(board_title(board)), notes=board_sentences(board))


def against_first(entry: Entry) -> str:
    """`worse`, or why it is not; empty for the first and for the only run."""
    return "" if entry.against_first is None else outcome_name(entry.against_first)
