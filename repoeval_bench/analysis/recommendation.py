"""Choose a chunker and its size for some code: a grid of runs at equal sizes and budgets, shrunk to what boards say."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from repoeval_bench.analysis.arms import SIZES, Arm, sample_of, sized
from repoeval_bench.analysis.boards import load_boards
from repoeval_bench.analysis.choosing import READ, verdict_on
from repoeval_bench.analysis.comparable import headline_measure, run_names
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.analysis.shrinkage import Decision, Posterior, Prior, combine, decide, only, shrink, with_unmeasured
from repoeval_bench.analysis.statistics import SEED, Sample
from repoeval_bench.analysis.verdicts import Outcome, Verdict, pairs_with
from repoeval_bench.chunkers.registry import FRAMEWORKS, OWN, make_chunker, of_size, snippet_of
from repoeval_bench.core.errors import OR_SKIP, ChunkError, DatasetError, NoDataError, UsageError
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.notebook import html_table
from repoeval_bench.core.progress import progress
from repoeval_bench.core.source import count_nws
from repoeval_bench.core.spec import Spec, nearest
from repoeval_bench.dataset.build.prompts import tokens_per_nws
from repoeval_bench.dataset.pack import FEWEST_TASKS
from repoeval_bench.dataset.questions import QUESTION
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.executors import IN_PROCESS, Executor
from repoeval_bench.runs.experiment import Workplace, evaluate_each
from repoeval_bench.runs.parts import RESULTS, make_embedder, shared_vectors, silent
from repoeval_bench.runs.planning import asked_of, select
from repoeval_bench.runs.problems import Problems, check_once, check_requests
from repoeval_bench.runs.query_scores import together
from repoeval_bench.runs.request import EMBEDDER, DataRequest, RecommendRequest, RunRequest
from repoeval_bench.runs.run_store import Results
from repoeval_bench.runs.settings import Setting, evaluate_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Embedder, Snippet
    from repoeval_bench.runs.jobs import RunJobs
    from repoeval_bench.runs.planning import Corpora
    from repoeval_bench.runs.records import Headline
    from repoeval_bench.runs.view import RunView


QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "both": ("uses", "docstring"),
    "completion": ("uses",),
    "search": ("docstring",),
}
"""What chunks are for -> the protocols that ask it; all of them count the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one protocol by one retriever says of the candidates, each named by its label.

    `means` are of the protocol's headline `measure`, from 0 to 1, `over` queries or repositories. `tokens` is what the
    first `READ` chunks of a query come to, by the rule `code` (docs/packs.md). `cut` is the share of a candidate's
    chunks that the embedding model does not read whole; None by a retriever without a model. `comparisons` and
    `verdict` are over all pairs of runs, as `compare` has them. `better` and `worse` are the candidates that are so
    significantly, beside the choice.
    """

    setting: RunRequest
    measure: str
    over: Headline
    clustered_by: str
    n_queries: int
    n_clusters: int
    means: Mapping[str, float]
    tokens: Mapping[str, float | None]
    cut: Mapping[str, float | None]
    runs: Mapping[str, RunView]
    posterior: Posterior
    comparisons: Sequence[Comparison]
    verdict: Verdict
    better: frozenset[str] = frozenset()
    worse: frozenset[str] = frozenset()

    @property
    def protocol(self) -> str:
        """What is asked."""
        return self.setting.protocol

    @property
    def retriever(self) -> str:
        """By what chunks are ranked."""
        return self.setting.retriever


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How to make a candidate elsewhere: the Python to paste, and whether its chunks were measured on this code."""

    label: str
    snippet: Snippet
    expected_loss: float
    loss_95: float
    measured: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recommendation:
    """Which candidate to use, what it costs if another is better, and the evidence.

    `decision` ranks all candidates by their expected loss over the evidence; None where no protocol has enough queries.
    `by_retriever` has what each retriever alone would choose. `arms` are the candidates by label. `setups` has one for
    each framework, that of the choice first. `language` is that of most of the code. `few` has the
    number of queries of each protocol that has too few to decide, `skipped` a line for everything else that was not
    asked or not made, `n_failed` of the runs because they failed.
    """

    data: str
    language: str
    evidence: tuple[Evidence, ...]
    decision: Decision | None
    by_retriever: Mapping[str, str]
    arms: Mapping[str, Arm]
    setups: tuple[Setup, ...]
    few: Mapping[str, int]
    skipped: tuple[str, ...]
    n_failed: int
    runs: tuple[Path, ...]

    @property
    def choice(self) -> Arm | None:
        """The candidate to use; None where there is too little data."""
        return None if self.decision is None else self.arms[self.decision.choice.name]

    @property
    def n_files(self) -> int:
        """The most files that the queries of one protocol are of."""
        return max((each.n_clusters for each in self.evidence), default=0)

    def tokens(self, label: str) -> float | None:
        """What a query costs that reads the first `READ` chunks of a candidate; the mean over the evidence."""
        costs = [cost for each in self.evidence if (cost := each.tokens.get(label)) is not None]
        return sum(costs) / len(costs) if costs else None

    def __repr__(self) -> str:
        return f"<Recommendation {self.choice.label if self.choice else 'without a choice'}>"

    def _repr_html_(self) -> str:
        """Every candidate with its means and its expected loss."""
        columns = [f"{each.protocol} by {each.retriever}" for each in self.evidence]
        ranked = self.decision.candidates if self.decision else ()
        rows = [
            (one.name, *(f"{each.means[one.name]:.4f}" for each in self.evidence), f"{one.expected_loss:.4f}")
            for one in ranked
        ]
        return html_table(f"{repr(self)[1:-1]} ({self.data})", ("candidate", *columns, "expected loss"), rows)


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
            f"{setting.protocol}: {of - most:,} of {of:,} tasks; "
            f"the mean is over these, spread over files; --tasks {of} takes all"
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


