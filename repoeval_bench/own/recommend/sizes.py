"""The candidates of a recommendation at equal sizes, matched on a sample of the code."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import log

from repoeval_bench.analysis.evidence import BASELINE, SizedChunker
from repoeval_bench.chunkers.registry import make_chunker, row_of
from repoeval_bench.chunkers.tools.sizes import SizeMatch, match_targets, mean_nws, size_option
from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import OR_SKIP, ChunkError, UsageError
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.source import SourceFile, count_nws
from repoeval_bench.core.spec import Spec
from repoeval_bench.dataset.reading.sampling import some_of
from repoeval_bench.runs.executors import IN_PROCESS, Executor
from repoeval_bench.runs.parts import skipped_for_language


def sets_size(name: str) -> bool:
    """True where a spec sets the size of its chunks, so that it is tried as written."""
    with suppress(UsageError):
        return size_option(Spec.parse(name)) is not None
    return False


def sample_of(benchmark: Benchmark) -> list[SourceFile]:
    """Return the files on which sizes are matched."""
    return some_of([file for of_repo in benchmark.files.values() for file in of_repo])


def sized(
    benchmark: Benchmark,
    chunkers: Sequence[str],
    sizes: Sequence[int],
    executor: Executor = IN_PROCESS,
    *,
    current: Sequence[str] = (),
) -> tuple[list[list[SizedChunker]], list[str], list[str]]:
    """Return (candidates by size, lines on those left out, lines on those that failed on a file).

    A chunker without a size is in the first one, and so is one whose spec sets its size: it stays as written. `current`
    ones are in the middle one, as they are. Sizes above the largest file become that file's size, with a line for each.
    A chunker that does not know a language of the code is left out, and so is one of others that fails on a file.
    """
    cutters = {name: make_chunker(name) for name in chunkers}
    unknown = skipped_for_language(benchmark, cutters, skippable=False)
    files = sample_of(benchmark)
    largest = max([1, *(count_nws(file.text) for of_repo in benchmark.files.values() for file in of_repo)])
    by_size: dict[int, list[SizedChunker]] = {min(size, largest): [] for size in sizes}
    skipped, seen = [f"{name}: {reason}" for name, reason in unknown.items()], set()
    baselines = [make_chunker(f"{BASELINE}:max_nws={size}") for size in by_size]
    targets = [mean_nws(baseline, files) for baseline in baselines]
    matches, failures = _matches([name for name in cutters if name not in unknown], cutters, targets, files, executor)
    matched = {match.spec for of_chunker in matches.values() for match in of_chunker}
    names = [name for name in cutters if name not in (BASELINE, *unknown, *matches, *failures)]
    as_written = [*dict.fromkeys([*names, *current])]
    # Cut by the workers, which have loaded the libraries of other frameworks: this process would take seconds to.
    where = executor if all(row_of(make_chunker(name).spec).parallel for name in as_written) else IN_PROCESS
    sized_like = partial(_like, files=files, sizes=[*by_size], targets=targets)
    like = dict(zip(as_written, where.map([partial(sized_like, name) for name in as_written]), strict=True))
    for index, ((size, of_size), baseline, target) in enumerate(zip(by_size.items(), baselines, targets, strict=True)):
        skipped += [
            f"size {more:,}: no file has more than {largest:,} characters; tried at {largest:,}, where "
            f"each file is one chunk of `{BASELINE}`, on average of {target:,.0f} characters"
            for more in dict.fromkeys(sizes)
            if size == largest < more
        ]
        for name in [name for name in cutters if name not in unknown and name not in failures]:
            spec, own_size, reason = cutters[name].spec, None, ""
            if name == BASELINE:
                spec, own_size = baseline.spec, size
            elif name in matches:
                match = matches[name][index]
                spec, own_size, reason = match.spec, size, match.reason
                NOTICES.info(str(match))
            if spec in matched and name not in matches:
                continue
            if spec not in seen:
                as_large = None if own_size else like[name]
                of_size.append(SizedChunker(name=name, size=own_size, spec=spec, like=as_large))
            elif reason:
                skipped.append(f"{name} at {size:,}: {reason}")
            seen.add(spec)
    now = [SizedChunker(name=name, size=None, spec=make_chunker(name).spec, like=like[name]) for name in current]
    by_size[sorted(by_size)[len(by_size) // 2]] += [one for one in now if one.spec not in seen]
    reasons = {name: f"{name}: {reason.removesuffix(OR_SKIP)}" for name, reason in failures.items()}
    skipped += [reason for name, reason in reasons.items() if row_of(name).requires]
    own = [reason for name, reason in reasons.items() if not row_of(name).requires]
    return [of_size for of_size in by_size.values() if of_size], skipped, own


def _matches(
    names: Sequence[str],
    cutters: Mapping[str, Chunker],
    targets: Sequence[float],
    files: Sequence[SourceFile],
    executor: Executor,
) -> tuple[dict[str, list[SizeMatch]], dict[str, str]]:
    """Return the matches of each chunker that has a size to set, and why the others failed.

    A spec that sets its size is not matched.
    """
    searched = [
        name
        for name in names
        if name != BASELINE and size_option(Spec.parse(cutters[name].spec)) and not sets_size(name)
    ]
    # A chunker may have a process or a state of its own, unless its row says that it has none.
    executor = executor if all(row_of(cutters[name].spec).parallel for name in searched) else IN_PROCESS
    jobs = [partial(match_targets, name, targets, files) for name in searched]
    results = dict(zip(searched, executor.map(jobs), strict=True))
    failures = {name: str(result) for name, result in results.items() if isinstance(result, ChunkError)}
    return {name: result for name, result in results.items() if not isinstance(result, ChunkError)}, failures


def _like(name: str, files: Sequence[SourceFile], sizes: Sequence[int], targets: Sequence[float]) -> int | None:
    """Return the size at which the chunks of `BASELINE` are as large as a chunker's; None for one without chunks."""
    mean = mean_nws(make_chunker(name), files, skip_errors=True)
    size, target = min(zip(sizes, targets, strict=True), key=lambda pair: abs(log(max(mean, 1) / max(pair[1], 1))))
    return round(size * mean / target) or None if target else None
