"""Candidates for tasks in a file, after RepoCoder (Zhang et al. 2023, arXiv 2303.12570, section 3), in ten languages.

A candidate is the body of a function. Every rule that leaves one out is counted. Whether a candidate becomes a task is
drawn later.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from repoeval_bench.core.definitions import Definition, comments_in, definitions_in, parse_legible
from repoeval_bench.core.grammars import GRAMMARS
from repoeval_bench.core.languages import Language
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.reading.sampling import TaskCandidate

SHORTEST, LONGEST = 3, 30
"""Non-blank lines of a function's body, without its docstring."""

_COMMENT_MARKS = ("#", "//", "/*", "*", "<!--")

NEAR_DUPLICATE = "near-duplicate, when drawn"
LEFT_OUT = {
    "syntax error": "a syntax error is in the function",
    "on the signature's line": "the body begins on the line where the signature or the docstring ends",
    "short": f"the body has fewer than {SHORTEST} non-blank lines, without the docstring",
    "long": f"the body has more than {LONGEST} non-blank lines, without the docstring",
    "nested": "the function is inside another candidate",
    "overloaded": "an earlier function of its class or module has the same name (counted except in JavaScript and "
    "TypeScript)",
    NEAR_DUPLICATE: "the body resembles one that was drawn (Jaccard of 0.8 over pairs of tokens)",
}
"""Reason -> the candidates that it leaves out; the first reason that holds is counted."""


def examine(file: SourceFile, language: Language) -> tuple[list[TaskCandidate], Counter[str]]:
    """Return the candidates of a file, and how many functions each rule left out."""
    # Not from the cache of `definitions`, which would keep the files of a whole tree.
    parsed = parse_legible(file, language)
    comments = comment_lines(file, comments_in(parsed))
    skipped: Counter[str] = Counter()
    functions: list[TaskCandidate] = []
    seen: set[str] = set()
    taken_until = 0
    for definition in definitions_in(parsed):  # outer ones before those in them
        if definition.kind not in {"function", "method"} or definition.declaration or definition.form == "macro":
            continue
        target_span = target_span_of(file, definition, comments)
        reason = target_span if isinstance(target_span, str) else ""
        if definition.broken:
            reason = "syntax error"
        elif not reason and definition.lines.end <= taken_until:
            reason = "nested"
        elif not reason and definition.qualified in seen and GRAMMARS[language.name].overloads:
            reason = "overloaded"
        if reason or isinstance(target_span, str):
            skipped[reason] += 1
            continue
        seen.add(definition.qualified)
        taken_until = max(taken_until, definition.lines.end)
        functions.append(TaskCandidate(file.path, target_span, definition.name))
    return functions, skipped


def target_span_of(file: SourceFile, function: Definition, comments: Collection[int]) -> LineSpan | str:
    """Return the lines of a function that are to be written, or the reason why there are none.

    They are the body from its first statement on. The docstring, and comment lines before that statement, stay in the
    prompt.
    """
    body, doc = function.body, function.doc
    if body is None:
        return "short"
    start = body.start
    if doc is not None and doc.lines.overlaps(body):
        start = max(start, doc.lines.end)
        if start >= body.end and doc.lines.end == body.end:
            return "short"
    if start < function.header.end:
        return "on the signature's line"
    while start < body.end and (start in comments or not file.line_text(LineSpan(start, start + 1)).strip()):
        start += 1
    target_span = LineSpan(min(start, body.end), body.end)
    filled = sum(1 for line in file.line_text(target_span).splitlines() if line.strip())
    return "short" if filled < SHORTEST else "long" if filled > LONGEST else target_span


def comment_lines(file: SourceFile, comments: Iterable[LineSpan]) -> frozenset[int]:
    """Return the lines that hold nothing but a comment; a line with a statement before the comment is not one."""
    lines: set[int] = set()
    for span in comments:
        begins = file.line_text(LineSpan(span.start, span.start + 1)).lstrip()
        lines.update(span if begins.startswith(_COMMENT_MARKS) else list(span)[1:])
    return frozenset(lines)
