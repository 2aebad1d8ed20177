"""A commit's subject as a question, or the reason why it asks nothing. The list of chores is data: `chores.yaml`."""

import re
from functools import cache
from importlib.resources import files
from itertools import dropwhile, pairwise
from operator import not_
from typing import Any

LEAST = 4
"""Words that a question has at least."""

FEW_WORDS, NO_OBJECT, BOT = "fewer than four words", "no object", "bots"

REASONS = {
    "bots": "a program is the author: dependency updates and similar",
    "reverts": "the commit reverts another, or re-applies a reverted one",
    "release": "versions, releases, dependencies, changelogs and licences",
    "documents": "documentation, comments, examples and typos",
    "layout": "formatting, white space and linters",
    "typing": "type annotations and f-strings",
    "ci": "tests, builds and continuous integration",
    "upkeep": "clean-up, renames, refactoring and other upkeep",
    "by its prefix": "a conventional prefix says that it is a chore: `chore:`, `DOC:`, `[ci]` …",
    FEW_WORDS: "the subject has fewer than four words, besides links, issue numbers and prefixes",
    NO_OBJECT: "it names nothing in particular: `handle more cases`",
}
"""Reason -> the subjects that it leaves out, in the order of the checks."""

_LINK = re.compile(r"[(<]?https?://\S+")
_REFERENCE = (
    r"(?:(?:(?:close|fix|resolve|see|ref|reference|re|part of|address)(?:s|d|es|ed)?:?\s*)?"
    r"(?:(?:(?:\w[\w.-]*/)?\w[\w.-]+)?#|gh-)[1-9]\d*|(?:github )?(?:issue|bug|pr|ticket|pull request)s?(?: ?#| )\d+)\b"
)
_REFERENCES = rf"{_REFERENCE}(?:(?:\s*[,/]\s*|\s+)(?:and\s+)?{_REFERENCE})*"
_ISSUE = re.compile(rf"(?:\({_REFERENCES}\)|\[{_REFERENCES}\]|(?<![\w&/]){_REFERENCES},?)(?:\s*:(?!:))?", re.IGNORECASE)
_KEY = r"(?!UTF|SHA|ISO|RFC|CVE|MD|PEP|HTTP|AES|RSA|TLS|IEEE|ECMA|ES-)[A-Z][A-Z0-9]+-\d+"
# At the start of `AES-256 keys are …` a word of the sentence looks the same: another word follows it in lower case.
_TICKET = re.compile(rf"^\s*(?:\[{_KEY}\][:\s-]*|{_KEY}(?:\s*:\s*|\s+-\s+|\s+(?=[A-Z][a-z])))|\({_KEY}\)|\[{_KEY}\]")
_GITMOJI = re.compile(r"^(?::[a-z][\w+-]*:\s+)+")
_CUT = "\0"
_GAP = re.compile(r"(?<=[(\[])[\s\0]*\0[\s\0]*|[\s\0]*\0(?=[.,;:!?)\]\"'`]+(?:\s|$))")
"""What was cut beside a bracket or before a punctuation mark: no blank takes its place."""
_CONVENTIONAL = re.compile(
    r"^(?P<type>[a-z][\w-]*)(?P<version> v?\d+(?:\.\d+)+)?(?P<scope>\([^()]*\))?(?P<bang>!)?:\s+", re.IGNORECASE
)
_TYPES = frozenset({"feat", "feature", "fix", "bugfix", "hotfix", "perf", "enh", "bug", "api", "new", "add", "dep"})
_BRACKETED = re.compile(r"^[\s\0]*\[(?P<type>[\w -]+|v?\d+(?:\.[\dx]+)+)\]\s*")  # `[4.2.x]` is a branch
_PULL = re.compile(r"^merge (?:pull|merge) request\b|^merged? (?:in )?.*\bpull request #\d+", re.IGNORECASE)
_PART = re.compile(r"^[\w./*,{} -]{1,40}:\s+")
"""The part of the code that a subject concerns: `net/http: `; what follows it is the subject."""
_TRAILING = re.compile(r"[\s.:;,!-]+$")
_LIST_MARK = re.compile(r"^[-*•+]\s+")
_WIDTH, _WIDEST = 72, 80
"""Characters of a line at which authors wrap a text, and of the longest line that is still wrapped."""
_SENTENCE_END = re.compile(r"[.!?:;…)]$")
_NEW_LINE = re.compile(r"[-*•+#(\[]|\d+[.)]\s|https?:|[A-Z][\w-]+:\s")
"""The beginning of an item, a link or a trailer, which continues no sentence."""


