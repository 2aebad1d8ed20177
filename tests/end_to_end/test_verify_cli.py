"""`verify`: a run that is the same when it is run again, and what is found where it is not."""

import json

import pytest

from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.runs.records import RunConfig
from repoeval_bench.runs.replay import FUSED, HALF, ROUNDED, tolerance_of
from support.command import bench, one_sentence, succeed
from support.embedding_server import KEY
from support.runs import change, config, read_rows, read_text, write_run, write_text

PROTOCOLS = ("context", "code-chunk", "coderag", "body", "docstring", "context+exclusion=body+scope=pooled")
"""Every kind of documents, scope, exclusion and task; `uses` has no table for the mini benchmark."""

CHUNKER = ("-c", "fixed:max_nws=400")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_is_the_same_under_every_kind_of_protocol(protocol, verify, mirror, two_runs, tmp_path):
    """Nothing that is computed again differs, and values of every kind are counted."""
    chunker = () if protocol == "coderag" else ("-c", "ast:max_nws=400")
    words = ("--retriever", "bm25", "--set", "allow_sparse_qrels", "--source", mirror, "--out", tmp_path)
    succeed("eval", *chunker, "--protocol", protocol, *words, home=two_runs.home)
    done = verify("latest", "--out", tmp_path, "--json")
    result = json.loads(done.out)
    assert (done.code, result["holds"], result["differences"]) == (0, True, [])
    assert (min(result["compared"].values()) > 0, result["reordered"]) == (True, 0)


@pytest.mark.parametrize(
    ("retriever", "precision", "tolerance"),
    [
        ("bm25", "bf16", ROUNDED),
        ("dense", "fp32", ROUNDED),
        ("dense", "bf16", HALF),
        ("hybrid", "fp16", HALF),
        ("rerank:model", "fp32", FUSED),
    ],
)
def test_the_precision_of_a_model_decides_the_tolerance(retriever, precision, tolerance):
    """Half precision differs between processors; if nothing is embedded, no precision is read."""
    stored = config(retriever=retriever, embedder_identity={"precision": precision})
    assert tolerance_of(RunConfig.model_validate_json(json.dumps(stored))) == tolerance


CHANGES = {
    "a better score": ("per_query.jsonl.gz", lambda row: row["measures"].update({"ndcg@10": 2.0}), "ndcg@10 of "),
    "a better mean": ("metrics.json", lambda m: m["micro"].update({"ndcg@10": 0.999}), "mean ndcg@10 (micro)"),
    "a measure more": ("metrics.json", lambda m: m["micro"].update({"ndcg@11": 0.5}), "mean ndcg@11 (micro)"),
    "another ranking": ("retrieved.jsonl.gz", lambda row: row["topk"][0].update(score=99.5), "rank 1"),
    "a judgement more": (
        "qrels.trec.gz",
        lambda text: text + text.split()[0] + " 0 made/up@0-9 1\n",
        "gain of made/up@0-9",
    ),
}
"""Name of a change -> its file, the change, and a value that is named."""


@pytest.mark.parametrize(("name", "edit", "named"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_found(claimed, verify, name, edit, named):
    """Exit 1, and the largest differences are listed."""
    if name.startswith("qrels"):
        write_text(claimed / name, edit(read_text(claimed / name)))
    else:
        change(claimed / name, edit)
    done = verify(claimed, "--json")
    result = json.loads(done.out)
    assert (done.code, result["holds"]) == (1, False), done.err
    assert any(named in difference["what"] for difference in result["differences"])
    assert "is not the same" in verify(claimed).out


def test_another_folder_name_is_found(claimed, verify):
    """The id of a request is the folder's name."""
    done = verify(claimed.rename(claimed.parent / "ast-1500_context_bm25-00000000"), "--json")
    (difference,) = json.loads(done.out)["differences"]
    assert (done.code, difference["what"], difference["computed"]) == (1, "id", claimed.name)


def test_the_ten_largest_differences_are_listed(claimed, verify):
    queries = len(read_rows(claimed / "per_query.jsonl.gz"))
    change(claimed / "per_query.jsonl.gz", lambda row: row["measures"].update(dict.fromkeys(row["measures"], 7.0)))
    result = json.loads(verify(claimed, "--json").out)
    assert len(result["differences"]) == 10
    assert result["n_differences"] > 10 * queries
    assert f"{result['n_differences'] - 10:,} smaller differences are not listed" in verify(claimed).out


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
    change(claimed / "manifest.json", lambda manifest: manifest["config"].update(chunker="py:__main__:Mine"))
    assert "py:__main__:Mine, code of a script" in (said := one_sentence(verify(claimed), 2))
    assert "--allow" not in said


def test_a_chunker_that_asks_for_a_program_is_known():
    """A new built-in chunker that runs something else has to be refused too."""
    assert {row.name for row in CHUNKERS if row.target} <= {"exec"}


def test_a_server_of_a_strangers_choice_is_not_asked(server, mirror, tmp_path):
    """With --allow it is asked, and the ranking compared."""
    home, spec = tmp_path / "home", f"openai:drawn,base_url={server.base_url}"
    out = ("--source", mirror, "--out", tmp_path / "theirs")
    succeed("eval", *CHUNKER, "--embedder", spec, *out, home=home, OPENAI_API_KEY=KEY)
    server.seen()
    done = bench("verify", "latest", *out, home=tmp_path / "ours", OPENAI_API_KEY=KEY)
    named = one_sentence(done, 2).partition("--allow ")[2].partition(" if")[0].strip("'")
    assert server.seen() == []
    succeed("verify", "latest", *out, "--allow", named, home=tmp_path / "ours", OPENAI_API_KEY=KEY)
    assert server.seen() != []


def test_other_data_is_refused(claimed, verify):
    change(claimed / "manifest.json", lambda manifest: manifest["config"].update(fingerprint="0" * 12))
    assert "name the run's with --source" in one_sentence(verify(claimed), 2)


def test_an_imported_run_is_refused(verify, tmp_path):
    """Its chunks cannot be cut again."""
    imported = write_run(tmp_path / "imported", {"mrr": [1.0, 0.5]}, imported=True)
    assert "was imported" in one_sentence(verify(imported.folder), 2)


@pytest.mark.full_data
@pytest.mark.parametrize(
    "options",
    [
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
