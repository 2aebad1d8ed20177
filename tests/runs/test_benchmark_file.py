"""A bench file: what it asks for, that its mistakes are reported all at once with their lines, and what is shipped."""

from pathlib import Path

import pytest
import yaml

from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.errors import UsageError
from repoeval_bench.runs.benchmark_file import BenchmarkFile, find_benchmark, read_benchmark, shipped
from repoeval_bench.runs.request import PACK, RunRequest
from support.cases import cases

CASES = cases(__file__)


def read(tmp_path, text, **given):
    path = tmp_path / "bench.yaml"
    path.write_text(text)
    return read_benchmark(path, given)


def mistakes(tmp_path, text):
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    first, *more = str(error.value).splitlines()
    if more:
        assert first == f"{len(more)} mistakes in {tmp_path / 'bench.yaml'}:"
    return [line.partition("bench.yaml")[2] for line in more or [first]]


@pytest.mark.parametrize("extensions", [".rb", "[.rb]"])
def test_a_list_of_one_may_be_its_value(tmp_path, extensions):
    (request,) = read(tmp_path, f"chunkers: ast\nprotocol: docstring\nsource: .\nextensions: {extensions}\n").requests
    assert (request.chunker, request.extensions) == ("ast", (".rb",))


def test_every_mistake_is_told_with_its_line(tmp_path):
    """Wrong chunkers, retrievers, embedders and measures: one sentence each, by line."""
    pytest.importorskip("faiss")  # a library that is missing would be one more mistake
    messages = mistakes(tmp_path, CASES["broken"])
    for mistake, (line, piece) in zip(messages, CASES["mistakes"].items(), strict=True):
        assert mistake.startswith(f":{line}: ")
        assert piece in mistake


def test_keys_and_values_are_told_in_the_order_of_the_file(tmp_path):
    """A value of another shape hides no mistake beside it, and an unknown key is not reported as missing too."""
    assert mistakes(tmp_path, "chunker: ast\nretrievers: bm26\nlimit: 0\nrepositories: {a: b}") == [
        ":1: unknown key 'chunker'; did you mean 'chunkers'?",
        ":2: unknown retriever 'bm26'; did you mean 'bm25'?",
        ":3: limit: a number of 1 or more was expected (it is 0)",
        ":4: repositories: a list was expected",
    ]


@pytest.mark.parametrize(("text", "message"), CASES["refused"])
def test_files_that_describe_no_benchmark(tmp_path, text, message):
    """Broken YAML, other shapes, keys given twice, and choices that contradict each other."""
    messages = mistakes(tmp_path, text)
    assert any(message in line for line in messages), messages


def test_what_shows_only_when_it_is_run_is_told_too(tmp_path):
    """Where no embedder can do what is asked, beside a wrong measure."""
    assert mistakes(tmp_path, CASES["unrunnable"]) == [
        ":2: embedder hash: unknown option 'long_chunks'; choose from dim, seed",
        ":4: unknown measure 'ndgc@10'; did you mean 'ndcg@10'?",
    ]


def test_a_misspelt_benchmark_that_ships_is_suggested():
    with pytest.raises(UsageError, match="unknown benchmark 'leaderbord'; did you mean 'leaderboard'"):
        find_benchmark("leaderbord")


def test_every_combination_is_asked_for(tmp_path):
    """Protocols x retrievers x embedders, each with all chunkers; `given` overrides the file."""
    bench = read(
        tmp_path,
        "chunkers: [fixed, ast]\nbaseline: ast\nprotocol: [context, body]\nretrievers: [bm25, dense]\n"
        "source: https://there\nrepositories: [x, y]\nmeasures: mrr\nk: 7\n",
        source="https://here",
    )
    combinations = [("context", "bm25"), ("context", "dense"), ("body", "bm25"), ("body", "dense")]
    assert [(item.protocol, item.retriever, item.chunker) for item in bench.requests] == [
        (*combination, chunker) for combination in combinations for chunker in ("fixed", "ast")
    ]
    assert bench.baseline == 1
    assert read(tmp_path, "chunkers: [fixed, ast]").baseline is None
    request = bench.requests[0]
    assert (request.source, request.repos, request.repositories) == ("https://here", ("x", "y"), None)
    assert (request.measures, request.k) == (("mrr",), 7)


def test_sizes_are_combined_too(tmp_path):
    """Every chunker at the mean size of each."""
    bench = read(tmp_path, "chunkers: [fixed, ast]\nmatch_size: [fixed:max_nws=500, fixed]\nretrievers: bm25\n")
    assert [(request.match_size, request.chunker) for request in bench.requests] == [
        (size, chunker) for size in ("fixed:max_nws=500", "fixed") for chunker in ("fixed", "ast")
    ]
    assert bench.requests[0].combination()["match_size"] == "fixed:max_nws=500"


@pytest.mark.slow  # every chunker's library is imported
def test_the_leaderboard_has_every_chunker_of_ours():
    """Four protocols, three sizes; a chunker that is added to the spine is added to the file."""
    planned = read_benchmark(shipped("leaderboard"), {"source": "pypi-40"}).requests
    named = {item.chunker for item in planned}
    ours = {row.name for row in CHUNKERS if row.part.__module__.startswith("repoeval_bench.chunkers.")}
    assert ours - {"exec"} <= named <= {row.name for row in CHUNKERS}
    assert len(planned) == len(named) * 3 * 4
    main = read_benchmark(shipped("leaderboard-dense"), {}).requests
    assert {"fixed", "ast"} < {request.chunker for request in main} < named
    assert {element.match_size for element in main} == {member.match_size for member in planned}


def test_what_is_left_out_is_as_eval_has_it(tmp_path):
    """A file with nothing but a chunker asks for what `eval -c ast` asks for."""
    assert read(tmp_path, "chunkers: ast\n").requests == (RunRequest(chunker="ast"),)


def test_the_shipped_benchmark_is_this_packages_pack():
    """`repoeval` names the file; its pack is the one that runs state, and it checks clean."""
    path = shipped("repoeval")
    assert path == shipped("repoeval.yaml")
    assert shipped("other") is None
    assert shipped("../pyproject") is None
    assert yaml.safe_load(path.read_text())["pack"] == PACK
    requests = read_benchmark(path, {}).requests
    planned = [(request.resolved_protocol().name, request.chunker) for request in requests]
    assert sorted(planned) == [("context", "ast"), ("context", "fixed"), ("uses", "ast"), ("uses", "fixed")]


def test_every_field_of_a_request_has_a_key():
    """What the command line can ask for, a file can; where the results go is the command's to say."""
    keys = {option.key or name for name, option in RunRequest.options().items()}
    assert keys <= set(BenchmarkFile.model_fields)


def test_every_key_is_documented():
    """The page lists every key of the file."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text()
    assert [key for key in BenchmarkFile.model_fields if f"`{key}`" not in page] == []


def test_a_run_that_no_embedder_takes_part_in_is_made_once(tmp_path):
    """Two embedders under dense and bm25: three combinations, bm25's without an embedder."""
    bench = read(tmp_path, "chunkers: fixed\nretrievers: [dense, bm25]\nembedder: [minilm, hash]\n")
    names = [(request.combination()["retriever"], request.combination()["embedder"]) for request in bench.requests]
    assert names == [("dense", "minilm"), ("dense", "hash"), ("bm25", "none")]
