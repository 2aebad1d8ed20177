"""`list --help` names what there is to list."""

import re

from click.testing import CliRunner

from repoeval_bench.cli import app
from repoeval_bench.cli.listing import LISTS


def test_help_names_every_list_in_whole_words():
    """On a narrow terminal too: a line ends between two names and not within one."""
    shown = CliRunner().invoke(app, ["list", "--help"], terminal_width=60).output
    assert set(LISTS) <= set(re.findall(r"\w+", shown))
