"""`chunk`, `chunker stats` and `chunker check` from the command line."""

import json
import re

import pytest
from click.testing import CliRunner

from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.chunkers.tools.cases import SAMPLES
from repoeval_bench.cli.chunk import check_command, show_command, stats_command
from repoeval_bench.core.errors import BenchError, DatasetError, LanguageError, NoDataError, SpecError, UsageError
from support.leaves import needs

TEXT = "import os\n\n\ndef f():\n    return 'ä'\n"


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "shop"
    (root / "sub").mkdir(parents=True)
    (root / "a.py").write_bytes(TEXT.replace("\n", "\r\n").encode("utf-8-sig"))
    (root / "sub" / "b.py").write_text("x = 1\n", "utf-8")
    (root / "notes.txt").write_text("none of this", "utf-8")
    return root


def run(command, *arguments, fails: type[BenchError] | None = None):
    result = CliRunner().invoke(command, [str(argument) for argument in arguments], standalone_mode=False)
    if fails is None:
        assert result.exception is None, result.exception
        return result
    assert isinstance(result.exception, fails), result.exception
    return str(result.exception)


def test_a_file_is_shown_chunk_by_chunk_with_lines_and_size(folder) -> None:
    out = run(show_command, folder / "a.py", "--chunker", "ast:max_nws=20").output
    assert "── a.py:1-3 · 8 characters" in out
    assert "── a.py:4-5 · 16 characters" in out
    assert "    return 'ä'\n" in out


def test_json_lines_hold_the_spans_and_the_text_of_every_file_of_a_folder(folder) -> None:
    lines = run(show_command, folder, "--json").stdout.splitlines()
    first, second = map(json.loads, lines)
    assert first["text"] == TEXT
    assert (first["start"], first["end"], first["start_line"], first["end_line"]) == (0, len(TEXT), 0, 5)
    assert (first["repo"], first["path"], second["path"]) == ("shop", "a.py", "sub/b.py")
    assert first["chunk_id"] == f"shop/a.py@0-{len(TEXT)}"


def test_stats_compare_chunkers_on_the_same_files(folder) -> None:
    out = run(stats_command, folder, "-c", "ast", "-c", "window:lines=2,step=1").output
    assert "ast:max_nws=1500" in out
    assert "window:lines=2,step=1" in out
    assert "1 function or type, 4 non-blank lines" in out
    rows = run(stats_command, folder, "-c", "file", "--json").stdout.splitlines()
    assert json.loads(rows[0])["chunks"] == 2


@pytest.fixture
def mixed(tmp_path):
    """A folder with a file of each language, and three of none."""
    root = tmp_path / "mixed"
    (root / "sub").mkdir(parents=True)
    for path, text in SAMPLES.values():
        (root / "sub" / path).write_text(text, "utf-8")
    for name in ("a.md", "b.md", "Makefile"):
        (root / name).write_text("none of this", "utf-8")
    return root


@pytest.mark.parametrize("name", ["ast", *(row.name for row in CHUNKERS if row.pasted)])
def test_a_folder_of_every_language_is_cut_and_what_is_of_none_is_counted(mixed, notices, name: str) -> None:
    result = run(show_command, mixed, "-c", name, "--json")
    shown = {json.loads(line)["path"] for line in result.stdout.splitlines()}
    assert shown == {f"sub/{path}" for path, _ in SAMPLES.values()}
    assert "left out: 3 in no known language" in notices[0]


@needs("astchunk")
def test_stats_of_every_language_count_definitions_and_skipped_files(mixed) -> None:
    result = run(stats_command, mixed, mixed / "a.md", "-c", "file", "--json")
    row = json.loads(result.stdout)
    assert (row["files"], row["unknown"], row["definitions"], row["whole"]) == (11, 1, 36, 36)
    assert "does not know c, only" in run(stats_command, mixed, "-c", "astchunk", fails=LanguageError)
    result = run(stats_command, mixed, "-c", "astchunk", "--skip-errors", "--json")
    assert json.loads(result.stdout)["files"] == 5
    assert "skipped: 5 files that astchunk:max_chunk_size=1500,language=auto failed on; the first: " in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("{shop}", "-c", "ast", "-c", "ast:max_nws=1500"), ["is named twice; name each chunker once"]),
        (("{shop}", "-c", "asst", "-c", "fixd"), ["2 mistakes:", "did you mean 'ast'", "did you mean 'fixed'"]),
    ],
)
def test_stats_name_each_chunker_once(folder, words, said) -> None:
    message = run(stats_command, *(word.format(shop=folder) for word in words), fails=UsageError)
    assert all(piece in message for piece in said)


def test_check_chunker_prints_the_report_and_its_exit_code_is_the_verdict() -> None:
    good = run(check_command, "fixed", "--examples", 2)
    assert good.return_value == 0
    assert "fixed:max_nws=1500,offset=0: conforms" in good.output


def test_a_file_that_is_named_twice_counts_once(folder) -> None:
    once = run(stats_command, folder, "--json").stdout
    assert run(stats_command, folder, folder / "sub" / "..", folder / "a.py", "--json").stdout == once


def test_check_chunker_fails_for_a_chunker_that_does_not_conform(tmp_path, monkeypatch) -> None:
    (tmp_path / "cutters_that_lose.py").write_text("class Loses:\n    def chunk(self, file): return []\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    bad = run(check_command, "py:cutters_that_lose:Loses", "--examples", 0)
    assert bad.return_value == 1
    assert "nothing lost   BREAKS" in bad.output
    assert re.search(r"shortest input: '.+'", bad.output)


def test_what_cannot_be_read_is_one_sentence(folder, notices, tmp_path) -> None:
    assert "does not exist" in run(show_command, folder / "none.py", fails=UsageError)
    (folder / "latin.py").write_bytes(b"x = '\xe4'\n")
    assert "is not UTF-8 (byte 5)" in run(show_command, folder / "latin.py", fails=DatasetError)
    run(show_command, folder, "--json")  # the others are shown
    assert "1 not text" in notices[0]
    (tmp_path / "empty").mkdir()
    assert "is empty; name a folder" in run(show_command, tmp_path / "empty", fails=NoDataError)
    assert "did you mean 'ast'" in run(show_command, folder, "-c", "asst", fails=SpecError)
