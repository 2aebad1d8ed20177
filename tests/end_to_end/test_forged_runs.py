"""Runs that are made to look like others: `verify` finds each of them, or says that it takes the value as stored."""

import hashlib
import json
import shutil

import pytest

from repoeval_bench.analysis.verification import ALWAYS_AS_STORED
from repoeval_bench.runs.config import id_of
from repoeval_bench.runs.records import RunConfig
from repoeval_bench.runs.view import RunView
from support.command import bench, json_of, one_sentence, succeed
from support.runs import change, read_rows, read_text, write_text


@pytest.fixture(scope="module")
def oracle(tmp_path_factory, mirror, two_runs):
    """A run by who knows the answers."""
    out = tmp_path_factory.mktemp("oracle")
    words = ("-c", "fixed:max_nws=400", "--retriever", "oracle", "--source", mirror, "--out", out)
    succeed("eval", *words, home=two_runs.home)
    (folder,) = (path.parent for path in out.glob("*/manifest.json"))
    return folder


@pytest.fixture
def verified(verify):
    """`verify --json` of a folder: its code and what it printed, or the one sentence where nothing was compared."""

    def call(folder):
        done = verify(folder, "--json")
        return done.code, json.loads(done.out) if done.out else one_sentence(done, done.code)

    return call


def asked_otherwise(folder, **changed):
    """Let a run say that something else was asked, under the id of that request in every file; its folder."""
    manifest = json.loads((folder / "manifest.json").read_text())
    before, config = manifest["run_id"], manifest["config"]
    config |= changed
    after = id_of(RunConfig.model_validate_json(json.dumps(config)))
    (folder / "manifest.json").write_text(json.dumps(manifest | {"run_id": after}))
    of_metrics = {name: config[name] for name in ("chunker", "embedder", "retriever", "k")}
    change(folder / "metrics.json", lambda metrics: metrics.update(run_id=after, **of_metrics))
    log = folder / "retrieved.jsonl.gz"
    write_text(log, read_text(log).replace(before, after))
    return folder.rename(folder.parent / after)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"retriever": "nonsense:foo=1"}, "unknown retriever 'nonsense'"),
        ({"retriever": "bm25:foo=1"}, "foo"),
        ({"retriever": "rerank:overlap,first=nonsense"}, "unknown retriever 'nonsense'"),
        ({"chunker": "f\u0456xed:max_nws=400"}, "unknown chunker"),
        ({"measures": ["ndcg@10", "better@10"]}, "better"),
        ({"retriever": "grep:around=everything"}, "around=everything"),
        ({"pack": "pypi-40@1999-01"}, "does not ship with this version"),
        ({"pack": "pypi\u201140@2026-11"}, "is neither one that ships"),
        ({"retriever": "dense", "embedder": "nonsense:foo=1"}, "unknown embedder 'nonsense'"),
    ],
)
def test_a_request_for_what_does_not_exist_is_refused(claimed, verified, changes, named):
    """Under the id of that very request, in all files; letters that look alike are others."""
    code, sentence = verified(asked_otherwise(claimed, **changes))
    assert code == 2
    assert named in sentence


