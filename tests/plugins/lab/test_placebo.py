"""Arms of a placebo: other cuts, one size."""

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.sizes import mean_nws
from repoeval_bench.core.source import SourceFile, count_nws
from repoeval_bench.plugins.lab.placebo import SPAN, TOLERANCE, describe, placebo_arms, placebo_problems

BASELINE = "fixed:max_nws=300"

FILES = [
    SourceFile("r", f"m{n}.py", "".join(f"name_{i} = a * {7 ** (i * (n + 2) % 11)}\n" for i in range(40 + 30 * n)))
    for n in range(12)
]


def test_arms_have_the_baselines_size_and_other_cuts() -> None:
    """Ten arms, each with other boundaries, their realised means within 5 % of the baseline's, checked by chunking."""
    arms = placebo_arms(BASELINE, 10, [FILES, FILES[6:]])
    assert all(arm.matched for arm in arms)
    chunkers = [make_chunker(arm.size.spec) for arm in arms]
    for files in (FILES, FILES[6:]):
        target = mean_nws(make_chunker(BASELINE), files)
        assert max(abs(mean_nws(chunker, files) - target) for chunker in chunkers) <= TOLERANCE * target
    cuts = [tuple(chunk.chunk_id for file in FILES for chunk in chunker.chunk(file)) for chunker in chunkers]
    assert len(set(cuts)) == 10
    assert [arm.n_chunks for arm in arms] == list(map(len, cuts))


def test_no_arm_has_a_stub_at_the_head_of_a_file() -> None:
    """The first of several chunks is never smaller than what the size without the offset would make it."""
    for arm in placebo_arms(BASELINE, 10, [FILES]):
        chunker = make_chunker(arm.size.spec)
        firsts = [chunks[0] for file in FILES if len(chunks := chunker.chunk(file)) > 1]
        assert min(count_nws(chunk.text) for chunk in firsts) > 0.8 * arm.size.target


def test_an_arm_that_cannot_be_made_alike_is_told() -> None:
    """Behind the tenth of eleven lines is nothing to cut, at whatever size: such an arm is counted and left out."""
    arms = placebo_arms("fixed:max_nws=30", 2, [[SourceFile("r", "m.py", "a = 1\n" * 11)]])
    assert [arm.matched for arm in arms] == [True, False]
    assert describe(arms).endswith("too few to measure it")
    assert "2 of 2 arms within 5% of the baseline's mean" in describe([arms[0]] * 2)


@pytest.mark.parametrize(("n", "good"), [(-1, False), (0, True), (1, False), (2, True), (SPAN, True), (21, False)])
def test_a_number_of_arms_without_a_spread_is_refused(n: int, good: bool) -> None:
    """One arm has no spread, and there are only so many offsets."""
    assert (placebo_problems(n) == []) == good
