"""SWE-Explore: the regions read by every agent that resolved an issue, and the regions that an explorer ranked.

A row of the benchmark (JSONL) has `instance_id`, `repo_dir`, `problem_statement` and, under `ground_truth`,
`read_core_regions`: `path`, `start` and `end`, from 1 and with the last line, -1 for the end of the file. Regions that
only some agents read (`read_optional_regions_map`) are no gold. A row of an explorer's results has `instance_id` and
`regions`, best first. Read from the README of SWE-Explore-Bench. Its budget is lines; here it is characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from repoeval_bench.core.errors import ResultError
from repoeval_bench.plugins.logs.questions.writing import (
    ForeignQuestion,
    ForeignRecord,
    line_span,
    read_foreign,
    relative,
)
from repoeval_bench.runs.log import ChunkerOfLog, LogRow, Retrieved


class _Region(ForeignRecord):
    path: str
    start: int = 1
    end: int = -1


class _Truth(ForeignRecord):
    read_core_regions: tuple[_Region, ...] = ()


class _Issue(ForeignRecord):
    instance_id: str
    ground_truth: _Truth
    problem_statement: str = ""
    repo_dir: str = ""


class _Result(ForeignRecord):
    instance_id: str
    regions: tuple[_Region, ...]


def read_swe_explore(path: Path) -> Iterator[ForeignQuestion]:
    """Read the issues of a benchmark file, each with its core regions; a ResultError names a row of another form."""
    for where, row in read_foreign(path, _Issue):
        question = ForeignQuestion(where, row.instance_id, row.problem_statement, repository=_repository(row))
        for region in row.ground_truth.read_core_regions:
            # An end of -1 is the file's, whose length is not known here, so the answer is the whole file.
            question.add(region.path, region.start, None if region.end == -1 else region.end)
        yield question


def read_ranking(benchmark: Path, results: Path, system: str) -> Iterator[LogRow]:
    """Return an explorer's results as rows of a log; a repeated region keeps its first rank.

    ResultErrors: an issue that the benchmark lacks or that appears twice, or a region without an end, whose size is not
    known.
    """
    repositories = {row.instance_id: _repository(row) for _, row in read_foreign(benchmark, _Issue)}
    ranked = list(read_foreign(results, _Result))
    deepest = max((len(row.regions) for _, row in ranked), default=0)
    known: set[str] = set()
    for where, row in ranked:
        if row.instance_id not in repositories:
            raise ResultError(f"{where}: {benchmark} has no instance {row.instance_id!r}; give results of that file")
        if row.instance_id in known:
            raise ResultError(f"{where}: instance {row.instance_id!r} appears twice; keep one row")
        known.add(row.instance_id)
        regions = dict.fromkeys((relative(region.path), region.start, region.end) for region in row.regions)
        topk = []
        for rank, (path, start, end) in enumerate(regions, start=1):
            lines = line_span(where, start, end)
            file = f"{repositories[row.instance_id]}/{path}"
            topk.append(
                Retrieved(
                    rank=rank,
                    chunk_id=f"{file}:{start}-{end}",
                    score=1 / rank,
                    file=file,
                    start_line=lines.start,
                    end_line=lines.end,
                )
            )
        yield LogRow(
            query_id=row.instance_id,
            system=system,
            k_raw=max(1, deepest),
            topk=topk,
            index_version="not stated",
            chunker=ChunkerOfLog(algo="not stated", parameters={}),
        )


def _repository(row: _Issue) -> str:
    return PurePosixPath(row.repo_dir).name or row.instance_id
