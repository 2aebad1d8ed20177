"""The leaderboard's pages: every board has its own place, whatever its data are called."""

import re
from collections import Counter

import pytest

from repoeval_bench.plugins.lab.leaderboard import leaderboards, run_folders
from repoeval_bench.plugins.lab.report.site import site_files
from support.runs import write_run


def scores(position):
    return {"line_rprec": [0.1 * position + 0.01 * j for j in range(8)]}


def boards_of(folder, names, **changed):
    """Two runs of each data set."""
    for i, name in enumerate(names):
        for chunker in ("ast", "fixed"):
            fields = {"chunker": chunker, "dataset": {"name": name, "fingerprint": f"{i:012d}"}, **changed}
            write_run(folder / f"{chunker}-{i}", scores(i), headline_measure="line_rprec", **fields)
    return site_files(leaderboards(run_folders(folder), apart=True))


@pytest.mark.parametrize(
    "names", [("数据一", "数据二"), ("Mine", "mine"), ("x" * 120 + "a", "x" * 120 + "b"), ("a b", "a-b")]
)
def test_data_sets_whose_names_are_alike_have_pages_of_their_own(tmp_path, names):
    files = boards_of(tmp_path, names)
    pages = [name for name in files if name.endswith(".html") and name != "index.html"]
    assert len({name.lower() for name in pages}) == len(names)
    for name in names:
        assert sum(f'<h1 class="wrap">{name} by ' in files[page] for page in pages) == 1
    assert all(f'href="{page}#' in files["index.html"] for page in pages)


def test_ids_of_a_page_are_its_own(tmp_path):
    """Two parts of one data set under one protocol are two boards of a page."""
    files = boards_of(tmp_path, ("mine", "mine"))
    (page,) = (name for name in files if name.endswith(".html") and name != "index.html")
    ids = Counter(re.findall(r'\sid="([^"]*)"', files[page]))
    assert {name for name, n in ids.items() if n > 1} == set()
    assert sum(name.startswith("table-") for name in ids) == 2


def test_the_first_page_ranks_the_runs_of_every_board(tmp_path):
    """Rank, score and difference to the first are those of the board's own page; the first ranking is unfolded."""
    for position, chunker in enumerate(("ast", "fixed", "window")):
        for protocol in ("context", "body"):
            fields = {"chunker": chunker, "protocol": protocol, "headline_measure": "line_rprec"}
            write_run(tmp_path / f"{chunker}-{protocol}", scores(position), **fields)
    result = leaderboards(run_folders(tmp_path), apart=True)
    index = site_files(result)["index.html"]
    rankings = re.findall(r'<details class="part ranking"( open)?>(.*?)</details>', index, re.DOTALL)
    assert [bool(unfolded) for unfolded, _ in rankings] == [True, False]
    for (_, text), leaderboard in zip(rankings, result.ranked, strict=True):
        body = text.partition("<tbody>")[2]
        values = [list(map(float, re.findall(r'data-value="([^"]*)"', row))) for row in body.split("</tr>")[:-1]]
        expected = [[e.rank, e.score, *(e.to_first[:1] if e.to_first else ())] for e in leaderboard.entries]
        assert [row[:3] for row in values] == expected
        assert [e.run.metrics.chunker for e in leaderboard.entries] == re.findall(r">(\w+)</th>", body)
