"""The scripts that people copy from."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "compare_chunkers.py"


def test_compare_chunkers_is_short_and_runs(mirror, warm_home, tmp_path):
    """Under 40 lines, it evaluates three chunkers and prints their scores and differences."""
    assert len(SCRIPT.read_text(encoding="utf-8").splitlines()) < 40
    done = subprocess.run(
        [sys.executable, SCRIPT, mirror],
        cwd=tmp_path,
        env=dict(os.environ, REPOEVAL_HOME=str(warm_home)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for piece in (
        "custom-mini",
        "ndcg@10",
        "fixed:max_nws=1500",
        "ast:max_nws=1500",
        "chonkie:",
        "no difference shown",
    ):
        assert piece in done.stdout
    assert len(list((tmp_path / "results").iterdir())) == 3
