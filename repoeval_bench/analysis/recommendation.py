"""Which chunker and size to use for some code: a grid of runs at equal sizes and budgets, and what it shows."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.arms import BASELINE, SIZES, Arm, sample_of, sized
from repoeval_bench.analysis.choosing import choose
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import OR_SKIP, ChunkError, DatasetError, UsageError
from repoeval_bench.core.notebook import html_table
from repoeval_bench.core.progress import progress
from repoeval_bench.dataset.build.prompts import tokens_per_nws
from repoeval_bench.dataset.documented import documented
from repoeval_bench.dataset.pack import FEWEST_TASKS
from repoeval_bench.dataset.questions import QUESTION
from repoeval_bench.protocols.uses import definitions_of
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

    from repoeval_bench.analysis.records import Candidate, Choice
    from repoeval_bench.analysis.verdicts import Rival, ScoredRun
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Embedder
    from repoeval_bench.runs.jobs import RunJobs
    from repoeval_bench.runs.planning import Corpora
    from repoeval_bench.runs.view import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one protocol and retriever say: the choice with its verdict, and the arm behind each run.

    `arms` is run id -> arm. `tokens_per_nws` is how many tokens of the rule `code` (docs/packs.md) the code has for
    each non-whitespace character.
    """

    protocol: str
    retriever: str
    choice: Choice
    arms: Mapping[str, Arm]
    n_queries: int
    tokens_per_nws: float

    def tokens(self, candidate: Candidate) -> float | None:
        """What a query costs that reads the first chunks of this arm, in tokens; None where sizes are not known."""
        in_characters = self.choice.cost_unit == "characters"
        return candidate.cost * self.tokens_per_nws if candidate.cost and in_characters else candidate.cost

    @property
    def best(self) -> Arm:
        """The arm with the highest mean."""
        return self.arms[self.choice.best.run_id]

    @property
    def gain(self) -> Rival | None:
        """The lead over `fixed` of the same size; None where the best is `fixed`, or no such run is there."""
        fixed = (run_id for run_id, arm in self.arms.items() if (arm.name, arm.size) == (BASELINE, self.best.size))
        return self.choice.verdict.rival(next(fixed, ""))

    def arm(self, run: Candidate | ScoredRun) -> Arm:
        """The arm of a run."""
        return self.arms[run.run_id]

    @property
    def enough(self) -> bool:
        """Whether there is enough data to show anything."""
        return self.n_queries >= FEWEST_TASKS and self.choice.best.probability is not None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recommendation:
    """The answers, the one that decides first, what was left out, and the runs behind them.

    `n_failed` of the runs were left out because they failed.
    """

    data: str
    answers: tuple[Answer, ...]
    left_out: tuple[str, ...]
    n_failed: int
    runs: tuple[Path, ...]

    def __repr__(self) -> str:
        said = [f"{each.protocol} by {each.retriever}: {each.best.label}" for each in self.answers]
        return f"<Recommendation {'; '.join(said) or 'without an answer'}>"

    def _repr_html_(self) -> str:
        """Every arm of every answer with its mean, and what the test says of it beside the best."""
        rows = []
        for answer in self.answers:
            question, verdict = f"{answer.protocol} by {answer.retriever}", answer.choice.verdict
            outcomes = ["best", *(each.verdict.outcome.reversed() for each in verdict.others)]
            for run, outcome in zip((verdict.reference, *(each.run for each in verdict.others)), outcomes, strict=True):
                rows.append((question, answer.arm(run).label, verdict.measure, f"{run.mean:.4f}", outcome))
        names = ("question", "chunker", "measure", "mean", "against the best")
        return html_table(f"{repr(self)[1:-1]} ({self.data})", names, rows)


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
    settings = request.requests(request.protocols or suitable(benchmark))
    problems = Problems()
    check_recommendation(request, home, problems, settings)
    problems.check()
    deadline = None if request.time_limit is None else clock() + 60 * request.time_limit
    by_size, left_out = sized(benchmark, request.chunkers, request.sizes or SIZES, notify)
    if sum(map(len, by_size)) < 2:
        why = "is the same at each of these sizes" if len(request.chunkers) == 1 else "alone is left"
        reason = f"there is nothing to choose from: {by_size[0][0].name} {why}; name another chunker"
        raise UsageError("; ".join([reason, *left_out]))
    ratio = tokens_per_nws(sample_of(benchmark))
    by_protocol = {each.protocol: each for each in settings}
    selected = {name: _asked(benchmark, each, request.tasks, left_out) for name, each in by_protocol.items()}
    groups = _side_by_side([Setting(each, selected[each.protocol]) for each in settings], alone=deadline is not None)
    runs: dict[RunRequest, list[tuple[Arm, RunView]]] = {each: [] for each in settings}

    def late() -> bool:
        return deadline is not None and any(runs.values()) and clock() >= deadline

    where: dict[str, Any] = {"out": Results.at(out, home).out, "home": home, "notify": notify, "executor": executor}
    if elsewhere is None:
        steps = _steps(benchmark, groups, by_size, late, where)
    else:
        steps = _steps_as_jobs(elsewhere, [each for group in groups for each in group], by_size, late)
    failed = _gather(steps, runs, left_out, partial(_tell, notify, len(settings) * sum(map(len, by_size))))
    return Recommendation(
        data=benchmark.label,
        answers=tuple(answer_of(setting, made, ratio) for setting, made in runs.items() if len(made) > 1),
        left_out=tuple(left_out),
        n_failed=failed,
        runs=tuple(run.folder for made in runs.values() for _, run in made),
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
    benchmark: Benchmark,
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
        embedder = make_embedder(spec, home=home, benchmark=benchmark, notify=notify, cache=cache)
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


def suitable(benchmark: Benchmark) -> tuple[str, ...]:
    """The protocols that suit the data, the one that decides first; never one whose query is a copy of its gold.

    `uses` and `docstring` where they have enough questions, and `body` where there are tasks, each with lines to be
    written. Of questions from a file that is `questions` alone.
    """
    if benchmark.tasks and benchmark.tasks[0].level == QUESTION:
        return ("questions",)
    found = []
    if sum(1 for task in benchmark.tasks if definitions_of(task)) >= FEWEST_TASKS:
        found.append("uses")
    with suppress(DatasetError):  # no function is documented
        if len(documented(benchmark).tasks) >= FEWEST_TASKS:
            found.append("docstring")
    return (*found, "body") if benchmark.tasks or not found else tuple(found)


def _asked(benchmark: Benchmark, setting: RunRequest, most: int, left_out: list[str]) -> Benchmark:
    """What a protocol asks: `most` of its tasks where it has more, then with a line on the others."""
    protocol = setting.resolved_protocol()
    selected = select(benchmark, protocol)
    asked, of = asked_of(selected, protocol, most), len(selected.tasks)
    if len(asked.tasks) < of:
        left_out.append(
            f"{setting.protocol}: {of - most:,} of {of:,} tasks; "
            f"the mean is over the asked tasks, spread over files; --tasks {of} asks all"
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
    with found.about("chunkers"):
        if len(request.chunkers) * len(request.sizes or SIZES) < 2:
            raise UsageError("there is nothing to choose from; give at least two chunkers or two sizes")
    with found.about("sizes"):
        if wrong := [size for size in request.sizes or () if size < 1]:
            raise UsageError(f"--sizes {wrong[0]}: give whole numbers above 0, such as --sizes 500,1000")


def answer_of(setting: RunRequest, made: Sequence[tuple[Arm, RunView]], ratio: float) -> Answer:
    """What the runs of one setting say, each with its arm; `ratio` is the answer's `tokens_per_nws`."""
    arms = {run.run_id: arm for arm, run in made}
    runs = {run.run_id: run for _, run in made}
    return Answer(
        protocol=setting.protocol,
        retriever=setting.retriever,
        choice=choose([*runs.values()]),
        arms=arms,
        n_queries=made[0][1].counts.queries,
        tokens_per_nws=ratio,
    )
