"""The inputs of line measures for an imported log whose gold and chunks have lines.

The size of a line is not in a log. It is counted in the sources, so that every system reads the same lines at the same
cost. Without sources there are no line measures, because a budget cannot count lines of unknown size.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import os_errors_as
from repoeval_bench.core.source import SourceFile
from repoeval_bench.dataset.trees import decode
from repoeval_bench.metrics import ChunkPlace, Context
from repoeval_bench.plugins.logs.records import LogError
from repoeval_bench.runs.inspection import read_sources

if TYPE_CHECKING:
    from repoeval_bench.core.places import Gold
    from repoeval_bench.runs.log import LoggedChunk, Retrieved

INPUTS = frozenset({"ranking", "places", "gold", "line_nws"})
"""Inputs of line measures."""


def add_place(places: dict[str, ChunkPlace], chunk: Retrieved | LoggedChunk) -> None:
    """Add a chunk's lines and the size of its header, if it names lines; a second place of an id is a LogError."""
    if chunk.file is None or chunk.lines is None:
        return
    location = ChunkPlace(chunk.file, chunk.lines, chunk.header_nws or 0)
    if (known := places.setdefault(chunk.chunk_id, location)) != location:
        both = " and ".join(f"{span.lines.start} to {span.lines.end} of {span.file}" for span in (known, location))
        raise LogError(f"chunk {chunk.chunk_id!r} is at lines {both}; give it one place and one header")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineInputs:
    """The inputs of line measures."""

    context: Context
    rankings: Mapping[str, Sequence[tuple[str, float]]]
    """The rankings as far as they can be read: up to a chunk whose file or lines, and so whose size, are not known."""
    files: Mapping[str, SourceFile]
    unread: int
    """The queries that are not read to the end. Their line measures are lower bounds."""

    @classmethod
    def of(
        cls,
        rankings: Mapping[str, Sequence[tuple[str, float]]],
        places: Mapping[str, ChunkPlace],
        gold: Mapping[str, Gold],
        sources: Path,
    ) -> LineInputs:
        """Look up the files of gold and chunks; a LogError if one of the gold's files is missing."""
        gold_files = {location.file for gold_lines in gold.values() for location in gold_lines}
        files = find_sources(sources, gold_files | {location.file for location in places.values()})
        if missing := sorted(gold_files - files.keys()):
            raise LogError(
                f"{len(missing)} of the gold's {len(gold_files)} files are not in {sources} (such as {missing[0]}); "
                "name the folder that holds them as the gold does with --files"
            )
        known = {chunk_id for chunk_id, location in places.items() if location.file in files}
        readable = {
            query_id: [*takewhile(lambda hit: hit[0] in known, ranking)]
            for query_id, ranking in rankings.items()
            if query_id in gold
        }
        return cls(
            context=Context(places=places, gold=gold, line_nws={name: file.line_nws() for name, file in files.items()}),
            rankings=readable,
            files=files,
            unread=sum(len(ranking) < len(rankings[query_id]) for query_id, ranking in readable.items()),
        )


def find_sources(sources: Path, names: Collection[str]) -> dict[str, SourceFile]:
    """Return name -> file, for those names that a folder, or a run's sources.jsonl.gz, has as text.

    A name that leads out of the folder, or that no file can have, is not looked up. A folder or file that cannot be
    read is a LogError.
    """
    if not sources.is_dir():
        return {name: file for name, file in read_sources(sources).items() if name in names}
    root = sources.resolve()
    results: dict[str, SourceFile] = {}
    for name in sorted(names):
        if "\0" in name or not (path := (root / name).resolve()).is_relative_to(root) or not path.is_file():
            continue
        repository, _, rest = name.partition("/")
        with (
            os_errors_as(LogError, f"{path} cannot be read", "name another folder with --files"),
            suppress(UnicodeDecodeError),
        ):
            results[name] = SourceFile(repository, rest, decode(path.read_bytes()))
    return results
