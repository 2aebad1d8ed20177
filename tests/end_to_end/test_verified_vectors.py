"""`verify` of rankings by vectors: computed again where that can be, else taken over as stored, and said."""

import json
import shutil
from unittest.mock import Mock

import pytest

from repoeval_bench.core.errors import UsageError
from repoeval_bench.retrieval.choice import choose_retriever
from repoeval_bench.runs import replay
from repoeval_bench.runs.records import RunConfig
from repoeval_bench.runs.replay import FUSED, HALF, ROUNDED, tolerance_of
from support.command import bench, json_of, succeed
from support.embedding_server import KEY
from support.runs import config, read_rows, write_rows

CHUNKER = ("-c", "fixed:max_nws=400")


def rewritten(folder, query, scores):
    """Give the first `len(scores)` chunks of a query these scores."""
    rows = read_rows(folder / "retrieved.jsonl.gz")
    topk = next(row["topk"] for row in rows if row["query_id"] == query)
    given = [(score, entry) for score, entry in zip(scores, topk, strict=False)]
    given += [(entry["score"], entry) for entry in topk[len(scores) :]]
    given.sort(key=lambda entry: (entry[0], entry[1]["chunk_id"]), reverse=True)
    topk[:] = [entry | {"rank": rank, "score": score} for rank, (score, entry) in enumerate(given, start=1)]
    write_rows(folder / "retrieved.jsonl.gz", rows)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("vectors-home")


@pytest.fixture(scope="module")
def hashed(tmp_path_factory, mirror, home):
    """A run by vectors that need no model."""
    out = tmp_path_factory.mktemp("hashed")
    succeed("eval", *CHUNKER, "--embedder", "hash", "--source", mirror, "--out", out, home=home)
    (folder,) = (path.parent for path in out.glob("*/manifest.json"))
    return folder


@pytest.mark.parametrize(("moved", "holds"), [(0.0, True), (1e-5, True), (3e-5, False), (-0.01, False)])
def test_scores_may_differ_by_one_step_of_rounding(hashed, mirror, home, tmp_path, moved, holds):
    """That much another machine's last bits may move them; more is another ranking, with every score that follows."""
    folder = shutil.copytree(hashed, tmp_path / hashed.name)
    row = read_rows(folder / "retrieved.jsonl.gz")[0]
    rewritten(folder, row["query_id"], [round(row["topk"][0]["score"] + moved, 7)])
    done = bench("verify", folder, "--source", mirror, "--json", home=home)
    result = json.loads(done.out)
    assert (result["ranking"], result["tolerance"]) == ("recomputed", ROUNDED)
    assert (done.code == 0, result["holds"]) == (holds, holds), result["differences"][:4]
    assert result["moved"] == pytest.approx(max(moved, 0.0), abs=1e-7) or moved < 0
    if not holds:
        assert {difference["file"] for difference in result["differences"]} >= {"retrieved.jsonl.gz"}
        assert any(item["value"].endswith("rank 1 by the request") for item in result["differences"])


@pytest.mark.parametrize("retriever", ["hybrid", "rerank:overlap,first=dense"])
def test_ranks_that_follow_from_vectors_have_a_wider_tolerance(mirror, home, tmp_path, retriever):
    words = (*CHUNKER, "--embedder", "hash", "--retriever", retriever, "--source", mirror, "--out", tmp_path)
    succeed("eval", *words, home=home)
    result = json_of("verify", "latest", "--out", tmp_path, "--source", mirror, home=home)
    assert (result["holds"], result["ranking"], result["tolerance"]) == (True, "recomputed", FUSED)


@pytest.mark.parametrize(
    ("retriever", "precision", "tolerance"),
    [
        ("bm25", "bf16", ROUNDED),
        ("dense", "fp32", ROUNDED),
        ("dense", "bf16", HALF),
        ("hybrid", "fp32", FUSED),
        ("hybrid", "fp16", HALF),
        ("rerank:model", "fp32", FUSED),
    ],
)
def test_what_a_model_computes_in_decides_the_tolerance(retriever, precision, tolerance):
    """Half precision is another on another processor; where nothing is embedded, no precision is read."""
    run_config = RunConfig.model_validate_json(json.dumps(config(embedder_identity={"precision": precision})))
    assert tolerance_of(choose_retriever(retriever), run_config) == tolerance


def test_a_server_of_a_strangers_choice_is_not_asked(server, mirror, tmp_path):
    """Its ranking is taken over, which answer and leaderboard say; with --allow it is asked and the ranking compared."""
    home, spec = tmp_path / "home", f"openai:drawn,base_url={server.base_url}"
    out = ("--source", mirror, "--out", tmp_path / "theirs")
    succeed("eval", *CHUNKER, "--embedder", spec, *out, home=home, OPENAI_API_KEY=KEY)
    (folder,) = (path.parent for path in (tmp_path / "theirs").glob("*/manifest.json"))
    named = json.loads((folder / "manifest.json").read_text())["config"]["embedder"]
    server.seen()
    done = bench("verify", folder, *out, "--json", home=tmp_path / "ours", OPENAI_API_KEY=KEY)
    result = json.loads(done.out)
    assert (done.code, result["ranking"], result["as_stored"][0]) == (0, "as stored", "the ranking with its scores")
    assert named in result["reason"]
    assert server.seen() == []
    add = ("lab", "add", folder, "--source", mirror, "--out", tmp_path / "board")
    assert bench(*add, home=tmp_path / "ours").out.endswith(": verified, ranking as stored\n")
    shown = json_of("lab", "leaderboard", "--out", tmp_path / "board")
    assert shown["boards"][0]["entries"][0]["ranking"] == "as stored"
    done = bench("verify", folder, *out, "--allow", named, "--json", home=tmp_path / "ours", OPENAI_API_KEY=KEY)
    result = json.loads(done.out)
    assert (done.code, result["ranking"], result["reason"]) == (0, "recomputed", "")
    assert server.seen() != []


def test_a_model_that_is_not_here_leaves_the_ranking_as_stored(hashed, mirror, home, tmp_path, monkeypatch):
    """The reason is the sentence that running it gives, and token counts are taken over with the ranking."""
    monkeypatch.setattr(replay, "make_embedder", Mock(side_effect=UsageError("faiss is not installed")))
    result = json_of("verify", hashed, "--source", mirror, home=home)
    assert (result["holds"], result["ranking"], result["reason"]) == (True, "as stored", "faiss is not installed")
    assert any("tokens" in value for value in result["as_stored"])
