"""Runs that are made to look like others: `verify` finds each of them, or says that it takes the value as stored."""

import gzip
import hashlib
import json
import math
import shutil

import pytest

from repoeval_bench.analysis.verification import ALWAYS_AS_STORED
from repoeval_bench.runs.config import id_of
from repoeval_bench.runs.records import RunConfig
from support.command import bench, one_sentence
from support.runs import read_text, write_text

JSON_FILES = ("manifest.json", "metrics.json", "per_query.jsonl")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("forged-home")


@pytest.fixture(scope="module")
def honest(tmp_path_factory, mirror, home):
    """Retriever -> a run by it of the mini benchmark that needs no model."""
    out = tmp_path_factory.mktemp("honest")
    results = {}
    for retriever in ("bm25", "oracle"):
        place = out / retriever
        words = ("-c", "fixed:max_nws=400", "--retriever", retriever, "--source", mirror, "--out", place)
        done = bench("eval", *words, home=home)
        assert done.code == 0, done.err
        (results[retriever],) = (path.parent for path in place.glob("*/manifest.json"))
    return results


@pytest.fixture
def run(honest, tmp_path):
    """A copy of the run by BM25, to be changed."""
    return shutil.copytree(honest["bm25"], tmp_path / honest["bm25"].name)


@pytest.fixture
def verified(mirror, home):
    """`verify --json` of a folder: its code and what it printed, or the one sentence where nothing was compared."""

    def verify(folder):
        done = bench("verify", folder, "--source", mirror, "--json", home=home)
        return done.code, json.loads(done.out) if done.out else one_sentence(done, done.code)

    return verify


def change(path, edit):
    """Change a JSON file, or every row of a file of rows; a row of which `edit` gives False is left out."""
    packed = path.suffix == ".gz"
    text = (gzip.decompress(path.read_bytes()) if packed else path.read_bytes()).decode()
    rows = [json.loads(line) for line in (text.splitlines() if "jsonl" in path.name else [text])]
    rows = [row for row in rows if edit(row) is not False]
    written = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(written) if packed else written)


def replace_text(path, before, after, count=-1):
    text = read_text(path)
    assert before in text
    write_text(path, text.replace(before, after, count))


def asked_otherwise(folder, **changed):
    """Let a run say that something else was asked, under the id of that request in every file; its folder."""
    manifest = json.loads((folder / "manifest.json").read_text())
    before, config = manifest["run_id"], manifest["config"]
    config |= changed
    after = id_of(RunConfig.model_validate_json(json.dumps(config)))
    (folder / "manifest.json").write_text(json.dumps(manifest | {"run_id": after}))
    of_metrics = {name: config[name] for name in ("chunker", "embedder", "retriever", "k")}
    change(folder / "metrics.json", lambda metrics: metrics.update(run_id=after, **of_metrics))
    replace_text(folder / "retrieved.jsonl.gz", before, after)
    return folder.rename(folder.parent / after)


def test_honest_runs_hold(honest, verified):
    """What the others are changed from."""
    for folder in honest.values():
        code, found = verified(folder)
        assert (code, found["holds"], found["ranking"]) == (0, True, "recomputed")


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"retriever": "nonsense:foo=1"}, "unknown retriever 'nonsense'"),
        ({"retriever": "bm25:foo=1"}, "foo"),
        ({"retriever": "bm25:k1=1000"}, "k1"),
        ({"retriever": "rerank:overlap,first=nonsense"}, "unknown retriever 'nonsense'"),
        ({"retriever": "bm2\uff15"}, "unknown retriever"),
        ({"chunker": "f\u0456xed:max_nws=400"}, "unknown chunker"),
        ({"chunker": "fixed:max_nws=400,foo=1"}, "foo"),
        ({"measures": ["ndcg@10", "better@10"]}, "better"),
        ({"measures": ["recall@500"]}, "recall@500"),
        ({"expand": "everything"}, "expand=everything"),
        ({"pack": "pypi-40@1999-01"}, "does not ship with this version"),
        ({"pack": "pypi\u201140@2026-11"}, "is neither one that ships"),
        ({"pack": "\u0440ypi-40@2026-11"}, "is neither one that ships"),
        ({"retriever": "dense", "embedder": "nonsense:foo=1"}, "unknown embedder 'nonsense'"),
    ],
)
def test_a_request_for_what_does_not_exist_is_refused(run, verified, asked, named):
    """Under the id of that very request, in all files; letters that look alike are others."""
    code, sentence = verified(asked_otherwise(run, **asked))
    assert code == 2
    assert named in sentence


