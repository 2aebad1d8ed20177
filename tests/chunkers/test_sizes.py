"""Calibrating a chunker's size to a target mean."""

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.sizes import is_resized, match_size, mean_nws, resize
from repoeval_bench.core.source import Chunk, SourceFile, count_nws
from repoeval_bench.core.spans import LineSpan
from support.leaves import of_leaves

FILES = [
    SourceFile(
        "r",
        f"m{n}.py",
        "".join(f"def f{i}(a):\n    b = a + {i}\n    return b * {n}\n\n\n" for i in range(150 + 40 * n)),
    )
    for n in range(4)
]


SIZED = (*("ast", "ast:min_nws=0", "fixed:max_nws=50", "fixed:max_tokens=254", "window", "recursive", "chonkie"),)


@pytest.mark.parametrize(("spec", "target"), of_leaves(*((spec, 150) for spec in SIZED), ("ast", 600), ("window", 600)))
def test_the_realised_mean_comes_within_five_percent(spec: str, target: int) -> None:
    match = match_size(spec, target, FILES)
    assert not match.reason
    assert abs(match.realised - target) <= 0.05 * target
    assert mean_nws(make_chunker(match.spec), FILES) == match.realised


class FromZero:
    """Files in blocks of lines that hold at least so many characters: a size that may be 0."""

    def __init__(self, max_nws: int = 0) -> None:
        self.spec = f"py:{__name__}:FromZero(max_nws={max_nws})"
        self._least = max_nws

    def chunk(self, file: SourceFile) -> list[Chunk]:
        chunks, first = [], 0
        for line in range(1, file.n_lines + 1):
            part = file.chars_of(LineSpan(first, line))
            if count_nws(file.slice(part)) > self._least or line == file.n_lines:
                chunks.append(Chunk.cut(file, part))
                first = line
        return [chunk for chunk in chunks if chunk.text.strip()]


def test_a_size_that_is_0_by_itself_is_searched_from_1() -> None:
    match = match_size(f"py:{__name__}:FromZero", 150, FILES)
    assert not match.reason


def test_a_windows_step_keeps_its_ratio() -> None:
    match = match_size("window:lines=40,step=10", 150, FILES)
    lines, step = (int(part.partition("=")[2]) for part in match.spec.partition(":")[2].split(","))
    assert abs(step - lines / 4) <= 0.5


def test_a_sweep_of_sizes_keeps_a_windows_ratio_too() -> None:
    assert resize("window:lines=40,step=10", 20) == "window:lines=20,step=5"
    assert resize("window:lines=40,step=10", 1) == "window:lines=1,step=1"


@pytest.mark.parametrize("spec", ["file", "functions"])
def test_a_chunker_without_a_size_says_so(spec: str) -> None:
    match = match_size(spec, 150, FILES)
    assert match.reason


def test_a_target_beyond_the_files_ends_at_the_nearest_with_the_reason() -> None:
    match = match_size("fixed", 1e6, FILES)
    assert match.reason
    assert match.realised == mean_nws(make_chunker("file"), FILES)
    assert all(part in match.reason for part in ("max_nws", "5%", "1000000"))


def test_no_files_divide_nothing_by_zero() -> None:
    assert mean_nws(make_chunker("ast"), []) == 0.0
    assert match_size("ast", 100, []).reason


def test_one_chunker_at_two_sizes_is_told_from_another_chunker() -> None:
    full = [make_chunker(spec).spec for spec in ("fixed:max_nws=500", "fixed:max_nws=900", "fixed:offset=3", "ast")]
    assert [is_resized(spec, full[0]) for spec in full] == [True, True, False, False]
    windows = [make_chunker(spec).spec for spec in ("window:lines=40,step=20", "window:lines=40,step=40", "file")]
    assert [is_resized(spec, "window:lines=20,step=10") for spec in windows] == [True, False, False]
    assert not is_resized("file", "file")
