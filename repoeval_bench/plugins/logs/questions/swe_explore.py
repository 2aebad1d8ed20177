"""SWE-Explore: the regions read by every agent that resolved an issue.

A row of the benchmark (JSONL) has `instance_id`, `repo_dir`, `problem_statement` and, under `ground_truth`,
`read_core_regions`: `path`, `start` and `end`, from 1 and with the last line, -1 for the end of the file. Regions that
only some agents read (`read_optional_regions_map`) are no gold. Read from the README of SWE-Explore-Bench. Its budget
is lines; here it is characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from repoeval_bench.plugins.logs.questions.writing import ForeignQuestion, ForeignRecord, read_foreign


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


def read_swe_explore(path: Path) -> Iterator[ForeignQuestion]:
    """Read the issues of a benchmark file, each with its core regions; a ResultError names a row of another form."""
    for where, row in read_foreign(path, _Issue):
        question = ForeignQuestion(where, row.instance_id, row.problem_statement, repository=_repository(row))
        for region in row.ground_truth.read_core_regions:
            # An end of -1 is the file's, whose length is not known here, so the answer is the whole file.
            question.add(region.path, region.start, None if region.end == -1 else region.end)
        yield question


def _repository(row: _Issue) -> str:
    return PurePosixPath(row.repo_dir).name or row.instance_id
