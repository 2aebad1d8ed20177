"""`verify`: a run that is what it claims, and one for each way in which it can be something else."""

import json
import shutil

import pytest

from repoeval_bench.analysis.verification import ALWAYS_AS_STORED
from repoeval_bench.chunkers.registry import CHUNKERS
from support.command import bench, one_sentence
from support.runs import read_text, write_text

PROTOCOLS = ("context", "code-chunk", "coderag", "body", "linemap", "docstring", "context+exclusion=body+scope=pooled")
"""Every kind of documents, scope, exclusion and task; `uses` has no table for the mini benchmark."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("verify-home")


@pytest.fixture(scope="module")
def run(tmp_path_factory, mirror, home):
    """A run of the mini benchmark that needs no model."""
    out = tmp_path_factory.mktemp("verify")
    words = ("eval", "-c", "fixed:max_nws=400", "--retriever", "bm25", "--source", mirror, "--out", out)
    done = bench(*words, home=home)
    assert done.code == 0, done.err
    (folder,) = [path for path in out.iterdir() if path.is_dir()]
    return folder


@pytest.fixture
def claimed(run, tmp_path):
    """A copy of the run, to be changed."""
    return shutil.copytree(run, tmp_path / run.name)


def verified(folder, mirror, home, *more):
    return bench("verify", folder, "--source", mirror, *more, home=home)


def edited(folder, name, change):
    """Change the JSON of a file, or the first row of a JSONL file."""
    path = folder / name
    text = read_text(path)
    first, *rest = text.splitlines() if ".jsonl" in name else [text]
    content = json.loads(first)
    change(content)
    write_text(path, "\n".join([json.dumps(content), *rest, ""]))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_is_what_it_claims_under_every_kind_of_protocol(protocol, mirror, home, tmp_path):
    """Nothing that was computed again differs, and every file is counted."""
    chunker = () if protocol == "coderag" else ("-c", "ast:max_nws=400")
    words = ("--retriever", "bm25", "--set", "few_gold", "--source", mirror, "--out", tmp_path)
    done = bench("eval", *chunker, "--protocol", protocol, *words, home=home)
    assert done.code == 0, done.err
    done = verified("latest", mirror, home, "--out", tmp_path, "--json")
    result = json.loads(done.out)
    assert (done.code, result["holds"], result["differences"]) == (0, True, []), result["differences"][:3]
    assert min(result["compared"].values()) > 0
    (folder,) = tmp_path.glob("*/manifest.json")
    stored = {path.name for path in folder.parent.iterdir()} - {"timings.jsonl"}
    assert stored | {"intervals"} == set(result["compared"])


def test_a_run_whose_hits_bring_more_is_what_it_claims(mirror, home, tmp_path):
    """What they bring is computed again; without it the lines that were read are others."""
    words = ("eval", "-c", "fixed:max_nws=200", "--retriever", "bm25", "--protocol", "body", "--set", "few_gold")
    for more in ((), ("--set", "expand=parent")):
        made = bench(*words, *more, "--source", mirror, "--out", tmp_path / "runs", home=home)
        assert made.code == 0, made.err
    expanded = next(path.parent for path in (tmp_path / "runs").glob("*/metrics.json") if "parent" in path.read_text())
    done = bench("verify", expanded, "--source", mirror, home=home)
    assert done.code == 0, done.err
    manifest = json.loads((expanded / "manifest.json").read_text())
    del manifest["config"]["expand"]
    (expanded / "manifest.json").write_text(json.dumps(manifest))
    assert bench("verify", expanded, "--source", mirror, home=home).code == 1


def test_a_part_of_the_data_is_found_again(mirror, home, tmp_path):
    """A run of the first tasks is verified on these."""
    words = ("-c", "fixed:max_nws=400", "--retriever", "bm25", "--limit", "3", "--source", mirror, "--out", tmp_path)
    assert bench("eval", *words, home=home).code == 0
    done = verified("latest", mirror, home, "--out", tmp_path)
    assert done.code == 0, done.out
    assert "is what it claims" in done.out
    assert " 3 of " in done.out
    result = json.loads(verified("latest", mirror, home, "--out", tmp_path, "--json").out)
    assert (result["ranking"], result["reason"], result["as_stored"]) == ("recomputed", "", list(ALWAYS_AS_STORED))


def test_a_measure_of_vectors_is_computed_again(mirror, warm_home, tmp_path):
    """The model embeds what the measure compares; its identity is compared too."""
    words = ("-c", "fixed:max_nws=400", "-m", "ild@5", "--source", mirror, "--out", tmp_path)
    assert bench("eval", *words, home=warm_home).code == 0
    assert verified("latest", mirror, warm_home, "--out", tmp_path).code == 0
    (path,) = tmp_path.glob("*/per_query.jsonl")
    edited(path.parent, path.name, lambda row: row["measures"].update({"ild@5": 0.9}))
    done = verified("latest", mirror, warm_home, "--out", tmp_path)
    assert (done.code, "measures.ild@5" in done.out) == (1, True), done.out


def _swap(text):
    """The best chunk and the fifth of the first query exchanged."""
    lines = text.splitlines()
    first, fifth = lines[0].split(), lines[4].split()
    first[2], fifth[2] = fifth[2], first[2]
    lines[0], lines[4] = " ".join(first), " ".join(fifth)
    return "\n".join(lines) + "\n"


def _foreign(text):
    """The first query retrieves a chunk that is nowhere."""
    line, *rest = text.splitlines()
    fields = line.split()
    return "\n".join([" ".join([*fields[:2], "no/such/file.py@0-9", *fields[3:]]), *rest, ""])


def _ranked_otherwise(text):
    """The rank of the first line is 2, as that of the second; its place by score is the same."""
    first, rest = text.split(" 1 ", 1)
    return f"{first} 2 {rest}"


def _tagged_otherwise(text):
    """The first line has another tag."""
    line, *rest = text.splitlines()
    return "\n".join([f"{line.rpartition(' ')[0]} mine", *rest, ""])


def _last_first(text):
    """The last line comes first."""
    *lines, last = text.splitlines()
    return "\n".join([last, *lines, ""])


TEXTS = {
    "another rank": ("run.trec.gz", _ranked_otherwise, "run.trec.gz 2"),
    "another tag": ("run.trec.gz", _tagged_otherwise, "run.trec.gz 2"),
    "another ranking": ("run.trec.gz", _swap, "run.trec.gz"),
    "another second field": ("run.trec.gz", lambda text: text.replace(" Q0 ", " Q1 ", 1), "run.trec.gz 2"),
    "lines in another order": ("run.trec.gz", _last_first, "run.trec.gz 2"),
    "a blank more": ("run.trec.gz", lambda text: text.replace(" ", "  ", 1), "run.trec.gz 2"),
    "a chunk that is not there": ("run.trec.gz", _foreign, "no/such/file.py@0-9"),
    "a judgement more": ("qrels.trec", lambda text: text + text.split()[0] + " 0 made/up.py@0-9 1\n", "made/up.py@0-9"),
    "a field that no reader looks at": ("qrels.trec", lambda text: text.replace(" 0 ", " 7 ", 1), "qrels.trec 2"),
    "a judgement less": ("qrels.trec", lambda text: text.partition("\n")[2], "qrels.trec"),
    "a query less": ("per_query.jsonl", lambda text: text.partition("\n")[2], "per_query.jsonl"),
    "rows in another order": ("per_query.jsonl", _last_first, "order of rows"),
}
ROWS = {
    "a better score": ("per_query.jsonl", lambda row: row["measures"].update({"ndcg@10": 2.0}), "ndcg@10"),
    "another file": ("per_query.jsonl", lambda row: row.update(path="elsewhere.py"), "path"),
    "a better mean": ("metrics.json", lambda metrics: metrics["micro"].update({"ndcg@10": 0.999}), "micro.ndcg@10"),
    "a lower ceiling": (
        "metrics.json",
        lambda metrics: metrics["ceilings"]["micro"].update({"ndcg@10": 0.5}),
        "ceilings.micro.ndcg@10",
    ),
    "fewer chunks": ("metrics.json", lambda metrics: metrics["counts"].update(chunks=1), "counts.chunks"),
    "another place in the log": (
        "retrieved.jsonl.gz",
        lambda row: row["topk"][0].update(start_line=0, end_line=1),
        "topk.0.end_line",
    ),
    "another score in the log": ("retrieved.jsonl.gz", lambda row: row["topk"][0].update(score=99.5), "rank 1 by the"),
    "another source text": ("sources.jsonl.gz", lambda row: row.update(text="x = 1\n"), "sources.jsonl.gz"),
    "another chunk": ("chunks.jsonl.gz", lambda row: row["spans"].pop(), "chunks.jsonl.gz"),
    "another gold": ("queries.jsonl.gz", lambda row: row["gold"][0].__setitem__(2, 999), "queries.jsonl.gz"),
}


@pytest.mark.parametrize(("name", "change", "named"), TEXTS.values(), ids=TEXTS)
def test_a_changed_ranking_or_judgement_is_found(claimed, mirror, home, name, change, named):
    """Exit 1, and the differences name the file or the value."""
    path = claimed / name
    write_text(path, change(read_text(path)))
    done = verified(claimed, mirror, home)
    assert done.code == 1, done.err
    assert "is not what it claims" in done.out
    assert named in done.out


def test_changed_values_are_found(claimed, mirror, home):
    """Exit 1, and each value is named with what was claimed and what was computed."""
    for name, change, _ in ROWS.values():
        edited(claimed, name, change)
    done = verified(claimed, mirror, home, "--json")
    assert done.code == 1, done.err
    results = [f"{row['file']} {row['value']}" for row in json.loads(done.out)["differences"]]
    assert [named for _, _, named in ROWS.values() if not any(named in result for result in results)] == []


def test_means_that_fit_their_rows_are_not_a_proof(claimed, mirror, home):
    """Scores, means and intervals that agree with each other, and with no ranking, are found."""
    rows = [json.loads(line) for line in (claimed / "per_query.jsonl").read_text().splitlines()]
    for row in rows:
        row["measures"]["ndcg@10"] = 0.123
    (claimed / "per_query.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    metrics = json.loads((claimed / "metrics.json").read_text())
    for means in (metrics["micro"], metrics["macro"], *metrics["per_repo"].values()):
        means["ndcg@10"] = 0.123
    (claimed / "metrics.json").write_text(json.dumps(metrics))
    done = verified(claimed, mirror, home, "--details")
    assert done.code == 1
    assert "micro.ndcg@10" in done.out
    assert sum("measures.ndcg@10" in line for line in done.out.splitlines()) > 5
    assert "intervals" in done.out


def test_every_difference_is_printed_if_asked(claimed, mirror, home):
    """Five of a file represent the others unless --details or --json is given, and the others are counted."""
    rows = [json.loads(line) for line in (claimed / "per_query.jsonl").read_text().splitlines()]
    changed = "".join(json.dumps(row | {"n_relevant": row["n_relevant"] + 1}) + "\n" for row in rows)
    (claimed / "per_query.jsonl").write_text(changed)
    counted = [verified(claimed, mirror, home, *more).out.count(": n_relevant") for more in ((), ("--details",))]
    assert counted == [5, len(rows)]
    assert f"per_query.jsonl: {len(rows) - 5} more" in verified(claimed, mirror, home).out
    assert len(json.loads(verified(claimed, mirror, home, "--json").out)["differences"]) == len(rows)


def test_code_that_a_folder_names_is_not_run(claimed, mirror, home, tmp_path):
    """A chunker that is a program or a module is run only where the user names it too."""
    trap = f"exec:touch {tmp_path}/ran"
    edited(claimed, "manifest.json", lambda manifest: manifest["config"].update(chunker=trap))
    sentence = one_sentence(verified(claimed, mirror, home), 2)
    assert f"--allow '{trap}'" in sentence
    assert not (tmp_path / "ran").exists()
    verified(claimed, mirror, home, "--allow", trap)
    assert (tmp_path / "ran").exists()
    for field, spec in (("measures", ["py:os:getcwd@5"]), ("chunker", "py:os:getcwd")):
        edited(claimed, "manifest.json", lambda manifest, f=field, s=spec: manifest["config"].update({f: s}))
        assert "--allow py:os:getcwd" in one_sentence(verified(claimed, mirror, home), 2)


def test_a_chunker_that_asks_for_a_program_is_known():
    """A new built-in chunker that runs something else has to be refused too."""
    assert {row.name for row in CHUNKERS if row.target} <= {"exec"}


def test_other_data_is_named(claimed, mirror, home):
    """Nothing is judged on other data: both fingerprints are printed."""
    edited(claimed, "manifest.json", lambda manifest: manifest["config"].update(fingerprint="0" * 12))
    done = verified(claimed, mirror, home)
    assert done.code == 1
    assert "dataset.fingerprint" in done.out
    assert "0" * 12 in done.out


def test_the_folder_of_a_pack_of_ones_own_has_to_be_named(claimed, mirror, home):
    """Its name says neither where it is nor a file of RepoEval's."""
    name = "pack-mine-function-2k-code"
    edited(claimed, "manifest.json", lambda manifest: manifest["dataset"].update(name=name, source="pack"))
    done = verified(claimed, mirror, home)
    assert one_sentence(done, 2)
    assert f"is {name}, and {mirror} is not a pack; name its folder with --source" in done.err


