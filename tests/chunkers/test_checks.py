"""The conformance suite finds what it says it finds, and shows it on a small input."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.chunkers.fixed import FixedChunker
from repoeval_bench.chunkers.tools import conformance
from repoeval_bench.chunkers.tools.conformance import (
    PROMISES,
    abbreviated,
    assert_chunker_conforms,
    broken_promises,
    check_chunker,
)
from repoeval_bench.chunkers.tools.smallest import smallest
from repoeval_bench.chunkers.window import WindowChunker
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan, LineSpan


@dataclass
class Based:
    """`fixed`, spoilt in one way; its spec is that of `fixed`, so that this promise holds."""

    spec = "fixed:max_nws=60,offset=0"

    def chunk(self, file):
        return self.spoil(file, FixedChunker(max_nws=60).chunk(file))


class ForgetsTheEnd(Based):
    def spoil(self, file, chunks):
        return chunks[:-1] if len(chunks) > 2 else chunks


class CountsBytes(Based):
    def spoil(self, file, chunks):
        return [
            replace(
                chunk,
                chars=CharSpan(*(len(file.text[:index].encode()) for index in (chunk.chars.start, chunk.chars.end))),
            )
            for chunk in chunks
        ]


class CountsLinesFromOne(Based):
    def spoil(self, file, chunks):
        return [replace(chunk, lines=LineSpan(chunk.lines.start + 1, chunk.lines.end + 1)) for chunk in chunks]


class Backwards(Based):
    def spoil(self, file, chunks):
        return chunks[::-1]


class Twice(Based):
    def spoil(self, file, chunks):
        return chunks[:1] + chunks


class KeepsBlanks(Based):
    def spoil(self, file, chunks):
        return [Chunk.cut(file, CharSpan(0, len(file.text)))] if file.text and not chunks else chunks


class TooLarge(Based):
    def spoil(self, file, chunks):
        return [Chunk.cut(file, CharSpan(0, len(file.text)))] if chunks else []


class Remembers(Based):
    last = "case.py"

    def spoil(self, file, chunks):
        before, self.last = self.last, file.path
        return chunks if before == file.path or not chunks else [Chunk.cut(file, CharSpan(0, len(file.text)))]


class Strings(Based):
    def spoil(self, file, chunks):
        return [chunk.text for chunk in chunks]


class FailsOnTabs(Based):
    def spoil(self, file, chunks):
        if "\t" in file.text:
            raise ValueError("tab")
        return chunks


class MindsLineEnds(Based):
    def spoil(self, file, chunks):
        return chunks[:1] if "\r" in file.text else chunks


@pytest.mark.parametrize(
    ("chunker", "promise"),
    [
        (ForgetsTheEnd, "nothing lost"),
        (CountsBytes, "slices"),
        (CountsLinesFromOne, "slices"),
        (Backwards, "in order"),
        (Twice, "in order"),
        (KeepsBlanks, "no blanks"),
        (TooLarge, "size"),
        (Remembers, "deterministic"),
        (Strings, "chunks"),
        (FailsOnTabs, "no failure"),
        (MindsLineEnds, "line ends"),
    ],
)
def test_each_defect_breaks_its_promise(chunker, promise: str, monkeypatch) -> None:
    monkeypatch.setattr(conformance, "smallest", partial(smallest, seconds=0.02))
    report = check_chunker(chunker(), examples=0)
    assert not report.conforms
    assert promise in {finding.promise for finding in report.findings if finding.n_broken}
    assert "does not conform" in str(report)


class PanicException(BaseException):
    """The form of a panic of Rust: no Exception."""


class SpeechlessError(Exception):
    def __str__(self):
        raise ValueError("no words")


class Raises(Based):
    def __init__(self, error):
        self.error = error

    def spoil(self, file, chunks):
        raise self.error


class ReturnsOdd(Based):
    def __init__(self, **odd):
        self.odd = odd

    def spoil(self, file, chunks):
        return [replace(chunk, **self.odd) for chunk in chunks]


class Unprintable:
    def __repr__(self):
        raise ValueError("no words")


class ReturnsUnprintable(Based):
    def spoil(self, file, chunks):
        return [Unprintable()]


@pytest.mark.parametrize(
    ("chunker", "promise"),
    [
        (Raises(SystemExit(0)), "no failure"),
        (Raises(PanicException("index out of bounds")), "no failure"),
        (Raises(RecursionError()), "no failure"),
        (Raises(MemoryError()), "no failure"),
        (Raises(SpeechlessError()), "no failure"),
        (ReturnsOdd(chars=None), "chunks"),
        (ReturnsOdd(text=None), "chunks"),
        (ReturnsOdd(lines=7), "chunks"),
        (ReturnsUnprintable(), "chunks"),
    ],
)
def test_whatever_is_raised_or_returned_breaks_a_promise(chunker, promise: str) -> None:
    """It ends neither the suite, nor with what was seen so far as if that were all."""
    assert promise in broken_promises(chunker, SourceFile("suite", "case.py", "a = 1\n"))
    assert promise in {item.promise for item in check_chunker(chunker, examples=0).findings if item.n_broken}


def test_the_input_that_is_shown_is_small() -> None:
    report = check_chunker(FailsOnTabs(), examples=3)
    (finding,) = [finding for finding in report.findings if finding.n_broken]
    assert finding.smallest == "\t"
    assert "ValueError: tab" in finding.detail
    assert finding.n_broken < finding.n_inputs


def test_a_spec_that_rebuilds_nothing_is_found() -> None:
    chunker = Based()
    chunker.spec = "no-such-chunker:size=3"
    chunker.spoil = lambda file, chunks: chunks
    report = check_chunker(chunker, examples=0)
    assert [finding.promise for finding in report.findings if finding.n_broken] == ["spec"]


def test_a_conforming_chunker_keeps_every_promise_and_overlap_is_only_reported() -> None:
    report = check_chunker(WindowChunker(), examples=3)
    assert report.conforms
    assert [finding.promise for finding in report.findings] == list(PROMISES)
    assert report.shared_lines > 0.5
    assert report.above_limit is None


def test_the_helper_for_plug_in_tests_raises_with_the_report() -> None:
    assert_chunker_conforms(FixedChunker(), examples=1)
    with pytest.raises(AssertionError, match="nothing lost   BREAKS"):
        assert_chunker_conforms(ForgetsTheEnd(), examples=0)


def test_the_suite_is_the_same_for_the_same_seed() -> None:
    assert check_chunker(FixedChunker(), examples=10, seed=3) == check_chunker(FixedChunker(), examples=10, seed=3)


def test_shrinking_leaves_what_the_failure_needs() -> None:
    text = "".join(f"line {index}\n" for index in range(200))
    assert smallest(text, lambda part: "7" in part and "9" in part) in ("79", "97")
    assert smallest("abc", lambda part: True) == "a"


@given(st.text(st.sampled_from("ab\n é("), min_size=1, max_size=80), st.sampled_from(["a", "b\n", "é(", "(("]))
def test_shrinking_ends_at_a_text_from_which_nothing_can_go(text: str, needed: str) -> None:
    """The result fails, and no text with one character less does: 1-minimal (Zeller & Hildebrandt 2002)."""
    fault = f"{text}{needed}{text}"
    assert smallest(fault, lambda part: needed in part) == needed


def test_what_is_left_is_made_plain() -> None:
    """A fault that needs eight characters on two lines is shown without the words that it does not need."""
    shown = smallest("def größe(x):\n\treturn ('other words', x)\n", lambda text: len(text) > 7 and "\n" in text)
    assert sorted(shown) == ["\n", *"aaaaaaa"]


def test_shrinking_ends_when_its_time_is_over() -> None:
    ticks = iter(range(10_000))
    text = "".join(f"line {index}\n" for index in range(2000))
    shown = smallest(text, lambda part: "1999" in part, seconds=5, clock=lambda: next(ticks))
    assert "1999" in shown
    assert next(ticks) < 20


class GivesNothing(Based):
    def spoil(self, file, chunks):
        return []


def test_a_promise_that_no_input_tried_does_not_hold() -> None:
    """A chunker that always raises returns nothing to look at: one promise broken, one kept, the others not tried."""
    report = check_chunker(Raises(RuntimeError("out of order")), examples=2)
    assert {finding.promise: finding.state for finding in report.findings} == {
        **dict.fromkeys(PROMISES, "not tried"),
        "no failure": f"BREAKS on {report.findings[0].n_inputs} of {report.findings[0].n_inputs} inputs",
        "spec": "holds on 1 input",
    }
    assert not any(finding.holds for finding in report.findings if not finding.n_inputs)
    assert str(report).count("not tried") == len(PROMISES) - 2
    assert "lines in more than one chunk: not measured, for no input gave a chunk" in str(report)
    assert "languages: 0 of 10; fails on python, javascript" in str(report)
    nothing = {finding.promise: finding.state for finding in check_chunker(GivesNothing(), examples=0).findings}
    assert {promise for promise, state in nothing.items() if state == "not tried"} == {"slices", "in order", "size"}
    assert nothing["nothing lost"].startswith("BREAKS")
    without_size = {finding.promise: finding.state for finding in check_chunker(WindowChunker(), examples=0).findings}
    assert {promise for promise, state in without_size.items() if state == "not tried"} == {"size"}


class Wavers(Based):
    calls = 0

    def spoil(self, file, chunks):
        self.calls += 1
        return chunks if self.calls > 1 else [Chunk.cut(file, CharSpan(0, len(file.text)))]


class HeadersOfNone(Based):
    def spoil(self, file, chunks):
        return [replace(chunk, header=None) for chunk in chunks]


class RewritesAsBlanks(Based):
    def spoil(self, file, chunks):
        return [replace(chunk, rewritten=" \n") for chunk in chunks]


class LosesTheEnd(Based):
    def spoil(self, file, chunks):
        return chunks[:1]


@pytest.mark.parametrize(
    ("chunker", "sentence"),
    [
        (Backwards, r"suite/a.py@0-120 comes behind suite/a.py@120-180 and starts before it"),
        (Twice, r"suite/a.py@0-120 is returned twice"),
        (LosesTheEnd, r"30 non-whitespace characters are in no chunk; the first, .*, is behind suite/a.py@0-120"),
        (Wavers, r"a second call gave suite/a.py@0-120 in place of suite/a.py@0-180"),
        (HeadersOfNone, r"header of suite/a.py@0-120 is a NoneType, not a text"),
        (RewritesAsBlanks, r"suite/a.py@0-120 is rewritten as whitespace"),
        (MindsLineEnds, r"chunk 2 is lines 61 to 90 with LF and not there with CRLF"),
    ],
)
def test_a_detail_names_both_chunks(chunker, sentence: str) -> None:
    file = SourceFile("suite", "a.py", "a\n" * 90)
    details = list(broken_promises(chunker(), file).values())
    assert any(re.fullmatch(sentence, detail) for detail in details), details


def test_a_long_text_is_shown_by_its_ends_and_length() -> None:
    assert abbreviated("ab") == "'ab'"
    shown = abbreviated("x" * 5000)
    assert len(shown) < 140
    assert "5000 characters" in shown
