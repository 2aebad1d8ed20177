"""Semble's annotations: a JSON list for each repository, named after it, or a folder of such files.

A row has `query`, `relevant` and `secondary` answers, and a `category`. An answer is a path, or a mapping with `path`
and sometimes `start_line` and `end_line`, which count from 1 and include the last line. Read from `benchmarks/data.py`
of MinishLab/semble, version 0.7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pydantic import RootModel

from repoeval_bench.core import json_reader
from repoeval_bench.core.errors import ResultError
from repoeval_bench.plugins.logs.questions.writing import ForeignQuestion, ForeignRecord

RELEVANT, SECONDARY = 2.0, 1.0
"""Gains of the two kinds of answers; upstream counts both as relevant."""


class _Answer(ForeignRecord):
    path: str
    start_line: int | None = None
    end_line: int | None = None


class _Annotation(ForeignRecord):
    query: str
    relevant: tuple[str | _Answer, ...] = ()
    secondary: tuple[str | _Answer, ...] = ()
    category: str | None = None
    repo: str | None = None


class _Annotations(RootModel[list[_Annotation]]):
    """The content of a file."""


def read_semble(path: Path) -> Iterator[ForeignQuestion]:
    """Read the questions of a file, or of the files of a folder; a question's id is `REPOSITORY/NUMBER`, from 1.

    Several files may be of one repository, and a file of several. A ResultError names a file of another form.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise ResultError(f"{path} has no .json file; name a file of annotations, or their folder")
    seen: Counter[str] = Counter()
    for file in files:
        with json_reader.faults_as(ResultError, file, "give annotations as Semble has them"):
            rows = json_reader.parse(json_reader.read_document(file), _Annotations).root
        for position, row in enumerate(rows, start=1):
            name = row.repo or file.stem
            seen[name] += 1
            question = ForeignQuestion(
                f"{file}: question {position}",
                f"{name}/{seen[name]}",
                row.query,
                repository=name,
                category=row.category,
            )
            for answers, gain in ((row.relevant, RELEVANT), (row.secondary, SECONDARY)):
                for answer in answers:
                    place = _Answer(path=answer) if isinstance(answer, str) else answer
                    question.add(place.path, place.start_line, place.end_line, gain)
            yield question
