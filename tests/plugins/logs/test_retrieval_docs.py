"""docs/logs.md shows what the commands print: every example is run, its output compared to the letter."""

import contextlib
import json
import re
import shlex
from pathlib import Path

import pytest

from repoeval_bench.cli import app
from support.runs import read_rows, write_rows

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "logs.md"
TEXT = re.search(r"^## Retrieval systems.*?(?=^## )", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)[0]
"""The section whose blocks are typed again here."""

CONSOLE = re.compile(r"^```console\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
LOGS = ("reranker", "bm25")


def run(line, results):
    """One command line of the page, its results kept in a folder of the test's."""
    words = [word.replace("results/", f"{results}/", 1) for word in shlex.split(line)]
    assert words[0] == "repoeval-bench"
    spread = [
        str(path)
        for word in words[1:]
        for path in (sorted(Path(word[:-1]).iterdir()) if word.endswith("/*") else [word])
    ]
    app.main(spread, standalone_mode=False)


def transcripts(block):
    """(command, its output) of a console block."""
    pieces = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, shown) for command, _, shown in (piece.partition("\n") for piece in pieces)]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Every example log, imported as the page says."""
    folder = tmp_path_factory.mktemp("results")
    (command,) = re.findall(r"^```\n(repoeval-bench logs import .*)\n```", TEXT, flags=re.MULTILINE)
    with contextlib.chdir(ROOT):
        for name in LOGS:
            run(command.replace("NAME", name), folder)
    return folder


@pytest.mark.parametrize("block", CONSOLE.findall(TEXT), ids=lambda block: block.splitlines()[0][:60])
def test_the_page_shows_what_is_printed(block, results, capsys, monkeypatch):
    """To the letter."""
    monkeypatch.chdir(ROOT)
    capsys.readouterr()
    for command, shown in transcripts(block):
        run(command, results)
        assert capsys.readouterr().out.strip() == shown.strip(), command


def test_no_example_is_left_over(results):
    """Every file of docs/examples is used on the page."""
    named = PAGE.read_text()
    used = {f"{name}.jsonl" for name in LOGS} | set(re.findall(r"examples/([\w-]+\.jsonl)", named))
    assert {path.name for path in (ROOT / "docs" / "examples").glob("*.jsonl")} == used - {"NAME.jsonl"}


def test_a_judged_pool_comes_back_as_gold(results, capsys, monkeypatch, tmp_path):
    """pool -> grades -> bounds --write-gold -> logs import: everything in the top 3 is then judged."""
    monkeypatch.chdir(ROOT)
    pool = tmp_path / "pool.jsonl"
    run(f"repoeval-bench logs pool results/bm25/* -k 3 -o {pool}", results)
    rows = read_rows(pool)
    assert all(row["grade"] is None and row["query"] for row in rows)
    write_rows(pool, (row | {"grade": 1} for row in rows))
    gold = tmp_path / "gold.jsonl"
    run(f"repoeval-bench logs bounds imported --out results/bm25 -k 3 --judgements {pool} --write-gold {gold}", results)
    capsys.readouterr()
    run(f"repoeval-bench logs import docs/examples/bm25.jsonl --gold {gold} --out {tmp_path}/in --json", results)
    micro = json.loads(capsys.readouterr().out)["micro"]
    assert (micro["judged@5"], micro["hit@5"]) == (1.0, 1.0)
