"""Choose a chunker and its size for some code, from runs at equal sizes and the scores of other repositories."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

from repoeval_bench.analysis.evidence import (
    PURPOSES,
    SIZES,
    AboutCode,
    Recommendation,
    SizedChunker,
    conclude,
    evidence_of,
    provisional_choice,
    with_default,
    with_header,
)
from repoeval_bench.analysis.shrinkage import ReferenceSets
from repoeval_bench.chunkers.registry import make_chunker, row_of
from repoeval_bench.core.benchmark import Benchmark, check_loaded
from repoeval_bench.core.errors import OR_SKIP, ChunkError, DatasetError, ResultError, UsageError, nearest
from repoeval_bench.core.files import write_atomic
from repoeval_bench.core.json_reader import faults_as, parse, read_document
from repoeval_bench.core.languages import language_name
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.source import count_nws
from repoeval_bench.core.words import count
from repoeval_bench.dataset.commits import LEVEL
from repoeval_bench.dataset.home import shipped
from repoeval_bench.dataset.pack import FEWEST_TASKS
from repoeval_bench.dataset.questions import QUESTION, asks_for_files
from repoeval_bench.dataset.reading.code import check_extensions
from repoeval_bench.dataset.reading.sampling import tokens_per_nws
from repoeval_bench.own.recommend.beside import BESIDE, seconds_of_edits, with_costs, with_golds, with_retrievers
from repoeval_bench.own.recommend.own_history import COMMITS, ENOUGH, OwnHistory
from repoeval_bench.own.recommend.request import RecommendRequest
from repoeval_bench.own.recommend.sizes import sample_of, sets_size, sized
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.report.recommendation import answer_lines, setup_lines
from repoeval_bench.report.text import retriever_name
from repoeval_bench.runs.executors import IN_PROCESS, Executor, ProcessPool
from repoeval_bench.runs.jobs import Workers
from repoeval_bench.runs.naming import RECOMMENDED, is_recommended, remember_compared
from repoeval_bench.runs.parts import RESULTS
from repoeval_bench.runs.planning import select
from repoeval_bench.runs.problems import Problems, check_requests
from repoeval_bench.runs.records import MANIFEST
from repoeval_bench.runs.request import DataRequest, RunRequest
from repoeval_bench.runs.results import results_at
from repoeval_bench.runs.runner import Runner
from repoeval_bench.runs.store import pretty
from repoeval_bench.runs.view import RunView

PRIORS = "priors.json"

SHARE = 0.1
"""The least share of the code for which a language has lines to paste of its own."""


def about(benchmark: Benchmark, unread: Mapping[str, int]) -> AboutCode:
    """Return what an answer says of the code of a benchmark; `unread` has the kinds of code that are not in it."""
    files: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for file in (file for of_repo in benchmark.today.values() for file in of_repo):
        language = language_name(file.path, file.text)
        files[language] += 1
        # A JavaScript package ships TypeScript's declaration files too, and is no TypeScript for that.
        declares = file.path.endswith((".d.ts", ".d.mts", ".d.cts"))
        sizes[language] += 0 if declares else count_nws(file.text)
    code = about_sizes(_described(benchmark), files, sizes, unread)
    return code.model_copy(update={"tests": benchmark.tests, "test_files": benchmark.test_files})


def _described(benchmark: Benchmark) -> str:
    # The evidence has the numbers of queries: those of each protocol are others.
    name = benchmark.name if len(benchmark.today) > 1 else next(iter(benchmark.today))
    name = name.partition("@")[0] if benchmark.is_history else name  # the newest tree is named `gson@2024-02`
    searched = f"{benchmark.searched} of its history" if benchmark.is_history else benchmark.searched
    return f"{name}, {searched} (data checksum {benchmark.fingerprint})"


def about_sizes(data: str, files: Mapping[str, int], sizes: Mapping[str, int], unread: Mapping[str, int]) -> AboutCode:
    """Return the same of code of which the languages' files and sizes are known, in lines or characters.

    Languages of less than `SHARE` of the code are not named, and `python` is where none is known.
    """
    total = sum(sizes.values()) or 1
    first, *others = sorted(sizes, key=lambda name: (sizes[name], name), reverse=True) or ["python"]
    named = [first, *(name for name in others if sizes[name] >= SHARE * total)]
    shares = {name: sizes.get(name, total) / total for name in named}
    return AboutCode(data=data, files=dict(files), languages=shares, unread=dict(unread))


# Longer than 60 lines: the steps follow each other, and each needs what the one before it made.
def recommend(
    benchmark: Benchmark,
    *,
    out: Path | str = RESULTS,
    home: Path | None = None,
    executor: Executor | Workers = IN_PROCESS,
    data: DataRequest | None = None,
    history: OwnHistory | None = None,
    compared: Sequence[str] | None = None,
    unread: Mapping[str, int] | None = None,
    clock: Callable[[], float] = monotonic,
    **fields: Any,
) -> Recommendation:
    """Choose a chunker and its size for the code of a benchmark or pack.

        answer = recommend(load_benchmark("packs/mine"), retrievers=("bm25",))
        answer.choice.spec                     # what make_chunker and --chunker take
        answer.decision.choice.expected_loss   # in scores from 0 to 1; `answer.setups` has lines to paste

    `fields` are the options of the command:

    - `chunkers`: specs, at least two or at several sizes; one with a size of its own is tried as written;
    - `current`: the spec that you use now; `answer.current` has what the choice gains on it;
    - `sizes`: characters without whitespace, (500, 1000, 2000) by default; at each, every chunker without a size of its
      own is set to the mean size of `fixed`;
    - `purpose`: `completion`, `search` or `both`, which choose the protocols; or `protocols`, by name;
    - `retrievers`: ("bm25", "dense") by default, of equal weight; `embedder`: the model of `dense`;
    - `tasks`: the most queries of a protocol, 1,500 by default; `time_limit`: minutes after which no run starts.

    The other parameters are:

    - `out`: the folder of the runs and of the answer; stored runs of exactly this code are reused, so an interrupted
      recommendation goes on;
    - `home`: the folder of data and cached vectors; `executor`: where runs are made, such as a `ProcessPool`;
    - `history`: commits that ask instead of docstrings, and whose edits tell what an edit costs;
    - `compared`: retrievers to compare on the choice, by default those of the request, or all where it names none;
    - `unread`: the kinds of code that are not in the benchmark, with their numbers of files;
    - `data`: the request that loads the benchmark, for workers; `clock`: returns seconds, for `time_limit`.

    Runs without vectors come first, and their answer is a notice if others follow. `answer.decision` is None, and
    `answer.default` the shipped choice, where no protocol has enough queries. docs/statistics.md explains the loss.
    UsageError: an option is impossible, or one candidate is left. ChunkError: no chunker can cut this code.
    """
    check_loaded(benchmark)
    if wrong := sorted(DataRequest.model_fields.keys() & fields.keys()):
        raise UsageError(f"{', '.join(wrong)}: the data is loaded already; give it to load_benchmark")
    request = RecommendRequest.of(fields)
    skipped: list[str] = []
    tasks = {} if request.protocols else suitable(benchmark, request.purpose, skipped, history)
    protocols = request.protocols or tuple(tasks)
    code = about(benchmark, unread or {})
    if history and history.benchmark and {*protocols} == {COMMITS}:
        code = code.model_copy(update={"data": _described(history.benchmark)})
    if not protocols:
        return without_runs(code, request, tuple(skipped))
    settings = request.requests(protocols)
    problems = Problems()
    check_recommendation(request, problems, settings)
    problems.check()
    if tasks and max(tasks.values()) < FEWEST_TASKS:
        of_size = sized(benchmark, (), SIZES, current=_now(request.current)[:1])[0]
        now = next((one for candidates in of_size for one in candidates), None)
        return without_runs(code, request, tuple(skipped), tasks, now)
    deadline = None if request.time_limit is None else clock() + 60 * request.time_limit
    pool = executor if isinstance(executor, ProcessPool) else IN_PROCESS
    by_size, unsuited, failures = sized(
        benchmark, request.chunkers, request.sizes or SIZES, pool, current=_now(request.current)
    )
    skipped += [*unsuited, *failures]
    _check_choice(by_size, len(_tried(request)), [*unsuited, *failures])
    in_turn = _middle_first(by_size)
    specs = [candidate.spec for of_size in in_turn for candidate in of_size]
    # What needs no model has an answer in seconds.
    first_words = sorted(settings, key=lambda setting: setting.needs_vectors)
    results = results_at(out, home).out
    where: dict[str, Any] = {"out": results, "home": home, "executor": executor, "sample": request.tasks}
    benchmarks = _benchmarks(benchmark, data, history, first_words)
    requests = [
        [
            one.model_copy(update=(named.model_dump() if named else {}) | {"chunker": spec})
            for one in of
            for spec in specs
        ]
        for _, of, named in benchmarks
    ]
    runners = [
        Runner(of_questions, **where, benchmark=asked_of)
        for of_questions, (asked_of, *_) in zip(requests, benchmarks, strict=True)
    ]
    skipped += _undrawn(runners)
    also = _also(request, by_size, protocols, history) | {"ratio": tokens_per_nws(sample_of(benchmark))}
    answering = _Answering(code, in_turn, by_size, skipped, len(failures), runners=runners, **also)
    by_words = [setting for setting in answering.runs if not setting.needs_vectors]
    by_model = [setting for setting in answering.runs if setting.needs_vectors]
    progress = _Progress(
        {setting: _work(setting, runner) for runner in runners for setting in runner.settings},
        len(specs),
        seconds_of_edits([one.spec for one in in_turn[0]], history.edits if history else (), pool),
        clock=clock,
        choose=answering.so_far,
    )
    answering.gather(by_words, deadline, progress)
    if by_model and (first := answering.answer()).decision:
        remember(first, results)
        _say_first(first, len(specs) * len(by_model))
    answering.gather(by_model, deadline, progress)
    answer = with_golds(answering.answer(), answering.selected, answering.runs)
    edits = read_reference_sets().edits
    answer = with_costs(answer, benchmark, answering.runs, history, also["ratio"], reference=edits, executor=pool)
    names = compared or (*request.retrievers, *(() if "retrievers" in fields else BESIDE))
    if deadline is None or clock() < deadline:
        answer = with_retrievers(answer, benchmarks, answering.runs, names, **where)
    return remember(answer, results)


def _now(current: str | None) -> list[str]:
    """Return the current chunker, and the same with a header if it can have one; none if none was named."""
    return [*filter(None, [current, with_header(current)])] if current else []


def _benchmarks(
    benchmark: Benchmark, data: DataRequest | None, history: OwnHistory | None, settings: Sequence[RunRequest]
) -> list[tuple[Benchmark, list[RunRequest], DataRequest | None]]:
    """Return each benchmark with the settings that are asked of it, and the request that loads it in a worker."""
    past = history.benchmark if history else None
    of_past = [setting for setting in settings if past and setting.protocol == COMMITS]
    of_tree = [setting for setting in settings if setting not in of_past]
    pairs = [(benchmark, of_tree, data)]
    if past and history:
        pairs.append((past, of_past, history.data))
    return [one for one in pairs if one[1]]


def _also(
    request: RecommendRequest,
    by_size: Sequence[Sequence[SizedChunker]],
    protocols: Sequence[str],
    history: OwnHistory | None,
) -> dict[str, Any]:
    """Return what an answer says of the current chunker and of the history."""
    label = None
    if request.current:
        spec = make_chunker(request.current).spec
        label = next((one.label for of_size in by_size for one in of_size if one.spec == spec), None)
    since = history.since if history and COMMITS in protocols else ""
    return {"current": label, "since": since, "tried": _tried(request)}


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


class _Progress:
    """Print how many runs are done, and after the first size the choice by them alone (`choose`).

    The command takes minutes, and without a terminal there is no bar. The remaining time is printed once a run by each
    retriever still to come has been timed, and no texts are still to be embedded for another setting. A run takes as
    long as its setting has `work`. The very first runs are not timed, because trees are parsed for all runs in them,
    nor are the first ones of a setting by vectors, which wait for the model. What follows the runs takes `at_end`
    seconds.
    """

    def __init__(
        self,
        work: Mapping[RunRequest, int],
        n_candidates: int,
        at_end: float,
        *,
        clock: Callable[[], float],
        choose: Callable[[RunRequest], str | None],
    ) -> None:
        self._work, self._at_end = work, at_end
        self._total, self.clock, self._choose = len(work) * n_candidates, clock, choose
        self._more = Counter(dict.fromkeys(work, n_candidates))
        self._to_embed = {setting for setting in work if setting.needs_vectors}
        self._seconds: dict[str, float | None] = {}
        self._before = clock()

    def log(self, setting: RunRequest, of_size: Sequence[SizedChunker]) -> None:
        """Log that all candidates of a size are done, and after the first size the choice so far."""
        retriever, now, is_first = setting.retriever, self.clock(), not self._seconds
        n_runs = len(of_size)
        if is_first or setting in self._to_embed:
            self._to_embed.discard(setting)
            self._seconds.setdefault(retriever, None)
        else:
            self._seconds[retriever] = (now - self._before) / (n_runs * self._work[setting])
        self._before = now
        self._more[setting] -= n_runs
        more = +self._more
        times = [(self._seconds.get(one.retriever), number * self._work[one]) for one, number in more.items()]
        sizes = ", ".join(dict.fromkeys(f"{candidate.size:,}" for candidate in of_size if candidate.size))
        where, left = f", size {sizes}" if sizes else "", ""
        if (more or self._at_end >= 1) and not self._to_embed and all(seconds is not None for seconds, _ in times):
            runs = sum((seconds or 0) * number for seconds, number in times)
            left = f"; about {runs + self._at_end:,.0f} s left{'' if more else ' to measure edits'}"
        done = self._total - more.total()
        NOTICES.info(f"{done} of {self._total} runs: {_place(setting)}{where}{left}")
        if is_first and more and (label := self._choose(setting)):
            NOTICES.info(f"best so far: {label} ({_place(setting)}, {count(done, 'run')})")


def _place(setting: RunRequest) -> str:
    return f"protocol {setting.protocol} with {setting.retriever}"


class _Answering:
    """The runs of the candidates so far, by setting, and the answer that they give."""

    def __init__(
        self,
        code: AboutCode,
        in_turn: Sequence[Sequence[SizedChunker]],
        by_size: Sequence[Sequence[SizedChunker]],
        skipped: list[str],
        unsized: int,
        *,
        runners: Sequence[Runner],
        ratio: float,
        **also: Any,
    ) -> None:
        self._code, self._in_turn, self._also = code, in_turn, also
        self._language = next(iter(code.languages))
        self._candidates = {candidate.label: candidate for of_size in by_size for candidate in of_size}
        self._ratio = ratio
        self._reference_sets = read_reference_sets()
        self._skipped = skipped
        self._runner_of = {setting: runner for runner in runners for setting in runner.settings}
        self._failed = unsized * len(by_size) * len(self._runner_of)
        self.runs: dict[RunRequest, list[tuple[SizedChunker, RunView]]] = {setting: [] for setting in self._runner_of}

    def gather(self, settings: Sequence[RunRequest], deadline: float | None, progress: _Progress) -> None:
        """Add each setting's runs; each run that was not made is counted, and a line says why."""
        for setting in settings:
            name = _place(setting)
            runner = self._runner_of[setting]
            coming = runner.runs_of(setting, reuse=True)
            for of_size in self._in_turn:
                if deadline is not None and any(self.runs.values()) and progress.clock() >= deadline:
                    labels = ", ".join(candidate.label for candidate in of_size)
                    self._skipped.append(f"{name}, {labels}: the time was up")
                    continue
                for candidate in of_size:
                    if (run := next(coming)) is not None:
                        self.runs[setting].append((candidate, run))
                        continue
                    reasons = runner.failed_of(setting) | runner.skipped
                    reason = reasons.get(candidate.spec, "it failed")
                    self._skipped.append(f"{name}, {candidate.label}: {reason.removesuffix(OR_SKIP)}")
                    # What a library refuses is left out, as what it does not know: there is nothing here to repair.
                    self._failed += not row_of(candidate.spec).requires
                progress.log(setting, of_size)

    def selected(self, setting: RunRequest) -> Benchmark:
        """Return the tasks that a setting scores."""
        return self._runner_of[setting].selected(setting)

    def so_far(self, setting: RunRequest) -> str | None:
        """Return the label of the choice by the runs of one setting alone."""
        return provisional_choice(setting, self.runs[setting], self._language, self._reference_sets)

    def answer(self) -> Recommendation:
        """Return the recommendation by the runs so far, all retrievers of a protocol beside each other."""
        order = [*self._candidates]
        protocols = [*dict.fromkeys(setting.protocol for setting in self.runs)]
        measured = [
            evidence_of(
                setting,
                sorted(self.runs[setting], key=lambda run: order.index(run[0].label)),
                self._ratio,
                self._language,
                self._reference_sets,
            )
            for setting in sorted(self.runs, key=lambda setting: protocols.index(setting.protocol))
            if len(self.runs[setting]) > 1
        ]
        return conclude(
            measured,
            reference_sets=self._reference_sets,
            candidates=self._candidates,
            **self._code.model_dump(exclude_unset=True),
            **self._also,
            skipped=tuple(self._skipped),
            n_failed=self._failed,
            runs=tuple(run.run_id for of_setting in self.runs.values() for _, run in of_setting),
        )