@pytest.mark.parametrize(
    ("asked", "code"),
    [({"retriever": "nonsense:foo=1", "pack": "pypi-40@2026-11"}, 2), ({"pack": "pypi-40@2026-11"}, 1)],
)
def test_no_forged_request_is_added_to_a_leaderboard(run, mirror, home, tmp_path, asked, code):
    """Nothing is copied, and nothing is recorded."""
    folder, out = asked_otherwise(run, **asked), tmp_path / "ours"
    one_sentence(bench("lab", "add", folder, "--source", mirror, "--out", out, home=home), code)
    assert not out.exists()


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ({"pack": "pypi-40@2026-11"}, "config.pack"),
        ({"retriever": "bm25"}, "config.retriever"),
        ({"chunker": "fixed"}, "config.chunker"),
        ({"embedder": "minilm:precision=fp32"}, "config.embedder"),
        ({"embedder_identity": {"precision": "fp32"}}, "config.embedder_identity.precision"),
        ({"retriever_identity": {"model": "large"}}, "config.retriever_identity.model"),
        ({"dataset": "repoeval-function-2k-codex"}, "config.dataset"),
        ({"measures": ["ndcg@10"]}, "micro.recall@5"),
    ],
)
def test_a_request_that_contradicts_the_run_is_found(run, verified, asked, value):
    """A shipped pack over other data, options left out, a model where none takes part."""
    code, found = verified(asked_otherwise(run, **asked))
    assert code == 1
    assert value in {each["value"] for each in found["differences"]}


def test_a_better_ranking_that_is_honestly_scored_is_found(honest, tmp_path, verified):
    """Every file agrees with every other one; only the request does not give this ranking."""
    folder = shutil.copytree(honest["oracle"], tmp_path / "theirs")
    config = json.loads((honest["bm25"] / "manifest.json").read_text())["config"]
    folder = asked_otherwise(folder, retriever=config["retriever"])
    assert folder.name == honest["bm25"].name
    code, found = verified(folder)
    assert code == 1
    assert {each["file"] for each in found["differences"]} == {"run.trec.gz"}
    assert all(each["value"].endswith("by the request") for each in found["differences"])


def test_two_chunks_of_equal_gain_that_change_places_are_found(run, verified):
    """In the log and in run.trec.gz alike; no measure moves."""
    rows = [json.loads(line) for line in read_text(run / "retrieved.jsonl.gz").splitlines()]
    judged = (run / "qrels.trec").read_text().split()
    row, (index, other) = next((row, pair) for row in rows if (pair := _unjudged(row["topk"], judged)) is not None)
    first, second = row["topk"][index]["chunk_id"], row["topk"][other]["chunk_id"]
    place = {
        each: {k: v for k, v in each_row.items() if k not in ("rank", "score")}
        for each, each_row in ((first, row["topk"][index]), (second, row["topk"][other]))
    }
    row["topk"][index] |= place[second]
    row["topk"][other] |= place[first]
    write_text(run / "retrieved.jsonl.gz", "".join(json.dumps(row) + "\n" for row in rows))
    lines = read_text(run / "run.trec.gz").splitlines()
    swap = {first: second, second: first}
    lines = [
        line.replace(f" {chunk} ", f" {swap[chunk]} ")
        if (chunk := line.split()[2]) in swap and line.startswith(row["query_id"] + " ")
        else line
        for line in lines
    ]
    write_text(run / "run.trec.gz", "\n".join([*lines, ""]))
    code, found = verified(run)
    assert code == 1
    assert {each["file"] for each in found["differences"]} == {"run.trec.gz"}
    assert len(found["differences"]) == 2


