"""A chunker that fails ends its own run: the others go on, it is counted, and the command ends with 1 and the reason."""

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from support.command import one_sentence

REASONS = {"Nothing": "gave no chunk for any of", "Breaks": "ValueError: no such cut"}


TWICE = """
import json, sys
for line in sys.stdin:
    answer = json.dumps({"unit": "characters", "chunks": [[0, len(json.loads(line)["text"])]]})
    print(answer)
    print(answer, flush=True)
"""
KINDS = {
    "Recurses": "RecursionError: ",
    "FillsMemory": "MemoryError: ",
    "Leaves": "SystemExit: 0",
    "Panics": "PanicException: index out of bounds",
    "Speechless": "SpeechlessError: ",
    "Odd": "AttributeError: ",
    "CannotClose": "ValueError: it is stuck",
    "CannotCloseAtAll": "PanicException: it is stuck",
    "twice": "its answers may belong to other files",
}
"""Messages of chunkers that fail in further ways."""


MODULE = "failing_chunkers"


@pytest.fixture(scope="module", autouse=True)
def importable(tmp_path_factory):
    """The folder of the chunkers and of the program."""
    folder = tmp_path_factory.mktemp("failing")
    shutil.copy(Path(__file__).with_name(f"{MODULE}.py.txt"), folder / f"{MODULE}.py")
    (folder / "twice.py").write_text(TWICE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder


def ours(name):
    return f"py:{MODULE}:{name}"


@pytest.mark.parametrize(
    ("name", "further"),
    [("Nothing", []), ("Breaks", ["--match-size", "fixed:max_nws=200"]), ("Breaks", ["--executor", "local:1"])],
)
def test_the_others_are_compared(ask, name, further):
    done = ask("compare", "ast", ours(name), "fixed", further=further)
    assert done.code == 1
    at_the_end = done.err[done.err.index("error: ") :]
    assert at_the_end.startswith("error: 1 of 3 runs failed;")
    assert REASONS[name] in at_the_end
    assert "1 other run failed and is not compared" in " ".join(done.out.split())


@pytest.mark.parametrize("command", ["compare", "sweep --sizes 200", "run", "recommend --sizes 200"])
def test_whatever_a_chunker_raises_ends_its_own_run_alone(ask, importable, tmp_path, command):
    """And whenever it does: while it cuts, with chunks that are none, or at the end."""
    kinds = KINDS if command == "compare" else ["Leaves"]
    program = "exec:" + shlex.join([sys.executable, str(importable / "twice.py")])
    names = ["fixed:max_nws=300", *(program if kind == "twice" else ours(kind) for kind in kinds), "ast:max_nws=300"]
    file = tmp_path / "bench.yaml"
    file.write_text(json.dumps({"chunkers": names, "protocol": "body", "retrievers": "bm25"}))
    done = ask(command, *names, further=[file] if command == "run" else [], out=tmp_path / "out")
    assert done.code == 1
    at_the_end = done.err[done.err.index(f"error: {len(kinds)} ") :]
    assert all(KINDS[kind] in at_the_end for kind in kinds)
    assert done.out
    chunkers = [json.loads(path.read_text())["chunker"] for path in (tmp_path / "out").glob("*/metrics.json")]
    assert sorted(name.partition(":")[0] for name in chunkers) == ["ast", "fixed"]


def test_alone_it_is_the_error(ask):
    assert REASONS["Breaks"] in one_sentence(ask("eval", ours("Breaks")), 1)
    both = ask("eval", ours("Breaks"), ours("Nothing"))
    assert both.code == 1
    assert both.err.startswith("error: 2 mistakes:")


def test_a_baseline_that_has_no_run_is_named_with_the_reason(ask):
    """By any spelling of it; a stored run that has its name is not taken in its place."""
    baseline = ours("Nothing")
    done = ask("compare", "ast", baseline, "fixed", further=["--baseline", baseline])
    assert done.code == 2
    assert f"error: --baseline {baseline} was left out: {baseline} gave no chunk" in done.err


def test_each_combination_of_a_file_names_its_own(ask, tmp_path):
    """A protocol without a chunker has nothing that is left out, though one of the others has."""
    file, nothing = tmp_path / "bench.yaml", ours("Nothing")
    file.write_text(
        f"chunkers: [ast, '{nothing}', fixed]\nprotocol: [body, context]\nretrievers: bm25\nbaseline: '{nothing}'\n"
    )
    done = ask("run --executor local:1 --json", further=[file], out=tmp_path / "out")
    assert done.code == 1
    assert "2 of 6 runs failed;" in done.err
    rows = json.loads(done.out)
    assert [list(row["left_out"]) for row in rows] == [[nothing]] * 2
    assert [len(row["runs"]) for row in rows] == [2, 2]
    done = ask("run", further=[file], out=tmp_path / "out")
    assert done.err.count("note: the baseline has no run here") == 2
    assert done.out.count("stored in ") == 2


@pytest.mark.parametrize("further", ["--retriever dense --embedder hash", "--executor local:1"])
def test_a_recommendation_is_of_the_others(ask, further):
    """At every size; what it could not cut is among what was left out, and the exit code is 1."""
    done = ask(f"recommend --sizes 200,400 --json {further}", "fixed", "ast", ours("Breaks"))
    assert done.code == 1
    assert REASONS["Breaks"] in done.err[done.err.index("error: ") :]
    result = json.loads(done.out)
    assert {REASONS["Breaks"] in line for line in result["skipped"]} == {True}
    assert len(result["runs"]) == (8 if "dense" in further else 4)


def test_where_every_chunker_of_a_size_fails_each_is_told_with_its_reason(ask):
    """As where some fail: what the other sizes have made is not lost."""
    done = ask("recommend --sizes 200", *map(ours, REASONS))
    assert done.code == 1
    message = done.err[done.err.index("error: 2 runs failed; skipped:") :]
    assert all(reason in message for reason in REASONS.values())


def test_where_every_chunker_fails_nothing_is_recommended(ask):
    """One sentence with the reason of each."""
    done = ask("recommend --sizes 200,400", ours("Speechless"), ours("Recurses"))
    assert (done.code, done.out) == (1, "")
    message = done.err[done.err.index("error: there is nothing to choose from: no chunker is left") :]
    assert KINDS["Speechless"] in message
    assert KINDS["Recurses"] in message
