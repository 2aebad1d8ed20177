"""The whole path, as processes, on a small benchmark with the real model."""

import hashlib
import json
import sys
from pathlib import Path

import pytest

from support.command import bench, json_of, one_sentence, python, succeed
from support.folders import content
from support.runs import read_rows

AST = "ast:max_nws=400"
MUST_EXIST = {
    *("manifest.json", "metrics.json", "per_query.jsonl.gz", "qrels.trec.gz"),
    *("retrieved.jsonl.gz", "timings.jsonl", "chunks.jsonl.gz", "queries.jsonl.gz", "sources.jsonl.gz"),
}


def only_run(results):
    (folder,) = [path for path in results.iterdir() if path.is_dir()]
    return folder


@pytest.fixture(scope="module")
def folder(mirror, warm_home, tmp_path_factory):
    """A run of the model; no test changes it. --json printed its metrics."""
    out = tmp_path_factory.mktemp("run")
    printed = json_of("eval", "-c", AST, "--source", mirror, "--out", out, home=warm_home)
    folder = only_run(out)
    assert printed == json.loads((folder / "metrics.json").read_text())
    return folder


def test_a_run_folder_is_complete_and_named_after_data_protocol_and_chunker(folder):
    """The folder's name carries the data set, its fingerprint, the protocol and the spec; all files are there."""
    assert {path.name for path in folder.iterdir()} == MUST_EXIST
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["run_id"] == folder.name
    for piece in ("ast-400", "context", "dense"):
        assert piece in folder.name
    assert folder.name[-9] == "-"
    assert int(folder.name[-8:], 16) >= 0
    metrics = json.loads((folder / "metrics.json").read_text())
    assert set(metrics["per_repo"]) == set(metrics["dataset"]["repositories"])
    assert isinstance(metrics["micro"]["ndcg@10"], float)


def test_the_run_log_tells_what_was_retrieved(evaluate, tmp_path):
    """retrieved.jsonl.gz has a row per query with ranks from 1, files, lines and falling scores."""
    evaluate("--chunker", AST, "--k", "3", "-m", "ndcg@3")
    folder = only_run(tmp_path / "results")
    rows = read_rows(folder / "retrieved.jsonl.gz")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert {"dataset", "code"} <= set(manifest)
    assert len(rows) == manifest["counts"]["queries"]
    for row in rows:
        assert hashlib.sha256(row["query"].encode()).hexdigest() == row["query_sha256"]
        assert row["query_tokens"] > 2
        assert row["chunker"]["algo"] == "ast"
        assert row["chunker"]["parameters"]["max_nws"] == "400"
        assert [entry["rank"] for entry in row["topk"]] == [1, 2, 3]
        scores = [entry["score"] for entry in row["topk"]]
        assert scores == sorted(scores, reverse=True)
        for entry in row["topk"]:
            assert entry["chunk_id"].startswith(entry["file"])
            assert entry["start_line"] < entry["end_line"]


def test_a_second_run_writes_the_same_bytes_whatever_was_cached(folder, mirror, tmp_path):
    """All files but the timings and the manifest's time are identical, from a warm and from a partly filled cache."""
    # Another chunker's run and a part of the tasks leave some of the texts cached, in batches of other company.
    part = ("--source", mirror, "--out", tmp_path / "part")
    succeed("eval", "-c", "fixed:max_nws=400", "--limit", "3", *part, home=tmp_path / "other-home")
    succeed("eval", "-c", AST, "--source", mirror, "--out", tmp_path / "again", home=tmp_path / "other-home")
    assert content(tmp_path / "again") == content(folder.parent)


