"""Choose a chunker and its size for some code: a grid of runs at equal sizes and budgets, shrunk to what boards say."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.arms import SIZES, Arm, sample_of, sized
from repoeval_bench.analysis.evidence import Recommendation, conclude, evidence_of
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import OR_SKIP, ChunkError, DatasetError, NoDataError, UsageError
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.progress import progress
from repoeval_bench.core.source import count_nws
from repoeval_bench.core.spec import nearest
from repoeval_bench.dataset.build.prompts import tokens_per_nws
from repoeval_bench.dataset.questions import QUESTION
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.executors import IN_PROCESS, Executor
from repoeval_bench.runs.experiment import Workplace, evaluate_each
from repoeval_bench.runs.parts import RESULTS, make_embedder, shared_vectors, silent
from repoeval_bench.runs.planning import asked_of, select
from repoeval_bench.runs.problems import Problems, check_once, check_requests
from repoeval_bench.runs.request import DataRequest, RecommendRequest, RunRequest
from repoeval_bench.runs.run_store import Results
from repoeval_bench.runs.settings import Setting, evaluate_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Embedder
    from repoeval_bench.runs.jobs import RunJobs
    from repoeval_bench.runs.planning import Corpora
    from repoeval_bench.runs.view import RunView


QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "both": ("uses", "docstring"),
    "completion": ("uses",),
    "search": ("docstring",),
}
"""What chunks are for -> the protocols that ask it; all of them count the same."""


if TYPE_CHECKING:
    RunsElsewhere = Callable[[Sequence[RunRequest]], RunJobs]
    Steps = Iterator[tuple[Sequence[Setting], Sequence[Arm], list[Sequence[RunView | ChunkError | None]] | None]]


def recommend(
    benchmark: Benchmark,
    *,
    out: Path | str = RESULTS,
    home: Path | None = None,
    notify: Callable[[str], None] = silent,
    executor: Executor = IN_PROCESS,
    elsewhere: RunsElsewhere | None = None,
    clock: Callable[[], float] = monotonic,
    **asked: Any,
) -> Recommendation:
    """Choose a chunker and its size for the code of a benchmark or pack.

    `asked` are further fields of `RecommendRequest`. Every chunker is set to the mean size that `fixed` has at each of
    `sizes`. Runs are stored in `out`, and stored ones that this very code made are taken as they are, so that an
    interrupted recommendation goes on. `elsewhere` gives what makes the runs of requests as jobs, where `executor` does
    not make them; it adds the data to them, and asks so many tasks as `tasks` says. `clock` gives seconds, for
    `time_limit`. Raises a BenchError in one sentence.
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
    by_protocol = {each.protocol: each for each in settings}
    selected = {name: _asked(benchmark, each, request.tasks, skipped) for name, each in by_protocol.items()}
    groups = _side_by_side([Setting(each, selected[each.protocol]) for each in settings], alone=deadline is not None)
    runs: dict[RunRequest, list[tuple[Arm, RunView]]] = {each: [] for each in settings}

    def late() -> bool:
        return deadline is not None and any(runs.values()) and clock() >= deadline

    where: dict[str, Any] = {"out": Results.at(out, home).out, "home": home, "notify": notify, "executor": executor}
    if elsewhere is None:
        steps = _steps(groups, by_size, late, where)
    else:
        steps = _steps_as_jobs(elsewhere, [each for group in groups for each in group], by_size, late)
    failed = _gather(steps, runs, skipped, partial(_tell, notify, len(settings) * sum(map(len, by_size))))
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


def _tell(notify: Callable[[str], None], total: int, done: int, asked: Sequence[str], arms: Sequence[Arm]) -> None:
    """What has just been made: the command takes minutes, and where no terminal is there is no bar."""
    sizes = dict.fromkeys(f"{arm.size:,}" for arm in arms if arm.size)
    notify(f"{done} of {total} runs: {', '.join(asked)}{' at ' if sizes else ''}{', '.join(sizes)}")


