"""The one reader of JSON: whatever a file holds, a checked value or one sentence."""

import gzip
import io
import random

import pytest
from pydantic import BaseModel

from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.json_reader import (
    JsonFaultError,
    faults_as,
    lines,
    parse,
    parse_loose,
    read_rows,
)


class Row(BaseModel):
    a: int


@pytest.mark.parametrize("text", ["{", "[" * 5000, '"\\udc00x"', b'"\xff"', "NaN"])
def test_what_is_not_json_is_one_sentence(text):
    with pytest.raises(JsonFaultError, match=r"^not valid JSON \("):
        parse_loose(text)


def test_lines_are_numbered_without_a_bom_and_blank_ones():
    """A BOM is left out once, CRLF and blank lines are not rows, a line separator within a text is not a line end."""
    raw = b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"a": "\xe2\x80\xa8"}'
    result = [(number, line.strip()) for number, line in lines(io.BytesIO(raw))]
    assert result == [(1, b'{"a": 1}'), (4, '{"a": "\u2028"}'.encode())]


def test_a_mistake_is_named_with_what_is_there(tmp_path):
    """Field, expectation and the value, each cut where it is long."""
    with pytest.raises(JsonFaultError) as fault:
        parse('{"a": "' + "x" * 1000 + '"}', Row)
    assert str(fault.value).startswith('a: a whole number was expected, got "xxxx')
    assert len(str(fault.value)) < 120
    with pytest.raises(JsonFaultError, match=r"row: not valid JSON \(invalid unicode code point at character 8"):
        parse(b'{"a": "\xff"}', Row, "row")
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": null}\n')
    with (
        pytest.raises(ResultError, match=r"rows\.jsonl:2 is broken \(a: .*, got null\); write it again"),
        faults_as(ResultError, path, "write it again"),
    ):
        list(read_rows(path, Row))


def test_a_damaged_gzip_file_is_unreadable_and_never_a_traceback(tmp_path):
    """Every single byte is changed once; what is read is a row, or one of two errors."""
    whole = gzip.compress(b"".join(b'{"a": %d}\n' % i for i in range(40)), mtime=0)
    path = tmp_path / "rows.jsonl.gz"
    rng = random.Random(0)
    refused = 0
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ rng.randrange(1, 256)]) + whole[i + 1 :])
        try:
            list(read_rows(path, Row))
        except (JsonFaultError, OSError):
            refused += 1
    assert refused > len(whole) * 0.9  # what is left are bytes of the header that say nothing of the content
