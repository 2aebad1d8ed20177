"""The whole path, as processes, on a small benchmark with the real model."""

import json
import shutil

import pytest

from support.command import json_of, python, succeed
from support.folders import content
from support.minirepo import build_mirror, tree_files

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


def test_a_second_run_writes_the_same_bytes_whatever_was_cached(folder, mirror, tmp_path):
    """All files but the timings and the manifest's time are identical, from a warm and from a partly filled cache."""
    # Another chunker's run and a part of the tasks leave some of the texts cached, in batches of other company.
    part = ("--source", mirror, "--out", tmp_path / "part")
    succeed("eval", "-c", "fixed:max_nws=400", "--limit", "3", *part, home=tmp_path / "other-home")
    succeed("eval", "-c", AST, "--source", mirror, "--out", tmp_path / "again", home=tmp_path / "other-home")
    assert content(tmp_path / "again") == content(folder.parent)


def test_the_order_of_the_files_does_not_matter(folder, warm_home, tmp_path):
    """Archives whose members are in another order, unpacked into another order on disk, give the same bytes."""
    other = build_mirror(tmp_path / "mirror", files=dict(reversed(tree_files().items())))
    shutil.copytree(warm_home / "vectors", tmp_path / "home" / "vectors")
    succeed("eval", "-c", AST, "--source", other, "--out", tmp_path / "results", home=tmp_path / "home")
    assert content(tmp_path / "results") == content(folder.parent)


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
