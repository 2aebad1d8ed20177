"""Requests: the models from which the command line, benchmark files, Python and make take their options.

A new option is a field here, with its help. `problems` checks its value, before data is fetched or a model is loaded.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, Field, ValidationError, model_validator

from repoeval_bench.core.benchmark import TESTS
from repoeval_bench.core.errors import UsageError, all_mistakes, nearest
from repoeval_bench.core.fields import Doc
from repoeval_bench.core.numbers import EXACT
from repoeval_bench.core.validation import STRICT, expectation
from repoeval_bench.dataset.questions import asks_for_files
from repoeval_bench.dataset.repoeval import DEFAULT
from repoeval_bench.dataset.shipped import edition_of
from repoeval_bench.protocols.protocol import CHOICES, Protocol
from repoeval_bench.runs.parts import RESULTS, needs_vectors, shown_results

NO_EMBEDDER = "none"
"""Stands for the embedder's spec if nothing was embedded."""

# The version after the @ changes with the definition, so that runs of two definitions are never compared.
PACK = "repoeval@chunking-v1"
"""The definition of the benchmark: its tasks, queries, gold spans and relevance."""


@dataclass(frozen=True, slots=True)
class Flag(Doc):
    """Help of a field of a request, and how the field is given outside Python, where that is not by its name."""

    metavar: str | None = None
    _: KW_ONLY
    also: str = ""
    """Another spelling of the option, which is `--` and the field's name."""
    spelled: str = ""
    """The spelling instead of `--` and the field's name."""
    key: str = ""
    """The field's key in a benchmark file, its name if empty."""
    path: bool = False
    """The option may be repeated, and its values are one text with the separator of PATH between them."""
    combined: bool = False
    """A file may give several values, and every combination is run."""
    words: bool = False
    """One word of the command line gives all values, separated by blanks or commas."""
    variable: str | None = None
    """An environment variable with the value."""
    rare: bool = False
    """Few users need it: it is set by `--set FIELD=VALUE`, and `--help-all` lists it."""

    def spelling(self, name: str) -> str:
        """Return the spelling of a field's option on the command line."""
        return f"--set {name}" if self.rare else self.spelled or f"--{name.replace('_', '-')}"

    def words_of(self, name: str, value: Any) -> list[str]:
        """Return the words that set a field on the command line, by the short option if it has one."""
        if self.rare:
            return ["--set", name if value is True else f"{name}={value}"]
        spelled = self.also or self.spelling(name)
        if value is True:
            return [spelled]
        if isinstance(value, tuple):
            return [spelled, " ".join(map(str, value))] if self.words else [w for v in value for w in (spelled, str(v))]
        return [spelled, str(value)]


class Request(BaseModel):
    """Fields with their options; unknown fields and values of another type are errors."""

    model_config = STRICT

    @classmethod
    def options(cls) -> dict[str, Flag]:
        """Field -> its option, in the order of the help."""
        docs = {
            name: next(marker for marker in field.metadata if isinstance(marker, Doc))
            for name, field in cls.model_fields.items()
        }
        return {name: doc if isinstance(doc, Flag) else Flag(doc.text) for name, doc in docs.items()}

    def words(self, *shown: str) -> list[str]:
        """Return the command line's options for this request: those that differ from their defaults, and `shown` ones.

        The chunker comes first, and the data last.
        """
        usual = type(self)()
        return [
            word
            for name in sorted(self.options(), key=lambda name: (name != "chunker", name in DataRequest.model_fields))
            if getattr(self, name) != getattr(usual, name) or name in shown
            for word in self.options()[name].words_of(name, getattr(self, name))
        ]

    @classmethod
    def of(cls, fields: Mapping[str, Any], *, typed: bool = False) -> Self:
        """Return the request with these fields; a UsageError names all that are unknown or not possible.

        It names fields, or their options if they were `typed` on a command line.
        """
        values = dict(fields)
        for name, value in fields.items():
            if isinstance(value, list | tuple):
                values[name] = tuple(one for i, one in enumerate(value) if one not in value[:i])
            elif isinstance(value, str) and "tuple" in str(getattr(cls.model_fields.get(name), "annotation", "")):
                values[name] = (value,)  # a single value may stand for a tuple of one
        try:
            # A command line has texts alone, and click has converted those of options.
            return cls.model_validate(values, strict=False if typed else None)
        except ValidationError as error:
            raise UsageError(
                all_mistakes(_sentence(dict(error_fields), cls, typed=typed) for error_fields in error.errors())
            ) from error


