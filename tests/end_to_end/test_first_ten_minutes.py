"""docs/first-ten-minutes.md shows what its commands print."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.full_data
@pytest.mark.network
@pytest.mark.slow
def test_every_block_is_what_its_command_prints(real_source):
    """Typed again from the first to the last; the figures are of BM25, which every processor computes alike."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "refresh_console.py", "--source", real_source, "--check"],
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
