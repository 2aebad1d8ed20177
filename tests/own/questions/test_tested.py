"""Protocol tests: what each test asks, which definitions answer it, and what is masked and left out."""

import pytest

from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.own.questions import tested as rules
from repoeval_bench.own.questions.tested import questions_of_tests
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.naming import find_runs
from support import written
from support.cases import cases
from support.codebase import write_files
from support.command import succeed
from support.written import gold_text

CASES = cases(__file__)
CODE = CASES["code"]
TESTS = CASES["python"]
FILES = {"shop/ledger.py": CODE, "shop/other.py": "def unused():\n    return 1\n", "tests/test_ledger.py": TESTS}


def benchmark(files=FILES, limit=None):
    return written.benchmark({"r": written.sources(files)}, limit=limit)


def test_a_name_and_a_docstring_ask_for_what_the_test_calls_without_its_names():
    """The function is gold as a whole, the class by its head; a decorator's calls and a helper's are not the test's."""
    questions = questions_of_tests(benchmark())
    settle, parse = questions.tasks
    assert settle.prompt == "skips names without text. . gives nobody twice."
    assert gold_text(questions, settle) == "".join(CODE.splitlines(keepends=True)[i] for i in (0, 1, 5, 6, 7))
    assert settle.function_name == "tests/test_ledger.py::test_settle_debts_skips_names_without_text"
    assert parse.prompt == "of text with two commas"
    assert gold_text(questions, parse).startswith("def parse_entry(text):")
    # A name that is all masked, a helper of the tests, and an attribute that is not called.
    assert questions.unscored == 3


def test_tests_are_not_searched():
    """The corpus is the code alone, with its docstrings."""
    (files,) = questions_of_tests(benchmark()).files.values()
    assert [file.path for file in files] == ["shop/ledger.py", "shop/other.py"]
    assert files[0].text == CODE


def test_a_helper_of_most_tests_is_no_gold(monkeypatch):
    """It is called by more than a tenth of the tests, and by more than ten of them."""
    calls = "".join(
        f"def test_that_case_{name}_holds():\n    open_ledger()\n    parse_entry('')\n\n\n"
        for name in ("one", "two", "three")
    )
    others = "".join(f"def test_that_other_{i}():\n    parse_entry('')\n\n\n" for i in range(9))
    files = {"shop/ledger.py": CODE, "tests/test_x.py": f"from shop.ledger import *\n\n\n{calls}{others}"}
    # Twelve call parse_entry, three open_ledger.
    questions = questions_of_tests(benchmark(files))
    assert {gold_text(questions, task) for task in questions.tasks} == {"def open_ledger():\n    return Ledger()\n"}
    assert len(questions.tasks) == 3
    monkeypatch.setattr(rules, "COMMON_TESTS", 12)
    assert len(questions_of_tests(benchmark(files)).tasks) > 3


def test_tests_that_ask_the_same_are_one_question():
    """Each definition that one of them calls is an answer."""
    again = TESTS.replace('parse_entry("a,b,c") == ["a", "b", "c"]', "open_ledger()").replace(
        "test_parse_entry_of_text", "test_open_ledger_of_text"
    )
    questions = questions_of_tests(benchmark({**FILES, "tests/test_more.py": again}))
    (task,) = (task for task in questions.tasks if task.prompt == "of text with two commas")
    assert len(task.places) == 2


def test_a_test_of_javascript_asks_in_the_words_of_its_text():
    """Each form of `it` and `test` with a text and a function; a todo has none, and another call is no test."""
    questions = questions_of_tests(benchmark(CASES["javascript"]))
    assert [(task.function_name, task.prompt) for task in questions.tasks] == [
        ("src/ledger.test.ts::skips names without text", "skips names without text"),
        ('src/ledger.test.ts::splits at ${"%i"} commas', 'splits at ${"%i"} commas'),
        ("src/ledger.test.ts::parseEntry keeps what is between", "keeps what is between"),
    ]
    assert [gold_text(questions, task).splitlines()[0] for task in questions.tasks] == [
        "export class Ledger {", *2 * ("export function parseEntry(text: string) {",)
    ]  # fmt: skip
    assert questions.unscored == 1


@pytest.mark.parametrize("files", [{"shop/ledger.py": CODE}, {"tests/test_x.py": "def test_that_one_holds(): pass\n"}])
def test_code_without_such_tests_asks_nothing(files):
    with pytest.raises(DatasetError, match="sdist:NAME==VERSION"):
        questions_of_tests(benchmark(files))


def test_what_tests_ask_is_the_whole_query_and_hides_nothing():
    for wrong in ("tests+query=tail:2", "tests+exclusion=prompt"):
        with pytest.raises(UsageError):
            Protocol.parse(wrong)


def test_a_folder_of_code_is_asked_what_its_tests_ask(tmp_path):
    """Queries are clustered by the file of the test; tests that ask nothing are counted; a second run finds the first."""
    write_files(tmp_path / "shop", FILES)
    call = ("eval", "-c", "fixed:max_nws=100", "--protocol", "tests", "--retriever", "bm25")
    done = succeed(*call, "--source", tmp_path / "shop", "--out", tmp_path / "runs", home=tmp_path / "home")
    assert "2 queries in 1 repository" in done.out
    (run,) = find_runs(["latest"], tmp_path / "runs")
    assert run.counts.tasks_unscored == 3
    assert (run.scores.clustered_by, set(run.scores.clusters)) == ("test file", {"shop/tests/test_ledger.py"})