def subject_of(message: str) -> str:
    """The first line of a message; of a merged pull request its title, which is the first line of the body.

    A line that had no room for the next word goes on in the next line, and a title that was cut off with `…` in the
    body.
    """
    lines = [line.strip() for line in message.strip().splitlines()] or [""]
    if _PULL.match(lines[0]):
        lines = [*dropwhile(not_, lines[1:])] or lines
    ends = (number for number, (line, after) in enumerate(pairwise(lines), 1) if not _goes_on(line, after))
    end = next(ends, len(lines))
    first, rest = " ".join(lines[:end]), [*filter(None, lines[end:])]
    if first.endswith(("…", "...")) and rest and rest[0].startswith(("…", "...")):
        first = first.rstrip("….") + rest[0].lstrip("….")
    return " ".join(first.split())


def _goes_on(line: str, after: str) -> bool:
    """Return whether a line is within a sentence that its author wrapped."""
    return (
        bool(after)
        and len(line) <= _WIDEST
        and len(line) + len(after.split(maxsplit=1)[0]) >= _WIDTH
        and not _SENTENCE_END.search(line)
        and not _NEW_LINE.match(after)
    )


def question_of(subject: str) -> str:
    """The subject without links, numbers of issues and a conventional prefix."""
    text = _without_numbers(subject)
    if (prefix := _CONVENTIONAL.match(text)) and _is_type(prefix):
        text = text[prefix.end() :]
    return _TRAILING.sub("", text)


def _without_numbers(subject: str) -> str:
    """The subject without links, numbers of issues and a prefix in brackets; no two of its words become one."""
    text = _TICKET.sub(_CUT, _LINK.sub(_CUT, _GITMOJI.sub("", _LIST_MARK.sub("", subject))))
    if _ISSUE.search(text):
        text = re.sub(r"^[\s\0]*(?:issue|bug)\s+", "", _ISSUE.sub(_CUT, text))
    text = _GAP.sub("", _BRACKETED.sub("", text))
    return " ".join(text.replace(_CUT, " ").split())


def refusal(subject: str, author: str) -> str | None:
    """Return why a subject asks nothing, a key of `REASONS`; None if it is a question."""
    chores = _chores()
    if any(pattern.search(author) for pattern in chores["bots"]):
        return BOT
    prefixes = _BRACKETED.match(subject), _CONVENTIONAL.match(subject), _CONVENTIONAL.match(_without_numbers(subject))
    kinds = [match for match in prefixes if match]
    if any(match["type"].lower() in chores["prefixes"] for match in kinds):
        return "reverts" if subject.lower().startswith("revert") else "by its prefix"
    question = question_of(subject)
    part = _PART.match(question)
    # Of a path the first folder counts, as in `tests/load: `; below it such words are packages, as in `go/types: `.
    if part and not chores["prefixes"].isdisjoint(one.split("/")[0] for one in re.split(r"[:,\s]+", part[0].lower())):
        return "by its prefix"
    texts = [question[part.end() :]] if part else [question]
    if part and "/" not in part[0]:
        texts.append(question)
    for reason in REASONS:
        if reason not in (BOT, FEW_WORDS, NO_OBJECT, "by its prefix") and any(
            pattern.search(text) for pattern in chores[reason] for text in texts
        ):
            return reason
    words = [word for word in question.split() if any(char.isalpha() for char in word)]
    if len(words) < LEAST:
        return FEW_WORDS
    names = re.findall(r"[^\W\d]\w*", question)
    has_object = any(len(name) > 1 and name.lower() not in chores["empty_words"] for name in names)
    return None if has_object else NO_OBJECT


def _is_type(prefix: re.Match[str]) -> bool:
    """Return whether a prefix is a type of commit, and not the part of the code that it concerns."""
    kind = prefix["type"].lower()
    return bool(prefix["scope"] or prefix["version"]) or kind in _TYPES or kind in _chores()["prefixes"]


_WORDS = ("prefixes", "empty_words")


@cache
def _chores() -> dict[str, Any]:
    import yaml

    content: dict[str, str] = yaml.safe_load((files(__package__) / "chores.yaml").read_text("utf-8"))
    return {
        key: frozenset(text.split())
        if key in _WORDS
        else [re.compile(pattern, re.IGNORECASE) for pattern in text.splitlines()]
        for key, text in content.items()
    }
