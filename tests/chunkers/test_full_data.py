"""The chunkers on the benchmark's own files."""

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.statistics import chunk_stats
from repoeval_bench.core.source import count_nws

pytestmark = pytest.mark.full_data


@pytest.fixture
def files(real_source):
    from repoeval_bench.dataset.loader import load_benchmark

    return [file for repo in load_benchmark(real_source).files.values() for file in repo]


def test_ast_keeps_every_line_once_and_every_size(files) -> None:
    chunker = make_chunker("ast")
    chunked = [(file, chunker.chunk(file)) for file in files]
    for file, chunks in chunked:
        assert "".join(chunk.text for chunk in chunks) == file.text or not file.text.strip()
        assert all(count_nws(chunk.text) <= 1500 or len(chunk.lines) == 1 for chunk in chunks)


def test_syntax_keeps_more_definitions_whole_than_lines_do_at_the_same_limit(files) -> None:
    result = {}
    for name in ("ast", "fixed", "functions", "chonkie"):
        chunker = make_chunker(name)
        result[name] = chunk_stats(chunker.spec, [(file, chunker.chunk(file)) for file in files])
        assert result[name].uncovered_lines == 0
    assert result["ast"].whole > result["fixed"].whole
    assert abs(result["ast"].mean / result["chonkie"].mean - 1) < 0.05
