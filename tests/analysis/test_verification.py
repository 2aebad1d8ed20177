"""What counts as the same value when a run is compared with its recomputation."""

import shutil

import pytest

from repoeval_bench.analysis.verification import compare_replay
from repoeval_bench.runs.inspection import CHUNKS, QUERIES, SOURCES
from repoeval_bench.runs.view import Replay, RunView
from support.runs import change, write_run, write_text

MEASURE = "rbp(p=0.9)"


@pytest.fixture
def differing(tmp_path):
    """The files and values that differ from an honest run, once `edit` has changed its file of this name."""
    honest = write_run(tmp_path / "honest", {MEASURE: [0.25, 0.5, 0.75]}, repos=["a", "a", "b"]).folder
    for name in (SOURCES, CHUNKS, QUERIES):
        write_text(honest / name, "")

    def call(name, edit):
        forged = shutil.copytree(honest, tmp_path / "forged")
        change(forged / name, edit)
        again = Replay(
            run=RunView(honest), unseen={}, stored={}, computed=None, reason="", tolerance=0.0, counts_tokens=False
        )
        differences = compare_replay(RunView(forged), again, "data").differences
        return [(difference.file, difference.value) for difference in differences]

    return call


def test_names_with_a_dot_are_not_taken_for_others(differing):
    """A repository `a.rbp(p=0` with the score `9)` has the same letters as `a` with `rbp(p=0.9)`."""

    def move(metrics):
        metrics["per_repo"]["a.rbp(p=0"] = {"9)": metrics["per_repo"]["a"].pop(MEASURE)}

    named = ("metrics.json", "per_repo.a.rbp(p=0.9)")
    assert differing("metrics.json", move) == [("metrics.json", "per_repo.a"), named, named]


@pytest.mark.parametrize(
    ("name", "edit", "value"),
    [
        ("metrics.json", lambda metrics: metrics["per_repo"].update(c={}), "per_repo.c"),
        ("manifest.json", lambda manifest: manifest["dataset"].update(part={}), "dataset.part"),
        ("per_query.jsonl.gz", lambda row: row["facts"].update(code=1), "q000000: facts.code"),
        ("per_query.jsonl.gz", lambda row: row["facts"].update(index="good"), "q000000: facts.index"),
        ("metrics.json", lambda metrics: metrics["macro"].update(truncated=0.9), "macro.truncated"),
        (
            "per_query.jsonl.gz",
            lambda row: row["measures"].update({MEASURE: row["measures"][MEASURE] + 9e-10}),
            f"q000000: measures.{MEASURE}",
        ),
    ],
)
def test_what_is_empty_and_names_of_other_files_are_compared(differing, name, edit, value):
    assert (name, value) in differing(name, edit)
