"""Choose a chunker and its size for some code: a grid of runs at equal sizes and budgets, shrunk to what boards say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.arms import SIZES, Arm, sample_of, sized
from repoeval_bench.analysis.evidence import Recommendation, conclude, evidence_of
from repoeval_bench.core.errors import OR_SKIP, DatasetError, NoDataError, UsageError
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.source import count_nws
from repoeval_bench.core.spec import nearest
from repoeval_bench.dataset.build.prompts import tokens_per_nws
from repoeval_bench.dataset.questions import QUESTION
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.executors import IN_PROCESS, Executor
from repoeval_bench.runs.parts import RESULTS, silent
from repoeval_bench.runs.planning import select
from repoeval_bench.runs.problems import Problems, check_once, check_requests
from repoeval_bench.runs.request import DataRequest, RecommendRequest, RunRequest
from repoeval_bench.runs.results import results_at
from repoeval_bench.runs.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.runs.jobs import JobLog
    from repoeval_bench.runs.view import RunView


QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "both": ("uses", "docstring"),
    "completion": ("uses",),
    "search": ("docstring",),
}
"""What chunks are for -> the protocols that ask it; all of them count the same."""


def recommend(
    benchmark: Benchmark,
    *,
    out: Path | str = RESULTS,
    home: Path | None = None,
    notify: Callable[[str], None] = silent,
    executor: Executor = IN_PROCESS,
    log: JobLog | None = None,
    data: DataRequest | None = None,
    clock: Callable[[], float] = monotonic,
    **asked: Any,
) -> Recommendation:
    """Choose a chunker and its size for the code of a benchmark or pack.

    `asked` are further fields of `RecommendRequest`. Every chunker is set to the mean size that `fixed` has at each of
    `sizes`. Runs are stored in `out`, and stored ones that this very code made are taken as they are, so that an
    interrupted recommendation goes on. With a `log` each run is a job of its executor, whose worker reads the `data`.
    `clock` gives seconds, for `time_limit`. Raises a BenchError in one sentence.
    """
    if wrong := sorted(DataRequest.model_fields.keys() & asked.keys()):
        raise UsageError(f"{', '.join(wrong)}: the data is loaded already; give it to load_benchmark")
    request = RecommendRequest.of(asked)
    skipped: list[str] = []
    settings = request.requests(request.protocols or suitable(benchmark, request.purpose, skipped))
    problems = Problems()
    check_recommendation(request, home, problems, settings)
    problems.check()
    deadline = None if request.time_limit is None else clock() + 60 * request.time_limit
    by_size, left_out = sized(benchmark, request.chunkers, request.sizes or SIZES, notify)
    skipped += left_out
    if sum(map(len, by_size)) < 2:
        why = "is the same at each of these sizes" if len(request.chunkers) == 1 else "alone is left"
        reason = f"there is nothing to choose from: {by_size[0][0].name} {why}; name another chunker"
        raise UsageError("; ".join([reason, *left_out]))
    ratio = tokens_per_nws(sample_of(benchmark))
    named = data.model_dump() if data else {}
    specs = [arm.spec for arms in by_size for arm in arms]
    requests = [each.model_copy(update=named | {"chunker": spec}) for each in settings for spec in specs]
    where: dict[str, Any] = {"out": results_at(out, home).out, "home": home, "executor": executor, "log": log}
    drawn: dict[str, Any] = {"benchmark": benchmark, "sample": request.tasks}
    runner = Runner(requests, **where, **drawn, notify=notify, ahead=deadline is None)
    skipped += _undrawn(runner)
    runs: dict[RunRequest, list[tuple[Arm, RunView]]] = {each: [] for each in runner.settings}

    def past_deadline() -> bool:
        return deadline is not None and any(runs.values()) and clock() >= deadline

    failed = _gather(runner, by_size, runs, skipped, past_deadline, notify)
    language = main_language(benchmark)
    evidence = tuple(evidence_of(setting, made, ratio, language) for setting, made in runs.items() if len(made) > 1)
    return conclude(
        benchmark.label,
        language,
        evidence,
        skipped=skipped,
        n_failed=failed,
        runs=[run.folder for made in runs.values() for _, run in made],
        arms={arm.label: arm for arms in by_size for arm in arms},
    )


def _gather(
    runner: Runner,
    by_size: Sequence[Sequence[Arm]],
    runs: Mapping[RunRequest, list[tuple[Arm, RunView]]],
    skipped: list[str],
    past_deadline: Callable[[], bool],
    notify: Callable[[str], None],
) -> int:
    """Add each setting's runs to `runs`, and to `skipped` a line on each that was not made; how many failed."""
    done = failed = 0
    total = len(runs) * sum(map(len, by_size))
    for setting, of_setting in runs.items():
        name = f"{setting.protocol} by {setting.retriever}"
        coming = runner.each(setting, reuse=True)
        for arms in by_size:
            if past_deadline():
                skipped.append(f"{name}, {', '.join(arm.label for arm in arms)}: the time was up")
                continue
            for arm in arms:
                if (run := next(coming)) is not None:
                    of_setting.append((arm, run))
                    continue
                reason = runner.failed_of(setting).get(arm.spec) or runner.left_out.get(arm.spec, "it failed")
                skipped.append(f"{name}, {arm.label}: {reason.removesuffix(OR_SKIP)}")
                failed += 1
            done += len(arms)
            # The command takes minutes, and where no terminal is there is no bar.
            sizes = ", ".join(dict.fromkeys(f"{arm.size:,}" for arm in arms if arm.size))
            notify(f"{done} of {total} runs: {name}{' at ' if sizes else ''}{sizes}")
    return failed


