"""Rows of a log of another system and of the files beside it: gold, judgements, negatives.

A file's name decides its format, also with `.gz`: `.jsonl` and `.json` are JSONL, and `.tsv` is BEIR's for judgements.
Every other file is JSONL if it begins with `{`, and TREC's if not. TREC files have no source files, lines, chunkers or
indexes: file and lines come from a corpus, the other names are `not stated`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any, TypeVar

from pydantic import AliasChoices, Field

from repoeval_bench.core import json_reader
from repoeval_bench.core.errors import ResultError, UsageError, all_mistakes, os_reason
from repoeval_bench.core.validation import Plain
from repoeval_bench.runs.log import ChunkerOfLog, LoggedChunk, LogRow, Name, PlacedRecord, Retrieved, in_full, read_log
from repoeval_bench.runs.records import Record
from repoeval_bench.runs.trec import beir_rows, qrels_rows, read_run

RANKINGS = ("topk", "raw_topk")
"""Fields of a row that rank chunks."""


class LogError(ResultError, UsageError):
    """A log, or a file beside it, is broken, or the two contradict each other (exit code 2)."""

    exit_code = 2


def _named(*names: str) -> Any:
    return Field(validation_alias=AliasChoices(*names))


class Gold(PlacedRecord):
    """One judgement: a chunk id (gain 0: judged and not relevant), a file, or lines of a file.

    What a row says of its query (`repository`, `conversation`) holds for all rows of that query.
    BEIR's names of the fields are read too.
    """

    query_id: Annotated[Name, _named("query_id", "query-id")]
    chunk_id: Annotated[str | None, _named("chunk_id", "corpus-id")] = None
    file: str | None = None
    gain: Annotated[float, Field(ge=0), _named("gain", "score")] = 1.0
    repository: str | None = None
    conversation: str | None = None
    extra: Plain | None = None


_Grade = Annotated[int, Field(ge=0, le=2)]


class Judgement(PlacedRecord):
    """One chunk of a pool: relevant (2), partly (1), not (0), or not judged yet (null); the rest is for the judge."""

    query_id: Name
    chunk_id: Name
    grade: _Grade | None
    file: str | None = None
    query: str | None = None
    text: str | None = None
    note: str | None = None


class Calibrated(Record):
    """One chunk that a trusted person graded (`gold`) and the judge too; the ids only name the chunk."""

    gold: _Grade
    judge: _Grade
    query_id: str | None = None
    chunk_id: str | None = None


_Model = TypeVar("_Model", bound=Record)


def read_rows(path: Path, model: type[_Model]) -> Iterator[tuple[int, _Model]]:
    """Yield (line number, row) of a JSONL file; a row that breaks the contract is a LogError with file:line."""
    return log_faults(path, json_reader.read_rows(path, model))


def log_faults(path: Path, rows: Iterator[tuple[int, _Model]]) -> Iterator[tuple[int, _Model]]:
    """Yield the rows of a file; a fault in them becomes a LogError."""
    try:
        yield from rows
    except json_reader.JsonFaultError as fault:
        where, faults = fault.where(path), fault.faults
        raise LogError(f"{where}: {faults[0]}" if len(faults) == 1 else all_mistakes(faults, where)) from fault
    except OSError as error:
        raise LogError(f"{path} cannot be read ({os_reason(error)}); give a JSONL file in UTF-8") from error


_JSON = (".jsonl", ".json")
NOT_STATED = "not stated"


class _Graded(Gold):
    """A line of qrels, whose grade may be below 0: in the pool, but not judged."""

    gain: float


def is_trec(path: Path) -> bool:
    """Return whether a file is one of TREC, and not JSONL."""
    if _ending(path) in _JSON:
        return False
    try:
        with json_reader.opened(path) as stream:
            return not next(json_reader.lines(stream), (0, b"{"))[1].lstrip().startswith(b"{")
    except (json_reader.JsonFaultError, OSError):
        return True  # its reader says what is wrong with the file


def _ending(path: Path) -> str:
    """The end of a file's name, without `.gz`."""
    return PurePath(path.name.lower().removesuffix(".gz")).suffix


def log_rows(
    path: Path, places: Mapping[str, LoggedChunk] | None = None, depth: int | None = None
) -> Iterator[tuple[int, LogRow]]:
    """Yield (line number, row) for every query of a log, or (0, row) for every query of a TREC run.

    A TREC run's system is its tag, or the file's name. Its depth is `depth`, or the length of its longest ranking; a
    log says its depth itself, so there `depth` is a UsageError. File and lines of a TREC run's chunks are their
    `places` in the corpus. A ranking longer than `depth` is a LogError.
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
            known = places.get(chunk_id) if places else None  # what a corpus lacks is refused with all rows
            place = known.model_dump(exclude_none=True) if known else {}
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


def gold_rows(path: Path) -> Iterator[tuple[int, Gold]]:
    """Yield (line number or 0, row) for every judgement; only qrels have grades below 0, which are not relevant."""
    reader = beir_rows if _ending(path) == ".tsv" else qrels_rows if is_trec(path) else None
    if reader is None:
        yield from read_rows(path, Gold)
        return
    for number, query_id, chunk_id, gain in reader(path):
        yield number, _Graded(query_id=query_id, chunk_id=chunk_id, gain=gain)
