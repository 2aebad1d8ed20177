"""Exclusion, merged windows, duplicates, overlaps: worked out by hand on one file of 60 lines."""

from types import SimpleNamespace

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.run import Query
from repoeval_bench.core.source import SourceFile, blanked, summarize
from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.protocols.queries import gold_in_query
from repoeval_bench.protocols.registry import CoderagWindows
from repoeval_bench.retrieval.corpus import build_corpus, merge_identical
from support.written import task

FILE = SourceFile("r", "p.py", "".join(f"line{i} = {i}\n" for i in range(60)))
TASK = task(prompt="line5 = 5\nline6 = 6", body=LineSpan(40, 44), context_start=5)
TENS = make_chunker("window:lines=10,step=10")


def spans(chunks, ids=None):
    return [(c.lines.start, c.lines.end) for c in chunks if ids is None or c.chunk_id in ids]


def test_blanked_lines_keep_every_line_in_its_place():
    """Only the ground truth's lines are empty; the rest has its text and its number, also at the file's end."""
    blank = blanked(FILE, LineSpan(40, 44))
    assert blank.n_lines == FILE.n_lines
    lines = blank.text.splitlines()
    assert [i for i, line in enumerate(lines) if not line] == [40, 41, 42, 43]
    assert lines[44] == "line44 = 44"
    assert blanked(SourceFile("r", "p", "a\x0cb\nc"), LineSpan(0, 3)).n_lines == 3


def test_a_query_has_its_files_chunks_anew_where_the_body_is_blanked():
    """Ids carry the task; the text has no line of the ground truth; other tasks' files are not chunked again."""
    files = {"r": (FILE,)}
    corpus = build_corpus(files, TENS, tasks=[TASK])
    own = corpus.own["r/0"]
    assert all(chunk.chunk_id.endswith("#r/0") for chunk in own)
    assert "line40" not in "".join(chunk.text for chunk in own)
    assert "line39" in "".join(chunk.text for chunk in own)
    assert len(list(corpus)) == corpus.n_chunks + len(own)


@pytest.mark.parametrize(("fails_on", "skipped", "failed"), [("= 41", 1, []), ("= 39\n\n", 0, ["r/0"])])
def test_a_text_that_the_chunker_fails_on_is_left_out_for_its_query_too(fails_on, skipped, failed):
    """If it fails on the whole file, the query has no chunk of it either; it may fail without the body alone."""

    def chunk(file):
        assert fails_on not in file.text
        return TENS.chunk(file)

    files = {"r": (FILE, SourceFile("r", "q.py", "1\n"))}
    corpus = build_corpus(files, SimpleNamespace(spec="odd", chunk=chunk), tasks=[TASK], skip_errors=True)
    assert (len(corpus.skipped), [*corpus.failed_own]) == (skipped, failed)
    assert corpus.own == {"r/0": ()}


def test_coderag_windows():
    """n = 0, 10, 20, …: [max(0, n-25), min(len, n+25)), titled; identical lines within a repository are merged."""
    assert spans(CoderagWindows().chunk(FILE)) == [(0, 25), (0, 35), (0, 45), (5, 55), (15, 60), (25, 60)]
    assert CoderagWindows().chunk(FILE)[0].embed_text.startswith("r-p.py\nline0 = 0\n")
    short = SourceFile("r", "q.py", "a\nb\n")
    copy = SourceFile("r", "s.py", "a\nb")
    files = {"r": (FILE, short, copy), "t": (SourceFile("t", "q.py", "a\nb\n"),)}
    merged = merge_identical(build_corpus(files, CoderagWindows()))
    assert [chunk.path for chunk in merged.chunks["r"]] == ["p.py"] * 6 + ["q.py"]
    assert len(merged.chunks["t"]) == 1
    assert list(merged.merged.values()) == [merged.chunks["r"][-1].chunk_id]
    assert [chunk.path for chunk in merged.dropped["r"]] == ["s.py"]


def test_coderag_leaves_out_blank_windows():
    """A file of blanks has no document, and a long gap in a file none of its own; every other window is there."""
    blank = SourceFile("r", "a/__init__.py", "\n")
    gap = SourceFile("r", "gap.py", "x = 1\n" + "\n" * 80 + "y = 2\n")
    corpus = build_corpus({"r": (blank, gap, SourceFile("r", "empty.py", ""))}, CoderagWindows())
    assert spans(corpus.chunks["r"]) == [(0, 25), (0, 35), (0, 45), (35, 82), (45, 82), (55, 82)]


def test_duplicates_are_counted_within_a_repository():
    """The same text but for blanks at its ends, twice in one repository, counts twice; in another it does not."""
    files = {
        "r": (SourceFile("r", "a.py", "x = 1\n"), SourceFile("r", "b.py", "x = 1\n\n")),
        "t": (SourceFile("t", "a.py", "x = 1\n"),),
    }
    assert build_corpus(files, TENS).n_duplicates == 2


def test_the_overlap_is_what_stands_in_the_query():
    """Gold lines, of any file, found in the query by text."""
    queries = [Query("r/0", "r", "  line5 = 5\nline41 = 41")]
    files = {file.name: file for file in (FILE, SourceFile("r", "other.py", "line5 = 5\n\nline6 = 6\n"))}
    here, other = Place("r/p.py", LineSpan(40, 44)), Place("r/other.py", LineSpan(0, 3))
    assert gold_in_query(queries, files, {"r/0": (here,)}) == {"r/0": 1 / 4}
    assert gold_in_query(queries, files, {"r/0": (here, other, other)}) == {"r/0": 2 / 6}
    assert gold_in_query(queries, files, {"r/0": ()}) == {"r/0": 0.0}


def test_summary_of_sizes():
    """Mean, median, p95 and max by nearest rank; zeros for nothing."""
    assert summarize([4, 1, 2, 3]) == {"mean": 2.5, "median": 2, "p95": 4, "max": 4}
    assert summarize([])["mean"] == 0.0
