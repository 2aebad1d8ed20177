"""Rankings and judgements in other people's files: TREC's, and what ranx saves. They become rows of the contract.

A file's name says what it is: `.trec`, `.txt`, `.run` and `.qrels`, also with `.gz`, are TREC's; `.json`, `.lz4`
(CBOR), `.parquet` and `.parq` are ranx's; every other one is JSONL as `records` has it. Neither TREC nor ranx knows of
files, lines, chunkers or indexes: places come from a corpus, and what nobody states is `not stated`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import Field, FiniteFloat, TypeAdapter, ValidationError

from repoeval_bench.core import json_reader
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.extras import require
from repoeval_bench.core.validation import mistakes
from repoeval_bench.plugins.logs.records import Gold, Place, read_rows
from repoeval_bench.runs.log import ChunkerOfLog, LogRow, Retrieved
from repoeval_bench.runs.trec import LARGEST_GAIN, in_order, qrels_rows, read_run

TREC = (".trec", ".txt", ".run", ".qrels")
RANX = (".json", ".lz4", ".parquet", ".parq")
NOT_STATED = "not stated"

_COLUMNS = ("q_id", "doc_id", "score")
_Id = Annotated[str, Field(min_length=1)]
_TABLE = TypeAdapter(dict[_Id, dict[_Id, FiniteFloat]])


def is_ranking(path: Path) -> bool:
    """Tell whether a file is a bare ranking, as TREC and ranx write it, and not a log."""
    return _kind(path) in {*TREC, *RANX}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """The facts that a bare ranking does not state: its system, its index's chunker, how deep it was asked to rank.

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

    What is stated of a log, which says it itself, is a UsageError. The places of a ranking's chunks are those of the
    corpus; a chunk that is not there is a ResultError, and so is a ranking that is longer than its depth.
    """
    if not is_ranking(path):
        if stated != NOTHING_STATED:
            raise UsageError(f"{path} is a log, which says so itself; leave --system, --chunker and -k out")
        yield from read_rows(path, LogRow)
        return
    tag, rankings = _ranking(path)
    places = {chunk.chunk_id: chunk for _, chunk in read_rows(corpus, Place)} if corpus else None
    longest = max((len(ranking) for ranking in rankings.values()), default=0)
    known = replace(stated, system=stated.system or tag, k=stated.k or max(1, longest))
    if stated.k and longest > stated.k:
        raise ResultError(f"{path} ranks {longest} chunks for a query, beyond -k {stated.k}; give the system's depth")
    for query_id, ranking in rankings.items():
        topk = [_retrieved(path, corpus, places, scored, rank) for rank, scored in enumerate(ranking, start=1)]
        yield 0, known.row(query_id, topk)


def gold_rows(path: Path) -> Iterator[tuple[int, Gold]]:
    """(line number, or 0, and row) of every judgement; a grade below 0 is not relevant, as trec_eval reads it."""
    kind = _kind(path)
    if kind in TREC:
        for number, query_id, chunk_id, gain in qrels_rows(path):
            yield number, Gold(query_id=query_id, chunk_id=chunk_id, gain=max(0.0, gain))
    elif kind in RANX:
        for query_id, gains in _table(path, kind).items():
            for chunk_id, gain in gains.items():
                if gain > LARGEST_GAIN:
                    raise ResultError(f"{path}: the gain is {gain}; write numbers of at most {LARGEST_GAIN:g}")
                yield 0, Gold(query_id=query_id, chunk_id=chunk_id, gain=max(0.0, gain))
    else:
        yield from read_rows(path, Gold)


def _kind(path: Path) -> str:
    name = PurePath(path.name.lower())
    if name.suffix != ".gz":
        return name.suffix
    # ranx packs TREC files alone.
    return name.with_suffix("").suffix or ".trec"


def _ranking(path: Path) -> tuple[str, Mapping[str, Sequence[tuple[str, float]]]]:
    """(tag, or the file's name where there is none; query_id -> chunks and scores, best first)."""
    kind = _kind(path)
    stem = path.name.partition(".")[0] or path.name
    if kind in TREC:
        run = read_run(path)
        return run.tag or stem, run.rankings
    return stem, {query_id: in_order(scores) for query_id, scores in _table(path, kind).items()}


def _retrieved(
    path: Path, corpus: Path | None, places: Mapping[str, Place] | None, ranked: tuple[str, float], rank: int
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


def _table(path: Path, kind: str) -> dict[str, dict[str, float]]:
    """query_id -> chunk_id -> score, as ranx saved it; a ResultError where it is something else."""
    expected = "ranx saves query -> document -> score"
    if kind == ".json":
        expected += "; rows of JSON are read where a name ends in .jsonl"
    try:
        read = {".json": _json, ".lz4": _lz4}.get(kind, _parquet)
        return _TABLE.validate_python(read(path))
    except ValidationError as error:
        raise ResultError(f"{path}: {mistakes(error)[0]}; {expected}") from error
    except json_reader.JsonFaultError as fault:
        raise ResultError(f"{path}: {fault}; {expected}") from fault
    except (json_reader.UnreadableError, OSError) as fault:
        raise ResultError(f"{path} cannot be read ({fault}); give a file that ranx saved") from fault


def _json(path: Path) -> Any:
    return json_reader.parse_plain(json_reader.read_document(path))


def _lz4(path: Path) -> Any:
    """CBOR that is packed twice."""
    require(f"{path.name}", "lz4", "cbor2")
    import cbor2
    import lz4.frame

    most = json_reader.MOST_OF_A_DOCUMENT
    try:
        with lz4.frame.open(path) as stream:
            packed = stream.read(most + 1)
        content = lz4.frame.LZ4FrameDecompressor().decompress(packed, max_length=most + 1)
        if len(content) > most:
            raise json_reader.JsonFaultError(f"the file has more than {most:,} bytes")
        return cbor2.loads(content)
    except (RuntimeError, EOFError, cbor2.CBORError, RecursionError) as error:
        raise json_reader.JsonFaultError(f"it cannot be unpacked ({error})") from error


def _parquet(path: Path) -> Any:
    """Read by pyarrow: polars and fastparquet end the process where a file is damaged."""
    require(f"{path.name}", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with json_reader.opened(path) as stream:
            table = pq.read_table(stream, columns=list(_COLUMNS))
        columns = [table[name].to_pylist() for name in _COLUMNS]
    except (pa.ArrowException, KeyError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise json_reader.JsonFaultError(f"no table with {', '.join(_COLUMNS)} ({why})") from error
    result: dict[str, dict[str, float]] = defaultdict(dict)
    for query_id, chunk_id, score in zip(*columns, strict=True):
        if chunk_id in result[query_id]:
            raise json_reader.JsonFaultError(f"{chunk_id!r} appears twice in query {query_id!r}; keep one row")
        result[query_id][chunk_id] = score
    return dict(result)
