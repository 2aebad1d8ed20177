"""Calls and comments, in each of the ten languages."""

import pytest

from repoeval_bench.core.definitions import occurrences
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.syntax import segments
from support.samples import samples

SAMPLES = samples("occurrences")


def names(result):
    return [(call.name, len(call.lines)) for call in result.calls]


def look(language, text):
    (parsed,) = segments(SourceFile("r", "f", text), LANGUAGES[language])
    return occurrences(parsed)


@pytest.mark.parametrize("language", SAMPLES)
def test_calls_with_their_lines_and_comments_are_found(language):
    sample = SAMPLES[language]
    result = look(language, sample["text"])
    assert [f"{name}:{lines}" for name, lines in names(result)] == sample["calls"].split()
    assert [span.start for span in result.comments] == sample["comments"]


def test_a_file_in_pieces_finds_the_same_as_in_one():
    text = "".join(f"def f{i}():\n    call_{i}(\n        {i},\n    )\n\n\n" for i in range(40))
    file = SourceFile("r", "f", text)
    whole = names(look("python", text))
    pieces = [call for parsed in segments(file, LANGUAGES["python"], window=200) for call in names(occurrences(parsed))]
    assert pieces == whole
    assert len(whole) == 40


def test_lines_are_those_of_a_file_with_form_feeds():
    result = look("python", "x = 1\x0c\nfoo(\n  1)\n")
    assert [(call.lines.start, call.lines.end) for call in result.calls] == [(2, 4)]