def _gather(
    steps: Steps,
    runs: Mapping[RunRequest, list[tuple[Arm, RunView]]],
    left_out: list[str],
    tell: Callable[[int, Sequence[str], Sequence[Arm]], None],
) -> int:
    """Add the runs of all steps to those of their setting, and a line on each that was not made; how many failed."""
    done = failed = 0
    for group, arms, made in steps:
        asked = [f"{each.request.protocol} by {each.request.retriever}" for each in group]
        done += len(group) * len(arms)
        if made is None:
            labels = ", ".join(arm.label for arm in arms)
            left_out += [f"{name}, {labels}: the time was up" for name in asked]
            continue
        tell(done, asked, arms)
        for each, name, of_setting in zip(group, asked, zip(*made, strict=True), strict=True):
            for arm, run in zip(arms, of_setting, strict=True):
                if run is None or isinstance(run, ChunkError):
                    left_out.append(f"{name}, {arm.label}: {str(run or 'it failed').removesuffix(OR_SKIP)}")
                    failed += 1
                else:
                    runs[each.request].append((arm, run))
    return failed


def _side_by_side(asked: Sequence[Setting], *, alone: bool) -> list[list[Setting]]:
    """Settings that chunk the same files and need no vectors together, unless each is wanted `alone`."""
    groups: list[list[Setting]] = []
    for each in asked:
        fits = (
            group
            for group in groups
            if not (alone or each.request.needs_vectors or group[0].request.needs_vectors)
            and group[0].files == each.files
        )
        if (group := next(fits, None)) is None:
            groups.append([each])
        else:
            group.append(each)
    return groups


def _steps(
    groups: Sequence[Sequence[Setting]],
    by_size: Sequence[Sequence[Arm]],
    late: Callable[[], bool],
    where: Mapping[str, Any],
) -> Steps:
    """(settings, arms of one size, for each arm the run of each setting); None for the runs where it is `late`."""
    vectors = [each.request for group in groups for each in group if each.request.needs_vectors]
    embedder: Embedder | None = None
    if vectors:
        spec, home, notify = vectors[0].resolved_embedder(), where["home"], where["notify"]
        cache = shared_vectors(Results.at(where["out"]).store, home, notify)
        embedder = make_embedder(spec, home=home, notify=notify, cache=cache)
    corpora: Corpora = {}
    with progress(desc="chunkers", unit="chunkers", total=len(groups) * sum(map(len, by_size))) as bar:
        for group in groups:
            with closing(_made(group, by_size, embedder, corpora, where)) as made:
                for arms in by_size:
                    taken: list[Sequence[RunView | ChunkError | None]] | None = None if late() else []
                    for _ in arms:
                        if taken is not None:
                            taken.append(next(made))
                        bar.update()
                    bar.clear()  # a line is printed now
                    yield group, arms, taken
                    bar.refresh()


def _steps_as_jobs(
    elsewhere: RunsElsewhere, settings: Sequence[Setting], by_size: Sequence[Sequence[Arm]], late: Callable[[], bool]
) -> Steps:
    """The same, each run made as a job; None in the place of a run that failed."""
    specs = [arm.spec for arms in by_size for arm in arms]
    jobs = elsewhere([each.request.model_copy(update={"chunker": spec}) for each in settings for spec in specs])
    for setting, asked in zip(settings, jobs.settings, strict=True):
        made = jobs.each(asked)
        for arms in by_size:
            yield [setting], arms, None if late() else [[next(made)] for _ in arms]


def _made(
    group: Sequence[Setting],
    by_size: Sequence[Sequence[Arm]],
    embedder: Embedder | None,
    corpora: Corpora,
    where: Mapping[str, Any],
) -> Generator[Sequence[RunView | ChunkError]]:
    """For each arm, size by size, the run of each setting."""
    alone = group[0]
    if not alone.request.needs_vectors:
        yield from evaluate_settings(group, [arm.spec for arms in by_size for arm in arms], **where)
        return
    place = Workplace(**where, corpora=corpora)
    for arms in by_size:
        cutters = [make_chunker(arm.spec) for arm in arms]
        for run in evaluate_each(alone.selected, cutters, alone.request, embedder, place, reuse=True, some=True):
            yield [run]


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


def _asked(benchmark: Benchmark, setting: RunRequest, most: int, left_out: list[str]) -> Benchmark:
    """What a protocol asks: `most` of its tasks where it has more, then with a line on the others."""
    protocol = setting.resolved_protocol()
    selected = select(benchmark, protocol)
    asked, of = asked_of(selected, protocol, most), len(selected.tasks)
    if len(asked.tasks) < of:
        left_out.append(
            f"{of - most:,} of {of:,} tasks of {setting.protocol}; the {most:,} that are asked are spread over the "
            f"files; --tasks {of} asks all"
        )
    return asked


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
