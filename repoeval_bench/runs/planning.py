"""Plan runs without a model: the data that they share, the tasks that are scored, the queries, and the chunks."""

import pickle
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.sizes import SizeMatch, is_resized, match_size, mean_nws
from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.errors import ChunkError, DatasetError, NoDataError, UsageError
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.parts import Chunker, Embedder, Role
from repoeval_bench.core.run import Fact, Query
from repoeval_bench.dataset import uses_table
from repoeval_bench.dataset.assembly import published_subset, with_fingerprint, without_tasks_of_tests
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.questions import QUESTION
from repoeval_bench.dataset.reading.plain import without_tasks
from repoeval_bench.dataset.reading.sampling import part_of
from repoeval_bench.embedding.registry import TextEncoder
from repoeval_bench.metrics import Lines, inputs_of
from repoeval_bench.protocols.protocol import Protocol, check_questions, nothing_scored
from repoeval_bench.protocols.qrels import gold_of
from repoeval_bench.protocols.queries import gold_in_query, make_queries
from repoeval_bench.protocols.uses import uses_facts, with_used
from repoeval_bench.retrieval.corpus import Corpus, build_corpus, merge_identical
from repoeval_bench.runs.inspection import pack_sources
from repoeval_bench.runs.judgements import count_lines
from repoeval_bench.runs.parts import Parts, chunker_under, make_embedder
from repoeval_bench.runs.records import RunConfig
from repoeval_bench.runs.request import EMBEDDER, DataRequest, RunRequest
from repoeval_bench.runs.results import Results


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The texts that a run will embed, known without a model."""

    benchmark: Benchmark
    protocol: Protocol
    chunker: str
    corpus: Corpus
    queries: tuple[Query, ...]

    def texts(self) -> dict[Role, list[str]]:
        """Role -> the texts of that role, with repeats."""
        return {
            "query": [query.text for query in self.queries],
            "document": [chunk.embed_text for chunk in self.corpus],
        }


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The tasks that a protocol selects, their files and queries, and the facts of each task."""

    benchmark: Benchmark
    protocol: Protocol
    queries: tuple[Query, ...]
    facts: Mapping[str, Mapping[str, Fact]]
    """task_id -> fact -> value."""
    lines: Lines
    """The result of `count_lines`."""
    gold_in_query: Mapping[str, float]
    """query_id -> share of its gold's non-blank lines that are in the query."""
    sources: bytes
    """The content of the stored file of sources."""

    # They are the same for all chunkers of a comparison, so each process makes them once.
    def __reduce__(self) -> tuple[object, ...]:
        # Packed once: every job of a pool is sent the same inputs.
        return _remade, (self._packed,)

    @cached_property
    def _packed(self) -> bytes:
        return pickle.dumps({field.name: getattr(self, field.name) for field in fields(self)})


@lru_cache(maxsize=4)  # the settings whose runs are made together
def _remade(packed: bytes) -> Inputs:
    return Inputs(**pickle.loads(packed))  # noqa: S301 - it was made here


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run to make: its configuration, and what it is made with."""

    request: RunRequest
    """Its setting."""
    config: RunConfig
    chunker: Chunker
    parts: Parts
    inputs: Inputs

    def texts(self, plan: Plan) -> dict[Role, list[str]]:
        """Return the texts whose vectors it needs, by role."""
        texts, ranked = plan.texts(), self.parts.retriever.vectors
        measured = "vectors" in inputs_of(self.config.measures)
        return {"query": texts["query"] if ranked else [], "document": texts["document"] if ranked or measured else []}


def make_inputs(selected: Benchmark, protocol: Protocol) -> Inputs:
    """Return the inputs that all chunkers share; `selected` is the result of `select`."""
    # Ten grammars, which stored runs do not need.
    from repoeval_bench.dataset.task_facts import commit_facts, task_facts

    queries = make_queries(selected.tasks, protocol.query)
    facts = task_facts(selected)
    if protocol.of_definitions:
        for task in selected.tasks:
            facts[task.task_id] |= uses_facts(task)
    if protocol.tasks == "commits":
        for task in selected.tasks:
            facts[task.task_id] |= commit_facts(task)
    for task in selected.tasks:
        facts[task.task_id] |= dict(task.facts)
    gold = {task.task_id: gold_of(task, protocol) for task in selected.tasks}
    return Inputs(
        benchmark=selected,
        protocol=protocol,
        queries=queries,
        facts=facts,
        lines=count_lines(selected, protocol),
        gold_in_query=gold_in_query(queries, selected.by_name, gold),
        sources=pack_sources(selected),
    )


def make_plan(
    selected: Benchmark,
    protocol: Protocol,
    queries: tuple[Query, ...],
    chunker: Chunker,
    *,
    skip_errors: bool = False,
    corpus: Corpus | None = None,
    tasks: Collection[Task] = (),
) -> tuple[Plan, Corpus]:
    """Cut the files of the selected tasks, and return the plan, and the chunker's own chunks without the protocol's.

    A `corpus` may have these chunks already. A protocol that blanks lines gives each task its own chunks. `tasks` are
    those of all runs of the chunker whose protocols do.
    """
    needed = [task.task_id for task in selected.tasks] if protocol.blanks else []
    tasks = tasks or (selected.tasks if needed else ())
    plain = corpus
    if plain is None or not plain.own.keys() >= {*needed}:
        build = partial(build_corpus, selected.files, chunker, skip_errors=skip_errors)
        try:
            plain = build(tasks=tasks)  # of all runs, so that each is cut once
        except ChunkError:
            if needed or not tasks:
                raise
            plain = build()  # the chunker may fail on another run's blanked files alone
    chunks = replace(plain, own={task_id: plain.own[task_id] for task_id in needed})
    if needed:
        failed = {
            task.file: plain.failed_own[task.task_id] for task in selected.tasks if task.task_id in plain.failed_own
        }
        chunks = replace(chunks, skipped=(*plain.skipped, *failed.values()))
    if protocol.documents == "windows":
        chunks = merge_identical(chunks)
    plan = Plan(benchmark=selected, protocol=protocol, chunker=chunker.spec, corpus=chunks, queries=queries)
    return plan, plain


# Tasks of a file in a sample: files are the clusters of every test, so that more add time and hardly any power.
PER_FILE = 30


def draw(selected: Benchmark, protocol: Protocol, sample: int | None) -> Benchmark:
    """Return at most `sample` tasks, and `PER_FILE` of a file, spread over both; of a user's questions all."""
    if sample is None or protocol.tasks == "questions":
        return selected
    return part_of(selected, sample, per_file=PER_FILE)


