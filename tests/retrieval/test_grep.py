"""Grep as a retriever: its lines are those of ripgrep and GNU grep, and its order is the formula's."""

import math
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.run import Query
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.retrieval.grep import GrepRetriever, keywords_of

ROOM = Path(__file__).resolve().parents[2] / "repoeval_bench" / "retrieval"
QUESTIONS = (
    "The ids of the chunks that a query may not see.",
    "Return the lines of the innermost definition around a hit, with comments above it.",
    "Weigh each term by its frequency, and normalise by the length of the document",
    "zebra crossing",
)


def lines(*files):
    return tuple(
        Chunk.cut(file, file.chars_of(LineSpan(line, line + 1)))
        for file in files
        for line in range(file.n_lines)
        if file.line_text(LineSpan(line, line + 1)).strip()
    )


def grep(text, chunks, own=(), excluded=None, k=1000, **options):
    retriever = GrepRetriever({"r": chunks}, {"q": own}, **options)
    return retriever.search([Query("q", "r", text)], k, excluded).rankings["q"]


def place(chunk_id, chunks):
    (chunk,) = (chunk for chunk in chunks if chunk.chunk_id == chunk_id)
    return chunk.path, chunk.lines.start + 1


@pytest.mark.parametrize("tool", ["rg", "grep"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_lines_are_those_that_a_tool_lists(tool, question):
    """Over this project's own files; every line that holds a keyword, and no other."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed; a Debian package has it")
    command = {"rg": ["rg", "--no-config", "-n", "--no-heading", "-H"], "grep": ["grep", "-n", "-H"]}[tool]
    patterns = [word for keyword in keywords_of(question) for word in ("-e", keyword)]
    paths = [str(path) for path in sorted(ROOM.glob("*.py"))]
    listed = subprocess.run(
        [*command, "-i", "-F", *patterns, *paths], capture_output=True, text=True, check=False, timeout=60
    ).stdout
    theirs = {(path, int(number)) for path, number, _ in (row.split(":", 2) for row in listed.splitlines())}
    chunks = lines(*(SourceFile("r", path, Path(path).read_text("utf-8")) for path in paths))
    ranking = grep(question, chunks, k=10**6, keywords=100, hits=10**6)
    assert {place(chunk_id, chunks) for chunk_id, _ in ranking} == theirs
    assert bool(theirs) == (question != "zebra crossing")


def test_a_line_scores_the_weights_of_its_keywords():
    file = SourceFile("r", "a.py", "load_Session(path)\nsession = 1\nother = 2\npath = 3\n")
    ranking = grep("the session's Path of it", chunks := lines(file))
    weight = math.log(1 + 4 / 2)
    assert [place(name, chunks)[1] for name, _ in ranking] == [1, 4, 2]
    assert [score for _, score in ranking[1:]] == [pytest.approx(weight, abs=1e-5)] * 2
    assert ranking[0][1] == pytest.approx(2 * weight, abs=1e-5)


def test_the_rarest_words_are_taken_and_the_first_hits_count():
    file = SourceFile("r", "a.py", "common rare\ncommon\ncommon\n")
    assert len(grep("common rare", lines(file), keywords=1)) == 1
    (first, second) = grep("common", lines(file), hits=2)
    assert {place(name, lines(file))[1] for name, _ in (first, second)} == {1, 2}


def test_what_a_query_may_not_see_neither_counts_nor_is_listed():
    file = SourceFile("r", "a.py", "alpha\nalpha\nbeta\n")
    chunks = lines(file)
    hidden = {"q": frozenset({chunks[0].chunk_id})}
    own = lines(SourceFile("r", "a.py", "\nalpha gamma\n"))
    ranking = grep("alpha gamma", chunks, own, hidden)
    assert chunks[0].chunk_id not in dict(ranking)
    assert dict(ranking)[own[0].chunk_id] == pytest.approx(math.log(1 + 3 / 2) + math.log(1 + 3 / 1), abs=1e-5)


@given(
    text=st.lists(st.sampled_from(["alpha", "beta gamma", "alpha beta", "delta", "x"]), max_size=12),
    question=st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "eta"]), max_size=4),
)
def test_exactly_the_lines_with_a_keyword_are_listed_once(text, question):
    files = [SourceFile("r", f"{name}.py", "\n".join(text[name::2]) + "\n") for name in (0, 1)]
    chunks = lines(*files)
    ranking = grep(" ".join(question), chunks)
    holding = {chunk.chunk_id for chunk in chunks if any(word in chunk.text for word in question)}
    assert {name for name, _ in ranking} == holding
    assert len(ranking) == len(holding)


def test_a_second_round_looks_for_the_rarest_words_of_what_was_read():
    """What was read comes first, in its order; a word that only what was read holds is not looked for."""
    file = SourceFile("r", "a.py", "alpha once\nhelper(x)\n\nz\nz\nz\nalpha\nz\nhelper = 2\nz\n")
    chunks = lines(file)
    assert [place(name, chunks)[1] for name, _ in grep("alpha", chunks, read=2)] == [7, 1]
    read = [place(name, chunks)[1] for name, _ in grep("alpha", chunks, read=2, around="lines:1", keywords=1)]
    assert read[:2] == [7, 1]
    assert set(read[2:]) == {2, 9}  # `once` is rarer, and only where it was read


def test_a_second_round_sees_what_the_query_may_see():
    file = SourceFile("r", "a.py", "alpha\nsecret\nmore\nmore\nsecret\n")
    chunks = lines(file)
    hidden = {"q": frozenset({chunks[1].chunk_id})}
    assert len(grep("alpha", chunks, excluded=hidden, read=1, around="lines:1")) == 1
    assert len(grep("alpha", chunks, read=1, around="lines:1")) == 3


def test_a_second_round_reads_lines():
    with pytest.raises(SpecError, match="cannot be combined"):
        grep("alpha", (), read=3, around="definition")


def test_keywords_are_words_of_three_letters_that_are_no_stop_words():
    assert keywords_of("Is it the URL? url_for(x), the URL") == ["url", "url_for"]
    assert keywords_of("a an of") == []
