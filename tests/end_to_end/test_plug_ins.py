"""Parts of other packages and programs in whole runs, and a folder of the user's own that has a room's name."""

import sys

import pytest

from support.command import bench, json_of, one_sentence, succeed
from support.plug_ins import install, module_of_the_docs


@pytest.fixture
def run(mirror, tmp_path, monkeypatch):
    """Call `eval` with `mine.py` of the docs importable, and installed as a package too."""
    folder = tmp_path / "site"
    folder.mkdir()
    parts = {"retrievers": {"words": "mine:Words"}, "protocols": {"short": "mine:short"}}
    parts["measures"] = {"found_at": "mine:found_at"}
    points = {f"repoeval_bench.{kind}": named for kind, named in parts.items()}
    install(module_of_the_docs(folder), "my-parts", points)
    monkeypatch.syspath_prepend(str(folder))

    def call(*arguments):
        words = ("eval", "-c", "fixed:max_nws=400", "--source", mirror, "--out", tmp_path / "results")
        return json_of(*words, *arguments, home=tmp_path / "home")

    yield call
    sys.modules.pop("mine", None)


def test_a_retriever_a_protocol_and_a_measure_from_outside(run):
    """By module and by entry point they give the same numbers, under the names that were asked for."""
    by_module = run("--retriever", "py:mine:Words:least=2", "--protocol", "py:mine:short", "-m", "py:mine:found_at@3")
    by_name = run("--retriever", "words:least=2", "--protocol", "short", "-m", "found_at@3", "-m", "hit@3")
    assert by_module["protocol"] == "py:mine:short"
    assert by_name["retriever"] == "words:least=2"
    assert by_module["micro"]["py:mine:found_at@3"] == by_name["micro"]["found_at@3"] == by_name["micro"]["hit@3"]


def test_an_embedder_and_a_reranker_from_outside(run):
    """Vectors go through the cache, and a first stage is ranked again."""
    dense = run("--embedder", "py:mine:Letters:dim=16")
    assert dense["embedder"] == "py:mine:Letters:dim=16"
    assert run("--embedder", "py:mine:Letters:dim=16")["micro"] == dense["micro"]
    reranked = run("--retriever", "rerank:py:mine:Cosine,first=bm25,embedder=hash")["retriever"]
    assert reranked.startswith("rerank:py:mine:Cosine,")


def test_plug_ins_are_listed_with_their_package_and_explained(run):
    """`list` reads the registry."""
    listed = " ".join(bench("list", "retrievers").out.split())
    assert "words" in listed
    assert "(from my-parts 1.0)" in listed
    assert (
        "retriever words: Chunks that share the most words with the query." in bench("list", "retrievers", "words").out
    )
    assert "Whether a relevant chunk is among the first k." in bench("list", "measures", "found_at").out


def test_a_folder_of_ones_own_named_chunkers_is_not_taken_for_ours(tmp_path):
    """`chunkers/` in the working folder, on the path before everything else."""
    (tmp_path / "chunkers").mkdir()
    (tmp_path / "chunkers" / "__init__.py").write_text("raise ImportError('not this one')\n", "utf-8")
    (tmp_path / "a.py").write_text("x = 1\n", "utf-8")
    path = ":".join([".", *filter(None, sys.path)])
    done = succeed("chunker", "show", "a.py", "-c", "ast", cwd=tmp_path, PYTHONPATH=path)
    assert "x = 1" in done.out


@pytest.mark.parametrize("ends", ["raise ValueError('first\\nsecond')", "raise SystemExit(0)"])
@pytest.mark.parametrize(
    ("part", "options"),
    [
        ("retriever", ["--retriever", "py:{}:Fails"]),
        ("reranker", ["--retriever", "rerank:py:{}:Fails,first=bm25"]),
        ("embedder", ["--embedder", "py:{}:Fails"]),
    ],
)
def test_a_part_that_fails_is_one_sentence(mirror, tmp_path, monkeypatch, part, options, ends):
    """The kind of the exception and the first line of its message; an exit of its own is a failure too."""
    module = f"fails_{part}_{len(ends)}"
    methods = "".join(f"    def {name}(self, *_):\n        {ends}\n" for name in ("search", "score", "encode"))
    (tmp_path / f"{module}.py").write_text(
        f"class Fails:\n    identity = {{'model': 'none'}}\n    def __init__(self, chunks=None): pass\n{methods}"
    )
    monkeypatch.syspath_prepend(tmp_path)
    words = ("-c", "file", *(word.format(module) for word in options), "--source", mirror, "--out", tmp_path)
    sentence = one_sentence(bench("eval", *words, home=tmp_path / "home"), 1)
    reason = "ValueError: first" if "first" in ends else "SystemExit: 0"
    assert sentence.endswith(f"py:{module}:Fails failed with {reason}; repair the {part}")


def test_a_measure_without_a_value_is_one_sentence(mirror, tmp_path, monkeypatch):
    (tmp_path / "no_value.py").write_text(
        "from repoeval_bench.metrics.definition import measure\n\n\n"
        "@measure(formula='none', range='none', source='none', avoid='none', needs=frozenset({'ranking'}))\n"
        "def missing(run, k):\n    return run.per_query(lambda query_id: float('nan'))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    words = ("-c", "file", "--retriever", "bm25", "-m", "py:no_value:missing", "--source", mirror, "--out", tmp_path)
    assert "py:no_value:missing gives no finite number for query" in one_sentence(bench("eval", *words), 1)
