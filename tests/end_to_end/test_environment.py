"""The tests of the command line hold whatever the user's shell says of colours, widths, language and bytecode."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import python

ROOT = Path(__file__).resolve().parents[2]
OF_THE_COMMAND_LINE = (
    *("tests/cli/test_listing.py", "tests/report/test_tables_printed.py"),
    "tests/cli/test_echo.py::test_a_real_terminal_gets_our_colours_and_no_other_escape",
)
"""Files that print: plainly, as a table, and on a terminal."""


@pytest.mark.slow
def test_the_user_s_environment_moves_no_test():
    others = {"COLUMNS": "40", "PYTHONDONTWRITEBYTECODE": "1", "FORCE_COLOR": "1"}
    # Python reads the path of a checkout that is installed in the locale's encoding, and starts only if it can.
    others |= {"LANG": "C", "LC_ALL": "C"} if str(ROOT).isascii() else {}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "REPOEVAL_"))}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow and not network and not full_data"]
    done = subprocess.run(
        [*command, *OF_THE_COMMAND_LINE], cwd=ROOT, env=kept | others, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert " failed" not in done.stdout


def test_no_module_of_the_current_folder_is_imported(tmp_path):
    """It may be the code to chunk; `-m` puts it first on Python's path."""
    for name in ("numbers", "typing", "click"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('planted')\n")
    done = python("-m", "repoeval_bench", "list", "measures", cwd=tmp_path)
    assert done.code == 0, done.err
