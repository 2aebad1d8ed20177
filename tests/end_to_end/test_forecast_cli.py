"""`run --dry-run` with an embedding server: what would be sent and cost, and that it is what is then sent."""

import json

import pytest

from repoeval_bench.embedding.models import locate
from support.command import bench, one_sentence
from support.embedding_server import KEY, MINILM


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
        (("--job-page", "."), "'--job-page': File '.' is a directory"),
        (("--out", "nope://x"), "nope://x is not the address of a store"),
    )
    for words, told in wrong:
        assert told in one_sentence(call("--executor", "local:2", *words), 2)


def test_a_limit_of_cost_is_not_for_jobs(call):
    """Each worker would count its own."""
    done = call("--executor", "local:2", options=",price=1,cost_limit=1")
    assert "cost_limit is counted in one process" in one_sentence(done, 2)


PLUG_IN = """
class Letters:
    identity = {"model": "letters"}

    def encode(self, texts, role):
        raise AssertionError("nothing is sent")
"""
HOOK = """
    def sends(self, texts, role):
        return GIVEN
"""


def with_plug_in(mirror, tmp_path, monkeypatch, code, name):
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "bench.yaml"
    file.write_text(f"chunkers: [fixed:max_nws=400, ast:max_nws=400]\nembedder: py:{name}:Letters\nretrievers: dense\n")
    return bench("run", file, "--source", mirror, "--out", tmp_path / "out", "--dry-run", home=tmp_path / "home")


def test_a_plug_in_that_says_what_it_sends_is_in_the_list(mirror, tmp_path, monkeypatch):
    """Each text in the first run that needs it; its numbers are the most that it may be."""
    hook = HOOK.replace("GIVEN", "len(texts) * 10, len(texts) * 0.5")
    told = with_plug_in(mirror, tmp_path, monkeypatch, PLUG_IN + hook, "letters_that_say")
    assert told.code == 0, told.err
    lines = told.out.splitlines()
    assert len(lines) == 3
    texts = [int(line.split(" texts to send")[0].split()[-1].replace(",", "")) for line in lines]
    assert texts[0] + texts[1] == texts[2] > 0
    assert lines[2] == (
        f"all together: {texts[2]:,} texts to send, at most {texts[2] * 10:,} tokens, cost at most {texts[2] / 2:,.4f}"
    )


def test_of_another_plug_in_it_is_told_that_this_is_not_known(mirror, tmp_path, monkeypatch):
    told = with_plug_in(mirror, tmp_path, monkeypatch, PLUG_IN, "letters_that_are_silent")
    assert told.code == 0, told.err
    assert told.err.count("py:letters_that_are_silent:Letters does not say what it sends; if it asks a server") == 1
    assert "texts to send" not in told.out


@pytest.mark.parametrize("given", ["None", "5", "(-1, None)", "(1, float('nan'))", "('many', 1)"])
def test_what_is_not_a_forecast_is_one_sentence(mirror, tmp_path, monkeypatch, given):
    name = f"letters_{abs(hash(given))}"
    told = with_plug_in(mirror, tmp_path, monkeypatch, PLUG_IN + HOOK.replace("GIVEN", given), name)
    assert "as what it sends; sends gives (tokens, cost or None)" in one_sentence(told, 1)
