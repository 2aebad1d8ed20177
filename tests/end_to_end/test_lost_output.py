"""Commands whose output cannot be written, or whose process a plug-in ends, say so in one sentence and do not end with 0."""

import os
import subprocess
import sys

import pytest

from support.command import bench_process, one_sentence


def printed(redirection, *words):
    """Return the exit code and standard error of a command with its standard output redirected by a shell."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "repoeval_bench", *map(str, words)],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "words", [("--help",), ("list", "chunkers"), ("list", "chunkers", "ast"), ("cache", "info", "--json")], ids=" ".join
)
@pytest.mark.parametrize(
    ("redirection", "sentence"),
    [
        (
            ">/dev/full",
            "error: standard output cannot be written (No space left on device); send it to another file or disk",
        ),
        (">&-", "error: standard output is closed; send it to a file or to /dev/null"),
    ],
    ids=["full", "closed"],
)
def test_output_that_cannot_be_written_is_one_sentence(words, redirection, sentence):
    assert printed(redirection, *words) == (1, f"{sentence}\n")


@pytest.mark.parametrize("how", ["os._exit(0)", "end(0)"])
def test_a_chunker_that_ends_the_process_is_named(tmp_path, how):
    """Without that the command would end with 0 and no word."""
    (tmp_path / "ending.py").write_text(
        f"import os\nfrom os import _exit as end\n\ndef cut(file):\n    {how}\n", encoding="utf-8"
    )
    (tmp_path / "a.py").write_text("x = 1\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = bench_process("chunker", "show", tmp_path / "a.py", "-c", "py:ending:cut", PYTHONPATH=path)
    assert f"line 5 of {tmp_path / 'ending.py'} ends the whole command by os._exit(0)" in one_sentence(done, 1)
