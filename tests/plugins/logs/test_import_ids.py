"""Ids of another system's log: however they are spelled, its queries are scored and shown as they are."""

import json
from functools import partial

import pytest

from plugins.logs.made_logs import log_row
from support.command import json_of
from support.runs import write_rows


def two_runs(folder, mark):
    """Results with two runs of six queries, and their ids; `mark` stands in every query id and chunk id."""
    rows = []
    for system, raw, final in (("s", "adb", "bad"), ("t", "dab", "adb")):
        lists = {name: [f"C{mark}{letter}" for letter in of_name] for name, of_name in (("raw", raw), ("top", final))}
        ranked = {
            name: [{"rank": i, "chunk_id": c, "score": 9.0 - i} for i, c in enumerate(ids, start=1)]
            for name, ids in lists.items()
        }
        rows.append(
            [
                log_row(f"Q{mark}{i}", ranked["top"], raw_topk=ranked["raw"], repository="r") | {"system": system}
                for i in range(6)
            ]
        )
    gold = [{"query_id": f"Q{mark}{i}", "chunk_id": f"C{mark}b"} for i in range(6)]
    truth = write_rows(folder / "gold.jsonl", gold)
    out = ("--out", folder / "results")
    imported = partial(json_of, "logs", "import")
    return out, [
        imported(write_rows(folder / f"{i}.jsonl", log), "--gold", truth, *out)["run_id"] for i, log in enumerate(rows)
    ]


@pytest.mark.parametrize("words", ["logs pipeline", "logs diagnose", "segments", "diff"])
@pytest.mark.parametrize("mark", [" ", "%20", "% ", "\u2028"])
def test_a_blank_in_ids_changes_nothing_but_the_ids(words, mark, tmp_path):
    """A TREC file has one as `%20`, which an id without a blank may hold too."""
    said = []
    for each in (mark, "_"):
        folder = tmp_path / str(len(said))
        folder.mkdir()
        out, runs = two_runs(folder, each)
        text = json.dumps(json_of(*words.split(), *runs[: 1 + (words == "diff")], *out), ensure_ascii=False)
        for old, new in ((f"Q{each}", "Q_"), (f"C{each}", "C_"), *((run, "run") for run in runs)):
            text = text.replace(old, new)
        said.append(text)
    assert said[0] == said[1]
