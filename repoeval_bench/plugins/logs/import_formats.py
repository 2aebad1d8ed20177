"""Read logs, and rankings and judgements in TREC files, as rows of the contract.

A file's name decides its format, also with `.gz`: `.trec`, `.txt`, `.run` and `.qrels` are TREC's, and `.tsv` is BEIR's
for judgements. Every other file is JSONL, as in `records`. TREC files have no source files, lines, chunkers or indexes:
file and lines come from a corpus, the other names are `not stated`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from repoeval_bench.core.errors import UsageError
from repoeval_bench.plugins.logs.records import Gold, LogError, log_faults, read_rows
from repoeval_bench.runs.log import ChunkerOfLog, LoggedChunk, LogRow, Retrieved, in_full, read_log
from repoeval_bench.runs.trec import beir_rows, qrels_rows, read_run

TREC = (".trec", ".txt", ".run", ".qrels")
NOT_STATED = "not stated"


class _Graded(Gold):
    """A line of qrels, whose grade may be below 0: in the pool, but not judged."""

    gain: float


def is_trec(path: Path) -> bool:
    """Return whether a file is one of TREC, and not JSONL."""
    return _ending(path) in TREC


def _ending(path: Path) -> str:
    """The end of a file's name, without `.gz`."""
    return PurePath(path.name.lower().removesuffix(".gz")).suffix


def log_rows(
    path: Path, places: Mapping[str, LoggedChunk] | None = None, depth: int | None = None
) -> Iterator[tuple[int, LogRow]]:
    """Yield (line number, row) for every query of a log, or (0, row) for every query of a TREC run.

    A TREC run's system is its tag, or the file's name. Its depth is `depth`, or the length of its longest ranking; a
    log says its depth itself, so there `depth` is a UsageError. File and lines of a TREC run's chunks are their
    `places` in the corpus. A chunk that it lacks is a LogError, and so is a ranking longer than `depth`.
    """
    if not is_trec(path):
        if depth:
            raise UsageError(f"{path} is a log, which says its depth itself; leave --depth out")
        yield from log_faults(path, ((number, in_full(row, hits)) for number, row, hits in read_log(path)))
        return
    run = read_run(path)
    longest = max((len(ranking) for ranking in run.rankings.values()), default=0)
    if depth and longest > depth:
        raise LogError(f"{path} ranks {longest} chunks for a query, beyond --depth {depth}; give the system's depth")
    for query_id, ranking in run.rankings.items():
        topk = []
        for rank, (chunk_id, score) in enumerate(ranking, start=1):
            place = {} if places is None else _place(path, chunk_id, places)
            topk.append(Retrieved(**{"chunk_id": chunk_id, **place, "rank": rank, "score": score}))
        yield (
            0,
            LogRow(
                query_id=query_id,
                system=run.tag or path.name.partition(".")[0],
                k_raw=depth or max(1, longest),
                topk=topk,
                index_version=NOT_STATED,
                chunker=ChunkerOfLog(algo=NOT_STATED, parameters={}),
            ),
        )


def _place(path: Path, chunk_id: str, places: Mapping[str, LoggedChunk]) -> dict[str, Any]:
    if chunk_id not in places:
        raise LogError(f"{path} ranks {chunk_id!r}, which is not in the corpus; name every chunk there, by the same id")
    return places[chunk_id].model_dump(exclude_none=True)


def gold_rows(path: Path) -> Iterator[tuple[int, Gold]]:
    """Yield (line number or 0, row) for every judgement; only qrels have grades below 0, which are not relevant."""
    reader = qrels_rows if is_trec(path) else beir_rows if _ending(path) == ".tsv" else None
    if reader is None:
        yield from read_rows(path, Gold)
        return
    for number, query_id, chunk_id, gain in reader(path):
        yield number, _Graded(query_id=query_id, chunk_id=chunk_id, gain=gain)
