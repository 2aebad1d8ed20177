"""Requests that contradict themselves are refused in words, before anything is fetched."""

import pytest

from repoeval_bench.core.errors import UsageError
from repoeval_bench.runs.problems import Problems, check_requests
from repoeval_bench.runs.request import RunRequest


def problems_of(*chunkers, **given):
    result = Problems()
    check_requests([RunRequest(chunker=chunker, **given) for chunker in chunkers or (None,)], result)
    return [problem.sentence for problem in result.mistakes]


def test_a_field_that_does_not_exist_or_is_of_another_type_is_a_usage_error():
    """All of them in one error, with the nearest name."""
    with pytest.raises(UsageError) as error:
        RunRequest.of({"protocl": "body", "k": "many", "limit": 0, "measures": [["ap"], "ap"]})
    for piece in (
        "did you mean 'protocol'",
        "k: a whole number was expected (it is 'many')",
        "limit: a number of 1 or",
        "measures: a text was expected (it is ['ap'])",
    ):
        assert piece in str(error.value)


@pytest.mark.parametrize("field", ["k", "limit"])
def test_a_number_that_no_run_can_store_is_a_usage_error(field):
    with pytest.raises(UsageError, match=f"{field}: a number of 9007199254740992 or less was expected"):
        RunRequest.of({field: 2**53 + 1})


def test_every_mistake_is_kept_with_its_field_and_value():
    """So that a file's line can be found, and an option be named."""
    result = Problems()
    request = RunRequest(chunker="asst", gold="bdy", measures=("ndgc@10", "ap"), retriever="bm26", pack="mine")
    check_requests([request], result)
    kept = [(problem.option, problem.value) for problem in result.mistakes]
    of_values = [("measures", "ndgc@10"), ("retriever", "bm26"), ("chunker", "asst")]
    assert kept == [("gold", None), ("pack", None), *of_values]
    with pytest.raises(UsageError, match="5 mistakes"):
        result.check()


def test_documents_that_are_fixed_have_no_sizes():
    """Protocol coderag says so itself, and not that a chunker is unknown or named."""
    assert problems_of(protocol="coderag") == []
    (sentence,) = problems_of(protocol="coderag", match_size="fixed")
    assert sentence.startswith("protocol coderag ")
    assert "so match_size fixed changes nothing; leave it out, or choose another protocol" in sentence


def test_a_use_of_tests_that_does_not_exist_is_refused_with_queries_too(tmp_path):
    (tmp_path / "q.jsonl").write_text("{}\n")
    assert problems_of("ast", tests="none", questions=str(tmp_path / "q.jsonl"), retriever="bm25") == [
        "unknown use of tests 'none'; choose from all, index, out"
    ]


def test_tasks_of_a_folder_of_code_are_not_asked_for(tmp_path):
    """The folder is named as it was typed; protocols that ask questions of code take it."""
    (tmp_path / "mine.py").write_text("def add(a, b):\n    return a + b\n")
    (tmp_path / "queries.jsonl").write_text("{}\n")
    (sentence,) = problems_of("ast", source=str(tmp_path), retriever="bm25")
    assert sentence.startswith(f"{tmp_path} is a folder of code without tasks; measure chunkers on it with")
    assert problems_of("ast", source=str(tmp_path), protocol="docstring") == []
    assert problems_of("ast", source=str(tmp_path), questions=str(tmp_path / "queries.jsonl")) == []
    (sentence,) = problems_of("ast", source=str(tmp_path), protocol="questions")
    assert "name it with --queries FILE" in sentence
