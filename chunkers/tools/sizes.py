"""Match the realised sizes of chunkers: a nominal 1500 gives chunks of different mean sizes in different chunkers.

A search sets a size option so that the mean size of the chunks, in nws, is near a target on the same files.
`chunker_name` and `chunker_size` split a spec into chunker and size.
"""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import chain

from repoeval_bench.chunkers._adapters import chunks_of
from repoeval_bench.chunkers.registry import CHUNKERS, make_chunker, row_of
from repoeval_bench.core.errors import ChunkError, SpecError, UsageError, without_traceback
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.source import SourceFile, count_nws
from repoeval_bench.core.spec import Spec

SIZE_OPTIONS = ("max_nws", "max_tokens", "chunk_size", "max_chunk_size", "max_chars", "lines")
"""The options that set a size, of any chunker; the `sizes` of a chunker's row come first."""

TOLERANCE = 0.05
"""How far a realised mean may be from its target, as a share of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeMatch:
    """A chunker at a matched size: its full spec, and the realised mean of its chunks.

    `reason` says why the realised mean is not within the tolerance of the target; "" if it is.
    """

    spec: str
    realised: float
    target: float
    reason: str = ""

    def __str__(self) -> str:
        near = f"; {self.reason}" if self.reason else ""
        return f"{self.spec}: chunks average {self.realised:.0f} characters (target: {self.target:.0f}){near}"


def mean_nws(chunker: Chunker, files: Sequence[SourceFile], *, skip_errors: bool = False) -> float:
    """Return the mean size of all chunks of the files in nws; 0.0 without chunks.

    With `skip_errors` the mean is over the files that the chunker does not fail on.
    """
    return _mean(_sizes(chunker, files, skip_errors=skip_errors))


def _sizes(chunker: Chunker, files: Sequence[SourceFile], *, skip_errors: bool) -> list[list[int]]:
    """Return the sizes in nws of each file's chunks; with `skip_errors`, none for a file that the chunker fails on."""
    sizes: list[list[int]] = []
    for file in files:
        sizes.append([])
        with suppress(ChunkError) if skip_errors else nullcontext():
            sizes[-1] = [count_nws(chunk.text) for chunk in chunks_of(file, chunker)]
    return sizes


def _mean(sizes: Sequence[Sequence[int]]) -> float:
    n_chunks = sum(map(len, sizes))
    return sum(map(sum, sizes)) / n_chunks if n_chunks else 0.0


def match_targets(spec: str, targets: Sequence[float], files: Sequence[SourceFile]) -> list[SizeMatch] | ChunkError:
    """Match a chunker's size to each target on the same files; return its error if it fails on one of them."""
    means: dict[int, float] = {}
    try:
        return [match_size(spec, target, files, means=means) for target in targets]
    except ChunkError as error:
        return without_traceback(error)


# Longer than 60 lines: the bounds of the search, the search, and its result are read together.
def match_size(
    spec: str,
    target: float,
    files: Sequence[SourceFile],
    *,
    skip_errors: bool = False,
    means: dict[int, float] | None = None,
) -> SizeMatch:
    """Set a chunker's size so that its mean nws on the files is within `TOLERANCE` of the target.

    A chunker without a size option, or whose sizes do not reach the target, is returned at its nearest size with the
    reason. Errors of building and chunking are raised. With `skip_errors`, files that the chunker fails on at its own
    size are left out instead. `means` caches size -> mean on the same files, for several targets.
    """
    chunker = make_chunker(spec)
    start = Spec.parse(chunker.spec)
    option = size_option(start)
    if option is None:
        realised = mean_nws(chunker, files, skip_errors=skip_errors)
        reason = "" if _is_near(realised, target) else f"{spec} has no option for a size"
        return SizeMatch(spec=str(start), realised=realised, target=target, reason=reason)
    own_size = int(start.params[option])
    low, high = 0, max(1, own_size)  # doubling 0 would never end
    seen: dict[int, float] = {}
    means = {} if means is None else means
    cut = files
    if skip_errors:
        sizes = _sizes(chunker, files, skip_errors=True)
        means[own_size] = _mean(sizes)
        cut = [file for file, of_file in zip(files, sizes, strict=True) if of_file]

    def realised_at(size: int) -> float:
        if size not in means:
            means[size] = mean_nws(make_chunker(resize(str(start), size)), cut, skip_errors=skip_errors)
        seen[size] = means[size]
        return seen[size]

    reachable, largest = _ends(target, cut)
    while realised_at(high) < reachable and high < largest:
        low, high = high, high * 2
    reached = realised_at(high) >= reachable  # false for a chunker that drops lines, or repeats them, at every size
    straight = True
    while reached and high - low > 1 and not _is_near(realised_at(_nearest(seen, target)), target):
        # Means are nearly proportional to size, so interpolation mostly hits; every other step halves the interval,
        # which bounds the search.
        below, above = seen.get(low, 0.0), realised_at(high)
        share = (target - below) / (above - below) if straight and above > below else 0.5
        middle = min(max(low + round(share * (high - low)), low + 1), high - 1)
        low, high = (middle, high) if realised_at(middle) < target else (low, middle)
        straight = not straight
    best = _nearest(seen, target)
    near = _is_near(seen[best], target)
    reason = f"no {option} gives a mean within {TOLERANCE:.0%} of {target:.0f} characters"
    return SizeMatch(spec=resize(str(start), best), realised=seen[best], target=target, reason="" if near else reason)


