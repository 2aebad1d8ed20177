"""The conformance suite: a chunker's promises, tried on the inputs that break chunkers.

`check_chunker` returns a report, `assert_chunker_conforms` is for the tests of plug-ins, and `broken_promises` checks
one file: with hypothesis it finds the smallest input that breaks a promise.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from repoeval_bench.chunkers._adapters import contract_faults
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.cases import CASES, SAMPLES, generated
from repoeval_bench.core.errors import BenchError, ChunkError, LanguageError, others_errors_as
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.source import Chunk, SourceFile, count_nws
from repoeval_bench.core.spec import Spec
from repoeval_bench.core.words import count

PROMISES = {
    "no failure": "every input gives chunks, and none raises an exception",
    "chunks": "the result is a sequence of Chunk, made by Chunk.cut",
    "slices": "text, lines and id of a chunk match its characters in the file",
    "in order": "chunks come in the order of their start, and none twice",
    "nothing lost": "every non-whitespace character is in a chunk",
    "no blanks": "no chunk holds only whitespace, and a blank file gives none",
    "size": "a chunk of several lines stays within max_nws, with options overlap and offset at 0",
    "deterministic": "the same file gives the same chunks, even if others were chunked in between",
    "line ends": "a file with CRLF line ends is split at the same lines",
    "spec": "building a second chunker from this spec gives the same chunker",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result for one promise: how many inputs tried it, how many broke it, and the shortest that did.

    An input tries a promise only if it could break it: a chunker that raises returns no chunk to check.
    """

    promise: str
    n_inputs: int
    n_broken: int
    detail: str = ""
    shortest: str | None = None

    @property
    def state(self) -> str:
        """The outcome, in words."""
        if not self.n_inputs:
            return "not tried"
        inputs = count(self.n_inputs, "input")
        return f"BREAKS on {self.n_broken} of {inputs}" if self.n_broken else f"holds on {inputs}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The suite's findings on one chunker.

    `not_cut` are the languages that the chunker does not know, or whose grammar is not installed: no broken promise.
    """

    spec: str
    findings: tuple[Finding, ...]
    not_cut: tuple[str, ...]

    @property
    def conforms(self) -> bool:
        """Return whether no promise was broken on any input."""
        return not any(finding.n_broken for finding in self.findings)

    def __str__(self) -> str:
        lines = [f"{self.spec}: {'conforms' if self.conforms else 'does not conform'}"]
        for finding in self.findings:
            lines.append(f"  {finding.promise:<14} {finding.state:<28} {PROMISES[finding.promise]}")
            if finding.n_broken:
                lines.append(f"  {'':<14} {finding.detail}")
            if finding.shortest is not None:
                lines.append(f"  {'':<14} shortest input: {abbreviated(finding.shortest)}")
        if not any(finding.n_broken for finding in self.findings if finding.promise == "no failure"):
            missing = f"; not {', '.join(self.not_cut)}" if self.not_cut else ""
            lines.append(f"  languages: {len(SAMPLES) - len(self.not_cut)} of {len(SAMPLES)}{missing}")
        return "\n".join(lines)


def abbreviated(text: str, width: int = 100) -> str:
    """Return a text as a Python literal of about `width` characters; a shortened one has its length beside it."""
    literal = repr(text)
    half = width // 2
    return literal if len(literal) <= width else f"{literal[:half]} … {literal[-half:]} ({len(text)} characters)"


def assert_chunker_conforms(chunker: Chunker, *, examples: int = 40, seed: int = 0) -> None:
    """Raise an AssertionError with the report of `check_chunker` if a promise is broken; for tests of plug-ins."""
    report = check_chunker(chunker, examples=examples, seed=seed)
    if not report.conforms:
        raise AssertionError(str(report))


def check_chunker(chunker: Chunker, *, examples: int = 40, seed: int = 0) -> Report:
    """Try a chunker on the known cases, on `examples` generated files, and on a file and half a file of each language.

    All but the last are Python, and reproducible by `seed`.
    """
    rng = random.Random(seed)
    texts = [*CASES.values(), *(generated(rng) for _ in range(examples))]
    samples, not_cut = _samples(chunker)
    files = [*(SourceFile("suite", "case.py", text) for text in texts), *samples]
    looks = [(file, _look(chunker, file)) for file in files]
    findings = [
        _finding(promise, [(file, details[promise]) for file, details in looks if promise in details])
        for promise in PROMISES
        if promise != "spec"
    ]
    problem = _spec_problem(chunker)
    spec_finding = Finding(promise="spec", n_inputs=1, n_broken=int(bool(problem)), detail=problem)
    return Report(spec=chunker.spec, findings=(*findings, spec_finding), not_cut=not_cut)


def _finding(promise: str, tried: Sequence[tuple[SourceFile, str]]) -> Finding:
    broken = [(file.text, detail) for file, detail in tried if detail]
    shortest, detail = min(broken, key=lambda failure: len(failure[0]), default=(None, ""))
    return Finding(promise=promise, n_inputs=len(tried), n_broken=len(broken), detail=detail, shortest=shortest)


def _samples(chunker: Chunker) -> tuple[list[SourceFile], tuple[str, ...]]:
    """Return a file and half a file of each language that is cut, and the languages that are not."""
    files: list[SourceFile] = []
    not_cut: list[str] = []
    for language, (path, text) in SAMPLES.items():
        try:
            _cut(chunker, SourceFile("suite", path, text))
        except LanguageError:
            not_cut.append(language)
            continue
        except BenchError:
            pass  # reported with the other inputs
        files += [SourceFile("suite", path, text), SourceFile("suite", path, text[: len(text) // 2])]
    return files, tuple(not_cut)


def broken_promises(chunker: Chunker, file: SourceFile) -> dict[str, str]:
    """Return the promises that a chunker breaks on one file, each with one sentence on how."""
    return {promise: detail for promise, detail in _look(chunker, file).items() if detail}


def _look(chunker: Chunker, file: SourceFile) -> dict[str, str]:
    """Return the promises that a file tries, each with how it is broken ("" if it holds)."""
    try:
        chunks = _cut(chunker, file)
    except BenchError as error:
        return {"no failure": str(error)}
    try:
        with others_errors_as(ChunkError):  # a chunker may return anything
            faults: dict[str, str] = {}
            for promise, fault in contract_faults(file, chunks):
                faults.setdefault(promise, fault)
            if "chunks" in faults:
                return {"no failure": "", "chunks": faults["chunks"]}
            can_break = {
                "slices": bool(chunks),
                "in order": len(chunks) > 1,
                "no blanks": bool(chunks) or not count_nws(file.text),
            }
            details = {promise: faults.get(promise, "") if can else None for promise, can in can_break.items()}
            details |= {promise: look(chunker, file, chunks) for promise, look in _LOOKS.items()}
    except ChunkError as error:
        return {"no failure": "", "chunks": f"returned chunks that cannot be read ({error})"}
    tried = {promise: detail for promise, detail in details.items() if detail is not None}
    return {"no failure": "", "chunks": "", **tried}


def _cut(chunker: Chunker, file: SourceFile) -> list[Chunk]:
    """Return the unchecked chunks; whatever the chunker raises, even SystemExit, becomes a ChunkError."""
    with others_errors_as(ChunkError):
        return list(chunker.chunk(file))


# Each returns how a promise is broken, "" if it is kept, or None if this file cannot break it.


def _nothing_lost(_: Chunker, file: SourceFile, chunks: Sequence[Chunk]) -> str | None:
    end = n_lost = 0
    first = ""
    before: Chunk | None = None
    for chunk in (*sorted(chunks, key=lambda chunk: chunk.chars.start), None):
        gap = file.text[end : chunk.chars.start if chunk else None]
        if lost := count_nws(gap):
            where = f"behind {before.chunk_id}" if before else "at the start"
            first = first or f"the first, {abbreviated(gap, 40)}, is {where}"
            n_lost += lost
        if chunk and chunk.chars.end > end:
            end, before = chunk.chars.end, chunk
    if n_lost:
        lost_ones = "1 non-whitespace character is" if n_lost == 1 else f"{n_lost} non-whitespace characters are"
        return f"{lost_ones} in no chunk; {first}"
    return "" if count_nws(file.text) else None


def _size(chunker: Chunker, _file: SourceFile, chunks: Sequence[Chunk]) -> str | None:
    limit = _option(chunker, "max_nws")
    if limit is None or _option(chunker, "overlap") or not chunks:
        return None
    # Lines before the offset of `fixed` join its first chunk, above the limit.
    offset = _option(chunker, "offset") or 0
    for chunk in chunks:
        lines = chunk.text.splitlines()[max(0, offset - chunk.lines.start) :]
        full = [nws for nws in map(count_nws, lines) if nws]
        if len(full) > 1 and sum(full) > limit:
            return f"{chunk.chunk_id} has {sum(full)} non-whitespace characters on {len(full)} lines, above {limit}"
    return ""


def _deterministic(chunker: Chunker, file: SourceFile, chunks: Sequence[Chunk]) -> str | None:
    other = SourceFile(file.repo, "between.py", "def between():\n    return 'é'\n")
    _chunks_or_none(chunker, other)
    again = _chunks_or_none(chunker, file)
    if again is None:
        return "a second call failed"
    for first, second in zip_longest(chunks, again):
        if first != second:
            names = [chunk.chunk_id if chunk else "no chunk" for chunk in (second, first)]
            same = "with another text or header " if names[0] == names[1] else ""
            return f"a second call gave {names[0]} {same}in place of {names[1]}"
    return ""


def _line_ends(chunker: Chunker, file: SourceFile, chunks: Sequence[Chunk]) -> str | None:
    if "\r" in file.text or "\n" not in file.text:
        return None
    crlf = _chunks_or_none(chunker, SourceFile(file.repo, file.path, file.text.replace("\n", "\r\n")))
    if crlf is None:
        return "it fails on the same text with CRLF"
    for number, (lf, cr) in enumerate(zip_longest(chunks, crlf), start=1):
        if lf is None or cr is None or lf.lines != cr.lines:
            return f"chunk {number} is {_lines(lf)} with LF and {_lines(cr)} with CRLF"
    return ""


def _lines(chunk: Chunk | None) -> str:
    return f"lines {chunk.lines.start + 1} to {chunk.lines.end}" if chunk else "not there"


_LOOKS: Mapping[str, Callable[[Chunker, SourceFile, Sequence[Chunk]], str | None]] = {
    "nothing lost": _nothing_lost,
    "size": _size,
    "deterministic": _deterministic,
    "line ends": _line_ends,
}


def _spec_problem(chunker: Chunker) -> str:
    try:
        again = make_chunker(chunker.spec).spec
    except BenchError as error:
        return f"{chunker.spec} cannot be built again: {error}"
    return "" if again == chunker.spec else f"{chunker.spec} builds a chunker that prints {again}"


def _chunks_or_none(chunker: Chunker, file: SourceFile) -> Sequence[Chunk] | None:
    try:
        return [chunk for chunk in _cut(chunker, file) if isinstance(chunk, Chunk)]
    except BenchError:
        return None


def _option(chunker: Chunker, name: str) -> int | None:
    value = Spec.parse(chunker.spec).params.get(name, "")
    return int(value) if re.fullmatch(r"\d+", value) else None
