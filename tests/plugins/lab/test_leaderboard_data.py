"""The numbers that the repository shows: a sample of them is computed again, and the page of findings has no others."""

import csv
import json
import random
import re
import shlex
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from repoeval_bench.report.text import heading
from support.command import succeed
from support.indexes import from_index, needs_npm

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "data" / "leaderboard"
SAMPLE = {"repoeval": 3, "pack-pypi-40": 2, "pack-npm-12": 1, "pack-native-8": 1}
"""Cells of each data set that are computed again."""
GONE = {"blocks", "least-nested", "early-split", "half-overlap", "fixed-tokens"}
"""Rules that the tool no longer has."""


def rows(name):
    with (DATA / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def compute_again(data, tmp_path, *source):
    """Each cell by the command in its row; the commit there may be older than this code, and its run id another hash."""
    # The seed draws no row of semble and chunkhound, which are not in the extra `all`.
    by_bm25 = [
        row
        for row in rows("leaderboard.csv")
        if row["dataset"].startswith(data) and row["embedder"] == "none"
        if row["chunker"].partition(":")[0] not in GONE and "expand" not in row["run_id"]
    ]
    for row in random.Random(21).sample(by_bm25, SAMPLE[data]):
        words = shlex.split(row["command"], comments=True)[1:]
        done = succeed(*words, *source, "--out", tmp_path / "runs", "--json", home=tmp_path / "home")
        printed = json.loads(done.out)
        assert printed["run_id"].rpartition("-")[0] == row["run_id"].rpartition("-")[0]
        assert printed["dataset"]["fingerprint"] == row["fingerprint"]
        means = {heading(measure): mean for measure, mean in printed[row["over"]].items()}
        assert means[row["measure"]] == pytest.approx(float(row["score"]), abs=1e-12), row["run_id"]
        for name in ("nDCG@10", "R@10"):
            assert means[name] == pytest.approx(float(row[name]), abs=1e-12), row["run_id"]


@pytest.mark.full_data
@pytest.mark.slow
def test_a_sample_of_the_cells_of_repoeval_is_computed_again(real_source, tmp_path):
    compute_again("repoeval", tmp_path, "--source", real_source)


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("name", ["pypi-40", pytest.param("npm-12", marks=needs_npm), "native-8"])
def test_a_sample_of_the_cells_of_a_pack_is_computed_again(name, tmp_path):
    """Its packages are got from their index first: what the findings say of packs holds on this machine too."""
    from_index(name, home=tmp_path / "home")
    compute_again(f"pack-{name}", tmp_path)


def test_every_row_says_what_made_it():
    """A commit without changed files, a command, and a fingerprint."""
    result = rows("leaderboard.csv")
    assert len({row["run_id"] for row in result}) == len(result)
    for row in result:
        assert re.fullmatch(r"[0-9a-f]{40}", row["commit"])
        assert row["changed_files"] == "False"
        assert row["command"].startswith("repoeval-bench eval ")
        assert re.fullmatch(r"[0-9a-f]{12}", row["fingerprint"])


def test_every_answer_of_the_findings_is_what_the_script_prints(monkeypatch, capsys):
    """Each interval of the six answers, as `python scripts/history_board.py answers` computes it from the tables."""
    import history_board

    monkeypatch.setattr(history_board, "plot", lambda *_, **__: None)
    history_board.answers()
    printed = {
        tuple(abs(float(number)) for number in numbers)
        for numbers in re.findall(r"([+-][\d.]+) \[([+-][\d.]+), ([+-][\d.]+)\]", capsys.readouterr().out)
    }
    known = {(mean, *sorted(ends)) for mean, *ends in printed}
    known |= {tuple(float(round(number)) for number in numbers) for numbers in known}
    page = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8").replace("\n", " ")
    page = page[page.index("**1.") : page.index(" ## ")]
    said = re.findall(r"([\d.]+)(?: %| points)[^\[\]%]*?\[(-?[\d.]+), (-?[\d.]+)\]", page)
    assert len(said) >= 9
    for mean, *ends in said:
        assert (float(mean), *sorted(abs(float(end)) for end in ends)) in known, (mean, ends)


@pytest.mark.parametrize("retriever", ["dense", "hybrid"])
def test_the_expected_lead_of_a_header_is_that_of_the_histories(retriever):
    """The histories of the prior were measured by these two without a header; it leads by what a later table says."""
    priors = json.loads((ROOT / "data" / "priors.json").read_text(encoding="utf-8"))
    (of_commits,) = [
        one for one in priors["sets"][0]["questions"] if (one["protocol"], one["retriever"]) == ("commits", retriever)
    ]
    means = {(name, size): mean for (name, size), mean in zip(priors["candidates"], of_commits["means"], strict=True)}
    leads = defaultdict(list)
    for row in rows("history-scores.csv"):
        if (row["retriever"], row["gold"]) == (retriever, "lines") and row["without header"]:
            leads[row["chunker"]].append(float(row["lines found"]) - float(row["without header"]))
    for size in (500, 1000, 2000):
        expected = fmean(leads[f"ast:header=stem at {size:,}"])
        assert means["ast:header=stem", size] - means["ast", size] == pytest.approx(expected, abs=2e-5)
