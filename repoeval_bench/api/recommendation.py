"""Choose a chunker and its size for some code, from runs at equal sizes and the scores of other repositories."""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.evidence import (
    BASELINE,
    SIZES,
    Recommendation,
    SizedChunker,
    conclude,
    evidence_of,
    provisional_choice,
)
from repoeval_bench.analysis.reference_sets import ReferenceSets
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.sizes import match_targets, mean_nws, size_option
from repoeval_bench.core.errors import OR_SKIP, ChunkError, DatasetError, NoDataError, UsageError
from repoeval_bench.core.json_reader import faults_as, parse, read_document
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.registry import is_parallel
from repoeval_bench.core.source import SourceFile, count_nws
from repoeval_bench.core.spec import Spec, nearest
from repoeval_bench.dataset.build.prompts import tokens_per_nws
from repoeval_bench.dataset.build.sampling import some_of
from repoeval_bench.dataset.home import shipped
from repoeval_bench.dataset.questions import QUESTION
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.executors import IN_PROCESS, Executor, ProcessPool
from repoeval_bench.runs.parts import RESULTS, skipped_for_language
from repoeval_bench.runs.planning import select
from repoeval_bench.runs.problems import Problems, check_requests, check_sizes
from repoeval_bench.runs.request import DataRequest, RecommendRequest, RunRequest
from repoeval_bench.runs.results import results_at
from repoeval_bench.runs.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.runs.jobs import Workers
    from repoeval_bench.runs.view import RunView


PRIORS = "priors.json"

QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "both": ("uses", "docstring"),
    "completion": ("uses",),
    "search": ("docstring",),
}
"""Purpose of the chunks -> the protocols that test it, which all count the same."""


def recommend(  # longer than 60 lines: the steps of the answer, one after the other
    benchmark: Benchmark,
    *,
    out: Path | str = RESULTS,
    home: Path | None = None,
    executor: Executor | Workers = IN_PROCESS,
    data: DataRequest | None = None,
    clock: Callable[[], float] = monotonic,
    **fields: Any,
) -> Recommendation:
    """Choose a chunker and its size for the code of a benchmark or pack.

    `fields` are further fields of `RecommendRequest`. At each of `sizes`, every chunker is set to the mean size of
    `fixed`. Runs are stored in `out`, and stored ones of exactly this code are reused, so an interrupted recommendation
    goes on. With `Workers`, each run is a job of its own, whose worker reads the `data`. `clock` gives seconds, for
    `time_limit`. Raises a BenchError in one sentence.
    """
    if wrong := sorted(DataRequest.model_fields.keys() & fields.keys()):
        raise UsageError(f"{', '.join(wrong)}: the data is loaded already; give it to load_benchmark")
    request = RecommendRequest.of(fields)
    skipped: list[str] = []
    settings = request.requests(request.protocols or suitable(benchmark, request.purpose, skipped))
    problems = Problems()
    check_recommendation(request, home, problems, settings)
    problems.check()
    deadline = None if request.time_limit is None else clock() + 60 * request.time_limit
    pool = executor if isinstance(executor, ProcessPool) else IN_PROCESS
    by_size, unsuited, failures = sized(benchmark, request.chunkers, request.sizes or SIZES, pool)
    skipped += [*unsuited, *failures]
    _check_choice(by_size, len(request.chunkers), [*unsuited, *failures])
    ratio = tokens_per_nws(sample_of(benchmark))
    named = data.model_dump() if data else {}
    in_turn = _middle_first(by_size)
    specs = [candidate.spec for of_size in in_turn for candidate in of_size]
    requests = [setting.model_copy(update=named | {"chunker": spec}) for setting in settings for spec in specs]
    where: dict[str, Any] = {"out": results_at(out, home).out, "home": home, "executor": executor}
    drawn: dict[str, Any] = {"benchmark": benchmark, "sample": request.tasks}
    runner = Runner(requests, **where, **drawn, ahead=deadline is None)
    candidates = {candidate.label: candidate for of_size in by_size for candidate in of_size}
    skipped += _undrawn(runner)
    runs: dict[RunRequest, list[tuple[SizedChunker, RunView]]] = {setting: [] for setting in runner.settings}

    def past_deadline() -> bool:
        return deadline is not None and any(runs.values()) and clock() >= deadline

    language, reference_sets = main_language(benchmark), read_reference_sets()

    def choose(setting: RunRequest) -> str | None:
        return provisional_choice(setting, runs[setting], language, reference_sets)

    progress = _Progress(requests, clock, choose)
    failed = _gather(runner, in_turn, runs, skipped, past_deadline, progress)
    order = [*candidates]
    for of_setting in runs.values():
        of_setting.sort(key=lambda run: order.index(run[0].label))
    evidence = tuple(
        evidence_of(setting, candidate_runs, ratio, language, reference_sets)
        for setting, candidate_runs in runs.items()
        if len(candidate_runs) > 1
    )
    return conclude(
        benchmark.label,
        language,
        evidence,
        reference_sets=reference_sets,
        skipped=skipped,
        n_failed=failed + len(failures) * len(by_size) * len(settings),
        runs=[run for candidate_runs in runs.values() for _, run in candidate_runs],
        candidates=candidates,
    )


