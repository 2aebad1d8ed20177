"""Statistics of a chunker's chunks: sizes, definitions kept whole, lines that appear twice."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from repoeval_bench.core.definitions import definitions
from repoeval_bench.core.languages import Language, language_of
from repoeval_bench.core.source import Chunk, SourceFile, count_nws, summarize


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkStats:
    """Totals over files. Sizes are nws: mean, and median, p95 and max by nearest rank; 0 for no chunk.

    `lines` are the non-blank ones; `shared_lines` are in more than one chunk, `uncovered_lines` in none. `definitions`
    are functions and types with a body; `whole` are those that lie within one chunk, decorators included. `unknown` are
    files of an unknown language, whose definitions are not counted.
    """

    spec: str
    files: int
    chunks: int
    mean: float
    median: int
    p95: int
    max: int
    lines: int
    shared_lines: int
    uncovered_lines: int
    definitions: int
    whole: int
    unknown: int


def chunk_stats(spec: str, chunked: Sequence[tuple[SourceFile, Sequence[Chunk]]]) -> ChunkStats:
    """Measure (file, its chunks) pairs; LanguageError if a file's grammar is not installed."""
    sizes = [count_nws(chunk.text) for _, chunks in chunked for chunk in chunks]
    lines = shared = uncovered = n_definitions = whole = unknown = 0
    for file, chunks in chunked:
        before = file.nws_before()
        seen = [0] * file.n_lines
        for chunk in chunks:
            for line in chunk.lines:
                seen[line] += 1
        counts = [times for line, times in enumerate(seen) if before[line] < before[line + 1]]
        lines += len(counts)
        shared += sum(times > 1 for times in counts)
        uncovered += counts.count(0)
        language = language_of(file.path, file.text)
        unknown += language is None
        starts = [chunk.chars.start for chunk in chunks]
        # The farthest end of the chunks that start before: a span is in one of them if it does not end later.
        reach = list(accumulate((chunk.chars.end for chunk in chunks), max, initial=-1))
        for start, end in _definition_spans(file, language) if language else ():
            n_definitions += 1
            whole += end <= reach[bisect_right(starts, start)]
    return ChunkStats(
        spec=spec,
        files=len(chunked),
        chunks=len(sizes),
        **summarize(sizes),
        lines=lines,
        shared_lines=shared,
        uncovered_lines=uncovered,
        definitions=n_definitions,
        whole=whole,
        unknown=unknown,
    )


def _definition_spans(file: SourceFile, language: Language) -> list[tuple[int, int]]:
    """Return the spans of the file's definitions, without the blanks at their ends, which chunkers may leave out."""
    spans = []
    for definition in definitions(file, language):
        if definition.kind == "variable" or definition.body is None:
            continue
        chars = file.chars_of(definition.lines)
        text = file.slice(chars)
        start = chars.start + len(text) - len(text.lstrip())
        spans.append((start, start + len(text.strip())))
    return spans
