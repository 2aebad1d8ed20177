"""The page of published numbers, made on the mini benchmark by the script itself."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from repoeval_bench.provenance import code_state
from repoeval_bench.reproduce import UNPUBLISHED

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "reproduce.py"


@pytest.mark.slow
def test_the_page_is_written_with_rows_verdicts_and_a_reason_for_what_is_skipped(mirror, warm_home, tmp_path):
    """Every table is there; a model that cannot be had is a row with the reason; a killed reproduction goes on."""
    arguments = [
        sys.executable,
        str(SCRIPT),
        "--source",
        str(mirror),
        "--out",
        str(tmp_path),
        "--embedder",
        "st:no/such-model",
    ]
    environment = dict(os.environ, REPOEVAL_HOME=str(warm_home), HF_HUB_OFFLINE="1")
    killed = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 100
    while not list(tmp_path.glob("*/manifest.json")) and killed.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    killed.kill()
    killed.wait()
    (first, *_) = tmp_path.glob("*/manifest.json")
    assert not (tmp_path / "reproduction.md").exists()
    written = first.stat().st_mtime_ns
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if not code_state()["dirty"]:  # what changed code has made is made again
        assert first.stat().st_mtime_ns == written
    assert done.stdout == (tmp_path / "reproduction.md").read_text()
    rows = json.loads((tmp_path / "reproduction.json").read_text())
    assert {row["table"] for row in rows} == {"expected", "causes", "sizes", "coderag"}
    assert sum(row["verdict"].startswith(("reproduced", "not reproduced")) for row in rows) == 2 * 2 * 4 + 1
    (skipped,) = [row for row in rows if row["measured"] is None]
    assert skipped["verdict"].startswith("skipped: model 'no/such-model'")
    (unpublished,) = [row for row in rows if row["system"] == UNPUBLISHED]
    assert (unpublished["published"], unpublished["verdict"]) == (None, "")
    for row in rows:
        if row["measured"] is not None:
            assert row["low"] <= row["measured"] <= row["high"]
            assert row["command"].startswith("repoeval-bench eval")
