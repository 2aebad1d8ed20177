"""Commands whose output cannot be written say so in one sentence, and do not end with 0."""

import subprocess
import sys

import pytest


def printed(redirection, *words):
    """Return the exit code and standard error of a command with its standard output redirected by a shell."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "repoeval_bench", *map(str, words)],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", [("--help",), ("cache", "info", "--json")], ids=" ".join)
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