def _unjudged(topk, judged):
    """Two places of chunks that are not relevant and do not score alike."""
    free = [index for index, each in enumerate(topk) if each["chunk_id"] not in judged]
    pairs = ((a, b) for a in free for b in free if topk[a]["score"] > topk[b]["score"] + 0.01)
    return next(pairs, None)


def test_a_query_that_is_left_out_of_every_file_is_found(run, verified):
    query = json.loads((run / "per_query.jsonl").read_text().splitlines()[0])["query_id"]
    for name in ("per_query.jsonl", "retrieved.jsonl.gz", "queries.jsonl.gz"):
        change(run / name, lambda row: row["query_id"] != query)
    for name in ("run.trec.gz", "qrels.trec"):
        lines = read_text(run / name).splitlines(keepends=True)
        write_text(run / name, "".join(line for line in lines if not line.startswith(f"{query} ")))
    rows = [json.loads(line) for line in (run / "per_query.jsonl").read_text().splitlines()]
    for name in ("manifest.json", "metrics.json"):
        change(run / name, lambda content: content["counts"].update(queries=len(rows)))
    code, found = verified(run)
    assert code == 1
    assert {each["file"] for each in found["differences"]} >= {"manifest.json", "per_query.jsonl", "retrieved.jsonl.gz"}


STORED = {
    "a file that was skipped": ("metrics.json", lambda m: m["counts"].update(files_skipped=7), "files_skipped"),
    "the names of skipped files": ("manifest.json", lambda m: m.update(skipped=["a/b.py"]), "skipped"),
    "no file that was cut": ("manifest.json", lambda m: m["counts"].update(lines_uncovered=9), "lines_uncovered"),
    "tokens where no model counts": ("metrics.json", lambda m: m["counts"].update(queries_tokens=5), "tokens"),
    "a fact of tokens": ("per_query.jsonl", lambda row: row["facts"].update(query_tokens=5), "query_tokens"),
    "pairs that no model read": ("metrics.json", lambda m: m["counts"].update(pairs=5), "pairs"),
    "the cost of an index": ("manifest.json", lambda m: m.update(index={"vectors": 1}), "index.vectors"),
    "a first stage": (
        "manifest.json",
        lambda m: m.update(first_stage={"retriever": "bm25", "k_raw": 9, "run_id": "x"}),
        "first_stage",
    ),
    "a deeper ranking": ("retrieved.jsonl.gz", lambda row: row.update(k_raw=1000), "k_raw"),
    "a column more": ("metrics.json", lambda m: m["micro"].update({"ndcg@11": 0.5}), "micro.ndcg@11"),
    "minus nothing": ("per_query.jsonl", lambda row: row["leak"].update(top10_over_prompt=-0.0), "leak"),
    "true for a number": ("per_query.jsonl", lambda row: row["facts"].update(_as_truth(row["facts"])), "facts"),
    "another gain factor": ("manifest.json", lambda m: m.update(qrels_gain_factor=1000), "qrels_gain_factor"),
    "no part of the data": ("manifest.json", lambda m: m["dataset"].update(whole_tasks=99), "whole_tasks"),
    "another label": ("metrics.json", lambda m: m["dataset"].update(label="all of RepoEval"), "dataset.label"),
    "a date": ("manifest.json", lambda m: m.update(as_of=["2020-01-01", "2020-01-02"]), "as_of"),
    "an absolute path": ("sources.jsonl.gz", lambda row: row.update(path="/etc/passwd"), "/etc/passwd"),
    "a text of a file": ("sources.jsonl.gz", lambda row: row.update(text=row["text"] + "\n"), "text"),
    "an answer in the log": ("retrieved.jsonl.gz", lambda row: row.update(no_answer=True), "no_answer"),
    "an extra in the log": ("retrieved.jsonl.gz", lambda row: row.update(extra={"a": 1}), "extra.a"),
}
"""Name of a change -> its file, the change, and the value that is named."""


