"""Every command: its JSON is JSON, and a run that is missing or broken ends in one sentence."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from repoeval_bench.cli import app
from repoeval_bench.cli.group import CommandGroup
from support.cases import cases
from support.command import bench, json_of, one_sentence, succeed
from support.runs import read_rows, write_rows


@dataclass(frozen=True)
class Call:
    """The call of a command, as `every_command.yaml` has it."""

    words: str
    json: str = "--json"
    reads: Sequence[str] = ()


CASES = cases(__file__)
CALLS = {name: Call(**call) for name, call in CASES["calls"].items()}
MISSING, OUTPUTS, UNREAD = (CASES[name] for name in ("missing", "outputs", "unread"))
OF_RUNS = [(name, read) for name, call in CALLS.items() for read in call.reads]


COMMANDS = frozenset(app.list_commands(click.Context(app)))


@pytest.fixture(autouse=True)
def _a_command_that_is_here(request):
    """Skip the calls of a leaf that was deleted."""
    values = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    called = values.get("call") or values.get("name")
    if called and called.split()[0] not in COMMANDS:
        pytest.skip(f"no command {called.split()[0]}")


@pytest.fixture(scope="module")
def stored(two_runs, mirror, tmp_path_factory):
    """Two runs, and the files that commands ask for."""
    here = tmp_path_factory.mktemp("every")
    (here / "gates.yaml").write_text("gates: [{measure: ndcg@10, at_least: 0.01}]\n")
    (here / "bench.yaml").write_text("chunkers: [fixed:max_nws=400, ast:max_nws=400]\nretrievers: bm25\n")
    (here / "source.py").write_text("def one():\n    return 1\n")
    first = [(row["query_id"], row["topk"][0]["chunk_id"]) for row in read_rows(two_runs.ast / "retrieved.jsonl.gz")]
    gold = write_rows(here / "gold.jsonl", ({"query_id": query, "chunk_id": chunk} for query, chunk in first))
    write_rows(here / "judged.jsonl", [read_rows(gold)[0] | {"grade": 1}])
    runs = {"run": two_runs.ast, "other": two_runs.fixed, "runs": two_runs.out, "home": two_runs.home}
    return {"here": here, "mirror": mirror, **runs}


def words(call: str, places: dict[str, Path], out: Path) -> list[str]:
    """The command's words, each {place} as a path: one of `places`, a file beside them, or a new one in `out`."""
    result = []
    for word in call.split():
        name = word[word.find("{") + 1 : word.find("}")] if "{" in word else ""
        path = places.get(name) or (places["here"] / name if (places["here"] / name).is_file() else out / name)
        result.append(word.replace(f"{{{name}}}", str(path)) if name else word)
    return result


def test_every_command_is_called():
    """A new command is tried here too."""
    context = click.Context(app)
    groups = {name: app.get_command(context, name) for name in app.list_commands(context)}
    inner = {name: group.table for name, group in groups.items() if isinstance(group, CommandGroup)}
    every = {
        *(groups.keys() - inner.keys()),
        *(f"{name} {name_of_command}" for name, table in inner.items() for name_of_command in table),
    }
    assert {name for name in (*CALLS, *CASES["elsewhere"]) if name.split()[0] in COMMANDS} == every


@pytest.mark.parametrize("name", CALLS)
def test_the_json_of_every_command_is_json(stored, tmp_path, name):
    """Standard output is one JSON document, or one a line; commands that write a file exit with 0."""
    call = CALLS[name]
    done = succeed(*words(call.words, stored, tmp_path), *call.json.split(), home=stored["home"])
    if call.json:
        documents = done.out.splitlines() if name in {"chunker show", "chunker stats"} else [done.out]
        assert all(json.loads(document) for document in documents)


@pytest.mark.parametrize("name", dict(OF_RUNS))
def test_a_run_that_is_missing_is_a_usage_error(stored, tmp_path, name):
    """One sentence names what was typed."""
    places = {**stored, "run": tmp_path / "absent"}
    sentence = one_sentence(bench(*words(CALLS[name].words, places, tmp_path), home=stored["home"]), 2)
    assert "absent" in sentence


@pytest.mark.parametrize("call", MISSING.values(), ids=MISSING)
def test_what_is_named_and_not_there_is_a_usage_error(stored, tmp_path, call):
    """Whichever command it is given to; the sentence has the name, once, and no number of the system's."""
    empty = tmp_path / "empty"
    empty.mkdir()
    sentence = one_sentence(bench(*words(call, {**stored, "empty": empty}, tmp_path), home=stored["home"]), 2)
    assert ("empty" if "{empty}" in call else "none") in sentence
    assert "Errno" not in sentence


@pytest.mark.parametrize("call", OUTPUTS.values(), ids=OUTPUTS)
def test_an_output_that_cannot_be_written_is_said_before_anything_is_computed(stored, tmp_path, call):
    """One sentence with the name as typed, without the temporary file in which it would have been made."""
    way = tmp_path / "way"
    way.write_text("in the way")
    done = bench(*words(call, {**stored, "way": way}, tmp_path), home=stored["home"])
    sentence = one_sentence(done, 2)
    assert "cannot be written" in sentence
    assert f"{way} is a file" in sentence
    assert done.err.count("\n") == 1
    assert not done.out
    assert [name_of_command.name for name_of_command in tmp_path.iterdir()] == ["way"]


@pytest.mark.parametrize("call", UNREAD)
def test_an_option_that_would_not_be_read_or_is_out_of_bounds_is_refused(stored, tmp_path, call):
    done = bench(*words(call, stored, tmp_path), home=stored["home"], cwd=tmp_path)
    assert UNREAD[call] in one_sentence(done, 2)
    assert not done.out


def test_a_folder_that_is_not_a_finished_run_is_named_with_what_it_lacks(stored, tmp_path):
    """`verify` says what is missing, `runs` lists it beside the others and counts it."""
    shutil.copytree(stored["runs"], tmp_path / "runs")
    first, second, *_ = sorted(folder for folder in (tmp_path / "runs").iterdir() if folder.is_dir())
    (first / "manifest.json").unlink()
    sentence = one_sentence(bench("verify", first, home=stored["home"]), 2)
    assert f"{first} has no manifest.json, so it is not a finished run" in sentence
    (second / "metrics.json").unlink()
    done = succeed("runs", "--out", tmp_path / "runs", home=stored["home"])
    assert "2 runs not finished, broken, or of another version:" in done.out
    assert f"{first.name}: no manifest.json" in done.out
    assert f"{second}/metrics.json cannot be read (No such file or directory)" in done.out
    listed = json_of("runs", "--out", tmp_path / "runs", home=stored["home"])
    assert [row["measure"] for row in listed] == ["unfinished"] * 2


@pytest.mark.parametrize(("name", "read"), OF_RUNS)
@pytest.mark.parametrize("damage", ["cut", "not text"])
def test_a_run_that_is_broken_is_named_with_its_file(stored, tmp_path, name, read, damage):
    """A file that ends early or is not text: one sentence names it, and nothing is printed."""
    broken = tmp_path / "broken" / Path(stored["run"]).name
    shutil.copytree(stored["run"], broken)
    content = (broken / read).read_bytes()
    (broken / read).write_bytes(content[: len(content) // 2] if damage == "cut" else b"\xff\xfe" + content)
    done = bench(*words(CALLS[name].words, {**stored, "run": broken}, tmp_path), home=stored["home"])
    assert read in one_sentence(done, 1)
    assert not done.out
