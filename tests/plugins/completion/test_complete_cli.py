"""`complete` on the small benchmark, with a server on this machine whose model copies n-grams of its prompt."""

import json
import shutil

import pytest

from repoeval_bench import benchmark_of, evaluate, find_run
from repoeval_bench.core.errors import UsageError
from repoeval_bench.plugins.completion.complete import languages_of, prompts_of
from repoeval_bench.plugins.completion.layout import fragments_of
from repoeval_bench.runs.records import COMPLETIONS, CompletionRow
from support.command import bench, interrupt_when, json_of, one_sentence, start, succeed
from support.completion_server import KEY


@pytest.fixture(scope="module")
def stored(two_runs, tmp_path_factory):
    """Copies of two runs, beside which others are made."""
    here = tmp_path_factory.mktemp("complete")
    shutil.copytree(two_runs.out, here / "runs")
    shutil.copytree(two_runs.home, here / "home")
    return here


@pytest.fixture
def complete(stored, server, mirror):
    server.fail()
    server.seen()

    def run(*words, key=KEY, out="runs", **env):
        model = f"openai:ngram,base_url={server.base_url},timeout=5"
        given = () if "--model" in words else ("--model", model)
        places = ("--source", mirror, "--out", stored / out)
        return bench("complete", "run", *words, *given, *places, home=stored / "home", OPENAI_API_KEY=key, **env)

    return run


def rows_of(folder):
    return [CompletionRow.model_validate_json(line) for line in (folder / COMPLETIONS).read_text().splitlines()]


def test_a_completed_run_is_a_run(stored, server, complete):
    """Its ranking and measures are those of the run, and three more; a second time nothing is sent."""
    done = complete("ast", "--budget", "700", "--json")
    assert done.code == 0, done.err
    base = find_run("ast", stored / "runs")
    completed = find_run(json.loads(done.out)["run_id"], stored / "runs")
    assert completed.run_id != base.run_id
    assert completed.rankings() == base.rankings()
    added = completed.metrics.micro.keys() - base.metrics.micro.keys()
    assert added == {"exact_match", "edit_similarity", "identifier_f1"}
    assert {name: completed.metrics.micro[name] for name in base.metrics.micro} == base.metrics.micro
    assert completed.manifest.completion.base == base.run_id
    assert server.seen()
    before = {path.name: path.read_bytes() for path in completed.folder.iterdir()}
    again = complete("ast", "--budget", "700")
    assert again.code == 0
    assert "0 sent, the rest was in the cache" in again.err
    assert server.seen() == []
    same = before.keys() - {"manifest.json", "timings.jsonl"}
    assert {name: (completed.folder / name).read_bytes() for name in same} == {name: before[name] for name in same}


def test_controls_take_the_same_tasks(stored, complete):
    """Without context the chunker plays no part; with it, chunks are shown."""
    done = complete("ast", "fixed", "--context", "none", "--context", "retrieved", "--json")
    assert done.code == 0, done.err
    completed = [find_run(row["run_id"], stored / "runs") for row in json.loads(done.out)]
    none, retrieved = (
        [run for run in completed if run.manifest.completion.context == kind] for kind in ("none", "retrieved")
    )
    texts = [[row.text for row in rows_of(run.folder)] for run in none]
    assert texts[0] == texts[1]
    assert all(row.fragments == () for run in none for row in rows_of(run.folder))
    for run in retrieved:
        assert any(row.fragments for row in rows_of(run.folder))


def test_nothing_beside_the_hole_is_shown(stored, mirror):
    """What is shown of the task's own file ends where its prompt begins; what is passed over for that is counted."""
    run = find_run("fixed", stored / "runs")
    benchmark = benchmark_of(run, str(mirror), home=stored / "home")
    chunks = {row.chunk_id: row for held in run.inspection.chunks.values() for row in held}
    prompts = prompts_of(run, benchmark, languages_of(benchmark), "retrieved", 100_000)
    for task, prompt in zip(benchmark.tasks, prompts, strict=True):
        ranked = run.ranked_ids()[task.task_id]
        visible = [
            item for item in ranked if chunks[item].file != task.file or chunks[item].lines.end <= task.context_start
        ]
        assert list(prompt.shown) == visible[:10]
        assert prompt.hidden == len(ranked) - len(visible)
    assert any(prompt.shown for prompt in prompts)