def select(benchmark: Benchmark, protocol: Protocol) -> Benchmark:
    """Return the repositories and tasks that the protocol scores; DatasetError if it scores none."""
    return without_tasks_of_tests(_scored(benchmark, protocol))


def _scored(benchmark: Benchmark, protocol: Protocol) -> Benchmark:
    selected = published_subset(benchmark, protocol.repositories)
    check_questions(protocol, questions=any(task.level == QUESTION for task in benchmark.tasks[:1]))
    if protocol.ask:
        return protocol.ask(selected)
    if protocol.tasks == "commits" and not benchmark.is_history:
        raise NoDataError(
            f"protocol {protocol.name} uses the commits of a history as queries, and {benchmark.name} has none; build "
            "a pack with `repoeval-bench data build CHECKOUT --commits`"
        )
    if protocol.tasks == "completion" and benchmark.is_history:
        raise UsageError(
            f"protocol {protocol.name} completes code, and {benchmark.name} has queries from commits; choose protocol "
            "commits"
        )
    if not benchmark.tasks:
        raise without_tasks(", ".join(benchmark.files))
    if protocol.of_definitions and selected.tasks:
        selected = with_used(selected)
        if not selected.tasks:
            raise DatasetError(f"no task has target lines by gold={protocol.gold}: {_why_none(benchmark)}")
    if benchmark.is_history and protocol.gold == "definitions":
        selected = _with_definitions(selected)
    if not selected.tasks:
        raise DatasetError(nothing_scored(protocol, benchmark.files))
    return selected


def _with_definitions(benchmark: Benchmark) -> Benchmark:
    """Return the questions of commits whose definitions are known; the others are counted."""
    tasks = tuple(task for task in benchmark.tasks if task.change and task.change.definitions)
    if len(tasks) == len(benchmark.tasks):
        return benchmark
    if not tasks:
        raise DatasetError(
            f"no query of {benchmark.name} has definitions as target lines, as its files have no grammar here; give "
            "gold=lines or gold=exact"
        )
    return with_fingerprint(
        replace(benchmark, tasks=tasks, unscored=benchmark.unscored + len(benchmark.tasks) - len(tasks))
    )


def _why_none(benchmark: Benchmark) -> str:
    for repo, files in benchmark.files.items():
        if sum(len(file.text) for file in files) > uses_table.MOST_CODE:
            return f"names are resolved in up to {uses_table.MOST_CODE / 1e6:.0f} MB of code, and {repo} has more"
    return "none uses a definition that its prompt does not show"


# The fewest characters to cut for which a pool is worth its start: two chunkers on RepoEval. Fewer are cut in the
# second that the start takes, even if the server starts while the data is loaded.
LARGE = 16_000_000


