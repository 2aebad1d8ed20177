"""The conformance suite finds what it says it finds, and shows it on a small input."""

import re
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import find
from hypothesis import strategies as st

from repoeval_bench.chunkers.fixed import FixedChunker
from repoeval_bench.chunkers.tools.cases import CASES
from repoeval_bench.chunkers.tools.conformance import (
    PROMISES,
    abbreviated,
    assert_chunker_conforms,
    broken_promises,
    check_chunker,
)
from repoeval_bench.chunkers.window import WindowChunker
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan, LineSpan


class Spoilt:
    """`fixed`, spoilt in one way; its spec is that of `fixed`, so that this promise holds."""

    spec = "fixed:max_nws=60,offset=0"

    def __init__(self, spoil):
        self.spoil = spoil

    def chunk(self, file):
        return self.spoil(file, FixedChunker(max_nws=60).chunk(file))


def whole(file):
    return [Chunk.cut(file, CharSpan(0, len(file.text)))]


def forgets_the_end(file, chunks):
    return chunks[:-1] if len(chunks) > 2 else chunks


def counts_bytes(file, chunks):
    def counted(index):
        return len(file.text[:index].encode())

    return [replace(chunk, chars=CharSpan(counted(chunk.chars.start), counted(chunk.chars.end))) for chunk in chunks]


def counts_lines_from_one(file, chunks):
    return [replace(chunk, lines=LineSpan(chunk.lines.start + 1, chunk.lines.end + 1)) for chunk in chunks]


def backwards(file, chunks):
    return chunks[::-1]


def twice(file, chunks):
    return chunks[:1] + chunks


def fails_on_tabs(file, chunks):
    if "\t" in file.text:
        raise ValueError("tab")
    return chunks


def minds_line_ends(file, chunks):
    return chunks[:1] if "\r" in file.text else chunks


def remembers():
    paths = ["case.py"]

    def spoil(file, chunks):
        paths.append(file.path)
        return chunks if paths[-2] == file.path or not chunks else whole(file)

    return spoil


@pytest.mark.parametrize(
    ("spoil", "promise"),
    [
        (forgets_the_end, "nothing lost"),
        (counts_bytes, "slices"),
        (counts_lines_from_one, "slices"),
        (backwards, "in order"),
        (twice, "in order"),
        (lambda file, chunks: whole(file) if file.text and not chunks else chunks, "no blanks"),
        (lambda file, chunks: whole(file) if chunks else [], "size"),
        (remembers(), "deterministic"),
        (lambda file, chunks: [chunk.text for chunk in chunks], "chunks"),
        (fails_on_tabs, "no failure"),
        (minds_line_ends, "line ends"),
    ],
)
def test_each_defect_breaks_its_promise(spoil, promise: str) -> None:
    report = check_chunker(Spoilt(spoil), examples=0)
    assert not report.conforms
    assert promise in {finding.promise for finding in report.findings if finding.n_broken}
    assert "does not conform" in str(report)


class PanicException(BaseException):
    """The form of a panic of Rust: no Exception."""


def raises(error):
    def spoil(file, chunks):
        raise error

    return spoil


def changes(**fields):
    return lambda file, chunks: [replace(chunk, **fields) for chunk in chunks]


class Unprintable:
    def __repr__(self):
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("spoil", "promise"),
    [
        (raises(SystemExit(0)), "no failure"),
        (raises(PanicException("index out of bounds")), "no failure"),
        (changes(chars=None), "chunks"),
        (changes(text=None), "chunks"),
        (changes(lines=7), "chunks"),
        (lambda file, chunks: [Unprintable()], "chunks"),
    ],
)
def test_whatever_is_raised_or_returned_breaks_a_promise(spoil, promise: str) -> None:
    """It ends neither the suite, nor with what was seen so far as if that were all."""
    assert promise in broken_promises(Spoilt(spoil), SourceFile("suite", "case.py", "a = 1\n"))
    assert promise in {item.promise for item in check_chunker(Spoilt(spoil), examples=0).findings if item.n_broken}


