"""Tokens of code, and how far back a prompt reaches.

The tokenizer is a rule and needs no vocabulary. It splits identifiers at `camelCase` and `snake_case`. Other tokens are
up to three digits, single signs, and a line end with the indentation behind it. RepoEval's prompts that were cut at
2,000 tokens of Codex have 1,840 of these in the median.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.source import SourceFile, count_nws
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.repoeval import FUNCTION

TOKENIZER = "code"
CONTEXT = "2k"
PROMPT_TOKENS = 2000

_TOKEN = re.compile(r"\n[ \t]*|[ \t]{2,}|[A-Z]?[a-z]+|[A-Z]+|\d{1,3}|_+|[^\w\s]|\w")


def tokens_of(text: str) -> list[str]:
    """The tokens of a text."""
    return _TOKEN.findall(text)


def tokens_per_nws(files: Iterable[SourceFile]) -> float:
    """Tokens for each non-whitespace character of these files; 0.0 of none."""
    texts = [file.text for file in files]
    return sum(len(tokens_of(text)) for text in texts) / max(1, sum(map(count_nws, texts)))


def prompt_lines(file: SourceFile, target_span: int) -> LineSpan:
    """Return the lines before line `target_span` that a prompt shows: whole ones of at most 2,000 tokens, at least one.

    What it reads does not grow with the file: of the first line that is too long, one token too many.
    """
    start, left = target_span, PROMPT_TOKENS
    while start > 0:
        # A line's indentation is one token with the line end before it.
        line = "\n" + file.line_text(LineSpan(start - 1, start)).rstrip()
        left -= sum(1 for _ in islice(_TOKEN.finditer(line), left + 1))
        if left < 0:
            break
        start -= 1
    return LineSpan(max(0, min(start, target_span - 1)), target_span)


def make_task(file: SourceFile, target_span: LineSpan, shown: LineSpan, *, task_id: str, name: str) -> Task:
    """A function task as upstream writes its own: no prompt ends in a line end."""
    return Task(
        task_id=task_id,
        repo=file.repo,
        path=file.path,
        prompt=file.line_text(shown).removesuffix("\n"),
        ground_truth=file.line_text(target_span),
        body=target_span,
        context_start=shown.start,
        level=FUNCTION.name,
        function_name=name or None,
    )
