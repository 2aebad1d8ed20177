"""A command that is broken off from outside: Ctrl-C and readers that go away."""

import os
import signal

import pytest

from support.command import bench, one_sentence, start
from support.minirepo import build_mirror


def first_on_the_path(folder):
    return os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", "")))


def test_ctrl_c_while_the_program_is_still_loading(tmp_path):
    """An interrupt that arrives during the first import ends in one line and 130, not in a traceback."""
    # The signal comes from within the import, so that it cannot come too early or too late.
    interrupt = f"import os, time\nos.kill(os.getpid(), {int(signal.SIGINT)})\ntime.sleep(30)\n"
    (tmp_path / "click.py").write_text(interrupt)
    process = start("-m", "repoeval_bench", "list", "measures", PYTHONPATH=first_on_the_path(tmp_path))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "error: interrupted before anything was computed\n")


@pytest.mark.parametrize("arguments", [["--help"], ["list", "languages"]])
def test_a_reader_that_goes_away_ends_the_command_silently(arguments):
    """`repoeval-bench list languages | head -1`: no word on standard error, and not the exit code of success."""
    process = start("-m", "repoeval_bench", *arguments)
    process.stdout.close()
    err = process.stderr.read()
    assert (process.wait(timeout=60), err) == (1, "")


def test_an_interrupted_command_says_that_it_goes_on(tmp_path):
    cutter = "import os, signal\ndef cut(file):\n    os.kill(os.getpid(), signal.SIGINT)\n    return []\n"
    (tmp_path / "cutter.py").write_text(cutter)
    build_mirror(tmp_path / "mirror")
    words = ("eval", "-c", "py:cutter:cut", "--retriever", "bm25", "--source", "mirror")
    done = bench(*words, cwd=tmp_path, home=tmp_path / "home", PYTHONPATH=first_on_the_path(tmp_path))
    said = "error: interrupted; finished runs and vectors are kept, so the same command goes on from there"
    assert one_sentence(done, 130) == said
