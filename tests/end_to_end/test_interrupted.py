"""A command that is broken off from outside: Ctrl-C and readers that go away."""

import os
import signal

import pytest

from support.command import bench, bench_process, one_sentence, start
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
    """`repoeval-bench list languages | head -1`: no word on standard error, and the exit code a shell gives for SIGPIPE."""
    process = start("-m", "repoeval_bench", *arguments)
    process.stdout.close()
    err = process.stderr.read()
    assert (process.wait(timeout=60), err) == (141, "")


def test_an_interrupted_command_says_whether_it_goes_on(tmp_path):
    """Only one that keeps what it computed promises that the next call finds it: not `chunker show`, below."""
    cutter = "import os, signal\ndef cut(file):\n    os.kill(os.getpid(), signal.SIGINT)\n    return []\n"
    (tmp_path / "cutter.py").write_text(cutter)
    build_mirror(tmp_path / "mirror")
    words = ("eval", "-c", "py:cutter:cut", "--retriever", "bm25", "--source", "mirror")
    done = bench(*words, cwd=tmp_path, home=tmp_path / "home", PYTHONPATH=first_on_the_path(tmp_path))
    said = "error: interrupted; what was finished is kept, so run the same command again"
    assert one_sentence(done, 130) == said


@pytest.mark.parametrize(
    ("at_import", "at_cut"),
    [
        ("try:\n    press()\nexcept BaseException:\n    pass\n", ""),
        ("", "weakref.finalize(Thing(), press)"),
        ("class Thing:\n    def __del__(self):\n        press()\n", "Thing()"),
    ],
    ids=["import", "finalizer", "del"],
)
def test_ctrl_c_is_not_lost_where_exceptions_are(tmp_path, at_import, at_cut):
    """As in the start of a module written in C, here by one that catches all there is; and where Python ignores them."""
    pressing = "def press():\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(0.1)\n"
    (tmp_path / "swallowing.py").write_text(
        f"import os, signal, time, weakref\nclass Thing:\n    pass\n{pressing}{at_import}"
        f"def cut(file):\n    {at_cut}\n    return []\n"
    )
    (tmp_path / "a.py").write_text("x = 1\n")
    places = {"cwd": tmp_path, "home": tmp_path / "home", "PYTHONPATH": first_on_the_path(tmp_path)}
    done = bench("chunker", "show", "a.py", "-c", "py:swallowing:cut", **places)
    assert one_sentence(done, 130) == "error: interrupted"


def test_a_second_ctrl_c_ends_the_command_without_a_traceback(tmp_path):
    """It comes after the sentence, while Python ends: the process dies of it, as any program does."""
    press = "os.kill(os.getpid(), signal.SIGINT)"
    (tmp_path / "twice.py").write_text(
        f"import atexit, os, signal\ndef cut(file):\n    atexit.register(lambda: {press})\n    {press}\n"
    )
    (tmp_path / "a.py").write_text("x = 1\n")
    where = {"cwd": tmp_path, "home": tmp_path / "home", "PYTHONPATH": first_on_the_path(tmp_path)}
    done = bench_process("chunker", "show", "a.py", "-c", "py:twice:cut", **where)
    assert (done.code, done.out, done.err) == (-signal.SIGINT, "", "error: interrupted\n")
