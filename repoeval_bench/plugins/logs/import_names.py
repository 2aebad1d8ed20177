"""The names that gold, log and corpus share: without a query, chunk id, file or line in both, nothing can match."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import ResultError, UsageError

if TYPE_CHECKING:
    from repoeval_bench.plugins.logs.import_gold import Judgements


def count_known(
    judgements: Judgements,
    queries: AbstractSet[str],
    ranked: AbstractSet[str],
    *,
    gold: Path,
    log: Path,
    corpus: Path | None,
) -> int:
    """Count the gold's files, or its chunk ids, that are in log or corpus; a ResultError if nothing can match.

    `queries` and `ranked` are the ids of the log's queries and of the chunks in its rankings. Gold of files for a log
    without files or corpus is a UsageError.
    """
    if judgements.pooled and not judgements.chunks:
        raise UsageError(f"{log} has no files, so gold of {judgements.kind} needs the chunks' places; give --corpus")
    if not judgements.gains.keys() & queries:
        raise ResultError(f"{log} and {gold} share no query; check their query_id")
    chunk_ids: set[str] = set().union(*judgements.chunks.values())
    if corpus is not None and ranked:
        _check_shared("chunk id", ("corpus", corpus, chunk_ids), ("log", log, ranked))
    what, known = (
        ("chunk id", chunk_ids | ranked) if judgements.kind == "chunks" else ("file", judgements.chunks.keys())
    )
    of_system = ("log", log, known) if corpus is None else ("corpus", corpus, known)
    _check_shared(what, ("gold", gold, judgements.judged), of_system, "" if corpus else ", or name all with --corpus")
    if corpus is not None and any(judgements.places.values()) and not any(map(any, judgements.gains.values())):
        place = next(place for places in judgements.places.values() for place in places)
        raise ResultError(
            f"no chunk of the corpus {corpus} has a line of the gold, such as {place.lines.start} to {place.lines.end} "
            f"of {place.file!r}; count the lines of both from 0, in the same files"
        )
    return len(judgements.judged & known)


_Named = tuple[str, Path, AbstractSet[str]]
"""What a file is called, its path, and the names in it."""


def _check_shared(what: str, first: _Named, second: _Named, more: str = "") -> None:
    """Raise a ResultError with one name of each of two files if they share none: two that end alike, if there are."""
    (this, path, names), (that, other_path, others) = first, second
    if names & others:
        return
    by_ending = {_ending(other): other for other in sorted(others, reverse=True)}
    name = next((name for name in sorted(names) if _ending(name) in by_ending), min(names, default=""))
    other = by_ending.get(_ending(name), min(others, default=""))
    shown = repr(other) if other else "none"
    raise ResultError(
        f"{path} and {other_path} share no {what}: the {this} has {name!r}, the {that} {shown}; name {what}s alike in "
        f"both{more}"
    )


def _ending(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/").casefold()).name
