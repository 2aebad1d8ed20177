"""The workers' server imports chonkie without the client that chonkie imports where it is installed."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

pytestmark = [
    pytest.mark.slow,  # a process that imports chonkie
    pytest.mark.skipif(not (find_spec("chonkie") and find_spec("openai")), reason="needs chonkie and openai"),
]

CODE = """
import sys
import repoeval_bench.chunkers._chonkie_alone
print("chonkie" in sys.modules, any(name.partition(".")[0] == "openai" for name in sys.modules))
import openai
print(openai.__name__)
"""


def test_chonkie_is_imported_without_openai_which_stays_importable():
    """In a process of its own: what else imported either does not matter."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "openai"]
