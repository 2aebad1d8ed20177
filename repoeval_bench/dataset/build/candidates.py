"""Candidates for tasks in a file, after RepoCoder (Zhang et al. 2023, arXiv 2303.12570, section 3), in ten languages.

Every rule that leaves a candidate out is counted. Whether a candidate becomes a task is drawn later.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.core.definitions import Definition, definitions
from repoeval_bench.core.occurrences import Call, Occurrences, occurrences
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import Parsed, segments
from repoeval_bench.dataset.build.sampling import Candidate
from repoeval_bench.references.languages import RULES

if TYPE_CHECKING:
    from repoeval_bench.core.languages import Language

SHORTEST, LONGEST = 3, 30
"""Non-blank lines of a function's body, without its docstring."""

LINE_TOKENS = 5
"""Words and signs that a line has at least."""

CALL_LINES = 30
"""Lines that a call has at most."""

_WORD_OR_SIGN = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"[^\W\d]\w*")
_STRING = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`")
_COMMENT_MARKS = ("#", "//", "/*", "*", "<!--")
_COMPOUND = re.compile(r"(?=.{6})(?:\w*[^\W_]_+[^\W_]\w*|\w*[a-z0-9][A-Z]\w*)")

NEAR_DUPLICATE = "near-duplicate, when drawn"
LEFT_OUT = {
    "function": {
        "syntax error": "a syntax error is in the function",
        "on the signature's line": "the body begins on the line that the signature or the docstring ends on",
        "short": f"the body has fewer than {SHORTEST} non-blank lines, the docstring not counted",
        "long": f"the body has more than {LONGEST}",
        "nested": "it is in the body of another candidate",
        "overloaded": "another function of that name is in the same class or module of the file, before it; not in "
        "JavaScript and TypeScript, where overloads have no body",
        NEAR_DUPLICATE: "the body resembles one that was drawn (Jaccard of 0.8 over pairs of tokens)",
    },
    "line": {
        "short": f"it has fewer than {LINE_TOKENS} words and signs, or fewer than two names outside of texts",
        "comment": "it is a comment or docstring, or part of one",
        "import": "it imports",
        "text": "it is within a text or macro of several lines",
        NEAR_DUPLICATE: "it resembles one that was drawn (Jaccard of 0.8 over pairs of tokens)",
    },
    "api": {
        "not defined here": "no function or class of that name is defined in the repository",
        "common name": "a method is called on something else, and its name is not a compound of 6 characters or more, "
        "or one of the language's own types",
        "long": f"it has more than {CALL_LINES} lines",
        "same lines": "another candidate has the same lines, or is around it",
        NEAR_DUPLICATE: "it resembles one that was drawn (Jaccard of 0.8 over pairs of tokens)",
    },
}
"""Level -> reason -> what is left out by it; the first that holds is counted."""

_METHODS_BARE = frozenset({"java", "csharp", "c"})
"""Families in which a method of the own class is called by its bare name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """Candidates of one file. The calls are those whose callee's definition is not yet known."""

    path: str
    family: str
    functions: tuple[Candidate, ...]
    lines: tuple[Candidate, ...]
    calls: tuple[Call, ...]
    defined: tuple[tuple[str, str], ...]
    left_out: dict[str, Counter[str]]


def examine(file: SourceFile, language: Language) -> Examined:
    """The candidates of a file: functions and lines, its calls, and the (kind, name) of what it defines."""
    defined = definitions(file, language)
    comments: set[int] = set()
    lines: list[Candidate] = []
    calls: list[Call] = []
    skipped: dict[str, Counter[str]] = {level: Counter() for level in LEFT_OUT}
    for parsed in segments(file, language):
        occurring = occurrences(parsed)
        comments |= comment_lines(file, occurring.comments)
        lines += _lines(file, parsed, _aside(defined, occurring, comments), skipped["line"])
        calls += occurring.calls
    return Examined(
        path=file.path,
        family=language.family,
        functions=tuple(_functions(file, defined, comments, skipped["function"], language)),
        lines=tuple(lines),
        calls=tuple(calls),
        defined=tuple(
            {
                (definition.kind, definition.name)
                for definition in defined
                if definition.kind != "variable" and not definition.declaration
            }
        ),
        left_out=skipped,
    )


def target_span_of(file: SourceFile, function: Definition, comments: Collection[int]) -> LineSpan | str:
    """The lines of a function that are to be written, or why there are none.

    They are the body from its first statement on: the docstring, and those of the lines `comments` that are before it,
    stay in the prompt.
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
    """The lines that are comments from their beginning: one behind a statement leaves its line a statement."""
    lines: set[int] = set()
    for span in comments:
        begins = file.line_text(LineSpan(span.start, span.start + 1)).lstrip()
        lines.update(span if begins.startswith(_COMMENT_MARKS) else list(span)[1:])
    return frozenset(lines)


def _functions(
    file: SourceFile,
    defined: Sequence[Definition],
    comments: Collection[int],
    skipped: Counter[str],
    language: Language,
) -> Iterator[Candidate]:
    """The functions and methods that fit, outer ones before those in them."""
    # Overloads have no bodies in JavaScript's family; functions of one name are often local ones of many callbacks.
    seen: set[str] | None = None if language.family == "javascript" else set()
    taken_until = 0
    for definition in defined:
        if definition.kind not in {"function", "method"} or definition.declaration or definition.form == "macro":
            continue
        target_span = target_span_of(file, definition, comments)
        reason = target_span if isinstance(target_span, str) else ""
        if definition.broken:
            reason = "syntax error"
        elif not reason and definition.lines.end <= taken_until:
            reason = "nested"
        elif not reason and seen is not None and definition.qualified in seen:
            reason = "overloaded"
        if reason or isinstance(target_span, str):
            skipped[reason] += 1
            continue
        if seen is not None:
            seen.add(definition.qualified)
        taken_until = max(taken_until, definition.lines.end)
        yield Candidate(file.path, target_span, definition.name)


def _aside(defined: Sequence[Definition], occurring: Occurrences, comments: Iterable[int]) -> dict[int, str]:
    """Line -> why it is not a statement."""
    of = {line: "text" for span in occurring.texts for line in span}
    of |= {line: "import" for span in occurring.imports for line in span}
    of |= {line: "comment" for definition in defined if definition.doc for line in definition.doc.lines}
    return of | dict.fromkeys(comments, "comment")


def _lines(file: SourceFile, parsed: Parsed, aside: Mapping[int, str], skipped: Counter[str]) -> Iterator[Candidate]:
    """The statements of a tree that fit, and not the first line of a file, which has no prompt."""
    for number, text in enumerate(file.line_text(LineSpan(parsed.first, parsed.end)).splitlines(), parsed.first):
        if not number or not text.strip():
            continue
        reason = aside.get(number, "")
        if not reason and not _is_long(text):
            reason = "short"
        if reason:
            skipped[reason] += 1
        else:
            yield Candidate(file.path, LineSpan(number, number + 1), "")


def _is_long(text: str) -> bool:
    return len(_WORD_OR_SIGN.findall(text)) >= LINE_TOKENS and len(_WORD.findall(_STRING.sub("", text))) >= 2


class Calls(ExitStack):
    """The calls of a repository, kept in a file until all that it defines is known."""

    def __init__(self) -> None:
        super().__init__()
        self._defined: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._spool = self.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))  # noqa: SIM115 - it is one

    def add(self, file: Examined) -> None:
        """Take in a file's calls and the names that it defines."""
        known = self._defined[file.family]
        for kind, name in file.defined:
            known[kind].add(name)
        own = sorted(name for kind, name in file.defined if kind == "method")
        calls = [
            (call.name, call.receiver, call.lines.start, call.lines.end) for call in file.calls if call.lines.start
        ]
        self._spool.write(json.dumps([file.path, file.family, own, calls]) + "\n")

    def candidates(self) -> Iterator[tuple[list[Candidate], Counter[str]]]:
        """(candidates, what was left out) of each file; to be asked when every file has been added."""
        self._spool.seek(0)
        for row in self._spool:
            path, family, own, calls = json.loads(row)
            skipped: Counter[str] = Counter()
            spans: list[LineSpan] = []
            for name, receiver, start, end in calls:
                reason = self._reason(family, name, receiver, own)
                if not reason and end - start > CALL_LINES:
                    reason = "long"
                if reason:
                    skipped[reason] += 1
                else:
                    spans.append(LineSpan(start, end))
            outer = _outermost(spans)
            skipped["same lines"] += len(spans) - len(outer)
            yield [Candidate(path, span, "") for span in outer], skipped

    def _reason(self, family: str, name: str, receiver: str, own: Sequence[str]) -> str:
        known = self._defined[family]
        is_function = name in known["function"] or name in known["class"]
        if not receiver:
            return "" if is_function or (family in _METHODS_BARE and name in known["method"]) else "not defined here"
        if receiver == "own" and name in own:
            return ""
        if not is_function and name not in known["method"]:
            return "not defined here"
        is_common = name in RULES[family].common or not _COMPOUND.fullmatch(name)
        return "common name" if is_common else ""


def _outermost(spans: Iterable[LineSpan]) -> list[LineSpan]:
    """The spans that are in no other, each once."""
    outer: list[LineSpan] = []
    for span in sorted(set(spans), key=lambda span_: (span_.start, -span_.end)):
        if not outer or span.end > outer[-1].end:
            outer.append(span)
    return outer
