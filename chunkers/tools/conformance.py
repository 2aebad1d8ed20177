"""The conformance suite: what a chunker promises, tried on the inputs that break chunkers.

`check_chunker` gives a report, `assert_chunker_conforms` is the same for a test of a plug-in's author, and
`broken_promises` looks at one file. For each promise that breaks, the smallest failing input is searched for.
Gaps of blank lines, overlap and sizes are reported and are not failures: some chunkers overlap by design.
"""

from __future__ import annotations

import random
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.chunkers.tools.cases import CASES, generated
from repoeval_bench.chunkers.tools.samples import SAMPLES
from repoeval_bench.core.errors import BenchError, LanguageError
from repoeval_bench.core.source import Chunk, SourceFile, count_nws
from repoeval_bench.core.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from repoeval_bench.core.parts import Chunker

PROMISES = {
    "no failure": "every input gives chunks, none an exception",
    "chunks": "what is returned is a sequence of Chunk, cut with Chunk.cut",
    "slices": "text, lines and id are those of the file at the chunk's characters",
    "in order": "chunks come in order of their start, none twice",
    "nothing lost": "every non-whitespace character is in a chunk",
    "no blanks": "no chunk holds only whitespace, and a blank file gives none",
    "size": "without overlap no chunk of several lines is above max_nws; lines before an offset aside",
    "deterministic": "the same file gives the same chunks, regardless of files chunked in between",
    "line ends": "the same text with CRLF gives chunks of the same lines",
    "spec": "the spec rebuilds a chunker that prints the same spec",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One promise: kept on how many inputs, and the smallest input that breaks it."""

    promise: str
    n_inputs: int
    n_broken: int
    detail: str = ""
    smallest: str | None = None

    @property
    def holds(self) -> bool:
        """Whether no input broke it."""
        return not self.n_broken


@dataclass(frozen=True, slots=True)
class Report:
    """What the suite found on one chunker, and what it measured on the inputs that it could chunk.

    The shares are over all inputs together: of lines that are in more than one chunk, and of chunks above
    the chunker's `max_nws` (None where it has no such parameter). `not_cut` are the languages that the chunker says
    it does not know, or whose grammar is not installed; that breaks no promise.
    """

    spec: str
    findings: tuple[Finding, ...]
    shared_lines: float
    above_limit: float | None
    not_cut: tuple[str, ...]

    @property
    def conforms(self) -> bool:
        """Whether every promise held on every input."""
        return all(finding.holds for finding in self.findings)

    def __str__(self) -> str:
        lines = [f"{self.spec}: {'conforms' if self.conforms else 'does not conform'}"]
        for finding in self.findings:
            state = "holds" if finding.holds else f"BREAKS on {finding.n_broken} of {finding.n_inputs} inputs"
            lines.append(f"  {finding.promise:<14} {state:<28} {PROMISES[finding.promise]}")
            if not finding.holds:
                lines.append(f"  {'':<14} {finding.detail}")
                lines.append(f"  {'':<14} smallest input: {abbreviated(finding.smallest or '')}")
        lines.append(f"  lines in more than one chunk: {self.shared_lines:.1%} of the lines of all inputs")
        if self.above_limit is not None:
            lines.append(f"  chunks above max_nws: {self.above_limit:.1%} of the chunks of all inputs")
        lines.append(f"  languages: {len(SAMPLES) - len(self.not_cut)} of {len(SAMPLES)}")
        if self.not_cut:
            lines[-1] += f"; not {', '.join(self.not_cut)}"
        return "\n".join(lines)


def abbreviated(text: str, width: int = 100) -> str:
    """A text as a Python literal of about `width` characters, its length named where something is left out."""
    literal = repr(text)
    half = width // 2
    return literal if len(literal) <= width else f"{literal[:half]} … {literal[-half:]} ({len(text)} characters)"


def assert_chunker_conforms(chunker: Chunker, *, examples: int = 40, seed: int = 0) -> None:
    """AssertionError with the report of `check_chunker` where a promise breaks; for tests of plug-ins."""
    report = check_chunker(chunker, examples=examples, seed=seed)
    if not report.conforms:
        raise AssertionError(str(report))


def check_chunker(chunker: Chunker, *, examples: int = 40, seed: int = 0, path: str = "case.py") -> Report:
    """Try a chunker on the known cases, on `examples` generated files, and on a file and half a file of each language.

    All but the last are named `path`, in Python by default, and reproducible by `seed`. About a second per broken
    promise is spent on finding a smaller input that shows it.
    """
    rng = random.Random(seed)
    texts = [*CASES.values(), *(generated(rng) for _ in range(examples))]
    samples, not_cut = _samples(chunker)
    files = [*(SourceFile("suite", path, text) for text in texts), *samples]
    broken: dict[str, list[tuple[SourceFile, str]]] = {}
    shared = n_lines = above = n_chunks = 0
    limit = _option(chunker, "max_nws")
    for file in files:
        found, chunks = _look(chunker, file)
        for promise, detail in found.items():
            broken.setdefault(promise, []).append((file, detail))
        shared += _shared_lines(file, chunks)
        n_lines += file.n_lines
        n_chunks += len(chunks)
        above += sum(limit is not None and count_nws(chunk.text) > limit for chunk in chunks)
    problem = _spec_problem(chunker)
    of_spec = Finding("spec", 1, int(bool(problem)), problem, "" if problem else None)
    findings = [_finding(chunker, name, len(files), broken.get(name, [])) for name in PROMISES if name != "spec"]
    return Report(
        spec=chunker.spec,
        findings=(*findings, of_spec),
        shared_lines=shared / n_lines if n_lines else 0.0,
        above_limit=None if limit is None else above / n_chunks if n_chunks else 0.0,
        not_cut=not_cut,
    )


def _samples(chunker: Chunker) -> tuple[list[SourceFile], tuple[str, ...]]:
    """A file and half a file of each language that the chunker cuts, and the other languages."""
    files: list[SourceFile] = []
    not_cut: list[str] = []
    for language, (path, text) in SAMPLES.items():
        try:
            chunker.chunk(SourceFile("suite", path, text))
        except LanguageError:
            not_cut.append(language)
            continue
        except Exception:  # noqa: BLE001, S110 - reported with the other inputs
            pass
        files += [SourceFile("suite", path, text), SourceFile("suite", path, text[: len(text) // 2])]
    return files, tuple(not_cut)


def _finding(chunker: Chunker, promise: str, n_inputs: int, failures: Sequence[tuple[SourceFile, str]]) -> Finding:
    """One promise, with a smaller input than the shortest that broke it."""
    if not failures:
        return Finding(promise, n_inputs, 0)

    shortest = min((file for file, _ in failures), key=lambda file: len(file.text))

    def fails(text: str) -> bool:
        return promise in broken_promises(chunker, SourceFile("suite", shortest.path, text))

    text = smallest(shortest.text, fails)
    detail = broken_promises(chunker, SourceFile("suite", shortest.path, text)).get(promise, failures[0][1])
    return Finding(promise, n_inputs, len(failures), detail, text)


def broken_promises(chunker: Chunker, file: SourceFile) -> dict[str, str]:
    """The promises that a chunker breaks on one file, each with one sentence on how."""
    return _look(chunker, file)[0]


def _look(chunker: Chunker, file: SourceFile) -> tuple[dict[str, str], Sequence[Chunk]]:
    """The broken promises, and the chunks if they are any."""
    try:
        chunks = list(chunker.chunk(file))
    except Exception as error:  # noqa: BLE001 - any exception of a chunker is reported here
        message = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
        return {"no failure": message}, ()
    strangers = [chunk for chunk in chunks if type(chunk) is not Chunk]
    if strangers:
        return {"chunks": f"returned the {type(strangers[0]).__name__} {abbreviated(str(strangers[0]), 60)}"}, ()
    found = {promise: look(chunker, file, chunks) for promise, look in _LOOKS.items()}
    return {promise: detail for promise, detail in found.items() if detail}, chunks


def _slices(_: Chunker, file: SourceFile, chunks: Sequence[Chunk]) -> str:
    for chunk in chunks:
        if not chunk.chars or chunk.chars.end > len(file.text):
            return f"{chunk.chars} is empty or outside the file's {len(file.text)} characters"
        if chunk != Chunk.cut(file, chunk.chars, chunk.header):
            return f"{chunk.chunk_id} is not what the file holds at {chunk.chars}"
    return ""


def _in_order(_: Chunker, _file: SourceFile, chunks: Sequence[Chunk]) -> str:
    starts = [(chunk.chars.start, chunk.chars.end) for chunk in chunks]
    if len(set(starts)) < len(starts):
        return f"{next(start for start in starts if starts.count(start) > 1)} is returned twice"
    if starts != sorted(starts):
        return "a chunk starts before the one in front of it"
    return ""


def _nothing_lost(_: Chunker, file: SourceFile, chunks: Sequence[Chunk]) -> str:
    at = 0
    lost: list[str] = []
    for chunk in sorted(chunks, key=lambda chunk: chunk.chars.start):
        lost.append(file.text[at : chunk.chars.start])
        at = max(at, chunk.chars.end)
    lost.append(file.text[at:])
    pieces = [piece for piece in lost if not piece.isspace() and piece]
    n_lost = sum(map(count_nws, pieces))
    return f"{n_lost} non-whitespace characters are in no chunk, {abbreviated(pieces[0], 40)} first" if pieces else ""


def _no_blanks(_: Chunker, _file: SourceFile, chunks: Sequence[Chunk]) -> str:
    return next((f"{chunk.chunk_id} holds only whitespace" for chunk in chunks if not count_nws(chunk.text)), "")


def _size(chunker: Chunker, _file: SourceFile, chunks: Sequence[Chunk]) -> str:
    limit = _option(chunker, "max_nws")
    if limit is None or _option(chunker, "overlap"):
        return ""
    # Lines before the offset of `fixed` join its first chunk, above the limit.
    offset = _option(chunker, "offset") or 0
    for chunk in chunks:
        lines = chunk.text.splitlines()[max(0, offset - chunk.lines.start) :]
        full = [nws for nws in map(count_nws, lines) if nws]
        if len(full) > 1 and sum(full) > limit:
            return f"{chunk.chunk_id} has {sum(full)} nws on {len(full)} lines, above {limit}"
    return ""


def _deterministic(chunker: Chunker, file: SourceFile, chunks: Sequence[Chunk]) -> str:
    other = SourceFile(file.repo, "between.py", "def between():\n    return 'é'\n")
    _chunks_or_none(chunker, other)
    again = _chunks_or_none(chunker, file)
    return "" if again is not None and list(again) == list(chunks) else "a second call gave other chunks"


def _line_ends(chunker: Chunker, file: SourceFile, chunks: Sequence[Chunk]) -> str:
    if "\r" in file.text or "\n" not in file.text:
        return ""
    crlf = _chunks_or_none(chunker, SourceFile(file.repo, file.path, file.text.replace("\n", "\r\n")))
    lines = [(chunk.lines.start, chunk.lines.end) for chunk in chunks]
    if crlf is None:
        return "it fails on the same text with CRLF"
    with_crlf = [(chunk.lines.start, chunk.lines.end) for chunk in crlf]
    if with_crlf == lines:
        return ""
    return f"lines {_first_difference(lines, with_crlf)}"


def _first_difference(lines: Sequence[object], with_crlf: Sequence[object]) -> str:
    for one, other in zip(lines, with_crlf, strict=False):
        if one != other:
            return f"{one} with LF are {other} with CRLF"
    return f"in {len(lines)} chunks with LF are in {len(with_crlf)} with CRLF"


_LOOKS: Mapping[str, Callable[[Chunker, SourceFile, Sequence[Chunk]], str]] = {
    "slices": _slices,
    "in order": _in_order,
    "nothing lost": _nothing_lost,
    "no blanks": _no_blanks,
    "size": _size,
    "deterministic": _deterministic,
    "line ends": _line_ends,
}


def _spec_problem(chunker: Chunker) -> str:
    from repoeval_bench.chunkers.registry import make_chunker

    try:
        again = make_chunker(chunker.spec).spec
    except BenchError as error:
        return f"{chunker.spec} cannot be built again: {error}"
    return "" if again == chunker.spec else f"{chunker.spec} builds a chunker that prints {again}"


def _chunks_or_none(chunker: Chunker, file: SourceFile) -> Sequence[Chunk] | None:
    """The chunks, or None for a failure, which `broken_promises` reports."""
    try:
        return [chunk for chunk in chunker.chunk(file) if isinstance(chunk, Chunk)]
    except Exception:  # noqa: BLE001 - reported by broken_promises
        return None


def _option(chunker: Chunker, name: str) -> int | None:
    value = Spec.parse(chunker.spec).params.get(name, "")
    return int(value) if re.fullmatch(r"\d+", value) else None


def _shared_lines(file: SourceFile, chunks: Sequence[Chunk]) -> int:
    seen = [0] * file.n_lines
    for chunk in chunks:
        for line in chunk.lines:
            if line < file.n_lines:
                seen[line] += 1
    return sum(count > 1 for count in seen)


def smallest(text: str, fails: Callable[[str], bool], seconds: float = 1.5) -> str:
    """A smaller text that still fails, by leaving out lines and then characters (delta debugging).

    Zeller & Hildebrandt 2002. The search ends after `seconds` with the smallest text found so far.
    """
    deadline = time.monotonic() + seconds
    for split in (lambda whole: whole.splitlines(keepends=True), list):
        parts: list[str] = split(text)
        size = max(1, len(parts) // 2)
        while parts and time.monotonic() < deadline:
            for start in range(0, len(parts), size):
                fewer = parts[:start] + parts[start + size :]
                if fewer and fails("".join(fewer)):
                    parts = fewer
                    break
                if time.monotonic() > deadline:
                    break
            else:
                if size == 1:
                    break
                size = max(1, size // 2)
                continue
            size = min(size, max(1, len(parts) // 2))
        text = "".join(parts)
    return text
