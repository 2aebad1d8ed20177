"""Names that another system's log brings: on one line and without control characters, wherever they are shown."""

import pytest

from plugins.logs.made_logs import log_row
from support.command import bench, succeed
from support.runs import write_rows

NASTY = "evil\r\nsystem\tna\x1b[31mme\u2028x\u202e & <b>y</b> | z_\\ {"
ON_A_LINE = "evil system na\\u001b[31mme x\\u202e & <b>y</b> | z_\\ {"


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Two runs of twelve queries, one of them of a system with every bad character in its name."""
    here = tmp_path_factory.mktemp("names")
    gold = [{"query_id": f"q{i}", "chunk_id": f"r/a.py:{i}-{i + 1}"} for i in range(12)]
    write_rows(here / "gold.jsonl", gold)
    for system, shift in ((NASTY, 0), ("plain", 1)):
        named = {"system": system, "k_raw": 1, "chunker": {"algo": system, "parameters": {}}}
        hits = [{"rank": 1, "chunk_id": gold[(i + shift) % 12]["chunk_id"], "score": 1.0} for i in range(12)]
        log = [log_row(f"q{i}", [hit], **named) for i, hit in enumerate(hits)]
        write_rows(here / "log.jsonl", log)
        succeed("logs", "import", here / "log.jsonl", "--gold", here / "gold.jsonl", "--out", here / "results")
    folders = sorted(path for path in (here / "results").iterdir() if path.is_dir())
    return here, folders


def test_tables_and_captions_keep_their_lines(imported):
    """What is printed has as many lines as with a plain name, and nothing that a terminal obeys."""
    here, folders = imported
    for words in (
        ("compare", *folders, "--details"),
        ("lab", "leaderboard", "--out", here / "results"),
        ("segments", folders[0]),
    ):
        out = bench(*words).out
        assert not {char for char in out if not char.isprintable()} - {"\n"}
        assert not any(line.startswith("system") for line in out.splitlines())
    latex = bench("export", "runs", *folders, "--format", "latex").out
    captions = [line for line in latex.splitlines() if line.startswith("\\caption")]
    assert captions
    assert all(line.endswith("}") for line in captions)
    assert ON_A_LINE in bench("lab", "leaderboard", "--out", here / "results").out