def _sentence(error: dict[str, Any], model: type[Request], *, typed: bool) -> str:
    name = str(error["loc"][0])
    if error["type"] == "extra_forbidden":
        return nearest("option", name, model.model_fields, listed_by=f"{PROGRAM} eval --help-all")
    if typed:
        name = model.options()[name].spelling(name)
    return f"{name}: {expectation(error)} (it is {error['input']!r})"


_CHUNKER = "A chunker such as ast, fixed:max_nws=800, py:module:Class, exec:COMMAND; may be repeated."
_SOURCE = (
    "Where data comes from: auto, github, pypi, a shipped pack, a folder or an address that mirrors the archives; "
    "may be repeated for several folders of code."
)
_RELEVANCE = "Override the relevance: overlap, iou:T, graded:iou, graded:levels or definitions."

EMBEDDER = "minilm"
PROGRAM = "repoeval-bench"

EmbedderSpec = Annotated[
    str,
    Flag(
        "minilm, st:NAME, openai:MODEL, hash, …, with options such as minilm:device=cuda; see `list embedders`.",
        "SPEC",
        combined=True,
    ),
]

TESTS_HELP = ", ".join(f"{name} ({meaning})" for name, meaning in TESTS.items())


class DataRequest(Request):
    """The request of data: tasks and their source."""

    source: Annotated[str, Flag(_SOURCE, "SOURCE", path=True, variable="REPOEVAL_SOURCE")] = "auto"
    level: Annotated[str, Flag("function, line or api.", rare=True)] = DEFAULT.level
    context: Annotated[str, Flag("Length of the prompts in tokens.", rare=True)] = DEFAULT.context
    tokenizer: Annotated[str, Flag("Tokenizer of the prompts: codex or codegen.", rare=True)] = DEFAULT.tokenizer
    repos: Annotated[
        tuple[str, ...] | None,
        Flag("Only these repositories, separated by blanks or commas.", key="repositories", words=True),
    ] = None
    limit: Annotated[
        int | None, Ge(1), Le(EXACT), Flag("Only the first N tasks or queries; all may be from one repository.", "N")
    ] = None
    questions: Annotated[
        str | None,
        Flag(
            "Use your own queries: JSONL with query, file, start_line and end_line. The protocol is then `questions`.",
            "FILE",
            spelled="--queries",
            key="queries",
        ),
    ] = None
    tests: Annotated[str, Flag(f"What to do with test files: {TESTS_HELP}.", "out|index|all", rare=True)] = "all"
    extensions: Annotated[
        tuple[str, ...] | None,
        Flag("In a folder of code, also read files with these endings, such as .rb,.proto.", ".ENDING,…", words=True),
    ] = None

    def data(self) -> DataRequest:
        """Return the part that decides which data is read."""
        return DataRequest(**{name: getattr(self, name) for name in DataRequest.model_fields})


