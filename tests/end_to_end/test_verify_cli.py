"""`verify`: a run that is what it claims, and one for each way in which it can be something else."""

import json

import pytest

from repoeval_bench.analysis.verification import ALWAYS_AS_STORED
from repoeval_bench.chunkers.registry import CHUNKERS
from support.command import bench, one_sentence, succeed
from support.runs import change, write_run

PROTOCOLS = ("context", "code-chunk", "coderag", "body", "docstring", "context+exclusion=body+scope=pooled")
"""Every kind of documents, scope, exclusion and task; `uses` has no table for the mini benchmark."""


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_is_what_it_claims_under_every_kind_of_protocol(protocol, verify, mirror, two_runs, tmp_path):
    """Nothing that was computed again differs, and every file is counted."""
    chunker = () if protocol == "coderag" else ("-c", "ast:max_nws=400")
    words = ("--retriever", "bm25", "--set", "allow_sparse_qrels", "--source", mirror, "--out", tmp_path)
    succeed("eval", *chunker, "--protocol", protocol, *words, home=two_runs.home)
    done = verify("latest", "--out", tmp_path, "--json")
    result = json.loads(done.out)
    assert (done.code, result["holds"], result["differences"]) == (0, True, []), result["differences"][:3]
    assert (result["ranking"], result["reason"], result["as_stored"]) == ("recomputed", "", list(ALWAYS_AS_STORED))
    assert min(result["compared"].values()) > 0
    (folder,) = tmp_path.glob("*/manifest.json")
    stored = {path.name for path in folder.parent.iterdir()} - {"timings.jsonl"}
    assert stored | {"intervals"} == set(result["compared"])


def test_a_run_whose_hits_bring_more_is_what_it_claims(verify, mirror, two_runs, tmp_path):
    """What they bring is computed again; without it the lines that were read are others."""
    words = ("eval", "-c", "fixed:max_nws=200", "--retriever", "grep:around=definition", "--protocol", "body")
    succeed(*words, "--set", "allow_sparse_qrels", "--source", mirror, "--out", tmp_path / "runs", home=two_runs.home)
    (expanded,) = (tmp_path / "runs").iterdir()
    assert verify(expanded).code == 0
    change(expanded / "manifest.json", lambda manifest: manifest["config"].update(retriever="grep"))
    assert verify(expanded).code == 1


def test_a_measure_of_vectors_is_computed_again(mirror, warm_home, tmp_path):
    """The model embeds what the measure compares; its identity is compared too."""
    words = ("-c", "fixed:max_nws=400", "-m", "ild@5", "--source", mirror, "--out", tmp_path)
    succeed("eval", *words, home=warm_home)
    again = ("verify", "latest", "--source", mirror, "--out", tmp_path)
    succeed(*again, home=warm_home)
    (path,) = tmp_path.glob("*/per_query.jsonl.gz")
    change(path, lambda row: row["measures"].update({"ild@5": 0.9}))
    done = bench(*again, home=warm_home)
    assert (done.code, "measures.ild@5" in done.out) == (1, True), done.out


def test_every_difference_is_printed_if_asked(claimed, verify):
    """Five of a file represent the others unless --details or --json is given, and the others are counted."""
    n = len(change(claimed / "per_query.jsonl.gz", lambda row: row.update(n_relevant=row["n_relevant"] + 1)))
    shown = verify(claimed).out
    assert shown.count(": n_relevant") == 5
    assert f"per_query.jsonl.gz: {n - 5} more" in shown
    assert verify(claimed, "--details").out.count(": n_relevant") == n
    assert len(json.loads(verify(claimed, "--json").out)["differences"]) == n


def test_code_that_a_folder_names_is_not_run(claimed, verify, tmp_path):
    """A chunker that is a program or a module is run only where the user names it too."""
    trap = f"exec:touch {tmp_path}/ran"
    change(claimed / "manifest.json", lambda manifest: manifest["config"].update(chunker=trap))
    sentence = one_sentence(verify(claimed), 2)
    assert f"--allow '{trap}'" in sentence
    assert not (tmp_path / "ran").exists()
    verify(claimed, "--allow", trap)
    assert (tmp_path / "ran").exists()
    for field, spec in (("measures", ["py:os:getcwd@5"]), ("chunker", "py:os:getcwd")):
        change(claimed / "manifest.json", lambda manifest, f=field, s=spec: manifest["config"].update({f: s}))
        assert "--allow py:os:getcwd" in one_sentence(verify(claimed), 2)


def test_a_chunker_that_asks_for_a_program_is_known():
    """A new built-in chunker that runs something else has to be refused too."""
    assert {row.name for row in CHUNKERS if row.target} <= {"exec"}


def test_other_data_is_named(claimed, verify):
    """Nothing is judged on other data: both fingerprints are printed."""
    change(claimed / "manifest.json", lambda manifest: manifest["config"].update(fingerprint="0" * 12))
    done = verify(claimed)
    assert done.code == 1
    assert "dataset.fingerprint" in done.out
    assert "0" * 12 in done.out


def test_the_folder_of_a_pack_of_ones_own_has_to_be_named(claimed, verify, mirror):
    """Its name says neither where it is nor a file of RepoEval's."""
    name = "pack-mine-function-2k-code"
    change(claimed / "manifest.json", lambda manifest: manifest["dataset"].update(name=name, source="pack"))
    done = verify(claimed)
    assert one_sentence(done, 2)
    assert f"is {name}, and {mirror} is not a pack; name its folder with --source" in done.err


def test_the_source_of_data_of_ones_own_has_to_be_named(claimed, two_runs):
    """Nothing is fetched, as no source that is taken by itself has such data."""
    message = one_sentence(bench("verify", claimed, "--source", "auto", home=two_runs.home), 2)
    assert "is custom-mini-function-2k-codex; name its folder with --source" in message


def test_an_imported_run_is_refused(verify, tmp_path):
    """Its chunks cannot be cut again."""
    imported = write_run(tmp_path / "imported", {"mrr": [1.0, 0.5]}, imported=True)
    assert "was imported" in one_sentence(verify(imported.folder), 2)


@pytest.mark.full_data
@pytest.mark.parametrize(
    "options",
    [
        ("--protocol", "coderag"),
        ("-c", "fixed", "--protocol", "uses"),
        ("-c", "fixed", "--protocol", "uses", "--repos", "deepmind_tracr"),
        ("-c", "fixed", "--protocol", "code-chunk", "--limit", "60"),
    ],
    ids=" ".join,
)
def test_real_data_is_found_again(real_source, tmp_path, options):
    """Of a run over a part of the tasks, or over those that have gold, the very same tasks."""
    succeed("eval", *options, "--retriever", "bm25", "--source", real_source, "--out", tmp_path)
    done = bench("verify", "latest", "--out", tmp_path, "--source", real_source)
    assert done.code == 0, done.out
