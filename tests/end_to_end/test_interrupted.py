"""A command and its surroundings: Ctrl-C, readers that go away, output that cannot be written, modules of the folder."""

import os
import signal
import subprocess
import sys

import pytest

from support.codebase import write_modules
from support.command import bench, one_sentence, python, start
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


def test_a_file_is_written_though_the_reader_goes_away(tmp_path):
    """`repoeval-bench recommend CODE --write FILE | head -1` was an answer without its file."""
    write_modules(tmp_path / "code", 4)
    words = ("recommend", tmp_path / "code", "-c", "fixed", "-c", "ast", "--sizes", "200", "--retriever", "bm25")
    process = start("-m", "repoeval_bench", *words, "--write", tmp_path / "chunking.toml", "--out", tmp_path / "out")
    process.stdout.close()
    process.stderr.read()
    assert process.wait(timeout=60) == 1
    assert "spec = " in (tmp_path / "chunking.toml").read_text()


def test_an_interrupted_command_says_that_it_goes_on(tmp_path):
    cutter = "import os, signal\ndef cut(file):\n    os.kill(os.getpid(), signal.SIGINT)\n    return []\n"
    (tmp_path / "cutter.py").write_text(cutter)
    build_mirror(tmp_path / "mirror")
    words = ("eval", "-c", "py:cutter:cut", "--retriever", "bm25", "--source", "mirror")
    done = bench(*words, cwd=tmp_path, home=tmp_path / "home", PYTHONPATH=first_on_the_path(tmp_path))
    said = "error: interrupted; finished runs and vectors are kept, so the same command goes on from there"
    assert one_sentence(done, 130) == said


FULL = "cannot be written (No space left on device); send it to another file or disk"
CLOSED = "is closed; send it to a file or to /dev/null"


@pytest.mark.parametrize("words", [(), ("--help",), ("cache", "info", "--json")], ids=" ".join)
@pytest.mark.parametrize(("redirection", "said"), [(">/dev/full", FULL), (">&-", CLOSED)])
def test_output_that_cannot_be_written_is_one_sentence(words, redirection, said):
    shell = ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "repoeval_bench", *words]
    done = subprocess.run(shell, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"error: standard output {said}\n")


def test_a_command_runs_without_standard_error(tmp_path):
    """With `2>&-` Python has none, and the bar of progress asked it for its kind."""
    (tmp_path / "a.py").write_text("def f():\n    return 1\n")
    words = [sys.executable, "-m", "repoeval_bench", "chunker", "show", tmp_path, "-c", "fixed"]
    shell = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *map(str, words)]
    assert "return 1" in subprocess.run(shell, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_no_module_of_the_current_folder_is_imported(tmp_path):
    """It may be the code to chunk; `-m` puts it first on Python's path."""
    for name in ("numbers", "typing", "click"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('planted')\n")
    done = python("-m", "repoeval_bench", "list", "measures", cwd=tmp_path)
    assert done.code == 0, done.err