def test_every_stored_value_that_follows_from_the_data_is_found(run, verified):
    for name, edit, _ in STORED.values():
        change(run / name, edit)
    code, found = verified(run)
    assert code == 1
    differences = [(each["file"], each["value"]) for each in found["differences"]]
    unseen = [
        what
        for what, (name, _, value) in STORED.items()
        if not any(file == name and value in named for file, named in differences)
    ]
    assert unseen == []


def _as_truth(facts):
    name = next(name for name, fact in facts.items() if fact in (0, 1) and not isinstance(fact, bool))
    return {name: bool(facts[name])}


@pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_refused(run, verified, written):
    path = run / "per_query.jsonl"
    row = json.loads(path.read_text().splitlines()[0])
    value = json.dumps(row["measures"]["ndcg@10"])
    replace_text(path, f'"ndcg@10": {value}', f'"ndcg@10": {written}', 1)
    code, sentence = verified(run)
    assert code == 1
    assert "per_query.jsonl:1 is broken" in sentence
    assert not math.isnan(row["measures"]["ndcg@10"])


@pytest.mark.parametrize(("name", "key"), [(name, None) for name in JSON_FILES] + [("metrics.json", "ndcg@10")])
def test_a_key_that_says_two_things_is_refused(run, verified, name, key):
    """A reader that takes the first would see the other number; the last one is the honest one."""
    path = run / name
    if key is None:
        replace_text(path, "{", '{"run_id": "other", ' if name != "per_query.jsonl" else '{"query_id": "other", ', 1)
    else:
        replace_text(path, f'"{key}":', f'"{key}": 0.99, "{key}":', 1)
    code, sentence = verified(run)
    assert code == 1
    assert "appears twice" in sentence


def test_a_folder_holds_one_run_under_its_id_and_nothing_else(run, verified, tmp_path):
    """Another name, another file, a folder, a link, a mark of one's own."""
    renamed = shutil.copytree(run, tmp_path / "runs" / "ast-1500_context_bm25-00000000")
    assert "give the folder that name" in verified(renamed)[1]
    result = json.loads(bench("lab", "leaderboard", "--out", renamed.parent, "--json").out)
    assert "give the folder that name" in result["not_ranked"][renamed.name]
    for name, make in (
        ("notes.txt", lambda path: path.write_text("")),
        ("verified.json", lambda path: path.write_text("{}")),
        ("more", lambda path: path.mkdir()),
        (".hidden", lambda path: path.write_text("")),
    ):
        folder = shutil.copytree(run, tmp_path / name.strip(".") / run.name)
        make(folder / name)
        code, sentence = verified(folder)
        assert (code, name in sentence) == (1, True)
    (run / "timings.jsonl").rename(tmp_path / "timings.jsonl")
    (run / "timings.jsonl").symlink_to(tmp_path / "timings.jsonl")
    assert "timings.jsonl" in verified(run)[1]


def test_a_part_is_not_the_whole(mirror, home, tmp_path, verified):
    """A run of three tasks that leaves out what it was asked, or says that another number was."""
    words = ("-c", "fixed:max_nws=400", "--retriever", "bm25", "--limit", "3", "--source", mirror, "--out", tmp_path)
    assert bench("eval", *words, home=home).code == 0
    (path,) = tmp_path.glob("*/manifest.json")
    before = path.parent / "metrics.json"
    stored = path.read_bytes(), before.read_bytes()

    def told(**changed):
        path.write_bytes(stored[0])
        before.write_bytes(stored[1])
        for each in (path, before):
            change(each, lambda content: content["dataset"].update(changed))
        return verified(path.parent)

    whole = json.loads(stored[0])["dataset"]["whole_tasks"]
    assert told()[0] == 0
    code, found = told(part={"limit": 4})
    assert (code, found["differences"][0]["value"]) == (1, "dataset.fingerprint")
    for claim in (
        {"whole_tasks": 3},
        {"tasks": whole},
        {"label": "the whole"},
        {"repositories": ["acme_inventory", "b"]},
    ):
        code, found = told(**claim)
        assert code == 1
        assert {each["value"].split(".")[1] for each in found["differences"]} == set(claim)