def evidence_of(
    setting: RunRequest, made: Sequence[tuple[Arm, RunView]], tokens_per_nws: float, language: str
) -> Evidence:
    """Return what the runs of one protocol and retriever say, each with its candidate."""
    runs = [run for _, run in made]
    labels = [arm.label for arm, _ in made]
    measure, over = headline_measure(runs), runs[0].metrics.headline
    joined = together([run.scores for run in runs])
    scores = joined[0]
    table = np.column_stack([each.values[measure] for each in joined])
    sample = Sample.of(table, scores.clusters, scores.repos, over)
    costs = [READ * sizes.mean * tokens_per_nws if (sizes := run.metrics.chunk_nws) else None for run in runs]
    prior = _prior(language, setting, [arm for arm, _ in made])
    comparisons = compare(runs, measures=[measure])
    return Evidence(
        setting=setting,
        measure=measure,
        over=over,
        clustered_by=scores.clustered_by,
        n_queries=len(scores),
        n_clusters=sample.n_clusters,
        means={label: run.metrics.over(over)[measure] for label, run in zip(labels, runs, strict=True)},
        tokens=dict(zip(labels, costs, strict=True)),
        cut={label: _cut_share(run) for label, run in zip(labels, runs, strict=True)},
        runs=dict(zip(labels, runs, strict=True)),
        posterior=shrink(sample, prior, labels, costs),
        comparisons=comparisons,
        verdict=verdict_on(runs, comparisons),
    )


def _prior(language: str, setting: RunRequest, arms: Sequence[Arm]) -> Prior:
    """Return what the boards lead to expect; they know vectors of the bundled model alone."""
    retriever, embedder = (Spec.parse(spec).name for spec in (setting.retriever, setting.embedder))
    ranked_by = embedder if setting.needs_vectors and embedder != EMBEDDER else retriever
    candidates = [(Spec.parse(arm.name).name, arm.size) for arm in arms]
    return load_boards().prior(language, setting.protocol, ranked_by, candidates)


def _cut_share(run: RunView) -> float | None:
    """Return which share of a run's chunks the embedding model does not read whole; None without a model."""
    counts = run.metrics.counts
    return counts.chunks_truncated / counts.chunks if counts.chunks_truncated and counts.chunks else None