class RunRequest(DataRequest):
    """The request of one run: all its options."""

    chunker: Annotated[str | None, Flag(_CHUNKER, "SPEC", also="-c", key="chunkers", combined=True)] = None
    match_size: Annotated[
        str | None,
        Flag("Set every chunker's size so that its mean chunk is within 5 % of that of SPEC.", "SPEC", combined=True),
    ] = None
    protocol: Annotated[
        str, Flag("What the queries and their target lines are; see `list protocols`.", "NAME", combined=True)
    ] = "context"
    query: Annotated[
        str | None, Flag("Override the protocol's query: full, tail:LINES or named.", "POLICY", rare=True)
    ] = None
    gold: Annotated[
        str | None,
        Flag(
            "Override the target lines: prompt, context, body or uses; for commits: lines, exact or definitions.",
            "SPAN",
            rare=True,
        ),
    ] = None
    relevance: Annotated[str | None, Flag(_RELEVANCE, "RULE", rare=True)] = None
    repositories: Annotated[str | None, Flag("Override the protocol's repositories: all or six.", "SET", rare=True)] = (
        None
    )
    exclusion: Annotated[
        str | None,
        Flag(
            "What a query may not see of its own file: none, prompt, repocoder, body, free or hidden.",
            "POLICY",
            rare=True,
        ),
    ] = None
    scope: Annotated[
        str | None,
        Flag("Where a query searches: repository (its own), or pooled (all of them in one index).", "WHERE", rare=True),
    ] = None
    retriever: Annotated[
        str,
        Flag(
            "The retriever: dense, bm25, hybrid, grep, rerank:MODEL, …; see `list retrievers`.",
            "SPEC",
            key="retrievers",
            combined=True,
        ),
    ] = "dense"
    embedder: EmbedderSpec = EMBEDDER
    k: Annotated[int, Ge(1), Le(EXACT), Doc("Number of chunks to rank and store for a query.")] = 100
    measures: Annotated[
        tuple[str, ...],
        Field(strict=False),
        Flag(
            "A measure such as ndcg@10 instead of the default ones; may be repeated. The p-values do not change: "
            "they are corrected for all measures that the runs share.",
            "NAME",
            also="-m",
            spelled="--measure",
        ),
    ] = ()
    skip_errors: Annotated[bool, Flag("Leave out files the chunker fails on, and count them.", rare=True)] = False
    allow_sparse_qrels: Annotated[
        bool, Flag("Run even if fewer than half of the queries have a relevant chunk; else that is refused.", rare=True)
    ] = False
    pack: Annotated[str, Flag("A shipped pack as the data, such as pypi-40; --source takes it too.", rare=True)] = PACK

    @model_validator(mode="before")
    @classmethod
    def _shipped_pack(cls, values: Any) -> Any:
        """Set both `source` and `pack` if either names a shipped pack."""
        if not isinstance(values, dict):
            return values
        source, pack = values.get("source", "auto"), values.get("pack", PACK)
        named = source if pack == PACK else pack
        shipped = edition_of(named) if isinstance(named, str) else None
        if shipped is None:
            return values
        if named == pack and source not in {"", "auto", pack, shipped}:
            raise UsageError(f"pack {pack} brings its own data; leave out source {source} (and REPOEVAL_SOURCE)")
        return values | {"source": shipped, "pack": shipped}

    @model_validator(mode="before")
    @classmethod
    def _ask_questions(cls, values: Any) -> Any:
        """Use protocol `questions` for a file of questions, with gold `files` where whole files answer them.

        A protocol or a gold that is named stays.
        """
        usual = cls.model_fields["protocol"].default
        if isinstance(values, dict) and values.get("questions") and values.get("protocol", usual) == usual:
            values = values | {"protocol": "questions"}
            if not values.get("gold") and asks_for_files(Path(values["questions"])):
                values["gold"] = "files"
        return values

    def resolved_protocol(self) -> Protocol:
        """Return the protocol with the choices that override it; UsageError if they do not fit together."""
        return Protocol.parse(self.protocol).override(**{choice: getattr(self, choice) for choice in CHOICES})

    @property
    def needs_vectors(self) -> bool:
        """Return whether the embedder is used: the retriever or a measure needs vectors."""
        return needs_vectors(self.retriever, self.measures)

    @property
    def setting(self) -> Self:
        """The request without its chunker, which the runs of one table share."""
        return self.model_copy(update={"chunker": None})

    def combination(self) -> dict[str, str]:
        """Return the combined options that are set, without the chunker; `none` for an unused embedder."""
        names = [name for name, option in self.options().items() if option.combined and name != "chunker"]
        values = {name: str(getattr(self, name)) for name in names if getattr(self, name) is not None}
        return values if self.needs_vectors else values | {"embedder": NO_EMBEDDER}


class ExecutionRequest(Request):
    """The request of an executor of runs; it changes no number."""

    executor: Annotated[
        str | None,
        Flag(
            "Make the runs in workers: local:N (processes), ray (this machine) or ray:ADDRESS. An error then stops "
            "that run only.",
            "WHERE",
        ),
    ] = None


class ComparisonRequest(Request):
    """The request of a comparison of runs."""

    baseline: Annotated[
        str | None, Flag("Compare the others with this run alone; by default every pair is compared.", "RUN|SPEC")
    ] = None
    equivalence: Annotated[
        float | None,
        Gt(0),
        Lt(1),
        Flag("Call runs equal if tests show that they differ by less than MARGIN.", "MARGIN"),
    ] = None


def by_setting(requests: Iterable[RunRequest]) -> dict[RunRequest, list[RunRequest]]:
    """Return the requests of each setting, in their order."""
    requests_of: dict[RunRequest, list[RunRequest]] = {}
    for request in requests:
        requests_of.setdefault(request.setting, []).append(request)
    return requests_of


def shell_line(words: Iterable[str], *, out: Path = RESULTS, home: Path | None = None) -> str:
    """Return the line of a command and its options, with the folders that are not the default ones."""
    stored = [] if out == RESULTS else ["--out", shown_results(out)]
    return shlex.join([PROGRAM, *words, *stored, *(["--home", str(home)] if home else [])])


def eval_line(request: RunRequest, *, out: Path = RESULTS, home: Path | None = None) -> str:
    """Return the `eval` line that makes the request's run."""
    return shell_line(["eval", *request.words()], out=out, home=home)
