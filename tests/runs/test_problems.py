"""Requests that contradict themselves are refused in words, before anything is fetched."""

import pytest

from repoeval_bench.core.errors import UsageError
from repoeval_bench.runs.problems import Problems, check_requests
from repoeval_bench.runs.request import RunRequest


def problems_of(*chunkers, **given):
    result = Problems()
    check_requests([RunRequest(chunker=chunker, **given) for chunker in chunkers or (None,)], None, result)
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
    request = RunRequest(chunker="asst", gold="bdy", measures=("ndgc@10", "ap"), retriever="bm26", k=0, pack="mine")
    check_requests([request], None, result)
    kept = [(problem.option, problem.value) for problem in result.mistakes]
    of_values = [("measures", "ndgc@10"), ("retriever", "bm26"), ("chunker", "asst")]
    assert kept == [("gold", None), ("pack", None), ("k", None), *of_values]
    with pytest.raises(UsageError, match="6 mistakes"):
        result.check()


@pytest.mark.parametrize("own", ["fixed:header=scope", "ast:header=scope,max_nws=300"])
def test_a_header_for_all_does_not_override_a_chunkers_own(own):
    """The sentence names both, as it does for a precision and a policy for long texts; the same header is none."""
    pytest.importorskip("faiss")  # a library that is missing would be one more mistake
    (sentence,) = problems_of(own, header="path")
    assert sentence.startswith("header path contradicts chunker ")
    assert "header=scope; leave one of them out" in sentence
    (sentence,) = problems_of(own, own.partition(":")[0], header="path")  # they are not called the same besides
    assert sentence.startswith("header path contradicts chunker ")
    assert problems_of(own, "functions", header="scope") == []
    assert problems_of(own, "functions") == []


def test_a_chunker_is_named_twice_where_the_header_makes_it_so():
    """fixed and fixed:header=path are two chunkers, and with header path one."""
    specs = ("fixed", "fixed:header=path")
    assert problems_of(*specs) == []
    (sentence,) = problems_of(*specs, header="path")
    assert "fixed:max_nws=1500,offset=0,header=path is named twice" in sentence
    assert len(problems_of("fixed", "fixed", header="pth")) == 2  # the unknown header and the chunker


@pytest.mark.parametrize(
    ("given", "piece"),
    [
        ({"match_size": "fixed"}, "so match_size fixed changes nothing; leave it out, or choose another protocol"),
        ({"header": "path"}, "so header path changes nothing; leave it out, or"),
    ],
)
def test_documents_that_are_fixed_have_neither_sizes_nor_headers(given, piece):
    """Protocol coderag says so itself, and not that a chunker is unknown or named."""
    assert problems_of(protocol="coderag") == []
    (sentence,) = problems_of(protocol="coderag", **given)
    assert sentence.startswith("protocol coderag ")
    assert piece in sentence


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
