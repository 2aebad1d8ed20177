"""The page of published numbers, made on the mini benchmark by the script itself."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "reproduce.py"


@pytest.mark.slow
def test_the_page_is_written_with_rows_verdicts_and_a_reason_for_what_is_skipped(mirror, warm_home, tmp_path):
    """Every table is there; a model that cannot be had is a row with the reason, not a failure."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--source", str(mirror), "--out", str(tmp_path), "--embedder", "st:no/such-model"],
        env=dict(os.environ, REPOEVAL_HOME=str(warm_home), HF_HUB_OFFLINE="1"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == (tmp_path / "reproduction.md").read_text()
    rows = json.loads((tmp_path / "reproduction.json").read_text())
    assert {row["table"] for row in rows} == {"expected", "causes", "sizes", "coderag"}
    assert sum(row["verdict"].startswith(("reproduced", "not reproduced")) for row in rows) == 2 * 2 * 4 + 1
    (skipped,) = [row for row in rows if row["measured"] is None]
    assert skipped["verdict"].startswith("skipped: model 'no/such-model'")
    for row in rows:
        if row["measured"] is not None:
            assert row["low"] <= row["measured"] <= row["high"]
            assert row["command"].startswith("repoeval-bench eval")
