"""All runs of a folder in order of their score, only against those that answer the same question.

What may stand on one board is what `compare` would compare: protocol, data, queries, depth, definition; and vectors of
one precision. A folder that cannot be ranked is listed with its reason, never left out by silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from repoeval_bench.analysis.comparison import check_comparable, headline_measure, paired_differences
from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.core.errors import BenchError, UsageError
from repoeval_bench.core.progress import progress
from repoeval_bench.report.text import count
from repoeval_bench.runs.records import MANIFEST
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from repoeval_bench.analysis.records import Interval

BESIDE = ("ndcg@10", "recall@10")
"""Measures that stand beside the headline where a run has them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One run on its board. `ci` is the score's 95 % interval, `share` the score over its ceiling.

    `behind` is its paired difference to the first run with that one's interval, None for the first; `beside` holds the
    measures of `BESIDE`, `nws` the mean size of a chunk; None where the run does not know.
    """

    rank: int
    run_id: str
    chunker: str
    embedder: str
    retriever: str
    score: float
    ci: Interval
    share: float | None
    behind: tuple[float, Interval] | None
    beside: tuple[float | None, ...]
    nws: float | None


@dataclass(frozen=True, slots=True)
class Board:
    """Runs that answer one question, best first; `measure` is what they are ranked by, `over` the mean of it."""

    protocol: str
    dataset: str
    k: int
    precision: str
    measure: str
    over: str
    clustered_by: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The boards, and the folders that are on none: name -> why."""

    boards: tuple[Board, ...]
    left_out: dict[str, str]

    @property
    def n_runs(self) -> int:
        """Runs that are ranked; one that fits several boards counts once."""
        return len({entry.run_id for board in self.boards for entry in board.entries})


def rank_folder(results: Path) -> Leaderboard:
    """Rank every run folder in `results`; a UsageError where there is none.

    The order within and of boards follows from the numbers and names alone.
    """
    if not results.is_dir():
        raise UsageError(f"there is no folder {results}; name one with run folders, as eval writes them")
    runs: list[RunView] = []
    left_out: dict[str, str] = {}
    for folder in sorted(path for path in results.iterdir() if path.is_dir()):
        run = RunView(folder)
        try:
            _check(run)
        except BenchError as error:
            left_out[folder.name] = str(error)
        else:
            runs.append(run)
    if not runs and not left_out:
        raise UsageError(f"{results} holds no run yet; make one with repoeval-bench eval")
    groups = _comparable(runs)
    boards = [_board(group) for group in progress(groups, desc="rank", unit="boards")]
    return Leaderboard(tuple(sorted(boards, key=_place)), left_out)


def summary(found: Leaderboard) -> str:
    """How many runs are ranked on how many boards, and how many folders are not, in one line."""
    line = f"{count(found.n_runs, 'run')} on {count(len(found.boards), 'board')}"
    return line + (f"; {count(len(found.left_out), 'folder')} not ranked" if found.left_out else "")


def _check(run: RunView) -> None:
    """Read all that a board needs, so that what is wrong is told here."""
    if not (run.folder / MANIFEST).is_file():
        raise UsageError(f"no {MANIFEST}: the run was not finished, or this is no run")
    _precision(run)
    measure = headline_measure([run])
    if len(run.scores) == 0:
        raise UsageError("it holds no query")
    if measure not in run.scores.values:
        raise UsageError(f"{measure} was not scored")


def _comparable(runs: Sequence[RunView]) -> list[list[RunView]]:
    """Groups within which every two runs can be compared.

    A run without vectors knows no precision: it stands in every group that it fits.
    """
    groups: list[list[RunView]] = []
    for run in (run for run in runs if _precision(run)):
        for group in groups:
            if _precision(group[0]) == _precision(run) and all(_fits(each, run) for each in group):
                group.append(run)
                break
        else:
            groups.append([run])
    rest = [run for run in runs if not _precision(run)]
    with_vectors = list(groups)
    for run in rest:
        fitting = [group for group in with_vectors if all(_fits(each, run) for each in group)]
        if not fitting:
            fitting = [group for group in groups[len(with_vectors) :] if all(_fits(each, run) for each in group)][:1]
        if not fitting:
            groups.append([run])
        for group in fitting:
            group.append(run)
    return groups


def _fits(a: RunView, b: RunView) -> bool:
    if headline_measure([a]) != headline_measure([b]):
        return False
    try:
        check_comparable(a, b)
    except UsageError:
        return False
    return True


def _precision(run: RunView) -> str:
    config = run.manifest.config
    return "" if config is None else str(config.embedder_identity.get("precision", ""))


def _board(runs: Sequence[RunView]) -> Board:
    first = runs[0].metrics
    measure, over = headline_measure(runs[:1]), first.headline
    ordered = sorted(runs, key=lambda run: (-run.metrics.over(over)[measure], run.run_id))
    best, n = ordered[0], len(ordered)
    # All columns share their draws: every run's score, then the difference of each but the first to the first.
    own = best.scores.table([measure])
    differences = paired_differences(best, ordered[1:], [measure]) if n > 1 else own[:, :0]
    columns = np.column_stack([own, own + differences, differences])
    means, intervals = mean_intervals(columns, best.scores.clusters, best.scores.repos, over)
    entries: list[Entry] = []
    for at, run in enumerate(ordered):
        score = run.metrics.over(over)[measure]
        tied = bool(entries) and round(entries[-1].score, 12) == round(score, 12)
        entries.append(
            Entry(
                rank=entries[-1].rank if tied else at + 1,
                run_id=run.run_id,
                chunker=run.metrics.chunker,
                embedder=run.metrics.embedder,
                retriever=run.metrics.retriever,
                score=score,
                ci=intervals[at],
                share=run.metrics.shares_of_ceiling.get(measure),
                behind=(means[n + at - 1], intervals[n + at - 1]) if at else None,
                beside=tuple(run.metrics.over(over).get(name) for name in BESIDE),
                nws=run.metrics.chunk_nws.mean if run.metrics.chunk_nws else None,
            )
        )
    precisions = [precision for precision in map(_precision, runs) if precision]
    return Board(
        protocol=first.protocol,
        dataset=first.dataset.label,
        k=first.k,
        precision=precisions[0] if precisions else "",
        measure=measure,
        over=over,
        clustered_by=runs[0].scores.clustered_by,
        entries=tuple(entries),
    )


def _place(board: Board) -> tuple[Any, ...]:
    return board.dataset, board.protocol, board.precision, board.k, board.measure, board.entries[0].run_id