def _middle_first(by_size: Sequence[list[SizedChunker]]) -> list[list[SizedChunker]]:
    """Return the candidates in the order of their runs: the middle size first, so that its choice is printed early."""
    ascending = sorted(by_size, key=lambda of_size: max(candidate.size or 0 for candidate in of_size))
    middle = ascending[len(ascending) // 2]
    return [middle, *(of_size for of_size in by_size if of_size is not middle)]


def _check_choice(by_size: Sequence[Sequence[SizedChunker]], n_chunkers: int, skipped: Sequence[str]) -> None:
    """Raise a UsageError if only one candidate is left, a ChunkError if none is."""
    candidates = [candidate for of_size in by_size for candidate in of_size]
    if not candidates:
        raise ChunkError("\n  ".join(["there is nothing to choose from: no chunker is left; name another", *skipped]))
    if len(candidates) < 2:
        why = "is the same at each of these sizes" if n_chunkers == 1 else "alone is left"
        reason = f"there is nothing to choose from: {candidates[0].name} {why}; name another chunker"
        raise UsageError("; ".join([reason, *skipped]))


def _gather(
    runner: Runner,
    by_size: Sequence[Sequence[SizedChunker]],
    runs: Mapping[RunRequest, list[tuple[SizedChunker, RunView]]],
    skipped: list[str],
    past_deadline: Callable[[], bool],
    progress: _Progress,
) -> int:
    """Add each setting's runs to `runs`, and to `skipped` a line on each that was not made; return how many failed."""
    failed = 0
    for setting, of_setting in runs.items():
        name = f"{setting.protocol} by {setting.retriever}"
        coming = runner.runs_of(setting, reuse=True)
        for of_size in by_size:
            if past_deadline():
                skipped.append(f"{name}, {', '.join(candidate.label for candidate in of_size)}: the time was up")
                continue
            for candidate in of_size:
                if (run := next(coming)) is not None:
                    of_setting.append((candidate, run))
                    continue
                reason = runner.failed_of(setting).get(candidate.spec) or runner.skipped.get(
                    candidate.spec, "it failed"
                )
                skipped.append(f"{name}, {candidate.label}: {reason.removesuffix(OR_SKIP)}")
                failed += 1
            progress.log(setting, of_size)
    return failed


class _Progress:
    """Print how many runs are done, and after the first size the choice by them alone (`choose`).

    The command takes minutes, and without a terminal there is no bar. The remaining time is printed once a run by each
    retriever still to come has been timed. The first runs by vectors are not timed, because they wait for the model.
    """

    def __init__(
        self, requests: Sequence[RunRequest], clock: Callable[[], float], choose: Callable[[RunRequest], str | None]
    ) -> None:
        self._total, self._clock, self._choose = len(requests), clock, choose
        self._more = Counter(request.retriever for request in requests)
        self._seconds: dict[str, float | None] = {}
        self._before = clock()

    def log(self, setting: RunRequest, of_size: Sequence[SizedChunker]) -> None:
        """Log that all candidates of a size are done, and after the first size the choice so far."""
        retriever, now, is_first = setting.retriever, self._clock(), not self._seconds
        waited = setting.needs_vectors and retriever not in self._seconds
        self._seconds[retriever] = None if waited else (now - self._before) / len(of_size)
        self._before = now
        self._more[retriever] -= len(of_size)
        more = +self._more
        times = [(self._seconds.get(name), number) for name, number in more.items()]
        sizes = ", ".join(dict.fromkeys(f"{candidate.size:,}" for candidate in of_size if candidate.size))
        where, left = f" at {sizes}" if sizes else "", ""
        if more and all(seconds is not None for seconds, _ in times):
            left = f"; about {sum((seconds or 0) * number for seconds, number in times):,.0f} s left"
        done = self._total - more.total()
        NOTICES.info(f"{done} of {self._total} runs: {setting.protocol} by {retriever}{where}{left}")
        if is_first and more and (label := self._choose(setting)):
            NOTICES.info(f"so far: {label} (by {setting.protocol} and {retriever} alone, of {done} runs)")


def _undrawn(runner: Runner) -> list[str]:
    """Return a line on each protocol of which only a sample of the tasks is used."""
    drawn = {setting.protocol: runner.selected(setting).sample for setting in runner.settings}
    return [
        f"{sample.of - sample.most:,} of {sample.of:,} tasks of {protocol}; the {sample.most:,} that are used are "
        f"spread over the files; --tasks {sample.of} uses all"
        for protocol, sample in drawn.items()
        if sample
    ]


def suitable(benchmark: Benchmark, purpose: str, skipped: list[str]) -> tuple[str, ...]:
    """Return the protocols that test a purpose, a key of `QUESTIONS`, and have a query in this benchmark.

    Questions from a file have protocol `questions` alone. A line in `skipped` names each protocol without a query.
    """
    if benchmark.tasks and benchmark.tasks[0].level == QUESTION:
        return ("questions",)
    protocols = []
    for name in QUESTIONS[purpose]:
        try:
            select(benchmark, Protocol.parse(name))
        except DatasetError as error:
            skipped.append(f"{name}: {error}")
        else:
            protocols.append(name)
    if not protocols:
        raise NoDataError(f"the code has no questions: {'; '.join(skipped)}; name more code, or another --protocol")
    return tuple(protocols)


def check_recommendation(
    request: RecommendRequest, home: Path | None, problems: Problems, settings: Sequence[RunRequest] = ()
) -> None:
    """Collect the mistakes in a request that can be found without reading the data.

    `settings` are its requests for loaded data. Without them the choice of data is checked too, except the source.
    """
    # Which protocols suit the data is not known yet; `body` takes the same options as all that may.
    protocols = request.protocols or ("questions" if request.questions else "body",)
    unread = request.model_copy(update={"source": RecommendRequest().source})
    requests = (
        setting.model_copy(update={"chunker": spec})
        for setting in settings or unread.requests(protocols)
        for spec in request.chunkers
    )
    check_requests([*dict.fromkeys(requests)], home, problems, loaded=bool(settings))
    with problems.about("purpose"):
        if request.purpose not in QUESTIONS:
            raise UsageError(nearest("purpose", request.purpose, QUESTIONS))
    with problems.about("chunkers"):
        if len(request.chunkers) * len(request.sizes or SIZES) < 2:
            raise UsageError("there is nothing to choose from; give at least two chunkers or two sizes")
    check_sizes(request.sizes or (), problems)


def main_language(benchmark: Benchmark) -> str:
    """Return the language of most of the code, by non-blank characters; `python` where none is known.

    TypeScript's declaration files count nothing: a JavaScript package ships them too.
    """
    sizes: Counter[str] = Counter()
    for files in benchmark.files.values():
        for file in files:
            if language := language_of(file.path, file.text):
                declares = file.path.endswith((".d.ts", ".d.mts", ".d.cts"))
                sizes[language.name] += 0 if declares else count_nws(file.text)
    return max(sizes, key=lambda name: (sizes[name], name), default="python")


@cache
def read_reference_sets(path: Path | None = None) -> ReferenceSets:
    """Read the scores of other repositories: the file that ships, or one of scripts/estimate_prior.py."""
    file = path or shipped(PRIORS)
    if file is None:
        raise DatasetError(f"{PRIORS} is missing from the installation; install repoeval-bench again")
    with faults_as(DatasetError, file, "install repoeval-bench again"):
        return parse(read_document(file), ReferenceSets)


def sample_of(benchmark: Benchmark) -> list[SourceFile]:
    """Return the files on which sizes are matched."""
    return some_of([file for of_repo in benchmark.files.values() for file in of_repo])


def sized(
    benchmark: Benchmark,
    chunkers: Sequence[str],
    sizes: Sequence[int],
    executor: Executor = IN_PROCESS,
) -> tuple[list[list[SizedChunker]], list[str], list[str]]:
    """Return (candidates by size, lines on those left out, lines on those that failed on a file).

    A chunker without a size is in the first one. Sizes above the largest file become that file's size, with a line for
    each. A chunker that does not know a language of the code is left out.
    """
    cutters = {name: make_chunker(name) for name in chunkers}
    unknown = skipped_for_language(benchmark, cutters, skippable=False)
    files = sample_of(benchmark)
    largest = max([1, *(count_nws(file.text) for of_repo in benchmark.files.values() for file in of_repo)])
    by_size: dict[int, list[SizedChunker]] = {min(size, largest): [] for size in sizes}
    skipped, seen = [f"{name}: {reason}" for name, reason in unknown.items()], set()
    baselines = [make_chunker(f"{BASELINE}:max_nws={size}") for size in by_size]
    targets = [mean_nws(baseline, files) for baseline in baselines]
    searched = [
        name
        for name, chunker in cutters.items()
        if name != BASELINE and name not in unknown and size_option(Spec.parse(chunker.spec))
    ]
    # A chunker may have a process or a state of its own, unless its row says that it has none.
    executor = executor if all(is_parallel(cutters[name].spec) for name in searched) else IN_PROCESS
    jobs = [partial(match_targets, name, targets, files) for name in searched]
    results = dict(zip(searched, executor.map(jobs), strict=True))
    failures = {name: str(result) for name, result in results.items() if isinstance(result, ChunkError)}
    matches = {name: result for name, result in results.items() if not isinstance(result, ChunkError)}
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
            if spec not in seen:
                of_size.append(SizedChunker(name=name, size=own_size, spec=spec))
            elif reason:
                skipped.append(f"{name} at {size:,}: {reason}")
            seen.add(spec)
    reasons = [f"{name}: {reason.removesuffix(OR_SKIP)}" for name, reason in failures.items()]
    return [of_size for of_size in by_size.values() if of_size], skipped, reasons