def test_what_nobody_can_compute_is_taken_over_and_listed(run, verified):
    """Times, versions and where data came from: changed, they pass, and the answer names each of them."""
    change(run / "timings.jsonl", lambda row: row.get("step") != "retrieve" and (row.update(_faster(row)) or True))
    change(run / "manifest.json", lambda m: m.update(created="1999-01-01T00:00:00+00:00", versions={"numpy": "0"}))
    change(run / "manifest.json", lambda m: m["code"].update(commit="0" * 40))
    for name in ("manifest.json", "metrics.json"):
        change(run / name, lambda content: content["dataset"].update(source="github"))
    code, found = verified(run)
    assert (code, found["as_stored"]) == (0, list(ALWAYS_AS_STORED))


def _faster(row):
    return {"latency_ms": dict.fromkeys(row["latency_ms"], 0.001)} if "latency_ms" in row else {}


def test_a_mark_in_a_run_folder_and_scores_of_ones_own_are_no_verification(honest, tmp_path, home):
    """Fresh hashes of faked scores; a leaderboard of local runs says nothing of them, or that they are broken."""
    folder = shutil.copytree(honest["bm25"], tmp_path / "runs" / honest["bm25"].name)
    shown = _with_mark_of_its_own(folder)
    assert [entry["verification"] for entry in shown["boards"][0]["entries"]] == [None]
    change(folder / "per_query.jsonl", lambda row: row["measures"].update({"line_recall_auc": 0.99}))
    change(
        folder / "metrics.json",
        lambda m: (
            [each.update({"line_recall_auc": 0.99}) for each in (m["micro"], m["macro"], *m["per_repo"].values())]
            and None
        ),
    )
    shown = _with_mark_of_its_own(folder)
    assert shown["boards"] == []
    assert "above its ceiling" in shown["not_ranked"][folder.name]
    assert "error" in bench("compare", folder, honest["oracle"], home=home).err


def test_a_record_of_another_run_or_of_other_files_is_none(honest, mirror, home, tmp_path):
    """A record is of one run, as it was when it was computed again: a file more or less is another folder."""
    out = tmp_path / "ours"
    done = bench("lab", "add", *honest.values(), "--source", mirror, "--out", out, home=home)
    assert done.code == 0, done.err
    bm25, oracle = (honest[name].name for name in ("bm25", "oracle"))
    (out / bm25 / "more.txt").write_text("")
    assert _state(out, bm25) == {"status": "changed", "ranking": None, "reason": "more.txt"}
    (out / bm25 / "more.txt").unlink()
    assert _state(out, bm25) == {"status": "verified", "ranking": "recomputed", "reason": ""}
    (out / bm25 / "timings.jsonl").unlink()
    assert _state(out, bm25)["status"] == "changed"
    shutil.copyfile(out / "verified" / f"{oracle}.json", out / "verified" / f"{bm25}.json")
    result = json.loads(bench("lab", "leaderboard", "--out", out, "--json").out)
    assert f"is of the run {oracle}" in result["not_ranked"][bm25]


def _state(out, run_id):
    (board,) = json.loads(bench("lab", "leaderboard", "--out", out, "--json").out)["boards"]
    (found,) = (entry for entry in board["entries"] if entry["run_id"] == run_id)
    return {"status": found["verification"], "ranking": found["ranking"], "reason": found["reason"]}


def _with_mark_of_its_own(folder):
    (folder / "verified.json").unlink(missing_ok=True)
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    mark = {"reason": "", "values": 9, "code": {"commit": None, "dirty": None}, "versions": {}, "sha256": hashes}
    (folder / "verified.json").write_text(json.dumps(mark))
    return json.loads(bench("lab", "leaderboard", "--out", folder.parent, "--json").out)
