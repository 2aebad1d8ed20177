"""The one reader of JSON: whatever a file holds, a checked value or one sentence, within a time and a memory."""

import gzip
import io
import random
import tracemalloc

import pytest
from pydantic import BaseModel

from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.json_reader import (
    MOST_OF_A_LINE,
    JsonFaultError,
    UnreadableError,
    faults_as,
    lines,
    parse,
    parse_loose,
    parse_plain,
    read_document,
    read_rows,
    read_text,
)


class Row(BaseModel):
    a: int


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not valid JSON"),
        ("[" * 5000, "not valid JSON (recursion limit exceeded at character 20"),
        ("9" * 5000, "not valid JSON (number out of range"),
        ('"\\udc00\\ud800x"', "not valid JSON (lone leading surrogate"),
        (b'"\xff"', "not valid JSON (invalid unicode"),
        ("NaN", "a finite number was expected, not NaN"),
        ("[1e999]", "a finite number was expected, not 1e999"),
        ("[9007199254740993]", "a whole number of at most 2^53 was expected, not 9007199254740993"),
        ('{"a": 1, "a": 1}', "'a' appears twice; keep one"),
    ],
)
def test_what_plain_json_may_not_hold_is_one_sentence(text, says):
    """Nonsense, nesting without end, numbers that no program reads alike, a key that says two things."""
    with pytest.raises(JsonFaultError) as fault:
        parse_plain(text)
    assert str(fault.value).startswith(says)


def test_plain_values_are_read_as_they_are():
    """JSON that means one thing stays what it is; what other programs write may be large."""
    plain = parse_plain(b'{"a": [1, 2.5, "\xc3\xa4", null, true], "b": -9007199254740992}')
    assert plain == {"a": [1, 2.5, "ä", None, True], "b": -(2**53)}
    assert parse_loose('{"length": 1000000000000000019884624838656}') == {"length": 1000000000000000019884624838656}


def test_lines_are_numbered_without_a_bom_and_blank_ones():
    """A BOM is left out once, CRLF and blank lines are not rows, a line separator within a text is not a line end."""
    raw = b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"a": "\xe2\x80\xa8"}'
    result = [(number, line.strip()) for number, line in lines(io.BytesIO(raw))]
    assert result == [(1, b'{"a": 1}'), (4, '{"a": "\u2028"}'.encode())]


def test_a_line_without_an_end_is_not_read_to_its_end():
    """The part of it that is read is one byte more than is allowed, however much would come."""

    class Endless(io.RawIOBase):
        given = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            self.given += len(buffer)
            buffer[:] = b" " * len(buffer)
            return len(buffer)

    stream = Endless()
    with pytest.raises(JsonFaultError, match=r"the line has more than 67,108,864 bytes"):
        list(lines(io.BufferedReader(stream, 1 << 20)))
    assert stream.given < MOST_OF_A_LINE + (4 << 20)


def test_a_document_is_bounded(tmp_path):
    """More than is allowed is refused, and not read."""
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf" + b"1" * 97)
    assert read_document(tmp_path / "a.json", 100) == b"1" * 97
    with pytest.raises(JsonFaultError, match="the file has more than 99 bytes"):
        read_document(tmp_path / "a.json", 99)


def test_a_small_document_takes_little_memory(tmp_path):
    """What may be read is not set aside before it is there."""
    with gzip.open(tmp_path / "a.txt.gz", "wb") as stream:
        stream.write(b"a\n")
    tracemalloc.start()
    try:
        assert read_text(tmp_path / "a.txt.gz") == "a\n"
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_mistake_is_named_with_what_is_there(tmp_path):
    """Field, expectation and the value, each cut where it is long; a byte that is not UTF-8 by its place."""
    with pytest.raises(JsonFaultError) as fault:
        parse('{"a": "' + "x" * 1000 + '"}', Row)
    assert str(fault.value).startswith('a: a whole number was expected, got "xxxx')
    assert len(str(fault.value)) < 120
    with pytest.raises(JsonFaultError, match="row: UTF-8 was expected, byte 7 is not"):
        parse(b'{"a": "\xff"}', Row, "row")
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": null}\n')
    with (
        pytest.raises(ResultError, match=r"rows\.jsonl:2 is broken \(a: .*, got null\); write it again"),
        faults_as(ResultError, path, "write it again"),
    ):
        list(read_rows(path, Row))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"a": 1, "\\u0061": 2}', "a"),
        ('{"a": 1, "b": [{"c:d": 1, "e": 2, "c:d": ":"}]}', "c:d"),
        ('{"a": 1, "b": {"x": {}, "x": {"y": 1}}}', "x"),
    ],
)
def test_a_key_that_appears_twice_is_refused_wherever_it_is(tmp_path, text, key):
    """Of two values a reader takes the first and another the last: in a document, in a row, in what no model knows."""
    for given in (text, text.encode()):
        with pytest.raises(JsonFaultError, match=f"'{key}' appears twice; keep one"):
            parse(given, Row)
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"a": 1}}\n{text}\n')
    with pytest.raises(JsonFaultError, match=f"'{key}' appears twice") as fault:
        list(read_rows(path, Row))
    assert fault.value.line == 2


def test_keys_that_are_alike_in_two_objects_are_not_refused():
    """Colons in texts and keys are no keys."""
    assert parse('{"a": 1, "b": {"a": "x: y", "c:": [{"a": 1}, {"a": 2}]}}', Row).a == 1


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
        except (JsonFaultError, UnreadableError):
            refused += 1
    assert refused > len(whole) * 0.9  # what is left are bytes of the header that say nothing of the content
