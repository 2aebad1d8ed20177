"""The counts of `chunker stats`."""

from repoeval_bench.chunkers.file import FileChunker
from repoeval_bench.chunkers.fixed import FixedChunker
from repoeval_bench.chunkers.tools.statistics import chunk_stats
from repoeval_bench.chunkers.window import WindowChunker
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan

TEXT = "import os\n\n@d\ndef f():\n    return 1\n\n\nclass A:\n    def g(self): pass\n    x = 1\n"
FILE = SourceFile("r", "a.py", TEXT)


def stats(chunker):
    return chunk_stats(chunker.spec, [(FILE, chunker.chunk(FILE))])


def test_the_whole_file_keeps_every_definition() -> None:
    counts = stats(FileChunker())
    assert (counts.files, counts.chunks, counts.definitions, counts.whole) == (1, 1, 3, 3)
    assert counts.mean == counts.median == counts.p95 == counts.max == 49
    assert (counts.lines, counts.shared_lines, counts.uncovered_lines) == (7, 0, 0)


def test_a_definition_cut_from_its_decorator_is_not_whole() -> None:
    cut = TEXT.index("def f")
    chunks = [Chunk.cut(FILE, CharSpan(0, cut)), Chunk.cut(FILE, CharSpan(cut, len(TEXT)))]
    assert chunk_stats("two", [(FILE, chunks)]).whole == 2


def test_lines_in_two_chunks_and_in_none_are_counted_blank_ones_not() -> None:
    counts = stats(WindowChunker(lines=4, step=2))
    assert counts.shared_lines == 4
    chunks = FixedChunker(max_nws=20).chunk(FILE)[1:]
    assert chunk_stats("less", [(FILE, chunks)]).uncovered_lines == 3


def test_no_file_divides_nothing_by_zero() -> None:
    stats = chunk_stats("ast", [(SourceFile("r", "a.py", ""), [])])
    assert (stats.chunks, stats.mean, stats.median, stats.lines, stats.definitions) == (0, 0.0, 0, 0, 0)


def test_a_definition_is_whole_in_any_chunk_that_holds_it_not_the_last_before_it_alone() -> None:
    chunks = [Chunk.cut(FILE, CharSpan(0, len(TEXT))), Chunk.cut(FILE, CharSpan(1, 5))]
    assert chunk_stats("overlapping", [(FILE, chunks)]).whole == 3
