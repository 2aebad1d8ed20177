"""The client of completion servers against a real server on this machine, faults and the cache included."""

import pytest

from repoeval_bench.core.errors import CacheError, CompletionError, SpecError
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.plugins.completion.model import CompletionServer, answer_all, parse_model
from support.cases import cases
from support.completion_server import KEY, continued
from support.damage import change

CASES = cases(__file__)

PROMPTS = [f"def f{i}(a):\n    return a + {i}\n\n\ndef f{i}(a):\n" for i in range(6)]


pytestmark = pytest.mark.usefixtures("no_faults")


@pytest.fixture
def cache(tmp_path):
    cache = VectorCache(tmp_path / "vectors")
    yield cache
    cache.close()


@pytest.fixture
def model(server):
    return parse_model(f"openai:ngram,base_url={server.base_url},max_tokens=20,timeout=5")


def asked_of(model, prompts=PROMPTS):
    return [model.request(prompt, (), "function") for prompt in prompts]


def ask_once(model):
    return CompletionServer(model).ask(asked_of(model)[0])


def refused(model):
    with pytest.raises(CompletionError) as error:
        ask_once(model)
    assert KEY not in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_an_answer_is_what_the_model_wrote(server, model):
    """Greedily, with the tokens that were asked for; its reason to end comes along."""
    answer = ask_once(model)
    assert (answer.text, answer.finish) == continued(PROMPTS[0], 20)[:2]
    (sent,) = server.seen()
    assert sent.items() >= {"model": "ngram", "prompt": PROMPTS[0], "max_tokens": 20, "temperature": 0}.items()
    assert "stop" not in sent


def test_a_chat_is_told_what_to_do(server):
    """The prompt is the user's message, as it is; its API is another one."""
    chat = parse_model(f"openai:ngram,base_url={server.base_url},api=chat,max_tokens=20")
    assert "return a + 0" in ask_once(chat).text
    (sent,) = server.seen()
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["messages"][1]["content"] == PROMPTS[0]


@pytest.mark.parametrize(("fault", "message"), CASES["wrong answers"])
def test_what_is_wrong_is_reported_at_once(server, model, fault, message):
    """In one sentence, without the key, and without another try."""
    server.fail(fault)
    assert message in refused(model)
    assert len(server.seen()) == 1


@pytest.mark.parametrize(("spec", "message"), CASES["specs"].items())
def test_a_spec_that_is_not_possible_is_refused(spec, message):
    """In one sentence that repeats no key."""
    with pytest.raises(SpecError) as error:
        parse_model(spec)
    assert message in str(error.value)
    assert "sk-1" not in str(error.value)


def test_each_prompt_is_asked_for_once_ever(server, model, cache):
    """Repeats are sent once; a second time nothing is, and the answers are the same."""
    first, sent = answer_all(model, [*asked_of(model), *asked_of(model)], cache)
    assert (sent, len(server.seen())) == (6, 6)
    assert answer_all(model, asked_of(model), cache, concurrency=1) == (first, 0)
    assert server.seen() == []


@pytest.mark.parametrize("options", ["base_url=http://host/v1", "api=chat,max_tokens=9"])
def test_a_model_is_named_again_by_its_spec(options):
    model = parse_model(f"openai:m,{options}")
    assert parse_model(model.spec) == model


@pytest.mark.parametrize("changed", ["max_tokens=21", "api=chat", "stop"])
def test_another_setting_is_another_answer(server, model, cache, changed):
    """What decides an answer is in its key."""
    answer_all(model, asked_of(model), cache)
    other = parse_model(f"openai:ngram,base_url={server.base_url},timeout=5,{changed}") if "=" in changed else model
    stop = ("\nx",) if changed == "stop" else ()
    requests = [other.request(prompt, stop, "function") for prompt in PROMPTS]
    assert answer_all(other, requests, cache)[1] == len(PROMPTS)


def test_what_was_answered_before_a_failure_is_kept(server, model, cache):
    """The command that is run again asks for the rest."""
    server.fail({}, {}, {"status": 400})
    with pytest.raises(CompletionError, match="HTTP 400"):
        answer_all(model, asked_of(model), cache, concurrency=1)
    server.fail()
    assert answer_all(model, asked_of(model), cache)[1] == 4


def test_a_changed_answer_is_noticed(model, cache, tmp_path):
    answer_all(model, asked_of(model), cache)
    change(tmp_path / "vectors", "UPDATE Cache SET value = CAST(value || 'x' AS BLOB)")
    with pytest.raises(CacheError, match="has changed since it was written"):
        answer_all(model, asked_of(model), cache)