def _say_first(first: Recommendation, to_come: int) -> None:
    """Print the answer of the runs without vectors, before the first text is embedded."""
    by = " and ".join(dict.fromkeys(retriever_name(one.retriever) for one in first.evidence))
    lines = [f"The answer by {by}; {count(to_come, 'run')} by the embedding model will follow:"]
    for line in [*lines, *answer_lines(first), *setup_lines(first)]:
        NOTICES.info(line)


def remember(recommendation: Recommendation, out: Path) -> Recommendation:
    """Store a recommendation beside its runs, for `report`; return it. Without evidence nothing is stored."""
    if recommendation.evidence:
        deciding = [RunView.open(out / run_id) for run_id in recommendation.evidence[0].runs.values()]
        with suppress(OSError):  # which `remember_compared` reports
            write_atomic(out / RECOMMENDED, pretty(recommendation))
        remember_compared(deciding, out, recommended=True)
    return recommendation


def recommended(out: Path) -> Recommendation | None:
    """Return the recommendation that `report` shows: the last one, unless runs were compared since, or are gone."""
    path = out / RECOMMENDED
    if not (is_recommended(out) and path.is_file()):
        return None
    try:
        with faults_as(ResultError, path, "run recommend again"):
            recommendation = parse(read_document(path), Recommendation)
    except ResultError as error:
        NOTICES.info(f"note: {error}; the page compares its runs instead")
        return None
    ids = {run_id for evidence in recommendation.evidence for run_id in evidence.runs.values()}
    return recommendation if all((out / run_id / MANIFEST).is_file() for run_id in ids) else None


