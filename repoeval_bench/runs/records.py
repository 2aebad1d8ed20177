"""Records of a run folder: one frozen model for each file or row, checked when it is written and when it is read.

manifest.json      `Manifest`: what ran, with which versions, when (the only time beside timings.jsonl)
metrics.json       `Metrics`: means over queries (micro), over repositories (macro) and per repository; their ceilings
per_query.jsonl.gz `QueryRow`: a query's value and ceiling of every measure, and facts for segments
completions.jsonl  `CompletionRow`: the answer of a model for a task, where the run was completed
qrels.trec.gz      the judgements: unpacked, as trec_eval and ir_measures read them
retrieved.jsonl.gz `log.StoredRow`: a query and its top k, the one ranking; of an imported run `log.LogRow`
timings.jsonl      `TimeRow`: seconds of a step, or milliseconds of a query
*.jsonl.gz         sources, chunk boundaries and gold; see `inspection`

Nothing here opens a file: `store` writes them, `view` reads them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from repoeval_bench.core.validation import EXACT, STRICT, Count, Plain

SCHEMA: Final = 4
"""Version of the layout; a folder of another version is refused."""

MANIFEST = "manifest.json"
METRICS = "metrics.json"
PER_QUERY = "per_query.jsonl.gz"
RETRIEVED = "retrieved.jsonl.gz"
QRELS = "qrels.trec.gz"
TIMINGS = "timings.jsonl"
COMPLETIONS = "completions.jsonl"
FORMER = ("run.trec", "run.trec.gz", "qrels.trec", "per_query.jsonl")
"""Files of earlier layouts, which are removed with their folder and read by nothing."""

EMBED_STEP = "embed"
"""The step in which the vectors of all runs of a command are computed; each of these runs states it whole."""

ROUNDING = 1e-9
"""By how much a score may be above its ceiling: both are sums."""

Headline = Literal["micro", "macro"]


class Record(BaseModel):
    """A frozen model that refuses unknown fields, values of another type, and numbers that are not finite."""

    model_config = ConfigDict(**STRICT, validate_by_name=True, validate_by_alias=True)

    def as_json(self) -> dict[str, Any]:
        """Plain values of the fields that were given, as they are stored."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class SampleRecord(Record):
    """Sample of tasks: at most `most` of the `of` that the protocol scores, files in turn, by a seed."""

    most: Count
    of: Count
    seed: int
    rule: Literal["files in turn"]


class PartRecord(Record):
    """Part of the data that was requested: repositories by name, a limit of tasks, a sample of those scored."""

    repositories: tuple[str, ...] = ()
    limit: Count | None = None
    sample: SampleRecord | None = None


class DatasetRecord(Record):
    """The data that a run is about; of imported data only its name, fingerprint, label and size are known.

    `part` is missing if all was requested.
    """

    name: str
    fingerprint: str
    label: str
    tasks: Count
    level: str | None = None
    source: str | None = None
    whole_tasks: Count | None = None
    repositories: tuple[str, ...] = ()
    whole_repositories: Count | None = None
    part: PartRecord | None = None


class ProtocolChoices(Record):
    """A protocol's name and its choices."""

    name: str
    query: str
    gold: str
    relevance: str
    repositories: str
    headline: Headline
    documents: str
    exclusion: str
    scope: str
    tasks: str = "completion"


class RunConfig(Record):
    """Everything that decides a run's numbers: two runs with the same one have the same, and one folder.

    `embedder_identity` is what decides a vector (model, weights, maximum length, pooling, precision),
    `retriever_identity` what decides a reranker's score. `k` is the depth that is ranked and stored. `pack` is the
    identity of the benchmark's definition, `name@version`. `expand` is what a hit brings beside its own lines.
    """

    dataset: str
    fingerprint: str
    protocol: ProtocolChoices
    chunker: str
    embedder: str
    embedder_identity: Plain
    retriever: str
    k: Count
    measures: tuple[str, ...]
    skip_errors: bool
    pack: str
    retriever_identity: Plain
    expand: str = "none"


class ImportSource(Record):
    """Source of an imported run: file names, the kind of gold, and whether only logged chunks were judged."""

    log: str
    gold: str
    gold_kind: str
    pooled: bool


class Completed(Record):
    """Completion of the tasks of a run; `base` is the id of the run that only retrieves.

    `layout` and `ending` are the versions of the prompt's and the hole's rules. `budget` is in tokens, `fragments` is
    their limit. `measures` are those that were added to the base's.
    """

    base: str
    model: str
    context: Literal["none", "retrieved"]
    budget: Count
    fragments: Count
    layout: str
    ending: str
    measures: tuple[str, ...]
    cut_off: Count


