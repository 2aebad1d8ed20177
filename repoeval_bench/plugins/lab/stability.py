"""The cost of an update of the indexed code: the texts of the new version that the old one lacks.

Means are over pairs of versions, from the output of `lab stability OLD NEW --json` for each pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from math import inf, log
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import ConfigDict, Field

from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.sizes import chunker_name, chunker_size
from repoeval_bench.chunkers.tools.statistics import default_tokens
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.json_reader import faults_as, read_rows
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.source import SourceFile, count_nws
from repoeval_bench.core.words import few
from repoeval_bench.retrieval.corpus import build_corpus
from repoeval_bench.runs.records import Record

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """Counts of a chunker's texts in the new version of some files, and of those to embed again.

    `texts` counts the new version's distinct embedded texts, headers included: a text that occurs twice has one vector.
    `new_texts` counts those that the old version lacks. `nws` and `tokens` are their sizes; tokens are those of the
    default model's tokenizer with its special ones, None if it is not installed. `old_texts` counts the old version's.
    `skipped` are the files that the chunker failed on, of the old version and of the new one.
    """

    spec: str
    old_texts: int
    texts: int
    new_texts: int
    nws: int
    new_nws: int
    tokens: int | None
    new_tokens: int | None
    skipped: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def share(self) -> float:
        """The share of the texts that must be embedded again; 0 without texts."""
        return _share(self.new_texts, self.texts)

    @property
    def nws_share(self) -> float:
        """The share of non-whitespace characters that must be embedded again."""
        return _share(self.new_nws, self.nws)

    @property
    def tokens_share(self) -> float | None:
        """The share of tokens that must be embedded again; None if tokens are not counted."""
        return None if self.tokens is None else _share(self.new_tokens or 0, self.tokens)


def stability(
    chunker: Chunker | str,
    old: Sequence[SourceFile],
    new: Sequence[SourceFile],
    *,
    skip_errors: bool = False,
    count: Callable[[Sequence[str]], Sequence[int] | None] = default_tokens,
) -> Stability:
    """Count the texts of the new version of some files that the old one lacks: they must be embedded again.

    A file that was renamed or moved costs nothing unless its path is embedded (`header=path`). `count` gives the tokens
    of texts, or None. ChunkError: the chunker fails on a file, unless `skip_errors` skips and counts it.
    """
    cutter = make_chunker(chunker) if isinstance(chunker, str) else chunker
    before, after = (build_corpus({"": files}, cutter, skip_errors=skip_errors) for files in (old, new))
    known, texts = {chunk.embed_text for chunk in before}, [*dict.fromkeys(chunk.embed_text for chunk in after)]
    again = [text not in known for text in texts]
    sizes = [count_nws(text) for text in texts]
    tokens = count(texts)
    return Stability(
        spec=cutter.spec,
        old_texts=len(known),
        texts=len(texts),
        new_texts=sum(again),
        nws=sum(sizes),
        new_nws=sum(compress(sizes, again)),
        tokens=None if tokens is None else sum(tokens),
        new_tokens=None if tokens is None else sum(compress(tokens, again)),
        skipped=(before.skipped, after.skipped),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


_NEAR = log(1.05)
"""Largest distance of two sizes that count as equal, as the logarithm of their ratio: matched sizes vary by file."""

_PRINTED = "lab stability OLD NEW --json"

_SHOWN = 3
"""Rows that an error names."""


class CodeVersion(Record):
    """One of two versions: the fingerprint covers paths and contents, the language is that of most of its code."""

    name: str
    fingerprint: str
    language: str


class StabilityRow(Record):
    """The fields that are read from a line of `lab stability OLD NEW --json`: one chunker, one pair of versions."""

    model_config = ConfigDict(extra="ignore")

    old: CodeVersion
    new: CodeVersion
    spec: str
    nws: Annotated[int, Field(ge=0)]
    new_nws: Annotated[int, Field(ge=0)]

    @property
    def pair(self) -> tuple[str, str]:
        """The fingerprints of the two versions."""
        return self.old.fingerprint, self.new.fingerprint

    @cached_property
    def chunker(self) -> tuple[str, int | None]:
        """The chunker's name, and its size; cached, because every run of a leaderboard is compared with every row."""
        return chunker_name(self.spec), chunker_size(self.spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates:
    """The mean share of non-whitespace characters that are embedded again, over `n_pairs` pairs of versions.

    `ci` is its 95 % interval, by sign flips of pairs. `to_fixed` is the mean difference to `fixed` of the same size
    with its interval. It is None for `fixed` itself, and if that was not measured for the same pairs.
    """

    share: float
    ci: Interval
    n_pairs: int
    to_fixed: tuple[float, Interval] | None = None


def read_updates(path: Path) -> list[StabilityRow]:
    """Read the rows of a file; a UsageError if there is none, or one is broken or repeated."""
    with faults_as(UsageError, path, f"give what {_PRINTED} prints"):
        numbered = list(read_rows(path, StabilityRow))
    if not numbered:
        raise UsageError(f"{path} has no row; give the output of {_PRINTED}")
    first: dict[tuple[str, ...], int] = {}
    duplicates = []
    for line, row in numbered:
        if (before := first.setdefault((row.spec, *row.pair), line)) != line:
            duplicates.append(f"line {line} repeats line {before} ({row.spec}, {row.old.name} and {row.new.name})")
    if duplicates:
        raise UsageError(f"{path}: {few(duplicates, _SHOWN, '; ')}; keep one row of a chunker and a pair of versions")
    return [row for _, row in numbered]


def updates_of(spec: str, rows: Sequence[StabilityRow], baseline: str | None = None) -> Updates | None:
    """Return the cost of updates for a chunker, by the rows of its size (within 5 %); None without rows.

    `baseline` is the spec of `fixed` of the same size; it is compared if it was measured on the same pairs.
    """
    shares = _shares(spec, rows)
    if not shares:
        return None
    mean, ci = _mean([*shares.values()])
    fixed = {} if baseline is None or baseline == spec else _shares(baseline, rows)
    paired = shares.keys() == fixed.keys()
    to_fixed = _mean([share - fixed[pair] for pair, share in shares.items()]) if paired else None
    return Updates(share=mean, ci=ci, n_pairs=len(shares), to_fixed=to_fixed)


def _shares(spec: str, rows: Sequence[StabilityRow]) -> dict[tuple[str, str], float]:
    """Return pair of versions -> the share of characters to embed again."""
    size, name = chunker_size(spec), chunker_name(spec)
    nearest: dict[tuple[str, str], tuple[float, float]] = {}
    for row in rows:
        if row.nws and row.chunker[0] == name and (distance := _distance(size, row.chunker[1])) <= _NEAR:
            result = (distance, row.new_nws / row.nws)
            nearest[row.pair] = min(result, nearest.get(row.pair, result))
    return {pair: share for pair, (_, share) in nearest.items()}


def _mean(values: Sequence[float]) -> tuple[float, Interval]:
    pairs = range(len(values))
    (mean,), (ci,) = mean_intervals(np.array(values)[:, None], pairs, ["all"] * len(values), "micro")
    return mean, ci


def _distance(ours: int | None, theirs: int | None) -> float:
    """Return the distance of two sizes, as the logarithm of their ratio; infinity if only one is known."""
    if ours == theirs:
        return 0.0
    return abs(log(ours / theirs)) if ours and theirs else inf