def test_an_imported_run_is_refused(claimed, mirror, home, tmp_path):
    """Its chunks cannot be cut again."""
    gold = tmp_path / "gold.jsonl"
    rows = [json.loads(line) for line in read_text(claimed / "retrieved.jsonl.gz").splitlines()]
    gold.write_text(
        "".join(
            json.dumps({"query_id": row["query_id"], "chunk_id": row["topk"][0]["chunk_id"]}) + "\n" for row in rows
        )
    )
    words = ("logs", "import", claimed / "retrieved.jsonl.gz", "--gold", gold, "--out", tmp_path / "imported")
    assert bench(*words, home=home).code == 0
    (folder,) = [path for path in (tmp_path / "imported").iterdir() if path.is_dir()]
    assert "was imported" in one_sentence(verified(folder, mirror, home), 2)


@pytest.mark.full_data
@pytest.mark.parametrize(
    "asked",
    [
        ("--protocol", "coderag"),
        ("-c", "fixed", "--protocol", "uses"),
        ("-c", "fixed", "--protocol", "uses", "--repos", "deepmind_tracr"),
        ("-c", "fixed", "--protocol", "code-chunk", "--limit", "60"),
    ],
    ids=" ".join,
)
def test_real_data_is_found_again(real_source, tmp_path, asked):
    """Of a run over a part of the tasks, or over those that have gold, the very same tasks."""
    done = bench("eval", *asked, "--retriever", "bm25", "--source", real_source, "--out", tmp_path)
    assert done.code == 0, done.err
    done = bench("verify", "latest", "--out", tmp_path, "--source", real_source)
    assert done.code == 0, done.out
