"""What comparing commands are given and must not choke on: pairs that do not fit, one query, no difference."""

import pytest

from support.command import bench, json_of, one_sentence, succeed
from support.runs import edit, write_run

OTHER = {"name": "made", "fingerprint": "1" * 12, "label": "made · 1", "tasks": 2}


@pytest.fixture
def gates(tmp_path):
    """A gate file with one limit on a mean and one on a drop."""
    path = tmp_path / "gates.yaml"
    path.write_text("gates: [{measure: mrr, at_least: 0.1}, {measure: mrr, max_drop: 0.1}]")
    return path


def test_runs_that_answer_other_questions_are_refused_by_every_command(tmp_path, gates):
    """Another protocol, data set and query set: every command lists all three differences."""
    a = write_run(tmp_path / "a", {"mrr": [1.0, 0.5]}).folder
    b = write_run(
        tmp_path / "b", {"mrr": [1.0, 0.5]}, protocol="body", dataset=OTHER, query_ids=["q000000", "x"]
    ).folder
    for command in (
        ("compare", a, b),
        ("diff", a, b, "-m", "mrr"),
        ("segments", a, b, "-m", "mrr"),
        ("gate", b, "--config", gates, "--baseline", a),
        ("report", a, b, "-o", tmp_path / "r.html"),
    ):
        sentence = one_sentence(bench(*command), 2)
        for piece in (
            *("protocol context against body", "made · 0 against made · 1", "1 query only in a (such as q000001)"),
            "1 query only in b (such as x)",
        ):
            assert piece in sentence, (command, sentence)


@pytest.mark.parametrize("command", ["export runs", "gate", "report"])
def test_means_that_its_queries_do_not_have_are_not_printed(tmp_path, gates, command):
    """A metrics.json that contradicts per_query.jsonl.gz is refused: either could be wrong."""
    run = write_run(tmp_path / "a", {"mrr": [0.5, 1.0], "ndcg@10": [0.25, 0.5]})
    edit(run, "metrics.json", macro={"mrr": 0.75, "ndcg@10": 0.99})
    options = {"export runs": ["--format", "csv"], "gate": ["--config", gates], "report": ["-o", tmp_path / "r.html"]}
    done = bench(*command.split(), run.folder, *options[command])
    assert "say different things of ndcg@10; run the evaluation again" in one_sentence(done, 1)
    assert not done.out


def test_one_query_only(tmp_path, gates):
    """One query shows nothing: no interval, no verdict, a gate that is refused; nothing crashes."""
    a, b = (
        write_run(tmp_path / name, {"mrr": [value]}, files=["f.py"], imported=True).folder
        for name, value in (("a", 0.2), ("b", 1.0))
    )
    (row,) = json_of("compare", a, b)["comparisons"]
    assert (row["ci"], row["p_adjusted"], row["verdict"]["outcome"]) == (None, 1.0, "not_significant")
    assert "not significant" in bench("compare", a, b).out
    assert "changed in 1 of 1 query" in bench("diff", a, b, "-m", "mrr").out
    assert "[too few files]" in bench("segments", a, b, "-m", "mrr", "--by", "repo").out
    refused = one_sentence(bench("gate", b, "--config", gates, "--baseline", a), 2)
    assert "gates[1]: its 1 query is in 1 file, and an interval takes at least 6" in refused
    done = succeed("logs", "diagnose", a)
    assert "The worst 1 of 1 query by MRR" in done.out
