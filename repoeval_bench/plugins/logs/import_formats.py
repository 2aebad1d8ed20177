"""Rankings and judgements in TREC files. They become rows of the contract.

A file's name decides its format: `.trec`, `.txt`, `.run` and `.qrels`, also with `.gz`, are TREC's. Every other file is
JSONL, as in `records`. TREC knows no files, lines, chunkers or indexes: places come from a corpus, and what nobody
states is `not stated`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.json_reader import UnreadableError
from repoeval_bench.plugins.logs.records import Gold, log_faults, read_rows
from repoeval_bench.runs.log import ChunkerOfLog, LoggedChunk, LogRow, Retrieved, in_full, read_log
from repoeval_bench.runs.trec import qrels_rows, read_run

TREC = (".trec", ".txt", ".run", ".qrels")
NOT_STATED = "not stated"


def is_trec(path: Path) -> bool:
    """Return whether a file is one of TREC, and not JSONL."""
    name = PurePath(path.name.lower())
    return (name.with_suffix("").suffix if name.suffix == ".gz" else name.suffix) in TREC


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """The facts that a bare ranking does not state: its system, its index's chunker, the requested depth.

    Without them the system is its tag, or the file's name, and the depth that of its longest ranking.
    """

    system: str | None = None
    chunker: str | None = None
    k: int | None = None

    def row(self, query_id: str, topk: list[Retrieved]) -> LogRow:
        """The row of a query; a depth and a system must be known."""
        assert self.system is not None
        assert self.k is not None
        return LogRow(
            query_id=query_id,
            system=self.system,
            k_raw=self.k,
            topk=topk,
            index_version=NOT_STATED,
            chunker=ChunkerOfLog(algo=self.chunker or NOT_STATED, parameters={}),
        )


NOTHING_STATED = Stated()


def log_rows(path: Path, corpus: Path | None, stated: Stated) -> Iterator[tuple[int, LogRow]]:
    """(line number, or 0, and row) of every query of a log or of a bare ranking.

    What is stated of a log, which says it itself, is a UsageError. The lines of a ranking's chunks are those of the
    corpus. A chunk that is not there is a ResultError, and so is a ranking that is longer than its depth.
    """
    if not is_trec(path):
        if stated != NOTHING_STATED:
            raise UsageError(f"{path} is a log, which says so itself; leave --system, --chunker and --depth out")
        rows = log_faults(path, ((number, in_full(row, hits)) for number, row, hits in read_log(path)))
        try:
            first = next(rows)
        except StopIteration:
            return
        except ResultError as error:
            if isinstance(error.__cause__, UnreadableError):
                raise
            between = "\n  " if "\n" in str(error) else "; "
            hint = f"or give a ranking as a TREC run, in a file named {', '.join(TREC)}"
            raise ResultError(f"{error}{between}{hint}") from error
        yield first
        yield from rows
        return
    run = read_run(path)
    places = {chunk.chunk_id: chunk for _, chunk in read_rows(corpus, LoggedChunk)} if corpus else None
    longest = max((len(ranking) for ranking in run.rankings.values()), default=0)
    known = replace(
        stated, system=stated.system or run.tag or path.name.partition(".")[0], k=stated.k or max(1, longest)
    )
    if stated.k and longest > stated.k:
        raise ResultError(
            f"{path} ranks {longest} chunks for a query, beyond --depth {stated.k}; give the system's depth"
        )
    for query_id, ranking in run.rankings.items():
        topk = [_retrieved(path, corpus, places, scored, rank) for rank, scored in enumerate(ranking, start=1)]
        yield 0, known.row(query_id, topk)


def gold_rows(path: Path) -> Iterator[tuple[int, Gold]]:
    """(line number, or 0, and row) of every judgement; a grade below 0 is not relevant, as trec_eval reads it."""
    if is_trec(path):
        for number, query_id, chunk_id, gain in qrels_rows(path):
            yield number, Gold(query_id=query_id, chunk_id=chunk_id, gain=max(0.0, gain))
    else:
        yield from read_rows(path, Gold)


def _retrieved(
    path: Path, corpus: Path | None, places: Mapping[str, LoggedChunk] | None, ranked: tuple[str, float], rank: int
) -> Retrieved:
    chunk_id, score = ranked
    if places is None:
        return Retrieved(rank=rank, chunk_id=chunk_id, score=score)
    chunk = places.get(chunk_id)
    if chunk is None:
        raise ResultError(
            f"{path} ranks {chunk_id!r}, which is not in {corpus}; name every chunk there, by the same id"
        )
    return Retrieved(rank=rank, score=score, **chunk.model_dump(exclude_none=True))