def _undrawn(runner: Runner) -> list[str]:
    """Return a line on each protocol of which only a sample of the tasks is used."""
    drawn = {each.protocol: runner.selected(each).sample for each in runner.settings}
    return [
        f"{sample.of - sample.most:,} of {sample.of:,} tasks of {protocol}; the {sample.most:,} that are asked are "
        f"spread over the files; --tasks {sample.of} asks all"
        for protocol, sample in drawn.items()
        if sample
    ]


def suitable(benchmark: Benchmark, purpose: str, skipped: list[str]) -> tuple[str, ...]:
    """Return the protocols that ask for a purpose, a key of `QUESTIONS`, and have a query in this benchmark.

    Of questions from a file that is `questions` alone. A line in `skipped` names each protocol without a query.
    """
    if benchmark.tasks and benchmark.tasks[0].level == QUESTION:
        return ("questions",)
    found = []
    for name in QUESTIONS[purpose]:
        try:
            select(benchmark, Protocol.parse(name))
        except DatasetError as error:
            skipped.append(f"{name}: {error}")
        else:
            found.append(name)
    if not found:
        raise NoDataError(f"the code asks nothing: {'; '.join(skipped)}; name more code, or another --protocol")
    return tuple(found)


def check_recommendation(
    request: RecommendRequest, home: Path | None, found: Problems, settings: Sequence[RunRequest] = ()
) -> None:
    """Collect the mistakes in a request, as far as the data is not needed to see them.

    `settings` are its requests for loaded data. Without them the choice of data is checked too, but for the source.
    """
    # What suits the data is not known before it is read; the others that could suit take what `body` takes.
    protocols = request.protocols or ("questions" if request.questions else "body",)
    unread = request.model_copy(update={"source": RecommendRequest().source})
    asked = (
        setting.model_copy(update={"chunker": spec})
        for setting in settings or unread.requests(protocols)
        for spec in request.chunkers
    )
    check_requests([*dict.fromkeys(asked)], home, found, loaded=bool(settings))
    check_once(request, ("chunkers", "protocols", "retrievers", "sizes"), found)
    with found.about("purpose"):
        if request.purpose not in QUESTIONS:
            raise UsageError(nearest("purpose", request.purpose, QUESTIONS))
    with found.about("chunkers"):
        if len(request.chunkers) * len(request.sizes or SIZES) < 2:
            raise UsageError("there is nothing to choose from; give at least two chunkers or two sizes")
    with found.about("sizes"):
        if wrong := [size for size in request.sizes or () if size < 1]:
            raise UsageError(f"--sizes {wrong[0]}: give whole numbers above 0, such as --sizes 500,1000")


def main_language(benchmark: Benchmark) -> str:
    """Return the language of most of the code, by non-blank characters; `python` where none is known."""
    sizes: Counter[str] = Counter()
    for files in benchmark.files.values():
        for file in files:
            if language := language_of(file.path, file.text):
                sizes[language.name] += count_nws(file.text)
    return max(sizes, key=lambda name: (sizes[name], name), default="python")
