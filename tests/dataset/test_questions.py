"""--queries: your own questions, with all that is wrong with a file of them said at once."""

import pytest

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.dataset.loader import load_benchmark
from support.cases import cases
from support.codebase import CODE, write_code
from support.runs import write_rows

GOOD = cases(__file__)


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    return write_code(tmp_path_factory.mktemp("sources") / "code")


def ask(code, folder, rows, **options):
    path = write_rows(folder / "questions.jsonl", rows)
    return load_benchmark(code, questions=path, home=folder / "home", **options)


def mistakes(code, folder, *rows):
    with pytest.raises(UsageError) as raised:
        ask(code, folder, rows)
    return str(raised.value)


def test_questions_take_the_place_of_tasks(code, tmp_path):
    first, second = ask(code, tmp_path, GOOD).tasks
    assert (first.task_id, first.repo, first.prompt) == ("query-1", "code", "who owes whom")
    assert first.places == (Place("code/ledger/ledger.py", LineSpan(31, 34)),)
    assert second.task_id == "drop"
    assert [place.file for place in second.places] == ["code/cache/cache.go", "code/maps/Grid.java"]


def test_a_limit_takes_the_first(code, tmp_path):
    result = ask(code, tmp_path, GOOD, limit=1)
    assert (len(result.tasks), result.whole_tasks) == (1, 2)


def test_all_mistakes_are_said_at_once_with_file_and_line(code, tmp_path):
    place = {"file": "ledger/ledger.py", "start_line": 1, "end_line": 2}
    changes = [{"query": ""}, {"file": "ledger/leger.py"}, {"end_line": 9999}, {"start_line": 3}, {"start_line": 0}]
    changes += [{"quote": "def settle_debts(ledger, people):"}, {"quote": "stands nowhere"}, {"places": [place]}]
    changes += [{"answer": 1}, {"id": "query-1"}, {"file": ""}]
    others = [{"query": "q"}, {"query": "q", "places": [{**place, "file": ""}]}]
    rows = [GOOD[0], "{not json", *({"query": "q", **place, **change} for change in changes), *others]
    text = mistakes(code, tmp_path, *rows)
    path = tmp_path / "questions.jsonl"
    assert text.startswith(f"14 mistakes in {path}:")
    for line in range(2, 16):
        assert f"{path}:{line}: " in text
    for part in (
        "did you mean 'ledger/ledger.py'",
        f"ends at line {len(CODE['ledger/ledger.py'].splitlines())}, before line 9999",
        "the quote is not in lines 1 to 2",
        "either file, start_line and end_line were expected, or places",
        "the id 'query-1' is that of line 1 already",
    ):
        assert part in text, part


def test_an_empty_file_and_a_file_that_is_none(code, tmp_path):
    assert "has no query" in mistakes(code, tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        load_benchmark(code, questions=tmp_path / "absent.jsonl", home=tmp_path)


def test_queries_without_an_answer_alone_cannot_be_scored(code, tmp_path):
    row = {"query": "q", "repository": "code", "no_answer": True}
    assert "has no query to score; no query has an answer" in mistakes(code, tmp_path, row)


@pytest.mark.parametrize("number", ["NaN", "1e999"])
def test_a_fact_is_a_finite_number(code, tmp_path, number):
    path = tmp_path / "questions.jsonl"
    path.write_text(f'{{"query": "q", "places": [{{"file": "maps/Grid.java"}}], "facts": {{"a": {number}}}}}')
    with pytest.raises(UsageError, match=r"questions\.jsonl:1: facts\.a\.float: a finite number was expected"):
        load_benchmark(code, questions=path, home=tmp_path)


def test_a_path_of_two_repositories_needs_its_repository(code, tmp_path):
    from repoeval_bench.own.packs.pack import build_pack
    from repoeval_bench.own.packs.request import BuildRequest

    other = write_code(tmp_path / "other", aside=False)
    pack = build_pack(BuildRequest(sources=(str(code), str(other))), tmp_path / "pack").root
    place = {"file": "maps/Grid.java", "start_line": 1, "end_line": 2}
    assert "is a file of code and other; write repository/path" in mistakes(pack, tmp_path, {"query": "q", **place})
    two = {"query": "q", "places": [{**place, "file": f"{repo}/maps/Grid.java"} for repo in ("code", "other")]}
    assert "its places are in code and other" in mistakes(pack, tmp_path, two)
    result = ask(pack, tmp_path, [{"query": "q", **place, "file": "other/maps/Grid.java"}])
    assert result.tasks[0].repo == "other"
    assert set(result.files) == {"code", "other"}