class FirstStage(Record):
    """First stage of a reranker: its retriever, its depth, and the id of the run that stops there."""

    retriever: str
    k_raw: Count
    run_id: str


class Counts(Record):
    """Counts of a run; None where one is not known, 0 where nothing of the kind can happen."""

    queries: Count
    queries_truncated: Count | None = None
    queries_tokens: Count | None = None
    queries_tokens_lost: Count | None = None
    queries_without_relevant: Count = 0
    queries_not_in_log: Count = 0
    queries_without_gold: Count = 0
    queries_no_answer: Count = 0
    queries_without_cluster: Count = 0
    queries_not_read: Count | None = None
    tasks_unscored: Count = 0
    chunks: Count = 0
    chunks_truncated: Count | None = None
    chunks_tokens: Count | None = None
    chunks_tokens_lost: Count | None = None
    chunks_duplicate: Count | None = None
    chunks_merged: Count = 0
    files: Count = 0
    files_skipped: Count = 0
    files_undecodable: Count = 0
    lines_uncovered: Count = 0
    pairs: Count = 0
    pairs_truncated: Count = 0

    def stated(self) -> dict[str, int | None]:
        """Name -> count, of the counts that the run states."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}


class Sizes(Record):
    """Sizes of chunks: mean, and nearest-rank median, 95th percentile and maximum."""

    mean: float
    median: Count
    p95: Count
    max: Count


class Averages(Record):
    """Name -> mean over queries, and over repositories."""

    micro: dict[str, float]
    macro: dict[str, float]

    def over(self, mean: str) -> dict[str, float]:
        """Return the means over queries (`micro`) or repositories (`macro`)."""
        return self.macro if mean == "macro" else self.micro


class Means(Averages):
    """Measure -> mean, also of each repository."""

    per_repo: dict[str, dict[str, float]]

    @classmethod
    def of(cls, values: Mapping[str, Sequence[float]], repos: Sequence[str]) -> Self:
        """Return the means of columns: `values` is measure -> a value per query, `repos` each query's repository."""
        order = list(dict.fromkeys(repos))
        micro: dict[str, float] = {}
        macro: dict[str, float] = {}
        per_repo: dict[str, dict[str, float]] = {repo: {} for repo in order}
        for name, column in values.items():
            by_repo: dict[str, list[float]] = defaultdict(list)
            for repo, value in zip(repos, column, strict=True):
                by_repo[repo].append(value)
            for repo in order:
                per_repo[repo][name] = sum(by_repo[repo]) / len(by_repo[repo])
            micro[name] = sum(column) / len(column) if column else 0.0
            macro[name] = sum(per_repo[repo][name] for repo in order) / len(order) if order else 0.0
        return cls(micro=micro, macro=macro, per_repo=per_repo)


class Metrics(Record):
    """The content of metrics.json. Sizes and ceilings of an imported run are not known.

    `leak` is the share of the gold that is in the query, and the share of the top 10 that overlaps the prompt. An
    imported run has the first alone, if queries and sources are known.
    """

    run_id: str
    imported: bool = False
    dataset: DatasetRecord
    protocol: str
    headline: Headline
    headline_measure: str | None = None
    chunker: str
    embedder: str
    retriever: str
    k: Count
    expand: str | None = None
    completion: str | None = None
    counts: Counts
    chunk_nws: Sizes | None = None
    chunk_tokens: Sizes | None = None
    micro: dict[str, float]
    macro: dict[str, float]
    per_repo: dict[str, dict[str, float]]
    ceilings: Means | None = None
    leak: Averages | None = None

    @model_validator(mode="after")
    def _sizes_are_known(self) -> Self:
        if self.chunk_nws is None and not self.imported:
            raise ValueError("chunk_nws is missing")
        return self

    @model_validator(mode="after")
    def _ceilings_are_of_measures(self) -> Self:
        if self.ceilings is not None:
            for means in (self.ceilings.micro, self.ceilings.macro, *self.ceilings.per_repo.values()):
                if other := means.keys() - self.micro.keys():
                    raise ValueError(f"ceilings has {min(other)[:60]!r}, which was not scored")
        return self

    def over(self, mean: str) -> dict[str, float]:
        """Measure -> mean over queries or repositories."""
        return self.macro if mean == "macro" else self.micro

    @property
    def ranked_by(self) -> str:
        """The retriever, and what a hit brings where that is more than itself."""
        return f"{self.retriever} · expand {self.expand}" if self.expand else self.retriever

    @property
    def headline_means(self) -> dict[str, float]:
        """Measure -> the protocol's mean."""
        return self.over(self.headline)

    @property
    def headline_ceilings(self) -> dict[str, float]:
        """Measure -> the protocol's mean of the ceilings; empty where none are stored."""
        return {} if self.ceilings is None else self.ceilings.over(self.headline)

    @property
    def above_ceilings(self) -> list[str]:
        """The measures of which a mean is above its ceiling's, which no ranking reaches."""
        if self.ceilings is None:
            return []
        of_repos = [(self.per_repo.get(repo, {}), means) for repo, means in self.ceilings.per_repo.items()]
        pairs = [(self.micro, self.ceilings.micro), (self.macro, self.ceilings.macro), *of_repos]
        wrong = [
            name
            for means, ceilings in pairs
            for name, ceiling in ceilings.items()
            if means.get(name, 0.0) > ceiling + ROUNDING
        ]
        return list(dict.fromkeys(wrong))

    @property
    def gold_in_query(self) -> float:
        """The share of the gold's lines that are in the query, the protocol's mean; 0 where it was not measured."""
        return 0.0 if self.leak is None else self.leak.over(self.headline).get("gold_lines_in_query", 0.0)

    @property
    def shares_of_ceiling(self) -> dict[str, float]:
        """Measure -> headline mean over its ceiling; 1 - share is what the retriever lost, 1 - ceiling the chunker.

        A measure whose ceiling is 0 has no share and is left out.
        """
        means = self.headline_means
        return {name: means[name] / ceiling for name, ceiling in self.headline_ceilings.items() if ceiling > 0}