@pytest.mark.parametrize(
    ("changes", "value"),
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
def test_a_request_that_contradicts_the_run_is_found(claimed, verified, changes, value):
    """A shipped pack over other data, options left out, a model where none takes part."""
    code, result = verified(asked_otherwise(claimed, **changes))
    assert code == 1
    assert value in {difference["value"] for difference in result["differences"]}


def test_a_better_ranking_that_is_honestly_scored_is_found(oracle, two_runs, tmp_path, verified):
    """Every file agrees with every other one; only the request does not give this ranking."""
    assert verified(oracle)[0] == 0
    folder = shutil.copytree(oracle, tmp_path / "theirs")
    config = json.loads((two_runs.fixed / "manifest.json").read_text())["config"]
    folder = asked_otherwise(folder, retriever=config["retriever"])
    assert folder.name == two_runs.fixed.name
    code, result = verified(folder)
    assert code == 1
    assert {difference["file"] for difference in result["differences"]} == {"retrieved.jsonl.gz"}
    theirs, honest = (RunView(run).ranked() for run in (folder, two_runs.fixed))
    by_rank = [(item["value"], item["claimed"].split()[0]) for item in result["differences"]]
    assert by_rank == [
        (f"{query_id} rank {rank} by the request", hits[0][0])
        for query_id, ranking in theirs.items()
        for rank, hits in enumerate(zip(ranking, honest[query_id], strict=True), start=1)
        if hits[0] != hits[1]
    ]
    assert len(by_rank) == 136


def _in_first_row(edit):
    """Change the chunks that the first row of the log names."""

    def changed(text):
        line, rest = text.split("\n", 1)
        row = json.loads(line)
        edit(row["new_chunks"])
        return f"{json.dumps(row)}\n{rest}"

    return changed


def _last_first(text):
    """The last line comes first."""
    *lines, last = text.splitlines()
    return "\n".join([last, *lines, ""])


TEXTS = {
    "a chunk that is not there": (
        "retrieved.jsonl.gz",
        _in_first_row(lambda chunks: chunks[0].update(chunk_id="no/such/file.py@0-9")),
        "no/such/file.py@0-9",
    ),
    "a judgement more": ("qrels.trec.gz", lambda text: text + text.split()[0] + " 0 made/up@0-9 1\n", "made/up@0-9"),
    "a field that no reader looks at": ("qrels.trec.gz", lambda text: text.replace(" 0 ", " 7 ", 1), "qrels.trec.gz 2"),
    "a judgement less": ("qrels.trec.gz", lambda text: text.partition("\n")[2], "qrels.trec.gz"),
    "a query less": ("per_query.jsonl.gz", lambda text: text.partition("\n")[2], "per_query.jsonl.gz"),
    "rows in another order": ("per_query.jsonl.gz", _last_first, "order of rows"),
}


@pytest.mark.parametrize(("name", "edit", "named"), TEXTS.values(), ids=TEXTS)
def test_a_changed_ranking_or_judgement_is_found(claimed, verify, name, edit, named):
    """Exit 1, and the differences name the file or the value."""
    write_text(claimed / name, edit(read_text(claimed / name)))
    done = verify(claimed)
    assert done.code == 1, done.err
    assert "is not what it claims" in done.out
    assert named in done.out


def set_means(metrics, name, value):
    for means in (metrics["micro"], metrics["macro"], *metrics["per_repo"].values()):
        means[name] = value


def test_a_query_that_is_left_out_of_every_file_is_found(claimed, verified):
    query = read_rows(claimed / "per_query.jsonl.gz")[0]["query_id"]
    for name in ("per_query.jsonl.gz", "retrieved.jsonl.gz", "queries.jsonl.gz"):
        change(claimed / name, lambda row: row["query_id"] != query)
    lines = read_text(claimed / "qrels.trec.gz").splitlines(keepends=True)
    write_text(claimed / "qrels.trec.gz", "".join(line for line in lines if not line.startswith(f"{query} ")))
    rows = read_rows(claimed / "per_query.jsonl.gz")
    for name in ("manifest.json", "metrics.json"):
        change(claimed / name, lambda content: content["counts"].update(queries=len(rows)))
    code, result = verified(claimed)
    assert code == 1
    files = {difference["file"] for difference in result["differences"]}
    assert files >= {"manifest.json", "per_query.jsonl.gz", "retrieved.jsonl.gz"}


STORED = {
    "no file that was cut": ("manifest.json", lambda m: m["counts"].update(lines_uncovered=9), "lines_uncovered"),
    "tokens where no model counts": ("metrics.json", lambda m: m["counts"].update(queries_tokens=5), "tokens"),
    "a fact of tokens": ("per_query.jsonl.gz", lambda row: row["facts"].update(query_tokens=5), "query_tokens"),
    "a first stage": (
        "manifest.json",
        lambda m: m.update(first_stage={"retriever": "bm25", "k_raw": 9, "run_id": "x"}),
        "first_stage",
    ),
    "a column more": ("metrics.json", lambda m: m["micro"].update({"ndcg@11": 0.5}), "micro.ndcg@11"),
    "minus nothing": (
        "per_query.jsonl.gz",
        lambda row: row["query_gold_overlap"].update(top10_over_prompt=-0.0),
        "query_gold_overlap",
    ),
    "true for a number": ("per_query.jsonl.gz", lambda row: row["facts"].update(_as_truth(row["facts"])), "facts"),
    "no part of the data": ("manifest.json", lambda m: m["dataset"].update(whole_tasks=99), "whole_tasks"),
    "repositories more": ("metrics.json", lambda m: m["dataset"].update(repositories=["a"]), "dataset.repositories"),
    "a date": ("manifest.json", lambda m: m.update(as_of=["2020-01-01", "2020-01-02"]), "as_of"),
    "a better score": ("per_query.jsonl.gz", lambda row: row["measures"].update({"ndcg@10": 2.0}), "measures.ndcg@10"),
    "a better mean": ("metrics.json", lambda m: m["micro"].update({"ndcg@10": 0.999}), "micro.ndcg@10"),
    "another place in the log": ("retrieved.jsonl.gz", lambda row: row["topk"][0].update(end_line=1), "end_line"),
    "another chunk": ("chunks.jsonl.gz", lambda row: row["spans"].pop(), ""),
    "another gold": ("queries.jsonl.gz", lambda row: row["gold"][0].__setitem__(2, 999), ""),
    "an absolute path": ("sources.jsonl.gz", lambda row: row.update(path="/etc/passwd"), "/etc/passwd"),
    "an extra in the log": ("retrieved.jsonl.gz", lambda row: row.update(extra={"a": 1}), "extra.a"),
    "a fact for segments": ("per_query.jsonl.gz", lambda row: row["facts"].update(source="good"), "facts.source"),
    "a source in the log": ("retrieved.jsonl.gz", lambda row: row.update(source="good"), ": source"),
    "a measure called code": ("metrics.json", lambda m: m["micro"].update(code=0.9), "micro.code"),
    "a repository called code": (
        "metrics.json",
        lambda m: m["per_repo"].update(code={"mrr": 0.9}),
        "per_repo.code.mrr",
    ),
    "a ceiling of it": (
        "metrics.json",
        lambda m: m["ceilings"]["per_repo"].update(versions={"recall@5": 0.9}),
        "ceilings.per_repo.versions.recall@5",
    ),
    "a model of another origin": (
        "manifest.json",
        lambda m: m["config"]["embedder_identity"].update(source="theirs"),
        "config.embedder_identity.source",
    ),
    "a repository without a score": ("metrics.json", lambda m: m["per_repo"].update(zzz={}), "per_repo.zzz"),
    "a part of nothing": ("manifest.json", lambda m: m["dataset"].update(part={}), "dataset.part"),
}
"""Name of a change -> its file, the change, and the value that is named."""


def test_every_stored_value_that_follows_from_the_data_is_found(claimed, verified):
    for name, edit, _ in STORED.values():
        change(claimed / name, edit)
    change(claimed / "retrieved.jsonl.gz", lambda row: row["topk"][0].update(score=99.5))
    code, result = verified(claimed)
    assert code == 1
    differences = [(difference["file"], difference["value"]) for difference in result["differences"]]
    unseen = [
        what
        for what, (name, _, value) in STORED.items()
        if not any(file == name and value in named for file, named in differences)
    ]
    assert unseen == []
    assert any("rank 1 by the request" in named for _, named in differences)
    assert "intervals" in {file for file, _ in differences}


def _as_truth(facts):
    name = next(name for name, fact in facts.items() if fact in (0, 1) and not isinstance(fact, bool))
    return {name: bool(facts[name])}


def test_a_folder_holds_one_run_under_its_id_and_nothing_else(claimed, verified, tmp_path):
    """Another name, another file, a folder, a link, a mark of one's own."""
    renamed = shutil.copytree(claimed, tmp_path / "runs" / "ast-1500_context_bm25-00000000")
    assert "give the folder that name" in verified(renamed)[1]
    result = json_of("lab", "leaderboard", "--out", renamed.parent)
    assert "give the folder that name" in result["not_ranked"][renamed.name]
    for name in ("notes.txt", "verified.json", "completions.jsonl", "more/", ".hidden"):
        folder = shutil.copytree(claimed, tmp_path / name.strip("./") / claimed.name)
        (folder / name).mkdir() if name.endswith("/") else (folder / name).write_text("{}")
        code, sentence = verified(folder)
        assert (code, name.strip("/") in sentence) == (1, True)
    (claimed / "timings.jsonl").rename(tmp_path / "timings.jsonl")
    (claimed / "timings.jsonl").symlink_to(tmp_path / "timings.jsonl")
    assert "timings.jsonl" in verified(claimed)[1]


def test_a_part_is_found_again_and_is_not_another_part(mirror, two_runs, tmp_path, verify, verified):
    """A run of three tasks, and one that says that four were asked."""
    words = ("-c", "fixed:max_nws=400", "--retriever", "bm25", "--limit", "3", "--source", mirror, "--out", tmp_path)
    succeed("eval", *words, home=two_runs.home)
    (path,) = tmp_path.glob("*/manifest.json")
    said = verify(path.parent)
    assert (said.code, "is what it claims" in said.out, " 3 of " in said.out) == (0, True, True)
    for name in ("manifest.json", "metrics.json"):
        change(path.parent / name, lambda content: content["dataset"].update(part={"limit": 4}))
    code, result = verified(path.parent)
    assert (code, result["differences"][0]["value"]) == (1, "dataset.fingerprint")


def test_what_nobody_can_compute_is_taken_over_and_listed(claimed, verified):
    """Times, versions and where data came from: changed, they pass, and the answer names each of them."""
    change(claimed / "timings.jsonl", lambda row: row.get("step") != "retrieve" and (row.update(_faster(row)) or True))
    change(claimed / "manifest.json", lambda m: m.update(created="1999-01-01T00:00:00+00:00", versions={"numpy": "0"}))
    change(claimed / "manifest.json", lambda m: m["code"].update(commit="0" * 40))
    for name in ("manifest.json", "metrics.json"):
        change(claimed / name, lambda content: content["dataset"].update(source="github"))
    code, result = verified(claimed)
    assert (code, result["as_stored"]) == (0, list(ALWAYS_AS_STORED))


def _faster(row):
    return {"latency_ms": dict.fromkeys(row["latency_ms"], 0.001)} if "latency_ms" in row else {}


def test_a_mark_in_a_run_folder_and_scores_of_ones_own_are_no_verification(two_runs, oracle, tmp_path):
    """Fresh hashes of faked scores; a leaderboard of local runs says nothing of them, or that they are broken."""
    folder = shutil.copytree(two_runs.fixed, tmp_path / "runs" / two_runs.fixed.name)
    shown = _with_mark_of_its_own(folder)
    assert [entry["verification"] for entry in shown["boards"][0]["entries"]] == [None]
    change(folder / "per_query.jsonl.gz", lambda row: row["measures"].update({"line_recall_auc": 0.99}))
    change(folder / "metrics.json", lambda metrics: set_means(metrics, "line_recall_auc", 0.99))
    shown = _with_mark_of_its_own(folder)
    assert shown["boards"] == []
    assert "above its ceiling" in shown["not_ranked"][folder.name]
    assert "error" in bench("compare", folder, oracle, home=two_runs.home).err


def test_a_record_of_another_run_or_of_other_files_is_none(two_runs, oracle, mirror, tmp_path):
    """A record is of one run, as it was when it was computed again: a file more or less is another folder."""
    out = tmp_path / "ours"
    succeed("lab", "add", two_runs.fixed, oracle, "--source", mirror, "--out", out, home=two_runs.home)
    bm25 = two_runs.fixed.name
    (out / bm25 / "more.txt").write_text("")
    assert _state(out, bm25) == {"status": "changed", "ranking": None, "reason": "more.txt"}
    (out / bm25 / "more.txt").unlink()
    assert _state(out, bm25) == {"status": "verified", "ranking": "recomputed", "reason": ""}
    (out / bm25 / "timings.jsonl").unlink()
    assert _state(out, bm25)["status"] == "changed"
    shutil.copyfile(out / "verified" / f"{oracle.name}.json", out / "verified" / f"{bm25}.json")
    result = json_of("lab", "leaderboard", "--out", out)
    assert f"is of the run {oracle.name}" in result["not_ranked"][bm25]


def _state(out, run_id):
    (board,) = json_of("lab", "leaderboard", "--out", out)["boards"]
    (result,) = (entry for entry in board["entries"] if entry["run_id"] == run_id)
    return {"status": result["verification"], "ranking": result["ranking"], "reason": result["reason"]}


def _with_mark_of_its_own(folder):
    (folder / "verified.json").unlink(missing_ok=True)
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    mark = {"reason": "", "values": 9, "code": {"commit": None, "dirty": None}, "versions": {}, "sha256": hashes}
    (folder / "verified.json").write_text(json.dumps(mark))
    return json_of("lab", "leaderboard", "--out", folder.parent)