def _work(setting: RunRequest, runner: Runner) -> int:
    """Return the work of a run: its tasks, three times those whose file is blanked and cut again for each."""
    return len(runner.selected(setting).tasks) * (3 if setting.resolved_protocol().blanks else 1)


def _undrawn(runners: Sequence[Runner]) -> list[str]:
    """Return a line on the protocols of which only a sample of the tasks is drawn; none where all are."""
    parts = {setting.protocol: runner.selected(setting) for runner in runners for setting in runner.settings}
    samples = [(name, len(part.tasks), part.sample) for name, part in parts.items() if part.sample]
    if not samples:
        return []
    left = [f"{sample.of - drawn:,} of {sample.of:,} queries of {name}" for name, drawn, sample in samples]
    most = max((sample.of for _, drawn, sample in samples if drawn == sample.most), default=0)
    rest = f"at most {samples[0][2].per_file} are drawn from one file"
    return [f"{' and '.join(left)}; {rest}{f', and --tasks {most} draws more' if most else ''}"]


def suitable(
    benchmark: Benchmark, purpose: str, skipped: list[str], history: OwnHistory | None = None
) -> dict[str, int]:
    """Return the protocols that test a purpose, a key of `PURPOSES`, each with the number of its tasks, at least one.

    Questions from a file have protocol `questions` alone, and those of a pack of commits `commits`. A `history` with
    enough queries is used instead of docstrings, and one with fewer where docstrings are too few. A line in `skipped`
    names each protocol without a query.
    """
    for level, protocol in ((QUESTION, "questions"), (LEVEL, COMMITS)):
        if benchmark.tasks and benchmark.tasks[0].level == level:
            return {protocol: len(benchmark.tasks)}
    protocols = {}
    for name in PURPOSES[purpose]:
        past = history if name == "docstring" else None
        if past and past.is_enough:
            protocols[COMMITS] = past.n_questions
            continue
        asking = Protocol.parse(name)
        number, reason = 0, f"{name}: no function of {', '.join(benchmark.files)} can be a task"
        if benchmark.tasks or asking.tasks != "completion":
            try:
                number = len(select(benchmark, asking).tasks)
            except DatasetError as error:
                reason = f"{name}: {error}"
        if past and past.benchmark and number < FEWEST_TASKS:
            protocols[COMMITS] = past.n_questions
            continue
        if past:
            is_documented = number >= FEWEST_TASKS
            skipped.append(past.too_few(ENOUGH, "; docstrings are used instead") if is_documented else past.too_few())
        if number:
            protocols[name] = number
        else:
            skipped.append(reason)
    return protocols


