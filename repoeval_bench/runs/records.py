"""Records of a run folder: one frozen model for each file or row, checked when it is written and when it is read.

manifest.json      `Manifest`: configuration, versions, and the time (no other file but timings.jsonl has times)
metrics.json       `Metrics`: means over queries (micro), over repositories (macro) and per repository; their ceilings
per_query.jsonl.gz `QueryRow`: a query's value and ceiling of every measure, and facts for segments
completions.jsonl  `CompletionRow`: a model's answer for a task, if the run was completed
qrels.trec.gz      the judgements; unpacked, trec_eval and ir_measures read them
retrieved.jsonl.gz `log.StoredRow`: a query and its ranking, the top k; in an imported run `log.LogRow`
timings.jsonl      `TimeRow`: milliseconds of a query
*.jsonl.gz         sources, chunk boundaries and gold; see `inspection`

Nothing here opens a file: `store` writes them, `view` reads them.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from repoeval_bench.chunkers.tools.sizes import size_option
from repoeval_bench.core.benchmark import TaskSample
from repoeval_bench.core.files import short_hash, slug
from repoeval_bench.core.numbers import EXACT
from repoeval_bench.core.spec import Spec
from repoeval_bench.core.validation import STRICT, Count, Plain
from repoeval_bench.protocols.protocol import CHOICES, Protocol
from repoeval_bench.retrieval.expansion import NOTHING
from repoeval_bench.runs.request import NO_EMBEDDER, DataRequest, RunRequest

# Version of the layout; a folder of another version is refused.
SCHEMA: Final = 7

MANIFEST = "manifest.json"
METRICS = "metrics.json"
PER_QUERY = "per_query.jsonl.gz"
RETRIEVED = "retrieved.jsonl.gz"
QRELS = "qrels.trec.gz"
TIMINGS = "timings.jsonl"
COMPLETIONS = "completions.jsonl"

Headline = Literal["micro", "macro"]


class Record(BaseModel):
    """A frozen model that refuses unknown fields, values of another type, and numbers that are not finite."""

    model_config = ConfigDict(**STRICT, validate_by_name=True, validate_by_alias=True)

    def as_json(self) -> dict[str, Any]:
        """Plain values of the fields that were given, as they are stored."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class PartRecord(Record):
    """The part of the data that was requested: repositories by name, a limit of tasks, a sample of scored tasks.

    `tests` is `out` or `index` where files of tests do not ask. `extensions` are the endings that were asked for.
    """

    repositories: tuple[str, ...] = ()
    limit: Count | None = None
    tests: Literal["out", "index", "all"] = "all"
    sample: TaskSample | None = None
    extensions: tuple[str, ...] = ()


class DatasetRecord(Record):
    """The data of a run; for imported runs, only its name, fingerprint, label and size are known.

    `part` is missing if all was requested.
    """

    name: str
    fingerprint: str
    label: str
    tasks: Count
    source: str | None = None
    repositories: tuple[str, ...] = ()
    part: PartRecord | None = None


class ProtocolChoices(Record):
    """A protocol's choices."""

    query: str
    gold: str
    relevance: str
    repositories: str
    headline: Headline
    documents: str
    exclusion: str
    scope: str
    tasks: str = "completion"


# Fields of a request that a configuration has in another form: the data as its fingerprint, a protocol's choices in its
# name, sizes in the chunker's spec.
_SETTLED = frozenset({*DataRequest.model_fields, *CHOICES, "match_size", "allow_sparse_qrels"})


class RunConfig(RunRequest):
    """A request, settled: everything that decides a run's numbers. Two runs with the same one have one folder.

    Its specs name every option. A field of `RunRequest` is in here, in the run's id and in its command by itself.
    """

    chunker: str
    dataset: str
    fingerprint: str
    choices: ProtocolChoices
    embedder_identity: Plain = Field(default_factory=dict)
    """All that decides a vector: model, weights, maximum length, pooling, precision."""
    retriever_identity: Plain = Field(default_factory=dict)
    """All that decides a reranker's score."""

    @classmethod
    def of_run(cls, request: RunRequest, protocol: Protocol, **settled: Any) -> Self:
        """Return the configuration of a request's run under a protocol; `settled` are its resolved fields."""
        content = {name: value for name, value in request.model_dump().items() if name not in _SETTLED}
        content |= settled | {"protocol": protocol.name}
        content["choices"] = {name: getattr(protocol, name) for name in ProtocolChoices.model_fields}
        return cls.model_validate_json(json.dumps(content, default=dict))

    @property
    def run_id(self) -> str:
        """`chunker-size_protocol_retriever-hash`, of what differs from the defaults: readable, and one for each run."""
        content = self.model_dump(mode="json", exclude_defaults=True)
        digest = short_hash(json.dumps(content, sort_keys=True, ensure_ascii=False))
        chunker, retriever = Spec.parse(self.chunker), Spec.parse(self.retriever)
        size = chunker.params.get(size_option(chunker) or "", "")
        ranked = f"{retriever.name}-{retriever.target}"
        pieces = (f"{chunker.name}-{chunker.target}-{size}", self.protocol, ranked)
        return f"{'_'.join(slug(piece, 32) for piece in pieces)}-{digest}"

    def request(self, **fields: Any) -> RunRequest:
        """Return the request that makes the run again; `fields` select its data, or replace others."""
        content = {name: getattr(self, name) for name in RunRequest.model_fields.keys() - _SETTLED}
        if self.choices.documents == "windows":
            content["chunker"] = None
        if self.embedder == NO_EMBEDDER:
            del content["embedder"]
        return RunRequest(**content | fields)


