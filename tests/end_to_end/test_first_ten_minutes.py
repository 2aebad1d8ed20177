"""docs/first-ten-minutes.md shows what its commands print."""

from pathlib import Path

import pytest

from support.command import python

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.full_data
@pytest.mark.network
@pytest.mark.slow
def test_every_block_is_what_its_command_prints(real_source):
    """Typed again from the first to the last; the figures are of BM25, which every processor computes alike."""
    script = ROOT / "scripts" / "refresh_console.py"
    done = python(script, "--source", real_source, "--check", PYTHONPATH=str(ROOT))
    assert done.code == 0, done.err[-3000:]
