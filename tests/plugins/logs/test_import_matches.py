"""Gold, log and corpus that share nothing: refused, because every score would be 0 whatever the system found."""

import re

import pytest

from plugins.logs.made_logs import log_row
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.plugins.logs.import_log import import_run
from support.cases import cases
from support.command import bench, json_of, one_sentence
from support.runs import write_rows

CASES = cases(__file__)

N = 4


def place(file, lines=(0, 10)):
    return {"file": file} | ({"start_line": lines[0], "end_line": lines[1]} if lines else {})


def imported(folder, gold, ranked, corpus=None, **options):
    """A run of one row per query in each list: gold rows, ranked chunks, and the chunks of the corpus."""
    named = lambda rows: [{"query_id": f"q{i}", **row} for i, row in enumerate(rows)]  # noqa: E731 - one expression
    log = [log_row(f"q{i}", [{"rank": 1, "score": 1.0, **chunk}] if chunk else []) for i, chunk in enumerate(ranked)]
    return import_run(
        write_rows(folder / "log.jsonl", log),
        write_rows(folder / "gold.jsonl", named(gold)),
        folder / "out",
        created="2026-01-01",
        corpus=write_rows(folder / "corpus.jsonl", corpus) if corpus else None,
        **options,
    )


def chunks(spelling, **more):
    return [{"chunk_id": f"c{i}", **place(spelling.format(i)), **more} for i in range(N)]


@pytest.mark.parametrize("lines", [(0, 5), None])
@pytest.mark.parametrize("with_corpus", [False, True])
@pytest.mark.parametrize(("gold", "log"), CASES["files"])
def test_files_of_other_names_are_refused_with_one_of_each(tmp_path, gold, log, with_corpus, lines):
    other = "corpus" if with_corpus else "log"
    rows = [place(gold.format(i), lines) for i in range(N)]
    with pytest.raises(ResultError, match=f"gold and {other} share no file") as caught:
        imported(tmp_path, rows, chunks(log), chunks(log) if with_corpus else None)
    assert f"the gold has {gold.format(0)!r}, the {other} has {log.format(0)!r}; name files alike" in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("gold", "ranked", "corpus", "message"), CASES["chunk ids"])
def test_chunk_ids_of_other_names_are_refused_with_one_of_each(tmp_path, gold, ranked, corpus, message):
    ranked = [{"chunk_id": name} if name else None for name in ranked]
    corpus = [{"chunk_id": name, "file": "r/a.py"} for name in corpus] if corpus else None
    with pytest.raises(ResultError, match=message):
        imported(tmp_path, [{"chunk_id": name} for name in gold], ranked, corpus)


@pytest.mark.parametrize("lines", [(0, 5), None])
def test_a_corpus_of_other_chunk_ids_is_refused(tmp_path, lines):
    """Its chunks would be relevant, and no ranked one could be one of them."""
    corpus = [row | {"chunk_id": f"d{i}"} for i, row in enumerate(chunks("r/a{}.py"))]
    with pytest.raises(ResultError, match="share no chunk id: the corpus has 'd0', the log has 'c0'"):
        imported(tmp_path, [place("r/a0.py", lines)], chunks("r/a{}.py"), corpus)


@pytest.mark.parametrize(("corpus", "other"), [(chunks("r/a{}.py"), "corpus"), (None, "log")])
def test_chunks_without_a_line_of_the_gold_are_refused(tmp_path, corpus, other):
    message = f"no chunk of the {other} has a line of the gold, such as 700 to 800 of 'r/a0.py'"
    with pytest.raises(ResultError, match=message):
        imported(tmp_path, [place("r/a0.py", (700, 800))], chunks("r/a{}.py"), corpus)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ([], r"log\.jsonl ranks 'c0', which is not in the corpus"),
        ([place("r/x.py")], "chunk 'c0' is lines 0 to 10 of r/x.py and lines 0 to 10 of r/a0.py; give the corpus of"),
        ([place("r/a0.py", (1, 11))], "chunk 'c0' is lines 1 to 11 of r/a0.py and lines 0 to 10 of r/a0.py"),
        (
            [place("r/a0.py"), place("r/x.py", None)],
            r"corpus\.jsonl:2: chunk 'c0' is lines 0 to 10 of r/a0.py and r/x.py",
        ),
    ],
)
@pytest.mark.parametrize("gold", [{"chunk_id": "c0"}, place("r/a0.py", None)])
def test_a_corpus_that_contradicts_the_log_is_refused(tmp_path, gold, changed, message):
    """A ranked chunk that it lacks, or has elsewhere, would count as not relevant."""
    log = chunks("r/a{}.py")
    with pytest.raises(ResultError, match=message):
        imported(tmp_path, [gold], log, [{"chunk_id": "c0", **row} for row in changed] + log[1:])