def test_completions_are_compared_and_split_as_any_measure(stored, complete):
    """`compare`, `segments`, `gate` and `report` know what was added."""
    pytest.importorskip("rapidfuzz")
    ids = [row["run_id"] for row in json.loads(complete("ast", "fixed", "--json").out)]
    out = ("--out", stored / "runs")
    (comparison,) = json_of("compare", *ids, "-m", "edit_similarity", *out)["comparisons"]
    assert comparison["measure"] == "edit_similarity"
    assert json_of("segments", ids[0], "-m", "es", "--by", "fragments", *out)["measure"] == "edit_similarity"
    gates = stored / "gates.yaml"
    gates.write_text("gates: [{measure: edit_similarity, at_least: 0.01}, {measure: exact_match, at_least: 1.0}]\n")
    assert "exact match" in bench("gate", ids[0], "--config", gates, *out).out
    assert json_of("cache", "info", home=stored / "home")["entries"] > 0
    assert "edit similarity" in succeed("compare", *ids, "--details", *out).out
    succeed("segments", ids[0], *out)
    succeed("report", ids[0], "-o", stored / "r.html", *out, home=stored / "home")
    assert "edit similarity" in (stored / "r.html").read_text()


def test_a_completed_run_is_not_verified_but_its_base_is_named(stored, complete, mirror):
    """The texts of a model cannot be made again."""
    completed = find_run(json.loads(complete("ast", "--json").out)["run_id"], stored / "runs")
    said = one_sentence(bench("verify", completed.folder, "--source", mirror, home=stored / "home"), 2)
    assert said.endswith(f"verify {completed.manifest.completion.base}")


def test_a_failure_ends_in_one_sentence_and_the_rest_is_asked_for_later(server, complete):
    """What was answered stays; the key is in no sentence."""
    server.fail({}, {"status": 400})
    sentence = one_sentence(complete("fixed", "--budget", "300", "--concurrency", "1"), 1)
    assert "HTTP 400" in sentence
    assert KEY not in sentence
    server.fail()
    before = len(server.seen())
    assert complete("fixed", "--budget", "300").code == 0
    assert before == 2
    assert "the key in OPENAI_API_KEY" in one_sentence(complete("ast", "--budget", "301", key="wrong"), 1)


@pytest.mark.slow
def test_ctrl_c_ends_at_once_and_keeps_what_was_answered(stored, server, complete, mirror):
    """Nobody waits for answers that are under way; the next command asks for these and the rest."""
    pytest.importorskip("rapidfuzz")
    words = ("fixed", "--budget", "512", "--concurrency", "2")
    model = f"openai:ngram,base_url={server.base_url},timeout=600"
    places = ("--source", mirror, "--out", stored / "runs", "--model", model)
    server.fail({}, {}, {}, *[{"silent": 600}] * 4)
    command = ("-m", "repoeval_bench", "complete", "run", *words, *places)
    process = start(*command, start_new_session=True, REPOEVAL_HOME=str(stored / "home"), OPENAI_API_KEY=KEY)
    interrupt_when(process, lambda: len(server.requests) >= 5)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "finished runs and vectors are kept" in said
    server.fail()
    server.seen()
    again = complete(*words, "--json")
    assert again.code == 0, again.err
    assert len(server.seen()) == json.loads(again.out)["counts"]["queries"] - 3


def test_what_is_not_possible_is_refused_before_anything_is_sent(stored, server, complete, mirror):
    """An option that does not exist, and a protocol that asks for documented functions: it has nothing to write."""
    message = one_sentence(complete("ast", "--context", "retreived"), 2)
    assert "--context: 'none' or 'retrieved' was expected" in message
    assert "--execute" in one_sentence(complete("ast", "--execute"), 2)
    options = ("--protocol", "docstring", "--retriever", "bm25", "--set", "allow_sparse_qrels=true", "--source", mirror)
    succeed("eval", "-c", "fixed:max_nws=300", *options, "--out", stored / "asked", home=stored / "home")
    assert "has queries" in one_sentence(complete("latest", out="asked"), 2)
    assert server.seen() == []


def test_a_completed_run_is_not_completed_again(stored, complete):
    """Its base is named."""
    pytest.importorskip("rapidfuzz")
    completed = json.loads(complete("ast", "--json").out)["run_id"]
    assert "is completed already; complete " in one_sentence(complete(completed), 2)


def test_a_run_whose_hits_bring_more_is_not_completed(benchmark, tmp_path):
    """What they bring is no fragment."""
    wide = evaluate(
        benchmark, "fixed:max_nws=150", retriever="grep:around=definition", allow_sparse_qrels=True, out=tmp_path
    )
    with pytest.raises(UsageError, match="complete a run of grep without around"):
        fragments_of(wide)
