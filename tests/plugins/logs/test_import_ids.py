"""Query ids and chunk ids of another system's log: however they are spelled, and whichever it lacks."""

import json

import pytest

from plugins.logs.made_logs import chunks, log_row
from support.command import json_of, succeed
from support.runs import write_rows


def two_runs(folder, mark, *, second=6):
    """Results with two runs of six queries, and their ids; `mark` stands in every query id and chunk id.

    The log of the second run has the first `second` queries alone.
    """
    gold = [{"query_id": f"Q{mark}{i}", "chunk_id": f"C{mark}b"} for i in range(6)]
    truth = write_rows(folder / "gold.jsonl", gold)
    out = ("--out", folder / "results")
    runs = []
    for raw, final, n in (("adb", "bad", 6), ("dab", "adb", second)):
        ranked, before = (chunks([f"C{mark}{letter}" for letter in letters]) for letters in (final, raw))
        log = write_rows(folder / "log.jsonl", [log_row(f"Q{mark}{i}", ranked, raw_topk=before) for i in range(n)])
        runs.append(json_of("logs", "import", log, "--gold", truth, *out)["run_id"])
    return out, runs


@pytest.mark.parametrize("words", ["logs pipeline", "logs diagnose", "segments", "diff"])
@pytest.mark.parametrize("mark", [" ", "%20", "% ", "\u2028"])
def test_a_blank_in_ids_changes_nothing_but_the_ids(words, mark, tmp_path):
    """A TREC file has one as `%20`, which an id without a blank may hold too."""
    said = []
    for sign in (mark, "_"):
        folder = tmp_path / str(len(said))
        folder.mkdir()
        out, runs = two_runs(folder, sign)
        text = json.dumps(json_of(*words.split(), *runs[: 1 + (words == "diff")], *out), ensure_ascii=False)
        for old, new in ((f"Q{sign}", "Q_"), (f"C{sign}", "C_"), *((run, "run") for run in runs)):
            text = text.replace(old, new)
        said.append(text)
    assert said[0] == said[1]


def test_a_query_that_a_log_lacks_retrieved_nothing(tmp_path):
    """It scores 0 beside the run that has it."""
    out, runs = two_runs(tmp_path, "_", second=5)
    first = json_of("diff", *runs, *out, "-m", "mrr")[0]
    assert (first["query_id"], first["change"], first["why"]) == ("Q_5", -1.0, "other chunks")
    assert first["treatment"] == {"value": 0.0, "relevant": 1, "hits": 0, "first_hit": None, "top": []}
    succeed("diff", *reversed(runs), *out)
    succeed("report", *runs, *out, "-o", tmp_path / "page.html")