def test_places_that_only_one_of_log_and_corpus_knows_are_no_contradiction(tmp_path):
    log = [{"chunk_id": "c0"}, {"chunk_id": "c1", **place("r/a1.py")}]
    corpus = [{"chunk_id": "c0", **place("r/a0.py")}, {"chunk_id": "c1", "file": "r/a1.py"}]
    run = imported(tmp_path, [place("r/a0.py", None), place("r/a1.py", None)], log, corpus * 2, measures=["mrr"])
    assert run.metrics.micro["mrr"] == 1.0


@pytest.mark.parametrize("gold", [{"chunk_id": "c0"}, place("r/a0.py", None), place("r/a0.py")])
def test_gold_without_a_relevant_row_is_refused(tmp_path, gold):
    with pytest.raises(ResultError, match=r"gold\.jsonl has no gain above 0, so every score would be 0"):
        imported(tmp_path, [gold | {"gain": 0.0}], chunks("r/a{}.py"))


def test_a_log_without_files_cannot_have_gold_of_files(tmp_path):
    with pytest.raises(UsageError, match="has no files, so gold of files needs the chunks' places; give --corpus"):
        imported(tmp_path, [place("r/a.py", None)], [{"chunk_id": "c"}])


def test_what_a_corpus_names_can_be_missed(tmp_path):
    """Where the gold is in the corpus a system that found nothing of it scores 0, in all three kinds of gold."""
    corpus = chunks("r/a{}.py")
    for gold in ({"chunk_id": "c3"}, place("r/a3.py"), place("r/a3.py", None)):
        run = imported(tmp_path, [gold], [corpus[0]], corpus, measures=["mrr"])
        assert run.metrics.micro["mrr"] == 0.0
        assert run.counts.queries_without_relevant == 0


@pytest.mark.parametrize(("n_known", "noted"), [(1, True), (2, False), (4, False)])
@pytest.mark.parametrize("kind", ["chunk ids", "files"])
def test_gold_of_which_little_is_known_is_noted(tmp_path, kind, n_known, noted):
    """Less than half of its files or chunk ids: a note in print and in JSON, with both numbers."""
    names = [i if i < n_known else i + 100 for i in range(N)]
    gold = [{"chunk_id": f"c{i}"} if kind == "chunk ids" else place(f"r/a{i}.py") for i in names]
    run = imported(tmp_path, gold, chunks("r/a{}.py"))
    assert (run.counts.gold_names, run.counts.gold_names_known) == ((4, 1) if noted else (None, None))
    words = ("logs", "import", tmp_path / "log.jsonl", "--gold", tmp_path / "gold.jsonl", "--out", tmp_path / "again")
    sentence = f"only 1 of the gold's 4 {kind} are in the log or the corpus"
    assert (sentence in re.sub(r"\s+", " ", bench(*words).out)) == noted
    assert any(sentence in note for note in json_of(*words)["notes"]) == noted


def test_gold_that_a_corpus_lacks_is_noted(tmp_path):
    """A corpus is whole: a name that it lacks is never found."""
    gold = [place(f"r/a{i}.py") for i in (0, 1, 2, 100)]
    run = imported(tmp_path, gold, chunks("r/a{}.py"), chunks("r/a{}.py"))
    assert (run.counts.gold_names, run.counts.gold_names_known) == (4, 3)


def test_the_command_refuses_in_one_sentence(tmp_path):
    log = write_rows(tmp_path / "log.jsonl", [log_row("q", [{"rank": 1, "chunk_id": "a", "score": 1.0}])])
    gold = write_rows(tmp_path / "gold.jsonl", [{"query_id": "q", "chunk_id": "b"}])
    message = one_sentence(bench("logs", "import", log, "--gold", gold, "--out", tmp_path / "out"), 2)
    assert "or name all with --corpus" in message