def conclude(
    data: str,
    language: str,
    evidence: Sequence[Evidence],
    *,
    arms: Mapping[str, Arm],
    skipped: Sequence[str],
    n_failed: int,
    runs: Sequence[Path],
) -> Recommendation:
    """Choose the candidate with the least expected loss over the evidence, where it has `FEWEST_TASKS` queries.

    Protocols count the same, and within a protocol the retrievers. Evidence with fewer queries decides nothing.
    """
    enough = [each for each in evidence if each.n_queries >= FEWEST_TASKS]
    few = {each.protocol: each.n_queries for each in evidence if each not in enough}
    decision: Decision | None = None
    by_retriever: dict[str, str] = {}
    setups: tuple[Setup, ...] = ()
    all_arms = dict(arms)
    if enough:
        posterior = combine([(each.protocol, each.posterior) for each in enough])
        decision = decide(posterior, _rng())
        for each in dict.fromkeys(each.retriever for each in enough):
            own = combine([(one.protocol, one.posterior) for one in enough if one.retriever == each])
            by_retriever[each] = decide(own, _rng()).choice.name
        others = _unmeasured(arms)
        all_arms |= {arm.label: arm for arm in others}
        setups = _setups(decision, posterior, language, enough, all_arms, others)
        enough = [_with_tests(each, decision.choice.name) for each in enough]
    return Recommendation(
        data=data,
        language=language,
        evidence=tuple(enough),
        decision=decision,
        by_retriever=by_retriever,
        arms=all_arms,
        setups=setups,
        few=few,
        skipped=tuple(skipped),
        n_failed=n_failed,
        runs=tuple(runs),
    )


def _rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def _with_tests(evidence: Evidence, choice: str) -> Evidence:
    """Return the evidence with what the tests say of the choice, in the family of all pairs, as `compare` has it."""
    runs = evidence.runs
    names = dict(zip(run_names([*runs.values()]), runs, strict=True))
    pairs = pairs_with(next(name for name, label in names.items() if label == choice), evidence.comparisons)
    outcome = {names[each.treatment]: each.verdict.outcome for each in pairs}
    return replace(
        evidence,
        better=frozenset(label for label, said in outcome.items() if said is Outcome.BETTER),
        worse=frozenset(label for label, said in outcome.items() if said is Outcome.WORSE),
    )


def _unmeasured(arms: Mapping[str, Arm]) -> list[Arm]:
    """Return the candidates of frameworks that are not installed, at the sizes of the others."""
    measured = {arm.name for arm in arms.values()}
    sizes = sorted({arm.size for arm in arms.values() if arm.size is not None}) or list(SIZES)
    found = []
    for name in FRAMEWORKS:
        if name not in measured:
            found += [Arm(name=name, size=size, spec=of_size(name, size)) for size in sizes]
    return found


def _setups(
    decision: Decision,
    posterior: Posterior,
    language: str,
    evidence: Sequence[Evidence],
    arms: Mapping[str, Arm],
    unmeasured: Sequence[Arm],
) -> tuple[Setup, ...]:
    """Return the choice's setup, and for each other framework that of its candidate with the least expected loss."""
    ranked = [(one, True) for one in decision.candidates]
    measured = [arms[name] for name in posterior.names]
    for arm in unmeasured:
        parts = []
        for each in evidence:
            prior = _prior(language, each.setting, [*measured, arm])
            parts.append((each.protocol, with_unmeasured(only(each.posterior, posterior.names), prior, arm.label)))
        ranked.append((decide(combine(parts), _rng()).candidate(arm.label), False))
    ranked.sort(key=lambda pair: (pair[0].name != decision.choice.name, pair[0].expected_loss))
    found: dict[str, Setup] = {}
    for one, is_measured in ranked:
        snippet = snippet_of(arms[one.name].spec, language)
        if snippet.framework not in found and (not found or snippet.framework != OWN):
            found[snippet.framework] = Setup(
                label=one.name,
                snippet=snippet,
                expected_loss=one.expected_loss,
                loss_95=one.loss_95,
                measured=is_measured,
            )
    return tuple(found.values())
