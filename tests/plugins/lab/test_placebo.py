"""Offsets of a placebo: other cuts, one size."""

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.sizes import mean_nws
from repoeval_bench.core.source import SourceFile, count_nws
from repoeval_bench.plugins.lab.placebo import SPAN, TOLERANCE, describe, placebo_offsets, placebo_problems

BASELINE = "fixed:max_nws=300"

FILES = [
    SourceFile("r", f"m{n}.py", "".join(f"name_{i} = a * {7 ** (i * (n + 2) % 11)}\n" for i in range(40 + 30 * n)))
    for n in range(12)
]


def test_offsets_have_the_baselines_size_and_other_cuts() -> None:
    """Ten offsets, each with other boundaries, their realised means within 5 % of the baseline's, checked by chunking."""
    offsets = placebo_offsets(BASELINE, 10, [FILES, FILES[6:]])
    assert all(offset.matched for offset in offsets)
    chunkers = [make_chunker(offset.size.spec) for offset in offsets]
    for files in (FILES, FILES[6:]):
        target = mean_nws(make_chunker(BASELINE), files)
        assert max(abs(mean_nws(chunker, files) - target) for chunker in chunkers) <= TOLERANCE * target
    cuts = [tuple(chunk.chunk_id for file in FILES for chunk in chunker.chunk(file)) for chunker in chunkers]
    assert len(set(cuts)) == 10
    assert [offset.n_chunks for offset in offsets] == list(map(len, cuts))


def test_no_offset_has_a_stub_at_the_head_of_a_file() -> None:
    """The first of several chunks is never smaller than what the size without the offset would make it."""
    for offset in placebo_offsets(BASELINE, 10, [FILES]):
        chunker = make_chunker(offset.size.spec)
        firsts = [chunks[0] for file in FILES if len(chunks := chunker.chunk(file)) > 1]
        assert min(count_nws(chunk.text) for chunk in firsts) > 0.8 * offset.size.target


def test_an_offset_that_cannot_be_matched_is_counted() -> None:
    """Behind the tenth of eleven lines is nothing to cut, at whatever size: such an offset is counted and left out."""
    offsets = placebo_offsets("fixed:max_nws=30", 2, [[SourceFile("r", "m.py", "a = 1\n" * 11)]])
    assert [offset.matched for offset in offsets] == [True, False]
    assert describe(offsets).endswith("too few to measure it")
    assert "2 of 2 offsets within 5% of the baseline's mean" in describe([offsets[0]] * 2)


@pytest.mark.parametrize(("n", "good"), [(-1, False), (0, True), (1, False), (2, True), (SPAN, True), (21, False)])
def test_a_number_of_offsets_without_a_spread_is_refused(n: int, good: bool) -> None:
    """One offset has no spread, and there are only so many offsets."""
    assert (placebo_problems(n) == []) == good