def _ends(target: float, files: Sequence[SourceFile]) -> tuple[float, int]:
    """Return the mean and the size at which the search upwards ends."""
    # No chunk is larger than its file.
    whole = [nws for file in files if (nws := count_nws(file.text))]
    largest = max((len(file.text.encode("utf-8", "surrogatepass")) for file in files), default=0)
    return min(target, sum(whole) / len(whole) if whole else 0.0), largest


def size_option(spec: Spec) -> str | None:
    """Return the option of a full spec that sets the chunks' size, or None."""
    return next((name for name in (*row_of(spec).sizes, *SIZE_OPTIONS) if name in spec.params), None)


def is_resized(spec: str, other: str) -> bool:
    """Return whether two full specs are one chunker at two sizes."""
    ours, theirs = Spec.parse(spec), Spec.parse(other)
    option = size_option(theirs)
    return option is not None and size_option(ours) == option and resize(spec, int(theirs.params[option])) == other


def resize(spec: str, size: int) -> str:
    """Return the chunker's spec at another size; a UsageError if it has no option for a size.

    Options that its row lists as `scaled` keep their ratio to the size.
    """
    start = Spec.parse(make_chunker(spec).spec)
    option = size_option(start)
    if option is None:
        raise UsageError(f"{spec} has no option for a size; leave it out of a sweep of sizes")
    params = {**start.params, option: str(size)}
    for name in row_of(start).scaled.get(option, ()):
        value = round(size * int(start.params[name]) / int(start.params[option]))
        params[name] = str(min(size, max(1, value)))
    return str(Spec(start.name, start.target, params))


def _nearest(seen: dict[int, float], target: float) -> int:
    return min(seen, key=lambda size: (abs(seen[size] - target), size))


def _is_near(realised: float, target: float) -> bool:
    return abs(realised - target) <= TOLERANCE * target


def chunker_name(spec: str, *, sized: bool = False) -> str:
    """Return a spec without default options and, unless `sized`, without the options that set its size.

    A text that is not a spec stays as it is.
    """
    try:
        parsed = Spec.parse(spec)
    except SpecError:
        return spec
    row = row_of(parsed)
    options = {} if row.target else CHUNKERS.options(row)
    defaults = {name: str(option.default) for name, option in options.items()}
    size = {size_option(parsed), *chain.from_iterable(row.scaled.values())}
    params = {
        key: value for key, value in parsed.params.items() if (sized if key in size else defaults.get(key) != value)
    }
    return str(Spec(parsed.name, parsed.target, params))


def chunker_size(spec: str) -> int | None:
    """Return the size that a spec sets, in the option's own unit; None if it sets none."""
    try:
        parsed = Spec.parse(spec)
        option = size_option(parsed)
        return int(parsed.params[option]) if option else None
    except (SpecError, ValueError):  # or not a whole number
        return None