def check_recommendation(request: RecommendRequest, problems: Problems, settings: Sequence[RunRequest] = ()) -> None:
    """Collect the mistakes in a request that can be found without reading the data.

    `settings` are its requests for loaded data. Without them the choice of data is checked too, except the source.
    """
    # Which protocols suit the data is not known yet; `body` takes the same options as all that may.
    protocols = request.protocols or ("questions" if request.questions else "body",)
    with problems.about("extensions"):
        check_extensions(request.extensions or ())
    with problems.about("questions"):
        if request.questions and asks_for_files(Path(request.questions)):
            raise UsageError(
                f"whole files answer at least half of the queries in {request.questions}, which says little about "
                "where to split; give start_line and end_line in places, or leave --queries out"
            )
    unread = request.model_copy(update={"source": RecommendRequest().source, "extensions": None})
    requests = (
        setting.model_copy(update={"chunker": spec})
        for setting in settings or unread.requests(protocols)
        for spec in _tried(request)
    )
    check_requests([*dict.fromkeys(requests)], problems, loaded=bool(settings))
    with problems.about("purpose"):
        if request.purpose not in PURPOSES:
            raise UsageError(nearest("purpose", request.purpose, PURPOSES))
    with problems.about("chunkers"):
        if len(_tried(request)) * len(request.sizes or SIZES) < 2:
            raise UsageError("there is nothing to choose from; give at least two chunkers or two sizes")