class ImportSource(Record):
    """The source of an imported run: file names, the kind of gold, and whether only logged chunks were judged."""

    log: str
    gold: str
    gold_kind: str
    pooled: bool


class Completed(Record):
    """The completion of a run's tasks by a model; `base` is the id of the run that only retrieves.

    `layout` and `ending` are the versions of the rules for the prompt and for the end of the completion. `budget` is in
    tokens, `fragments` is the most chunks in a prompt. `measures` are those in addition to the base's.
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
    """The first stage of a reranker: its retriever, its depth, and the id of the run without reranking."""

    retriever: str
    k_raw: Count
    run_id: str


class Counts(Record):
    """Counts of a run; None if one is not known, 0 if it does not apply.

    `gold_names` are the files or chunk ids of an imported run's gold, if the corpus lacks one of them, or without a
    corpus, if the log has fewer than half.
    """

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
    gold_names: Count | None = None
    gold_names_known: Count | None = None
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


class Sizes(Record):
    """Sizes of chunks: mean, maximum, and the median and 95th percentile by nearest rank."""

    mean: float
    median: Count
    p95: Count
    max: Count
    header: float = 0.0
    """Mean characters of the headers, which are not counted above."""

    @property
    def read(self) -> float:
        """Mean characters that a reader of a chunk reads."""
        return self.mean + self.header


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
    """The content of metrics.json. An imported run has no sizes and no ceilings.

    `query_gold_overlap` is the share of the gold that is in the query; an imported run has it if queries and sources
    are known.
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
    completion: str | None = None
    counts: Counts
    chunk_nws: Sizes | None = None
    chunk_tokens: Sizes | None = None
    micro: dict[str, float]
    macro: dict[str, float]
    per_repo: dict[str, dict[str, float]]
    ceilings: Means | None = None
    query_gold_overlap: Averages | None = None

    def over(self, mean: str) -> dict[str, float]:
        """Measure -> mean over queries or repositories."""
        return self.macro if mean == "macro" else self.micro

    @property
    def around(self) -> str:
        """The rule of what grep reads with each hit; empty where a hit is read as it is."""
        if self.imported or not self.retriever.startswith("grep:"):
            return ""
        rule = Spec.parse(self.retriever).params.get("around", NOTHING)
        return "" if rule == NOTHING else rule

    @property
    def headline_means(self) -> dict[str, float]:
        """Measure -> the protocol's mean."""
        return self.over(self.headline)

    @property
    def headline_ceilings(self) -> dict[str, float]:
        """Measure -> the protocol's mean of the ceilings; empty if none are stored."""
        return {} if self.ceilings is None else self.ceilings.over(self.headline)

    @property
    def gold_in_query(self) -> float:
        """The share of the target lines that are in the query, by the protocol's mean; 0 if it was not measured."""
        overlap = self.query_gold_overlap
        return 0.0 if overlap is None else overlap.over(self.headline).get("gold_lines_in_query", 0.0)

    @property
    def shares_of_ceiling(self) -> dict[str, float]:
        """Measure -> headline mean / ceiling; the retriever lost 1 - share, the chunker 1 - ceiling.

        A measure whose ceiling is 0 is left out.
        """
        means = self.headline_means
        return {name: means[name] / ceiling for name, ceiling in self.headline_ceilings.items() if ceiling > 0}


class CodeState(Record):
    """The commit of the code and whether files differ from it; None outside a git checkout."""

    commit: str | None
    dirty: bool | None

    def __str__(self) -> str:
        return f"{self.commit or 'unknown'}{' with changes' if self.dirty else ''}"


class Manifest(Record):
    """The content of manifest.json. A run made here has a `config`, an imported run its source in `imported`."""

    schema_version: Literal[7] = Field(alias="schema")
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
    index: Plain | None = None
    """Not written; older runs of this schema have it."""
    code: CodeState
    versions: dict[str, str | None]


class QueryRow(Record):
    """A row of per_query.jsonl.gz. Queries with the same `cluster` are one; without it, those that share a file are.

    The gold is in `gold_files`, or in `path` alone if these are missing. `cluster_by` names the field that `cluster`
    comes from; then a row without a cluster is in none.
    """

    query_id: str
    repo: str | None = None
    path: str | None = None
    gold_files: Annotated[tuple[str, ...], Field(strict=False)] = ()
    cluster: str | None = None
    cluster_by: str | None = None
    query_sha256: str | None = None
    n_relevant: Count
    # A factory, as pydantic would deeply copy a default for each row: a third of the time to read.
    facts: dict[str, str | bool | Annotated[int, Field(ge=-EXACT, le=EXACT)] | float | None] = Field(
        default_factory=dict
    )
    measures: dict[str, float]
    ceilings: dict[str, float] = Field(default_factory=dict)


class TimeRow(Record):
    """A row of timings.jsonl: the milliseconds of each step of a query, or the seconds of a completion.

    `encoded` counts the answers that were not cached.
    """

    step: str | None = None
    seconds: Annotated[float, Field(ge=0)] | None = None
    encoded: Count | None = None
    query_id: str | None = None
    latency_ms: dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)


class CompletionRow(Record):
    """A row of completions.jsonl. `text` is the part of the answer that counts as the completion.

    `fragments` are the ids of the chunks in the prompt, the best first; `hidden` counts chunks that were skipped, as
    they are next to the lines to write. `finish` is the server's word for why the answer ended.
    """

    query_id: str
    prompt_sha256: str
    prompt_tokens: Count
    context_tokens: Count
    fragments: Annotated[tuple[str, ...], Field(strict=False)]
    hidden: Count
    finish: str
    text: str
