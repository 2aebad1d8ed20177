"""Every command: its JSON is JSON, and a run that is missing or broken ends in one sentence."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from repoeval_bench.cli import COMMANDS
from support.command import bench, one_sentence
from support.completion_server import KEY, serving_completions
from support.minirepo import build_mirror


@dataclass(frozen=True)
class Call:
    """How a command is called: its words, with {places} for files of the fixture, and how it prints JSON.

    `reads` are the files of a run folder that the command cannot do without; none where it reads no run.
    """

    words: str
    json: str = "--json"
    reads: tuple[str, ...] = ()


DATA = "--source {mirror}"
RUN = "-c fixed:max_nws=400 --retriever bm25 --out {out} " + DATA
ROWS = ("manifest.json", "per_query.jsonl")
LOG = ("manifest.json", "retrieved.jsonl")
CALLS = {
    "eval": Call(f"eval {RUN}"),
    "recommend": Call("recommend {mirror} -c fixed --sizes 200,400 --retriever bm25 --out {out}"),
    "run": Call(f"run {{bench.yaml}} --out {{out}} {DATA}"),
    "complete": Call("complete {run} --show " + DATA, reads=LOG),
    "validity": Call("validity {done-1} {done-2} {done-3}", reads=()),
    "compare": Call("compare {run} {other}", reads=ROWS),
    "runs": Call("runs --out {runs}"),
    "diff": Call("diff {run} {other}", reads=ROWS),
    "segments": Call("segments {run}", reads=ROWS),
    "diagnose": Call("diagnose {run}", reads=("manifest.json", "retrieved.jsonl", "per_query.jsonl")),
    "gate": Call("gate {run} --config {gates.yaml}", reads=ROWS),
    "retrieval": Call("retrieval {run}", reads=LOG),
    "hard-negatives": Call("hard-negatives {run} -n 1", reads=LOG),
    "pool": Call("pool {run} -o {pool.jsonl}", reads=LOG),
    "bounds": Call("bounds {run} --judgements {judged.jsonl}", reads=LOG),
    "import-run": Call("import-run {run}/retrieved.jsonl --gold {gold.jsonl} --out {out}"),
    "merge": Call("merge {runs} --out {merged}"),
    "verify": Call("verify {run} " + DATA, reads=(*ROWS, "metrics.json", "retrieved.jsonl")),
    "sweep": Call(f"sweep {RUN} --sizes 300 500"),
    "sensitivity": Call(f"sensitivity {RUN} -c ast:max_nws=400 --protocol context"),
    "leaderboard": Call("leaderboard {runs}", json="--format json"),
    "report": Call("report {run} -o {report.html} " + DATA, reads=ROWS),
    "cite": Call("cite {run}", json="", reads=("manifest.json",)),
    "export": Call("export {run}", json="--format json", reads=ROWS),
    "export-beir": Call("export-beir {run} -o {beir} " + DATA, reads=("manifest.json",)),
    "data": Call(f"data info {DATA}"),
    "cache": Call("cache info"),
    "list": Call("list chunkers"),
    "explain": Call("explain ndcg@10"),
    "score": Call("score {run}/run.trec {run}/qrels.trec"),
    "chunk": Call("chunk {source.py} -c ast"),
    "chunk-stats": Call(f"chunk-stats -c ast {DATA}"),
    "check-chunker": Call("check-chunker fixed"),
}
ELSEWHERE = {"reproduce": "all published settings take a minute, and a model: `test_reproduce_cli.py`"}
"""Commands that are tried in a file of their own, and why."""

OF_RUNS = [(name, read) for name, call in CALLS.items() for read in call.reads]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Two runs that need no model, and the files that commands ask for."""
    here = tmp_path_factory.mktemp("every")
    mirror = build_mirror(here / "mirror")
    specs = ("-c", "fixed:max_nws=400", "-c", "ast:max_nws=400")
    done = bench("eval", *specs, "--retriever", "bm25", "--source", mirror, "--out", here / "runs", home=here / "home")
    assert done.code == 0, done.err
    with serving_completions() as server:
        three = ("-c", "fixed:max_nws=300", *specs, "--retriever", "bm25", "--source", mirror, "--out", here / "three")
        done = bench("eval", *three, home=here / "home")
        assert done.code == 0, done.err
        runs = sorted(folder for folder in (here / "three").iterdir() if folder.is_dir())
        model = f"openai:ngram,base_url={server.base_url},max_tokens=50"
        places = ("--source", mirror, "--out", here / "three")
        done = bench("complete", *runs, "--model", model, *places, home=here / "home", OPENAI_API_KEY=KEY)
        assert done.code == 0, done.err
    completed = sorted((here / "three").glob("*ngram*"))
    first, second = sorted(folder for folder in (here / "runs").iterdir() if folder.is_dir())
    rows = [json.loads(line) for line in (first / "retrieved.jsonl").read_text().splitlines()]
    (here / "gates.yaml").write_text("gates: [{measure: ndcg@10, at_least: 0.01}]\n")
    (here / "bench.yaml").write_text("chunkers: [fixed:max_nws=400]\nretrievers: bm25\n")
    (here / "source.py").write_text("def one():\n    return 1\n")
    graded = {"query_id": rows[0]["query_id"], "chunk_id": rows[0]["topk"][0]["chunk_id"], "grade": 1}
    (here / "judged.jsonl").write_text(json.dumps(graded) + "\n")
    (here / "gold.jsonl").write_text(
        "".join(
            json.dumps({"query_id": row["query_id"], "chunk_id": row["topk"][0]["chunk_id"]}) + "\n" for row in rows
        )
    )
    return {
        "here": here,
        "mirror": mirror,
        "run": first,
        "other": second,
        "runs": here / "runs",
        "home": here / "home",
    } | {f"done-{i}": run for i, run in enumerate(completed, 1)}