def _tried(request: RecommendRequest) -> list[str]:
    """Return the chunkers to try, without what is another one's default, or the current one, in other words."""
    tried = [name for name in request.chunkers if not sets_size(name)]
    written = [name for name in request.chunkers if sets_size(name)]
    for group in (written, [request.current] if request.current else []):
        known = {_full(name) for name in tried}
        tried += [name for name in group if _full(name) not in known]
    return tried


def _full(name: str) -> str:
    """Return the full spec of a chunker; a mistake, which is reported where specs are checked, stays as it is."""
    with suppress(UsageError):
        return make_chunker(name).spec
    return name


def without_runs(
    code: AboutCode,
    request: RecommendRequest,
    skipped: tuple[str, ...],
    few: Mapping[str, int] | None = None,
    now: SizedChunker | None = None,
) -> Recommendation:
    """Return the recommendation for code that has nothing to measure.

    `few` are protocols with too few tasks, and `now` is the current chunker, if its size on this code is known.
    """
    requests = request.requests(request.protocols or PURPOSES[request.purpose])
    if request.current and now is None:
        now = SizedChunker(name=request.current, size=None, spec=request.current)
    return with_default(
        read_reference_sets(), requests, now=now, skipped=skipped, few=few or {}, **code.model_dump(exclude_unset=True)
    )


@cache
def read_reference_sets(path: Path | None = None) -> ReferenceSets:
    """Read the scores of other repositories: the file that ships, or one of scripts/estimate_prior.py."""
    file = path or shipped(PRIORS)
    if file is None:
        raise DatasetError(f"{PRIORS} is missing from the installation; install repoeval-bench again")
    with faults_as(DatasetError, file, "install repoeval-bench again"):
        return parse(read_document(file), ReferenceSets)