class IndexCost(Record):
    """Cost of the index of this index_version; the same in every row that gives it."""

    vectors: Count | None = None
    tokens: Annotated[Count, Field(description="Tokens that were embedded.")] | None = None
    bytes: Count | None = None
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False, description="Of embedding.")] | None = None


class CodeState(Record):
    """The commit of the code and whether files differ from it; None outside a git checkout."""

    commit: str | None
    dirty: bool | None

    def __str__(self) -> str:
        return f"{self.commit or 'unknown'}{' with changes' if self.dirty else ''}"


class Manifest(Record):
    """The content of manifest.json. A run made here has a `config`, an imported one what it was `imported` from."""

    schema_version: Literal[4] = Field(alias="schema")
    run_id: str
    created: str
    dataset: DatasetRecord
    config: RunConfig | None = None
    imported: ImportSource | None = None
    first_stage: FirstStage | None = None
    completion: Completed | None = None
    counts: Counts
    skipped: tuple[str, ...] = ()
    undecodable: tuple[str, ...] = ()
    qrels_gain_factor: Annotated[Count, Field(ge=1)]
    index_version: str
    index: IndexCost | None = None
    as_of: tuple[str, str] | None = None
    code: CodeState
    versions: dict[str, str | None]


class QueryRow(Record):
    """A row of per_query.jsonl.gz. Queries of one `cluster` count together, else those whose gold shares a file.

    The gold is in `gold_files`, in `path` alone where they are not given. `cluster_by` names the field that `cluster`
    is from; a row without a cluster is then by itself.
    """

    query_id: str
    repo: str | None = None
    path: str | None = None
    gold_files: Annotated[tuple[str, ...], Field(strict=False)] = ()
    cluster: str | None = None
    cluster_by: str | None = None
    query_sha256: str | None = None
    n_relevant: Count
    # Made by a factory: pydantic would copy a default deeply for each row, which took a third of the reading.
    facts: dict[str, str | bool | Annotated[int, Field(ge=-EXACT, le=EXACT)] | float | None] = Field(
        default_factory=dict
    )
    measures: dict[str, float]
    ceilings: dict[str, float] = Field(default_factory=dict)
    leak: dict[str, float] = Field(default_factory=dict)


class TimeRow(Record):
    """A row of timings.jsonl: the seconds of a step, or the milliseconds per step of a query.

    Of the step that embeds, `encoded` says how many texts were not cached, `usage` what a server says it used.
    """

    step: str | None = None
    seconds: Annotated[float, Field(ge=0)] | None = None
    encoded: Count | None = None
    usage: dict[str, Count] = Field(default_factory=dict)
    query_id: str | None = None
    latency_ms: dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _step_or_query(self) -> Self:
        if (self.step is None) == (self.query_id is None):
            raise ValueError("give a step with its seconds, or a query_id with its latency_ms")
        if self.step is not None and self.seconds is None:
            raise ValueError(f"the seconds of step {self.step!r} are missing")
        return self


class CompletionRow(Record):
    """A row of completions.jsonl. `text` are the lines that were kept of the answer.

    `fragments` are the ids of the chunks shown, the best first; `hidden` are chunks that were passed over, as they are
    beside the hole. `finish` is the server's word for why the answer ended.
    """

    query_id: str
    prompt_sha256: str
    prompt_tokens: Count
    context_tokens: Count
    fragments: Annotated[tuple[str, ...], Field(strict=False)]
    hidden: Count
    finish: str
    text: str