def is_large(benchmark: Benchmark, n_chunkers: int) -> bool:
    """Return whether there is enough to cut to start more processes."""
    # Each chunker cuts every file, and for each task its file again without the lines to write.
    sizes = {file.name: len(file.text) for files in benchmark.files.values() for file in files}
    n_chars = sum(sizes.values()) + sum(sizes.get(task.file, 0) for task in benchmark.tasks)
    return n_chunkers * n_chars >= LARGE


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A request without its chunker, the tasks that it scores, and its embedder; None if nothing needs vectors."""

    request: RunRequest
    selected: Benchmark
    embedder: Embedder | None

    @property
    def protocol(self) -> Protocol:
        """Return the protocol with the choices that override it."""
        return self.request.resolved_protocol()

    @cached_property
    def inputs(self) -> Inputs:
        """Return the inputs that are the same for all chunkers."""
        return make_inputs(self.selected, self.protocol)

    @property
    def cut(self) -> tuple[object, ...]:
        """All that decides what is cut: a chunker has the same chunks under settings that have the same."""
        request, windows = self.request, self.protocol.documents == "windows"
        return request.match_size, request.skip_errors, windows, *self.selected.files.values()


class Materials:
    """The data of requests, `without` some repositories, and what runs over it share.

    A given `embedder` replaces that of every request. `placed` decides where encoders compute, see `make_embedder`.
    Vectors are shared with the store of `results`, new ones by `share`.
    """

    def __init__(
        self,
        data: DataRequest,
        *,
        without: frozenset[str],
        results: Results,
        home: Path | None = None,
        placed: Callable[[TextEncoder], TextEncoder] | None = None,
        benchmark: Benchmark | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._data, self.without, self._placed = data, without, placed
        self.results, self.home = results, home
        self._shared = results.vectors(home)
        self._benchmark = benchmark
        self._embedder = embedder
        self._embedders: dict[str, Embedder] = {}
        self._settings: dict[tuple[RunRequest, int | None], Setting] = {}

    @cached_property
    def benchmark(self) -> Benchmark:
        """Return the tasks and files, which are fetched on first use."""
        if self._benchmark is not None:
            return self._benchmark
        fields = {name: getattr(self._data, name) for name in DataRequest.model_fields}
        return load_benchmark(**fields, without=self.without, home=self.home)

    def embedder(self, setting: RunRequest) -> Embedder | None:
        """Return the embedder of a setting; None if nothing needs vectors."""
        if not setting.needs_vectors:
            return None
        if self._embedder is not None:
            return self._embedder
        spec = setting.embedder
        if spec not in self._embedders:
            self._embedders[spec] = make_embedder(spec, home=self.home, placed=self._placed, cache=self._shared)
        return self._embedders[spec]

    def setting(self, request: RunRequest, sample: int | None = None) -> Setting:
        """Return the setting of a request without its chunker; at most `sample` of its tasks are drawn."""
        if (request, sample) not in self._settings:
            protocol = request.resolved_protocol()
            same = (
                setting.selected
                for (_, size), setting in self._settings.items()
                if (setting.protocol, size) == (protocol, sample)
            )
            selected = next(same, None) or draw(select(self.benchmark, protocol), protocol, sample)
            setting = Setting(request=request, selected=selected, embedder=self.embedder(request))
            self._settings[request, sample] = setting
        return self._settings[request, sample]

    def share(self) -> None:
        """Put new vectors into the store, if there is one."""
        if self._shared is not None:
            self._shared.flush()


def _match_sizes(benchmark: Benchmark, chunkers: Sequence[str], baseline: str, request: RunRequest) -> list[SizeMatch]:
    """Set each chunker's size so that its chunks' mean size is within 5 % of the baseline's on the protocol's files.

    If a chunker fails, or cannot come that near, its match has the reason.
    """
    selected, skip_errors = select(benchmark, request.resolved_protocol()), request.skip_errors
    files = [file for repo_files in selected.files.values() for file in repo_files]
    cutter = make_chunker(baseline)
    target = mean_nws(cutter, files, skip_errors=skip_errors)
    matches = []
    for chunker in chunkers:
        # The baseline's own chunker gets the baseline's size.
        spec = cutter.spec if is_resized(chunker, cutter.spec) else chunker
        try:
            matches.append(match_size(spec, target, files, skip_errors=skip_errors))
        except ChunkError as error:  # it ends this chunker's run alone
            own = make_chunker(spec).spec
            matches.append(SizeMatch(spec=own, realised=0.0, target=target, reason=str(error)))
    return matches


def make_chunkers(benchmark: Benchmark, chunkers: Sequence[str | Chunker | None], request: RunRequest) -> list[Chunker]:
    """Return the chunkers of these specs, with the request's matched sizes."""
    protocol = request.resolved_protocol()
    cutters = [chunker_under(protocol, chunker) for chunker in chunkers]
    if request.match_size:
        matches = _match_sizes(benchmark, [chunker.spec for chunker in cutters], request.match_size, request)
        for match in matches:
            NOTICES.info(str(match))
        cutters = [chunker_under(protocol, match.spec) for match in matches]
    return cutters


def unsized(requests: Iterable[RunRequest]) -> dict[str, Chunker]:
    """Name -> chunker, before sizes are matched, of each request that does not skip errors."""
    return {
        request.chunker: chunker_under(request.resolved_protocol(), request.chunker)
        for request in requests
        if request.chunker and not request.skip_errors
    }


def log_unread(requests: Sequence[RunRequest]) -> None:
    """Log the embedders that have no effect, as none of these runs needs vectors."""
    if any(request.needs_vectors for request in requests):
        return
    if named := dict.fromkeys(f"--embedder {request.embedder}" for request in requests if request.embedder != EMBEDDER):
        NOTICES.info(f"note: {', '.join(named)}: not read, as no retriever or measure here needs an embedder")
