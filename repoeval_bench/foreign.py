"""Judging a run log made elsewhere: gold as chunk ids, files or line ranges. Pure but for reading."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.errors import ResultError
from repoeval_bench.runlog import RANKINGS, Gold, LogRow, Place, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from repoeval_bench.runlog import IndexCost, Retrieved
    from repoeval_bench.types import LineSpan


@dataclass(frozen=True, slots=True)
class Judgements:
    """query_id -> chunk_id -> gain, gain 0 for what was judged not relevant.

    `pooled` says that files or lines were matched with the chunks that the log shows, for want of a corpus: then
    chunks that nobody retrieved are not counted, and recall is too high. `files` is query_id -> its first gold file.
    """

    gains: dict[str, dict[str, float]]
    files: dict[str, str]
    pooled: bool
    kind: str


def read_log(path: Path) -> list[LogRow]:
    """The log's rows, each of their rankings in the order of its ranks.

    A query that stands twice, two costs of one index, ranks that are not 1, 2, 3, … and a chunk that is ranked twice
    are a ResultError with file:line; so is a log of several systems, for a run is one system's.
    """
    rows: list[LogRow] = []
    seen: set[str] = set()
    indexes: dict[str, IndexCost] = {}
    for number, row in read_rows(path, LogRow):
        where = f"{path}:{number}"
        if row.query_id in seen:
            raise ResultError(f"{where}: query {row.query_id!r} stands twice; keep one row of it")
        if rows and row.system != rows[0].system:
            raise ResultError(
                f"{where}: system {row.system!r} after {rows[0].system!r}; a log is of one system, split it"
            )
        seen.add(row.query_id)
        if row.index is not None and indexes.setdefault(row.index_version, row.index) != row.index:
            raise ResultError(
                f"{where}: index of version {row.index_version!r} differs from the one above; one index has one cost"
            )
        lists = ((name, getattr(row, name)) for name in RANKINGS)
        rows.append(row.model_copy(update={name: _in_order(f"{where}: {name}", each) for name, each in lists if each}))
    if not rows:
        raise ResultError(f"{path} holds no row; a log has one for each query")
    return rows


def _in_order(where: str, ranking: Sequence[Retrieved]) -> list[Retrieved]:
    ordered = sorted(ranking, key=lambda each: each.rank)
    if [each.rank for each in ordered] != list(range(1, len(ordered) + 1)):
        raise ResultError(f"{where}: ranks are {[each.rank for each in ordered][:5]} …; count them 1, 2, 3")
    ids = [each.chunk_id for each in ordered]
    if len(set(ids)) < len(ids):
        twice = next(chunk_id for i, chunk_id in enumerate(ids) if chunk_id in ids[:i])
        raise ResultError(f"{where}: {twice!r} is ranked twice; keep one, or recall could pass 1")
    return ordered


def judge_log(rows: Iterable[LogRow], gold: Path, corpus: Path | None) -> Judgements:
    """Match the gold with chunks: by id, else a chunk of the file, else a chunk that shares a line with the range.

    `corpus` names every chunk with its place; without it the chunks of the log take its part. A gold row that is
    neither a chunk nor a file, and gold that mixes ids with files, are a ResultError.
    """
    by_file: dict[str, dict[str, LineSpan | None]] = defaultdict(dict)
    places: Iterable[Place | Retrieved] = (
        each for row in rows for name in RANKINGS for each in getattr(row, name) or ()
    )
    if corpus is not None:
        places = [place for _, place in read_rows(corpus, Place)]
    for place in places:
        if place.file is not None:
            by_file[place.file][place.chunk_id] = place.lines
    gains: dict[str, dict[str, float]] = {}
    files: dict[str, str] = {}
    kinds: set[str] = set()
    for number, each in read_rows(gold, Gold):
        where = f"{gold}:{number}"
        if (each.chunk_id is None) == (each.file is None):
            raise ResultError(f"{where}: name either a chunk_id or a file")
        judged = gains.setdefault(each.query_id, {})
        if each.chunk_id is not None:
            kinds.add("chunks")
            if each.chunk_id in judged:
                raise ResultError(f"{where}: {each.chunk_id!r} is judged twice for {each.query_id!r}; keep one row")
            judged[each.chunk_id] = each.gain
            continue
        files.setdefault(each.query_id, str(each.file))
        wanted = each.lines
        kinds.add("files" if wanted is None else "lines")
        for chunk_id, lines in by_file[str(each.file)].items():
            if wanted is not None and lines is None:
                raise ResultError(f"{where}: chunk {chunk_id!r} of {each.file} has no lines, so no range can match it")
            if wanted is None or (lines is not None and lines.overlaps(wanted)):
                judged[chunk_id] = max(each.gain, judged.get(chunk_id, 0.0))
    if not gains:
        raise ResultError(f"{gold} holds no row; give one for each judgement")
    if len(kinds) > 1:
        raise ResultError(f"{gold} mixes {' and '.join(sorted(kinds))}; give gold of one kind")
    (kind,) = kinds
    return Judgements(gains, files, pooled=corpus is None and kind != "chunks", kind=kind)
