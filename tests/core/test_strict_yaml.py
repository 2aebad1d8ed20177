"""YAML that people write: plain values with their lines, and whatever else a file holds in one sentence."""

import pytest

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.strict_yaml import read_yaml
from support.cases import cases

CASES = cases(__file__)


def read(tmp_path, text):
    path = tmp_path / "a.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_yaml(path, "name another")


def test_plain_values_are_read_with_their_lines(tmp_path):
    """A BOM is left out, and a date is a text."""
    result = read(tmp_path, "\ufeffa: [1, 2.5]\nb: x\nc: {day: 2024-05-01, 'on': yes, none: ~}\n")
    assert result.content == {"a": [1, 2.5], "b": "x", "c": {"day": "2024-05-01", "on": True, "none": None}}
    assert result.where(("c", "day")).endswith("a.yaml:3")
    assert read(tmp_path, "").content is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *CASES["refused"],
        ("[" * 1000, "a.yaml: not valid YAML (values are nested too deeply)"),
        (b"a: \xff\n", "a.yaml: not valid YAML (unacceptable character #x00ff"),
    ],
)
def test_what_is_not_a_plain_value_is_one_sentence(tmp_path, text, says):
    """With the line where the library knows it."""
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
