"""Which lines a hit brings, by rules on files written for them; and how they are read."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.cases import SAMPLES
from repoeval_bench.core.errors import LanguageError
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.metrics import score_run
from repoeval_bench.metrics.ceiling import ideal_rankings
from repoeval_bench.metrics.judged_run import ChunkPlace, Context, as_read, each_line_once, judge
from repoeval_bench.retrieval.expansion import Expansion
from support.cases import cases

CASES = cases(__file__)

FILE = SourceFile("r", "box.py", CASES["text"])


def brought(rule, start, end, file=FILE):
    """The lines that a chunk of lines [start, end) brings."""
    chunk = Chunk.cut(file, file.chars_of(LineSpan(start, end)))
    (lines,) = Expansion.parse(rule).of([chunk], {file.name: file}).values()
    return lines.start, lines.end


@pytest.mark.parametrize(("lines", "whole"), CASES["innermost"])
def test_the_innermost_definition_that_holds_a_hit_is_read_whole(lines, whole):
    assert brought("definition", *lines) == tuple(whole)


def test_lines_around_a_hit_end_with_the_file():
    assert brought("lines:3", 10, 12) == (7, 15)
    assert brought("lines:3", 1, 2) == (0, 5)
    assert brought("lines:3", 18, 20) == (15, 20)
    assert brought("lines:1000", 18, 20) == (0, 20)


@pytest.mark.parametrize("language", SAMPLES)
def test_every_language_has_definitions_around_a_hit(language):
    path, text = SAMPLES[language]
    file = SourceFile("r", path, text)
    chunks = make_chunker("window:lines=2,step=2").chunk(file)
    wide = Expansion.parse("definition").of(chunks, {file.name: file})
    assert all(wide[chunk.chunk_id].contains(chunk.lines) for chunk in chunks)
    assert any(wide[chunk.chunk_id] != chunk.lines for chunk in chunks)


def test_a_file_of_no_known_language_has_no_definitions():
    notes = SourceFile("r", "notes.txt", FILE.text)
    with pytest.raises(LanguageError, match=r"r/notes\.txt: its language is not known.*lines:N"):
        brought("definition", 1, 2, notes)
    assert brought("lines:1", 1, 2, notes) == (0, 3)


@pytest.mark.parametrize(
    "text",
    [
        *("lines", "lines:", "lines:0", "lines:-1", "lines:x", "lines:005", "lines:\u0663", "lines:100000"),
        *("lines:" + "9" * 5_000, "parent", "definition:2"),
    ],
)
def test_another_rule_is_refused(text):
    with pytest.raises(ValueError, match=re.escape(text)):
        Expansion.parse(text)
    assert Expansion.parse("none") is None


spans = st.tuples(st.integers(0, 20), st.integers(1, 8)).map(lambda at: LineSpan(at[0], at[0] + at[1]))
places = st.lists(st.builds(ChunkPlace, st.sampled_from(["a", "b"]), spans, st.sampled_from([0, 5])), max_size=8)


@given(places)
def test_every_line_is_read_once_where_it_is_first_brought(ranking):
    read, expected, headers = set(), [], 0
    for place in ranking:
        new = [(place.file, line) for line in place.lines if (place.file, line) not in read]
        expected += new
        headers += place.header_nws if new else 0
        read.update(new)
    result = list(each_line_once(ranking))
    assert [(place.file, line) for place in result for line in place.lines] == expected
    assert sum(place.header_nws for place in result) == headers


@pytest.mark.parametrize(
    ("hidden", "expected"),
    [((0, 3), (3, 15)), ((2, 5), (5, 15)), ((12, 14), (2, 12)), ((20, 30), (2, 15)), ((7, 8), (2, 15))],
)
def test_lines_that_a_query_may_not_see_are_not_brought(hidden, expected):
    """What is hidden ends what a hit brings on its side; in another file it does not."""
    known = Context(brought={"c": LineSpan(2, 15)}, hidden={"q": Place("a", LineSpan(*hidden))})
    place = ChunkPlace("a", LineSpan(6, 9), 4)
    assert as_read(known, "q", "c", place) == ChunkPlace("a", LineSpan(*expected), 4)
    assert as_read(known, "other", "c", place).lines == LineSpan(2, 15)
    other_file = ChunkPlace("b", LineSpan(6, 9), 4)
    assert as_read(known, "q", "c", other_file).lines == LineSpan(2, 15)


LINES = {"a": [10] * 20}
GOLD = {"q": (Place("a", LineSpan(4, 8)),)}
HITS = {"q": [("far", 2.0), ("near", 1.0)]}
PLACES = {"far": ChunkPlace("a", LineSpan(0, 2)), "near": ChunkPlace("a", LineSpan(6, 7))}


def recall(budget, **brought):
    known = Context(places=PLACES, gold=GOLD, line_nws=LINES, **brought)
    ((result,),) = score_run(HITS, {"q": {"near": 1.0}}, [f"line_recall@{budget}"], known).values.values()
    return float(result)


def test_what_is_brought_is_found_and_paid_for():
    """Lines of 10 nws: `far` brings lines 0 to 3, `near` lines 2 to 9, of which 4 to 9 are new; gold are 4 to 7."""
    wide = {"far": LineSpan(0, 4), "near": LineSpan(2, 10)}
    assert [recall(budget) for budget in (20, 30, 1000)] == [0.0, 0.25, 0.25]
    assert [recall(budget, brought=wide) for budget in (40, 50, 70, 80, 1000)] == [0.0, 0.25, 0.75, 1.0, 1.0]


def test_a_ceiling_reads_what_is_brought():
    """`near` has a line of the gold, and brings all of them among 20; `far` has none, and brings two among six."""
    known = Context(places=PLACES, gold=GOLD, line_nws=LINES, brought={"far": LineSpan(0, 6), "near": LineSpan(0, 20)})
    assert ideal_rankings({"q": {"near": 1.0, "far": 1.0}}, known) == {"q": ["far", "near"]}


def test_hits_that_bring_nothing_and_share_no_line_are_read_as_without():
    own = {chunk_id: place.lines for chunk_id, place in PLACES.items()}
    assert [recall(budget, brought=own) for budget in (20, 25, 30, 40)] == [recall(b) for b in (20, 25, 30, 40)]
    judged = judge(HITS, {"q": {"near": 1.0}}, Context(places=PLACES, brought=own))
    assert list(judged.read("q")) == judged.places("q")
