"""The chunkers of a recommendation at each size: which there are, and what cannot have which size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.sizes import match_size, mean_nws, size_option
from repoeval_bench.core.errors import ChunkError
from repoeval_bench.core.source import count_nws
from repoeval_bench.core.spec import Spec
from repoeval_bench.dataset.build.sampling import some_of
from repoeval_bench.runs.parts import left_out_for_language

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.source import SourceFile

SIZES = (500, 1000, 2000)
"""Non-whitespace characters of `fixed`, whose mean chunk every chunker is given."""

BASELINE = "fixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A chunker as it was named, at a size in nws (None where it has none), and its full spec at that size."""

    name: str
    size: int | None
    spec: str

    @property
    def label(self) -> str:
        """`ast at 1,000`, or the chunker alone where it has no size."""
        return self.name if self.size is None else f"{self.name} at {self.size:,}"


def sample_of(benchmark: Benchmark) -> list[SourceFile]:
    """Files on which sizes are matched."""
    return some_of([file for held in benchmark.files.values() for file in held])


def sized(
    benchmark: Benchmark, chunkers: Sequence[str], sizes: Sequence[int], notify: Callable[[str], None]
) -> tuple[list[list[Arm]], list[str]]:
    """The chunkers at each size, and a line for each that cannot have it; those without a size come with the first.

    The largest size is that of the largest file: it is taken for all above it, with a line for each. So is each chunker
    left out that does not know a language of the code.
    """
    unknown = left_out_for_language(benchmark, {name: make_chunker(name) for name in chunkers}, skippable=False)
    files = sample_of(benchmark)
    largest = max([1, *(count_nws(file.text) for held in benchmark.files.values() for file in held)])
    found: dict[int, list[Arm]] = {min(size, largest): [] for size in sizes}
    left_out, seen = [f"{name}: {reason}" for name, reason in unknown.items()], set()
    means: dict[str, dict[int, float]] = {name: {} for name in chunkers if name not in unknown}
    failing: set[str] = set()
    for size, arms in found.items():
        baseline = make_chunker(f"{BASELINE}:max_nws={size}")
        target = mean_nws(baseline, files)
        left_out += [
            f"size {more:,}: no file has more than {largest:,} characters; tried at {largest:,}, where "
            f"each file is one chunk of `{BASELINE}`, on average of {target:,.0f} characters"
            for more in dict.fromkeys(sizes)
            if size == largest < more
        ]
        for name, tried in means.items():
            spec, at, reason = make_chunker(name).spec, None, ""
            if name == BASELINE:
                spec, at = baseline.spec, size
            elif size_option(Spec.parse(spec)) and name not in failing:
                try:
                    match = match_size(name, target, files, means=tried)
                except ChunkError:  # its run says why
                    failing.add(name)
                else:
                    spec, at, reason = match.spec, size, match.reason
                    notify(str(match))
            if spec not in seen:
                arms.append(Arm(name=name, size=at, spec=spec))
            elif reason:
                left_out.append(f"{name} at {size:,}: {reason}")
            seen.add(spec)
    return [arms for arms in found.values() if arms], left_out
