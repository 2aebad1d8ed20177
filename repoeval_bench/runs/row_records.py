"""The rows of a run folder's JSONL files: a query's scores and facts, what a step or a query took, a completion."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from repoeval_bench.core.validation import EXACT, Count
from repoeval_bench.runs.records import Record

COMPLETIONS = "completions.jsonl"


class QueryRow(Record):
    """A row of per_query.jsonl. Queries of one `cluster` are resampled together, else those whose gold shares a file.

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
