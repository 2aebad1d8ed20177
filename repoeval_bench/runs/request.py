"""What a run is asked: one model, from which the command line, benchmark files, Python and make take their options.

A new option is a field here. What its value means is checked by `problems`, before data is fetched or a model loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from repoeval_bench.core.errors import UsageError, all_mistakes
from repoeval_bench.core.spec import nearest
from repoeval_bench.core.validation import expectation
from repoeval_bench.protocols.protocol import CHOICES, Protocol
from repoeval_bench.runs.config import DEPTH, NO_EMBEDDER, PACK
from repoeval_bench.runs.parts import needs_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Option:
    """How people name and read about a field.

    The option is `--` and the field's name unless `spelled` otherwise; `also` is another spelling. `key` is the field's
    key in a benchmark file, its name where empty. `combined`: a file may name several, and every combination is run.
    `words`: the values are given in one word, separated by blanks or commas. `variable` is an environment variable with
    the value.
    """

    meaning: str
    metavar: str | None = None
    also: str = ""
    spelled: str = ""
    key: str = ""
    combined: bool = False
    words: bool = False
    variable: str | None = None


class Request(BaseModel):
    """Fields with their options; unknown fields and values of another type are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @classmethod
    def options(cls) -> dict[str, Option]:
        """Field -> its option, in the order in which help lists them."""
        return {
            name: next(each for each in field.metadata if isinstance(each, Option))
            for name, field in cls.model_fields.items()
        }

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Self:
        """The request with these fields; a UsageError names all that are unknown or of another type."""
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in asked.items()}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise UsageError(all_mistakes(_sentence(dict(each), cls) for each in error.errors())) from error


def _sentence(error: dict[str, Any], model: type[BaseModel]) -> str:
    name = str(error["loc"][0])
    if error["type"] == "extra_forbidden":
        return nearest("option", name, model.model_fields)
    return f"{name}: {expectation(error)} (it is {error['input']!r})"


class DataRequest(Request):
    """Which tasks, and where they come from."""

    source: Annotated[
        str,
        Option(
            "Where data comes from: auto, github, pypi, a folder or an address that mirrors the archives.",
            variable="REPOEVAL_SOURCE",
        ),
    ] = "auto"
    level: Annotated[str, Option("function, line or api.")] = "function"
    context: Annotated[str, Option("Length of the prompts in tokens.")] = "2k"
    tokenizer: Annotated[str, Option("Whose tokens: codex or codegen.")] = "codex"
    repos: Annotated[
        tuple[str, ...] | None,
        Option("Only these repositories, separated by blanks or commas.", key="repositories", words=True),
    ] = None
    limit: Annotated[int | None, Field(ge=1), Option("Only the first N tasks of those.", "N")] = None


EMBEDDER = "minilm"

_EMBEDDER = Option("minilm, st:NAME, openai:MODEL, static, lsa, …; see `list embedders`.", "SPEC", combined=True)

_PRECISION = Option(
    "What the model computes in: auto (bf16 where the CPU has it, fp16 on CUDA) or fp32, the same everywhere but for "
    "the last bits.",
    "NAME",
)


