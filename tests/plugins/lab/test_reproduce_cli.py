"""The page of published numbers, made on the mini benchmark by the command of an installed wheel."""

import json
import os
import subprocess
import sys
import time

import pytest

from repoeval_bench.plugins.lab.reproduction import UNPUBLISHED
from repoeval_bench.runs.provenance import code_state


def kill_when_a_run_is_stored(process, out):
    deadline = time.monotonic() + 100
    while not list(out.glob("*/manifest.json")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()


@pytest.mark.slow
def test_the_page_is_written_with_rows_verdicts_and_a_reason_for_what_is_skipped(site, mirror, warm_home, tmp_path):
    """Every table is there; a model that cannot be had is a row with the reason; one that was killed goes on.

    It reads nothing but the wheel and the data, and writes its page where it is called.
    """
    out = tmp_path / "results" / "reproduce"
    arguments = [
        sys.executable,
        *["-m", "repoeval_bench", "lab", "reproduce", "--embedder", "st:no/such-model", "--source"],
        str(mirror),
    ]
    environment = dict(os.environ, REPOEVAL_HOME=str(warm_home), HF_HUB_OFFLINE="1", PYTHONPATH=str(site[1]))
    settings = {"cwd": tmp_path, "env": environment}
    kill_when_a_run_is_stored(subprocess.Popen(arguments, **settings, stdout=subprocess.DEVNULL), out)
    (first, *_) = out.glob("*/manifest.json")
    written = first.stat().st_mtime_ns
    assert not (out / "reproduction.md").exists()
    done = subprocess.run(arguments, **settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if not code_state().dirty:  # what changed code has made is made again
        assert first.stat().st_mtime_ns == written
    assert done.stdout == (out / "reproduction.md").read_text()
    rows = json.loads((out / "reproduction.json").read_text())
    assert {row["table"] for row in rows} == {"expected", "causes", "coderag"}
    judged = [(row["status"], row["reason"]) for row in rows if row["published"] is not None]
    assert len(judged) == 2 * 2 * 4 + 1
    ((status, reason),) = set(judged)  # what is published was measured on other data
    assert status == "not_judged"
    assert f"reproduced within 0.05: not judged: {reason}." in done.stdout
    assert "macro over 2 repositories" in done.stdout
    (skipped,) = [row for row in rows if row["measured"] is None]
    assert (skipped["status"], "no/such-model" in skipped["reason"]) == ("skipped", True)
    (unpublished,) = [row for row in rows if row["system"] == UNPUBLISHED]
    assert (unpublished["published"], unpublished["status"]) == (None, "not_published")
    for row in rows:
        if row["measured"] is not None:
            assert row["low"] <= row["measured"] <= row["high"]
            assert row["command"].startswith("repoeval-bench eval")
            assert row["command"].endswith(f" --source {mirror}")
