"""What a completed run stores of its completion: settings in the manifest, and a row for each task.

completions.jsonl   `CompletionRow`: what was asked for a task, and what was kept of the answer
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from repoeval_bench.core.validation import Count  # noqa: TC001 - pydantic reads it
from repoeval_bench.runs.records import Record

COMPLETIONS = "completions.jsonl"


class CompletionRow(Record):
    """A row of completions.jsonl. `text` are the lines that were kept of the answer.

    `fragments` are the ids of the chunks shown, the best first; `hidden` are chunks that were passed over, as they are
    beside the hole. `finish` is the server's word for why the answer ended. `passed` is whether the tests pass.
    """

    query_id: str
    prompt_sha256: str
    prompt_tokens: Count
    context_tokens: Count
    fragments: Annotated[tuple[str, ...], Field(strict=False)]
    hidden: Count
    finish: str
    text: str
    passed: bool | None = None
