"""`retrieval`, `hard-negatives`, `pool` and `bounds` on runs made here, on one query, and on mistakes."""

import json

import pytest

from plugins.logs.made_logs import chunks, row
from repoeval_bench.cli import app
from repoeval_bench.core.errors import BenchError
from support.command import json_of
from support.runs import write_rows

SECTIONS = ("reranker", "router", "freshness", "no-answer", "latency")


def call(*words):
    """A command in this process; its errors as they are raised."""
    return app.main([str(word) for word in words], standalone_mode=False)


@pytest.fixture
def said(capsys):
    """What a command prints."""

    def printed(*words):
        capsys.readouterr()
        call(*words)
        return capsys.readouterr().out

    return printed


def imported(folder, rows, gold, *options):
    """The folder of a log that was imported."""
    folder.mkdir()
    log = write_rows(folder / "log.jsonl", (row.model_dump_json(exclude_none=True) for row in rows))
    truth = write_rows(folder / "gold.jsonl", ({"query_id": q, "chunk_id": c} for q, cs in gold.items() for c in cs))
    call("logs", "import", log, "--gold", truth, "--out", folder / "results", *options)
    (run,) = (folder / "results").iterdir()
    return run


@pytest.fixture
def run(tmp_path):
    """Two queries, ranked to depth 10."""
    return imported(tmp_path / "two", [row("a", "xyz"), row("b", "yx")], {"a": "x", "b": "xz"})


def test_runs_made_here_tell_their_latency(evaluate, tmp_path):
    """Of each step and together; what a log would have to say is missing, in a sentence each."""
    assert evaluate("-c", "ast:max_nws=400", "--retriever", "rerank:overlap").code == 0
    (folder,) = (tmp_path / "results").iterdir()
    sections = {section["name"]: section for section in json_of("logs", "pipeline", folder)["sections"]}
    assert tuple(sections) == SECTIONS
    figures = {name: {f["name"]: f for f in section["figures"]} for name, section in sections.items()}
    assert any("embedding" in note for note in sections["latency"]["notes"])
    assert {"retrieve, median", "rerank, p90", "together, median"} <= set(figures["latency"])
    assert all(sections[name]["missing"] for name in SECTIONS if name != "latency")


def test_one_query_has_values_and_no_interval(tmp_path, said):
    """Every section and command speaks; none makes up a spread."""
    fields = {"as_of": "2024-01-01", "source": "s", "expected_source": "s"}
    fields |= {"latency_ms": {"retrieve": 1.0}, "raw_topk": chunks("x")}
    (chunk,) = chunks("x", doc_version={"x": "2023-01-01"})
    run = imported(tmp_path / "one", [row("a", [chunk], **fields)], {"a": "x"})
    for section in json.loads(said("logs", "pipeline", run, "--json"))["sections"]:
        assert all(figure["ci"] is None for figure in section["figures"]), section
    assert "[too few files]" in said("logs", "pipeline", run)
    call("logs", "hard-negatives", run)
    judgements = write_rows(tmp_path / "j.jsonl", [{"query_id": "a", "chunk_id": "x", "grade": 2}])
    calibration = write_rows(tmp_path / "c.jsonl", [{"gold": grade, "judge": grade} for grade in (2, 0)])
    text = said("logs", "bounds", run, "--judgements", judgements, "--calibration", calibration)
    assert "corrected (Rogan-Gladen): 1.0000 [too few files]" in text


def test_a_shallow_run_is_read_to_its_depth(tmp_path, said):
    """Where the log ranks 4 and no -k is given."""
    rows = [row(q, "xyz").model_copy(update={"k_raw": 4, "raw_topk": row(q, "zyx").topk}) for q in "ab"]
    run = imported(tmp_path / "shallow", rows, {"a": "x", "b": "y"}, "-m", "mrr")
    page = json.loads(said("logs", "pipeline", run, "--json", "--section", "reranker"))
    assert page["k"] == 4
    assert "ndcg@4" in {figure["name"] for figure in page["sections"][0]["figures"]}


def test_mistakes_end_in_one_sentence(run, tmp_path):
    """Each names the thing, the value and the way out."""
    other = imported(tmp_path / "other", [row("a", "xyz")], {"a": "x"})
    judgements = tmp_path / "j.jsonl"
    judgements.write_text('{"query_id": "zz", "chunk_id": "x", "grade": 2}\n')
    pool = tmp_path / "pool.jsonl"
    call("logs", "pool", run, "-o", pool)
    for words, message in (
        (("logs", "pipeline", run, "-k", 11), "k 11 is deeper than the 10 chunks"),
        (("logs", "pool", run, other, "-o", tmp_path / "p.jsonl"), "have different data"),
        (("logs", "pool", run, "-o", pool), "exists already, perhaps with judgements"),
        (("logs", "bounds", run, "--judgements", judgements), "judges none of the run's queries, such as 'a'"),
        (("logs", "bounds", run, "--judgements", pool), "has no grade"),
        (("logs", "bounds", run, "--judgements", judgements, "-m", "bpref"), "bpref is scored for every log that"),
        (("logs", "bounds", run, "--judgements", judgements, "-m", "ndcg@7"), "ndcg@7 cannot be bounded; choose from"),
    ):
        with pytest.raises(BenchError) as error:
            call(*words)
        assert message in str(error.value), words