def test_the_shortest_input_is_shown() -> None:
    report = check_chunker(Spoilt(fails_on_tabs), examples=0)
    (finding,) = [finding for finding in report.findings if finding.n_broken]
    assert finding.shortest == CASES["blank lines"]
    assert "ValueError: tab" in finding.detail
    assert finding.n_broken < finding.n_inputs


def test_a_spec_that_rebuilds_nothing_is_found() -> None:
    chunker = Spoilt(lambda file, chunks: chunks)
    chunker.spec = "no-such-chunker:size=3"
    report = check_chunker(chunker, examples=0)
    assert [finding.promise for finding in report.findings if finding.n_broken] == ["spec"]


def test_a_conforming_chunker_keeps_every_promise_also_with_overlap() -> None:
    report = check_chunker(WindowChunker(), examples=3)
    assert report.conforms
    assert [finding.promise for finding in report.findings] == list(PROMISES)


def test_the_helper_for_plug_in_tests_raises_with_the_report() -> None:
    assert_chunker_conforms(FixedChunker(), examples=1)
    with pytest.raises(AssertionError, match="nothing lost   BREAKS"):
        assert_chunker_conforms(Spoilt(forgets_the_end), examples=0)


def test_the_suite_is_the_same_for_the_same_seed() -> None:
    assert check_chunker(FixedChunker(), examples=10, seed=3) == check_chunker(FixedChunker(), examples=10, seed=3)


def test_hypothesis_shrinks_to_the_smallest_file_that_breaks_a_promise() -> None:
    files = st.text(st.sampled_from("ab\n\té(")).map(lambda text: SourceFile("suite", "a.py", text))
    file = find(files, lambda file: "no failure" in broken_promises(Spoilt(fails_on_tabs), file))
    assert file.text == "\t"


def test_a_promise_that_no_input_tried_does_not_hold() -> None:
    """A chunker that always raises returns nothing to look at: one promise broken, one kept, the others not tried."""
    report = check_chunker(Spoilt(raises(RuntimeError("out of order"))), examples=2)
    assert {finding.promise: finding.state for finding in report.findings} == {
        **dict.fromkeys(PROMISES, "not tried"),
        "no failure": f"BREAKS on {report.findings[0].n_inputs} of {report.findings[0].n_inputs} inputs",
        "spec": "holds on 1 input",
    }
    assert str(report).count("not tried") == len(PROMISES) - 2
    empty = Spoilt(lambda file, chunks: [])
    nothing = {finding.promise: finding.state for finding in check_chunker(empty, examples=0).findings}
    assert {promise for promise, state in nothing.items() if state == "not tried"} == {"slices", "in order", "size"}
    assert nothing["nothing lost"].startswith("BREAKS")
    without_size = {finding.promise: finding.state for finding in check_chunker(WindowChunker(), examples=0).findings}
    assert {promise for promise, state in without_size.items() if state == "not tried"} == {"size"}


def wavers():
    calls = count()
    return lambda file, chunks: chunks if next(calls) else whole(file)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (backwards, r"suite/a.py@0-120 comes behind suite/a.py@120-180 and starts before it"),
        (twice, r"suite/a.py@0-120 is returned twice"),
        (lambda file, chunks: chunks[:1], r"30 non-whitespace characters are in no chunk; .* suite/a.py@0-120"),
        (wavers(), r"a second call gave suite/a.py@0-120 in place of suite/a.py@0-180"),
        (changes(header=None), r"header of suite/a.py@0-120 is a NoneType, not a text"),
        (changes(rewritten=" \n"), r"suite/a.py@0-120 is rewritten as whitespace"),
        (minds_line_ends, r"chunk 2 is lines 61 to 90 with LF and not there with CRLF"),
    ],
)
def test_a_detail_names_both_chunks(spoil, sentence: str) -> None:
    file = SourceFile("suite", "a.py", "a\n" * 90)
    details = list(broken_promises(Spoilt(spoil), file).values())
    assert any(re.fullmatch(sentence, detail) for detail in details), details


def test_a_long_text_is_shown_by_its_ends_and_length() -> None:
    assert abbreviated("ab") == "'ab'"
    shown = abbreviated("x" * 5000)
    assert len(shown) < 140
    assert "5000 characters" in shown
