"""A leaderboard as tables with notes, as records, and in words."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from repoeval_bench.report.document import Part, records_csv
from repoeval_bench.report.frame import heading, new_table, plain, signed
from repoeval_bench.report.leaderboard import BESIDE

if TYPE_CHECKING:
    from rich.table import Table

    from repoeval_bench.report.leaderboard import Board, Entry, Leaderboard


def leaderboard_part(found: Leaderboard) -> Part:
    """A table per board, and under them what the columns mean and which folders are not ranked."""
    return Part([_table(board) for board in found.boards], notes(found))


def board_title(board: Board) -> tuple[str, str]:
    """What the board is about, and how it is ranked."""
    vectors = f" · vectors in {board.precision}" if board.precision else ""
    return (
        f"{board.dataset} · protocol {board.protocol}",
        f"by the {board.over} mean of {heading(board.measure)} over the top {board.k}{vectors}",
    )


def notes(found: Leaderboard) -> list[str]:
    """What is said under the boards."""
    lines = []
    if any(len(board.entries) > 1 for board in found.boards):
        lines.append(
            "Runs are ranked against those alone that answer the same question: protocol, data, queries, depth, "
            "precision."
        )
        lines.append(
            "A rank is no proof: where the interval of the difference to the first holds 0, this data does not show "
            "one. `compare` tests it, adjusted for the number of tests."
        )
    if found.boards:
        resampled = sorted({"files" if b.clustered_by == "file" else b.clustered_by for b in found.boards})
        lines.append(f"Intervals are 95 %, {' or '.join(resampled)} resampled.")
    lines += [f"not ranked: {name}: {reason}" for name, reason in found.left_out.items()]
    return lines


def leaderboard_records(found: Leaderboard) -> dict[str, Any]:
    """Boards and what is not ranked as plain values."""
    boards = []
    for board in found.boards:
        content = asdict(board)
        for entry in content["entries"]:
            entry["beside"] = dict(zip(BESIDE, entry["beside"], strict=True))
            behind = entry["behind"]
            entry["behind"] = behind and {"difference": behind[0], "ci": behind[1]}
        boards.append(content)
    return {"boards": boards, "not_ranked": found.left_out}


def leaderboard_csv(found: Leaderboard) -> str:
    """One line per run and board, numbers in full precision; empty where a run does not know one."""
    return records_csv(
        {
            "dataset": board.dataset, "protocol": board.protocol, "k": board.k, "precision": board.precision,
            "measure": board.measure, "over": board.over, "rank": entry.rank, "run_id": entry.run_id,
            "chunker": entry.chunker, "embedder": entry.embedder, "retriever": entry.retriever, "score": entry.score,
            **_ends("ci", entry.ci), "share_of_ceiling": entry.share,
            "difference_to_first": entry.behind and entry.behind[0],
            **_ends("difference_to_first", entry.behind and entry.behind[1]),
            **dict(zip(BESIDE, entry.beside, strict=True)), "chunk_nws_mean": entry.nws,
        }
        for board in found.boards
        for entry in board.entries
    )  # fmt: skip


def _ends(name: str, interval: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = interval or (None, None)
    return {f"{name}.low": low, f"{name}.high": high}


def _table(board: Board) -> Table:
    table = new_table("\n".join(board_title(board)))
    table.add_column("", justify="right", no_wrap=True)
    for column in ("chunker", "embedder", "retriever"):
        table.add_column(column, overflow="fold", max_width=36)
    for column in (f"{heading(board.measure)}, 95 % interval", "of its ceiling", "to the first, 95 % interval",
                   *map(heading, BESIDE), "mean nws"):  # fmt: skip
        table.add_column(column, justify="right", no_wrap=True)
    for entry in board.entries:
        table.add_row(*cells(entry))
    return table


def cells(entry: Entry) -> tuple[str, ...]:
    """An entry's cells as texts, in the order of the table's columns; `-` where the run does not know."""
    return (
        str(entry.rank), entry.chunker, entry.embedder, entry.retriever, plain(entry.score, entry.ci),
        "-" if entry.share is None else f"{entry.share:.1%}", signed(*entry.behind) if entry.behind else "",
        *("-" if value is None else f"{value:.4f}" for value in entry.beside),
        "-" if entry.nws is None else f"{entry.nws:.0f}",
    )  # fmt: skip
