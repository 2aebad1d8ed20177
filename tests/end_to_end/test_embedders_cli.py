"""Embedders beside the bundled model on the mini benchmark; the key is looked for in all that is written."""

import json

import pytest

from support.command import bench, one_sentence, succeed
from support.embedding_server import KEY, MINILM

AST = "ast:max_nws=400"


def without_key(*places, printed=()):
    """No file below the places, and nothing printed, holds the key or a part of it that is worth guessing with."""
    pieces = [KEY.encode(), KEY[8:-4].encode()]
    for place in places:
        for path in place.rglob("*"):
            if path.is_file():
                assert not any(piece in path.read_bytes() for piece in pieces), path
    for text in printed:
        assert not any(piece in text.encode() for piece in pieces)


def test_a_server_of_the_same_model_scores_as_the_model_does(server, evaluated, mirror, tmp_path, monkeypatch):
    """Vectors over the wire give the local model's means; faults on the way and the key leave no trace."""
    monkeypatch.setattr("repoeval_bench.embedding.openai.AT_ONCE", 1)
    server.seen()  # what other tests asked is not counted
    part = ("-c", AST, "--repos", "northwind_textkit")
    here = evaluated(*part, "--embedder", "minilm:precision=fp32")
    home, results = tmp_path / "home", tmp_path / "remote"
    spec = f"openai:{MINILM},base_url={server.base_url}"
    arguments = ("eval", *part, "--source", mirror, "--out", results)
    arguments += ("--embedder", f"{spec},batch=16")
    stopped = {"status": 400}
    server.fail({"status": 429, "headers": {"Retry-After": "0"}}, {}, stopped)
    failed = bench(*arguments, home=home, OPENAI_API_KEY=KEY)
    assert "you sent Bearer [OPENAI_API_KEY]" in one_sentence(failed, 1)
    done = succeed(*arguments, "--json", home=home, OPENAI_API_KEY=KEY)
    there = json.loads(done.out)
    assert there["embedder"] == spec
    for name, value in here["micro"].items():
        assert there["micro"][name] == pytest.approx(value, abs=0.02), name
    for name in ("queries_truncated", "queries_tokens", "queries_tokens_lost", "chunks_truncated", "chunks_tokens"):
        assert there["counts"][name] is None
    assert there["chunk_tokens"] is None
    assert server.seen()
    table = bench(*arguments, "--details", home=home, OPENAI_API_KEY=KEY)
    assert server.seen() == []
    assert "does not count tokens" in table.out
    without_key(home, results, printed=[failed.out, failed.err, done.out, done.err, table.out, table.err])
