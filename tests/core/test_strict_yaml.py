"""YAML that people write: plain values with their lines, and whatever else a file holds in one sentence, soon."""

import time

import pytest

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.strict_yaml import read_yaml


def read(tmp_path, text):
    path = tmp_path / "a.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_yaml(path, "name another")


def test_plain_values_are_read_with_their_lines(tmp_path):
    """A BOM is left out, a date is a text, a key that is given twice is told."""
    result = read(tmp_path, "\ufeffa: [1, 2.5]\nb: x\nc: {day: 2024-05-01, 'on': yes, none: ~}\nb: 2024-99-99\n")
    assert result.content == {"a": [1, 2.5], "b": "2024-99-99", "c": {"day": "2024-05-01", "on": True, "none": None}}
    assert result.where(("c", "day")).endswith("a.yaml:3")
    assert result.repeated == (("b",),)
    assert read(tmp_path, "").content is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: !!float x\n", "a.yaml:1: not valid YAML ('x' is not of the kind float)"),
        ("b: 1\na: !!int x\n", "a.yaml:2: not valid YAML ('x' is not of the kind int)"),
        ("a: !!timestamp 2024-99-99\n", "a.yaml:1: not valid YAML (a value cannot be of the kind tag:"),
        ("a: !!python/object:os.system x\n", "a value cannot be of the kind"),
        ("a: 0x_\n", "'0x_' is not of the kind int"),
        ("a: " + "9" * 5000 + "\n", "99' is not of the kind int"),
        ("a: " + "9" * 50 + "\n", "is larger than 2^53"),
        ('a: "\\uD800"\n', "a text holds half of a character"),
        ("[" * 5000, "a.yaml:1: not valid YAML (values are nested more than 32 levels deep)"),
        ("a: &a [*a]\n", "a.yaml:1: not valid YAML (a value has the name 'a', to be repeated by it; write the value"),
        ("a: [" + "1," * 100_001 + "]\n", "it has more than 100,000 values"),
        ("? [a]\n: b\n", "a.yaml:1: not valid YAML (a key is not a text; put it in quotes)"),
        ("a: 1\non: 2\n", "a.yaml:2: not valid YAML (the key 'on' is not a text; put it in quotes)"),
        ("a: *b\n", "a.yaml:1: not valid YAML (a value has the name 'b'"),
        ("a: 1\n<<: {b: 2}\n", "a.yaml:2: not valid YAML (merge keys (<<) are not read; write the keys themselves)"),
        ("a: b: c\n", "a.yaml:1: not valid YAML (mapping values are not allowed here)"),
        ("a: 1\n--- \nb: 1\n", "a.yaml:2: not valid YAML (but found another document)"),
        (b"a: \xff\n", ":1 is not UTF-8; save it as UTF-8"),
        ("a: \x00\n", "not valid YAML ("),
        ("# " + "x" * 300_000, "cannot be read (it has more than 262,144 bytes); name another"),
    ],
)
def test_what_is_not_a_plain_value_is_one_sentence(tmp_path, text, says):
    """With the line where there is one, and without building what it asks for."""
    started = time.process_time()
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert time.process_time() - started < 5
