"""`run --dry-run` with an embedding server: what would be sent and cost, and that it is what is then sent."""

import json

import pytest

from repoeval_bench.embedding.models import locate
from support.command import bench, one_sentence
from support.embedding_server import KEY, MINILM, serving


@pytest.fixture(scope="module")
def server():
    with serving() as server:
        yield server


@pytest.fixture
def call(mirror, tmp_path, server):
    server.fail()
    server.seen()

    def run(*words, options="", chunkers="[fixed:max_nws=400, ast:max_nws=400]"):
        file = tmp_path / "bench.yaml"
        spec = f"openai:{MINILM},base_url={server.base_url}{options}"
        file.write_text(
            f'chunkers: {chunkers}\nprotocol: [context, body]\nembedder: "{spec}"\nretrievers: [dense, bm25]\n'
        )
        where = ("--source", mirror, "--out", tmp_path / "out")
        return bench("run", file, *where, *words, home=tmp_path / "home", OPENAI_API_KEY=KEY)

    return run


def test_what_is_told_is_what_is_sent(call, server):
    """With the server's tokenizer to the token, each text in the first run that needs it; nothing is sent for it."""
    options = f",tokenizer={locate('minilm').tokenizer},max_tokens=256,price=2"
    told = call("--dry-run", "--json", options=options)
    assert told.code == 0, told.err
    assert server.seen() == []
    rows = json.loads(told.out)
    assert [row["retriever"] for row in rows if "sends" in row] == ["dense"] * 4
    sends = [row["sends"] for row in rows if "sends" in row]
    tokens = sum(each["tokens"] for each in sends)
    assert all(each["tokens_are_exact"] for each in sends)
    assert sum(each["cost"] for each in sends) == pytest.approx(tokens * 2 / 1e6)
    lines = call("--dry-run", options=options).out.splitlines()
    texts = sum(each["texts"] for each in sends)
    assert lines[-1] == f"all together: {texts:,} texts to send, {tokens:,} tokens, cost {tokens * 2 / 1e6:,.4f}"
    done = call("--json", options=options)
    assert done.code == 0, done.err
    assert texts == sum(len(each["input"]) for each in server.seen())
    counted = [
        int(line.split(" total tokens")[0].split()[-1].replace(",", ""))
        for line in done.err.splitlines()
        if "total tokens" in line
    ]
    assert sum(counted) == tokens
    again = call("--dry-run", options=options).out.splitlines()
    assert again[-1] == "all together: 0 texts to send, 0 tokens, cost 0.0000"


def test_without_a_tokenizer_tokens_are_at_most_so_many(call, server):
    told = call("--dry-run")
    assert told.code == 0, told.err
    assert "texts to send, at most " in told.out.splitlines()[-1]
    assert "cost" not in told.out


def test_a_limit_that_would_end_the_command_is_told(call, server):
    """Costs without a tokenizer are at most so much; nothing is sent."""
    told = call("--dry-run", options=",price=2,cost_limit=0.0001")
    assert told.code == 0, told.err
    assert "its cost_limit may end the command earlier" in told.err
    assert ", cost at most 0." in told.out.splitlines()[-1]
    assert "cost_limit" not in call("--dry-run", options=",price=2,cost_limit=100").err
    assert server.seen() == []


def test_where_runs_are_made_is_checked_before_any(call):
    """A page that would be a folder, a store that is none."""
    wrong = (
        (("--job-page", "."), "cannot be written"),
        (("--out", "nope://x"), "nope://x is not the address of a store"),
    )
    for words, told in wrong:
        assert told in one_sentence(call("--executor", "local:2", *words), 2)


def test_a_limit_of_cost_is_not_for_jobs(call):
    """Each worker would count its own."""
    done = call("--executor", "local:2", options=",price=1,cost_limit=1")
    assert "cost_limit is counted in one process" in one_sentence(done, 2)
