"""The files of a source that are its own code, one by one, with everything else counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from repoeval_bench.core.languages import language_of
from repoeval_bench.core.source import SourceFile
from repoeval_bench.dataset.build.code import MAX_BYTES, name_reason, text_reason
from repoeval_bench.dataset.trees import decode, is_licence_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from repoeval_bench.core.languages import Language
    from repoeval_bench.dataset.build.origin import Entry, Origin


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file that is taken: its bytes, and of code its text and language; a licence text has neither."""

    path: str
    raw: bytes
    file: SourceFile | None = None
    language: Language | None = None


@dataclass(slots=True)
class Gathered:
    """What was found in a source so far: files of code and lines by language, and what was left out by reason.

    `endings` counts the files of no known language by the endings of their names.
    """

    files: Counter[str] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)


def gather(origin: Origin, languages: Collection[str], found: Gathered) -> Iterator[CodeFile]:
    """The files that are taken, in the source's order; `languages` are wanted, none means all; `found` is filled."""
    found.left_out.update(origin.left_out)
    for entry in origin.entries():
        reason = name_reason(entry.path, origin.paths)
        if is_licence_path(entry.path) and reason in {None, "unknown language"} and entry.size <= MAX_BYTES:
            yield CodeFile(entry.path, entry.read())
            continue
        taken = _read(entry, origin.name, languages) if reason is None else reason
        if isinstance(taken, CodeFile):
            yield taken
            if taken.language and taken.file:
                found.files[taken.language.name] += 1
                found.lines[taken.language.name] += taken.file.n_lines
            continue
        found.left_out[taken] += 1
        if taken == "unknown language":
            found.endings[PurePosixPath(entry.path).suffix.lower()] += 1


def _read(entry: Entry, repo: str, languages: Collection[str]) -> CodeFile | str:
    """A file of code, or why it is left out."""
    if entry.size > MAX_BYTES:
        return "too large"
    raw = entry.read()
    try:
        text = decode(raw)
    except UnicodeDecodeError:
        return "not text"
    language = language_of(entry.path, text)
    if language is None or (languages and language.name not in languages):
        return "other language"
    return text_reason(language, text) or CodeFile(entry.path, raw, SourceFile(repo, entry.path, text), language)