def words(call: str, places: dict[str, Path], out: Path) -> list[str]:
    """The command's words, each {place} as a path: one of `places`, a file beside them, or a new one in `out`."""
    found = []
    for word in call.split():
        name = word[word.find("{") + 1 : word.find("}")] if "{" in word else ""
        path = places.get(name) or (places["here"] / name if (places["here"] / name).is_file() else out / name)
        found.append(word.replace(f"{{{name}}}", str(path)) if name else word)
    return found


def test_every_command_is_called():
    """A new command is tried here too."""
    assert {*CALLS, *ELSEWHERE} == set(COMMANDS)


@pytest.mark.parametrize("name", CALLS)
def test_the_json_of_every_command_is_json(stored, tmp_path, name):
    """Standard output is one JSON document, or one a line; commands that write a file exit with 0."""
    call = CALLS[name]
    done = bench(*words(call.words, stored, tmp_path), *call.json.split(), home=stored["home"])
    assert done.code == 0, done.err
    if call.json:
        documents = done.out.splitlines() if name in {"chunk", "chunk-stats"} else [done.out]
        assert all(json.loads(document) for document in documents)


@pytest.mark.parametrize("name", dict(OF_RUNS))
def test_a_run_that_is_missing_is_a_usage_error(stored, tmp_path, name):
    """One sentence names what was typed."""
    places = {**stored, "run": tmp_path / "absent"}
    sentence = one_sentence(bench(*words(CALLS[name].words, places, tmp_path), home=stored["home"]), 2)
    assert "absent" in sentence


@pytest.mark.parametrize(("name", "read"), OF_RUNS)
@pytest.mark.parametrize("damage", ["cut", "not text"])
def test_a_run_that_is_broken_is_named_with_its_file(stored, tmp_path, name, read, damage):
    """A file that ends early or is not text: one sentence names it, and nothing is printed."""
    broken = tmp_path / "broken"
    shutil.copytree(stored["run"], broken)
    content = (broken / read).read_bytes()
    (broken / read).write_bytes(content[: len(content) // 2] if damage == "cut" else b"\xff\xfe" + content)
    done = bench(*words(CALLS[name].words, {**stored, "run": broken}, tmp_path), home=stored["home"])
    assert read in one_sentence(done, 1)
    assert not done.out