def without_modules(words, heavy, home):
    """Run the command line in a process that must not import any of these modules; what it prints."""
    script = (
        "import sys; from repoeval_bench.cli import app\n"
        "app.main(sys.argv[1:], standalone_mode=False)\n"
        f"heavy = {heavy!r} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = python("-c", script, *words, REPOEVAL_HOME=str(home))
    assert done.code == 0, done.err
    return done.out


def test_a_warm_run_imports_no_torch(mirror, warm_home, tmp_path):
    """With every vector cached, the whole of `eval` runs without torch, transformers or scipy's larger parts."""
    heavy = {"torch", "transformers", "sentence_transformers", "scipy.linalg", "scipy._lib._array_api", "pandas"}
    without_modules(["eval", "-c", AST, "--source", mirror, "--out", tmp_path / "results"], heavy, warm_home)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_command_closes_the_vector_cache(evaluate, warm_home):
    """Who calls it in a process of their own may copy or remove the folder afterwards."""
    assert evaluate("--chunker", AST).code == 0
    held = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert not [path for path in held if path.is_relative_to(warm_home)]


def test_compare_runs_what_is_missing_and_says_what_differs(mirror, warm_home, tmp_path):
    """compare evaluates the chunkers named, prints differences with intervals, and words for no difference."""
    arguments = ("--source", mirror, "--out", tmp_path / "results")
    chunkers = ("-c", "fixed:max_nws=400", "-c", AST, "-c", "chonkie:chunk_size=600")
    done = succeed("compare", *chunkers, *arguments, "--details", home=warm_home)
    assert "95 % CI" in done.out
    assert "win/tie/loss" in done.out
    runs = sorted(path.name for path in (tmp_path / "results").iterdir() if path.is_dir())
    assert len(runs) == 3
    done = bench("compare", *runs, "--out", tmp_path / "results", "--json")
    compared = json.loads(done.out)
    rows = compared["comparisons"]
    assert {row["n_queries"] for row in rows} == {len(read_rows(tmp_path / "results" / runs[0] / "per_query.jsonl.gz"))}
    assert all(row["ci"][0] <= row["difference"] <= row["ci"][1] for row in rows)
    names = [json.loads((tmp_path / "results" / run / "metrics.json").read_text())["chunker"] for run in runs]
    pairs = dict.fromkeys((row["baseline"], row["treatment"]) for row in rows)
    assert list(pairs) == [(names[0], names[1]), (names[0], names[2]), (names[1], names[2])]
    tests = sum(not row["measure"].endswith("_ceiling") for row in rows)
    families = {(row["primary"], row["family"]) for row in rows if row["p_adjusted"] is not None}
    assert families == {(True, 3), (False, tests - 3)}
    done = bench("export", "runs", *runs, "--format", "json", "--out", tmp_path / "results")
    exported = json.loads(done.out)
    assert compared.pop("left_out") == {}
    assert {key: exported[key] for key in compared} == compared
    assert {candidate["run_id"] for candidate in compared["choice"]["candidates"]} == set(runs)


def test_a_generator_is_a_chunker_and_its_prints_stay_out_of_the_results(evaluate, folder, tmp_path, monkeypatch):
    """A chunk method that yields is scored like one that returns a list; --json stays JSON whatever it prints."""
    (tmp_path / "lazy.py").write_text(
        "from repoeval_bench.chunkers.registry import make_chunker\n"
        "class Lazy:\n    spec = 'py:lazy:Lazy'\n"
        "    def chunk(self, file):\n        print('cutting', file.path)\n"
        f"        yield from make_chunker('{AST}').chunk(file)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    lazy = json.loads(evaluate("-c", "py:lazy:Lazy", "--json").out)
    assert lazy["micro"] == json.loads((folder / "metrics.json").read_text())["micro"]


def test_the_baseline_is_named_as_its_chunker_was(mirror, tmp_path):
    """--baseline takes the spec as typed, options left out too; one that fits two chunkers is refused."""
    options = ("--source", mirror, "--retriever", "bm25", "-m", "ndcg@10", "--out", tmp_path / "results")
    chunkers = ("-c", AST, "-c", "fixed:max_nws=400", "-c", "fixed:max_nws=300")
    compared = json_of("compare", *chunkers, *options, "--baseline", "fixed:max_nws=400", home=tmp_path / "home")
    assert {row["baseline"] for row in compared["comparisons"]} == {"fixed:max_nws=400,offset=0"}
    done = bench("compare", *chunkers, *options, "--baseline", "fixed", home=tmp_path / "home")
    assert "name one" in one_sentence(done, 2)
    headed = ("-c", AST, "-c", f"{AST},header=path", *options)
    for name in (AST, f"{AST},header=none"):  # both are the spec without a header, which fits the other one too
        compared = json_of("compare", *headed, "--baseline", name, home=tmp_path / "home")
        assert {row["treatment"].rsplit(",", 1)[-1] for row in compared["comparisons"]} == {"header=path"}