class RunRequest(DataRequest):
    """Everything that is asked of one run."""

    chunker: Annotated[
        str | None,
        Option(
            "A chunker such as ast, fixed:max_nws=800, py:module:Class, exec:COMMAND; repeat it.",
            "SPEC",
            also="-c",
            key="chunkers",
            combined=True,
        ),
    ] = None
    match_size: Annotated[
        str | None,
        Option("Set every chunker's size so that its realised mean is within 5 % of this one's.", "SPEC"),
    ] = None
    header: Annotated[
        str,
        Option(
            "none, path or scope: what is put before every chunk's text, for every chunker alike; spans do not move.",
            "KIND",
        ),
    ] = "none"
    protocol: Annotated[str, Option("What is asked and what is gold; see `list protocols`.", "NAME", combined=True)] = (
        "context"
    )
    query: Annotated[str | None, Option("Override the protocol's query: full or tail:LINES.", "POLICY")] = None
    gold: Annotated[str | None, Option("Override the gold: prompt, context or body.", "SPAN")] = None
    relevance: Annotated[
        str | None,
        Option(
            "Override the relevance: overlap, lines:N, iou:T, chunk-share:T, gold-share:T, graded:iou or "
            "graded:levels.",
            "RULE",
        ),
    ] = None
    repositories: Annotated[str | None, Option("Override the protocol's repositories: all or six.", "SET")] = None
    exclusion: Annotated[
        str | None,
        Option(
            "What a query may not see of its own file: none, prompt, repocoder or body.", "POLICY", also="--exclude"
        ),
    ] = None
    copies: Annotated[
        str | None,
        Option("credited: a chunk with the same text as a relevant one counts too; distinct: it does not.", "POLICY"),
    ] = None
    scope: Annotated[
        str | None,
        Option("Where a query searches: repository (its own), or pooled (all of them in one index).", "WHERE"),
    ] = None
    retriever: Annotated[
        str,
        Option(
            "How to rank: dense, bm25, hybrid, jaccard, rerank:MODEL, …; see `list retrievers`.",
            "SPEC",
            key="retrievers",
            combined=True,
        ),
    ] = "dense"
    embedder: Annotated[str, _EMBEDDER] = EMBEDDER
    precision: Annotated[str, _PRECISION] = "auto"
    long_text: Annotated[
        str | None,
        Option(
            "What is read of a text longer than the model reads: head, tail, mean or max; or apart, "
            "queries=tail,chunks=max.",
            "POLICY",
        ),
    ] = None
    k: Annotated[int, Option("Depth that is ranked and stored.")] = DEPTH
    measures: Annotated[
        tuple[str, ...],
        Option(
            "A measure such as ndcg@10 in place of the default ones; repeat it.",
            "NAME",
            also="-m",
            spelled="--measure",
        ),
    ] = ()
    skip_errors: Annotated[bool, Option("Leave out files the chunker fails on, and count them.")] = False
    pack: Annotated[
        str,
        Option("NAME@VERSION of the benchmark's definition; runs of two packs are not compared.", "NAME"),
    ] = PACK

    def resolved_protocol(self) -> Protocol:
        """The protocol with the choices that override it; a UsageError where they do not fit together."""
        return Protocol.parse(self.protocol).override(**{choice: getattr(self, choice) for choice in CHOICES})

    def resolved_embedder(self) -> str:
        """The embedder's spec with the precision and what is read of long texts."""
        from repoeval_bench.embedding.long_text import with_long_text
        from repoeval_bench.embedding.precision import with_precision

        return with_long_text(with_precision(self.embedder, self.precision), self.long_text)

    @property
    def needs_vectors(self) -> bool:
        """Whether the embedder takes part: the retriever or a measure asks for vectors."""
        return needs_vectors(self.retriever, self.measures)

    @property
    def setting(self) -> Self:
        """The request without its chunker: what the runs of one table share."""
        return self.model_copy(update={"chunker": None})

    def combination(self) -> dict[str, str]:
        """The options that a file combines, but the chunker; the embedder is `none` where it takes no part."""
        names = [name for name, option in self.options().items() if option.combined and name != "chunker"]
        found = {name: str(getattr(self, name)) for name in names}
        return found if self.needs_vectors else found | {"embedder": NO_EMBEDDER}


class GridRequest(DataRequest):
    """Everything that is asked of a sensitivity grid: every chunker in every combination of the rest."""

    chunkers: Annotated[tuple[str, ...], Option("Two or more; repeat it.", "SPEC", also="-c", spelled="--chunker")] = ()
    protocols: Annotated[tuple[str, ...], Option("Protocols of the grid; repeat it.", spelled="--protocol")] = (
        "context",
        "code-chunk",
        "body",
        "linemap",
    )
    queries: Annotated[tuple[str, ...], Option("Query policies of the grid; repeat it.", spelled="--query")] = (
        "full",
        "tail:20",
    )
    relevances: Annotated[tuple[str, ...], Option("Relevance rules of the grid; repeat it.", spelled="--relevance")] = (
        "overlap",
        "iou:0.2",
        "graded:levels",
    )
    retrievers: Annotated[tuple[str, ...], Option("Retrievers of the grid; repeat it.", spelled="--retriever")] = (
        "dense",
        "bm25",
    )
    measures: Annotated[tuple[str, ...], Option("Measures of the grid; repeat it.", also="-m", spelled="--measure")] = (
        "ndcg@10",
        "line_recall_auc",
    )
    match: Annotated[bool, Option("Compare at matched realised sizes too.", spelled="--match/--no-match")] = True
    placebo: Annotated[
        int,
        Option("Line offsets at which the fixed baseline is started for the placebo band; 0 for none.", "N"),
    ] = 10
    embedder: Annotated[str, _EMBEDDER] = EMBEDDER
    precision: Annotated[str, _PRECISION] = "auto"

    def requests(self) -> list[RunRequest]:
        """A request for each retriever, with what the grid says of embedder and measures."""
        return [
            RunRequest(retriever=retriever, embedder=self.embedder, precision=self.precision, measures=self.measures)
            for retriever in self.retrievers
        ]


class ComparisonRequest(Request):
    """What is asked of the comparison of runs."""

    baseline: Annotated[
        str | None, Option("What the others are compared with; without it every pair is.", "RUN|SPEC")
    ] = None
    equivalence: Annotated[
        float | None,
        Field(gt=0, lt=1, allow_inf_nan=False),
        Option("Say `equal within MARGIN` where two one-sided tests show it.", "MARGIN"),
    ] = None


def by_setting(requests: Iterable[RunRequest]) -> dict[RunRequest, list[RunRequest]]:
    """The requests of each setting, in their order."""
    found: dict[RunRequest, list[RunRequest]] = {}
    for request in requests:
        found.setdefault(request.setting, []).append(request)
    return found


def unread(requests: Sequence[RunRequest]) -> list[str]:
    """The options about an embedder that change nothing, as no run of these needs vectors."""
    if any(request.needs_vectors for request in requests):
        return []
    usual = RunRequest()
    named = [
        f"--{name.replace('_', '-')} {getattr(request, name)}"
        for name in ("embedder", "precision", "long_text")
        for request in requests
        if getattr(request, name) != getattr(usual, name)
    ]
    return list(dict.fromkeys(named))
