"""The files of a source that are its own code, one by one, with everything else counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from repoeval_bench.core.languages import LANGUAGES, language_of
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.words import count
from repoeval_bench.dataset.build.code import MAX_BYTES, RULES, name_reason, text_reason
from repoeval_bench.dataset.trees import decode, is_licence_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

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

    @property
    def counts(self) -> dict[str, int]:
        """Reason -> how many were left out by it, in the order of the rules."""
        return {reason: self.left_out[reason] for reason in RULES if self.left_out[reason]}

    @property
    def told(self) -> str:
        """What was taken and what was not, on one line."""
        files = ", ".join(f"{number} {language}" for language, number in sorted(self.files.items()))
        left_out = ", ".join(f"{number} {reason}" for reason, number in self.counts.items()) or "nothing"
        return f"{files} files, {count(sum(self.lines.values()), 'line')}; left out: {left_out}"


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


def no_code(origin: Origin, found: Gathered, languages: Sequence[str]) -> str:
    """The sentence for a source without a file of code."""
    if not origin.paths and not found.left_out:
        return f"the source {origin.name} is empty; name a folder, an archive or a package with code"
    wanted = ", ".join(languages or LANGUAGES)
    endings = ", ".join(f"{number} {ending or 'without ending'}" for ending, number in found.endings.most_common(5))
    counts = ", ".join(f"{number} {reason}" for reason, number in found.counts.items())
    seen = f" (endings: {endings})" if endings else ""
    return f"the source {origin.name} has no code in {wanted} of its own; left out: {counts}{seen}"


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
