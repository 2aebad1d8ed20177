"""A chunker that fails ends its own run: the others go on, it is counted, and the command ends with 1 and the reason."""

import json
import shlex
import sys

import pytest

from support.codebase import write_code
from support.command import bench, one_sentence, succeed

CODE = '''"""Chunkers that fail."""

from dataclasses import replace

from repoeval_bench.chunkers.registry import make_chunker


class Nothing:
    def chunk(self, file):
        return []


class Breaks:
    def chunk(self, file):
        raise ValueError("no such cut")


class Sized:
    def __init__(self, *, max_nws: int = 300) -> None:
        self.max_nws = max_nws


class Whole(Sized):
    def chunk(self, file):
        return make_chunker("file").chunk(file)


class Recurses(Sized):
    def chunk(self, file):
        return self.chunk(file)


class FillsMemory(Sized):
    def chunk(self, file):
        raise MemoryError


class Leaves(Sized):
    def chunk(self, file):
        raise SystemExit(0)


class PanicException(BaseException):
    """What a panic of Rust becomes: no Exception."""


class Panics(Sized):
    def chunk(self, file):
        raise PanicException("index out of bounds")


class SpeechlessError(Exception):
    def __str__(self):
        raise ValueError("no words")


class Speechless(Sized):
    def chunk(self, file):
        raise SpeechlessError


class Odd(Whole):
    def chunk(self, file):
        return [replace(chunk, chars=None) for chunk in super().chunk(file)]


class CannotClose(Whole):
    def close(self):
        raise ValueError("it is stuck")


class CannotCloseAtAll(Whole):
    def close(self):
        raise PanicException("it is stuck")


class OneSize:
    def __init__(self, *, max_nws: int = 40) -> None:
        self.max_nws = max_nws

    def chunk(self, file):
        if self.max_nws != 40:
            raise ValueError("no other size")
        return make_chunker("fixed:max_nws=40").chunk(file)
'''
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


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("failing")
    module = "failing_chunkers"
    (folder / f"{module}.py").write_text(CODE)
    (folder / "twice.py").write_text(TWICE)
    succeed("data", "build", write_code(folder / "code", aside=False), "-o", folder / "pack", home=folder / "home")
    sys.path.insert(0, str(folder))
    yield {"pack": folder / "pack", "home": folder / "home", "out": folder / "results", "module": module}
    sys.path.remove(str(folder))


def ask(places, command, *names, further=(), out=None):
    chunkers = [word for name in names for word in ("-c", f"py:{places['module']}:{name}" if name in REASONS else name)]
    shared = ("--source", places["pack"], "--retriever", "bm25", "--protocol", "body")
    if command != "lab sensitivity":  # which keeps no runs
        shared += ("--out", out or places["out"])
    return bench(*command.split(), *chunkers, *shared, *further, home=places["home"])


def told_at_the_end(done, *names, of):
    assert done.code == 1
    at_the_end = done.err[done.err.index("error: ") :]
    assert at_the_end.startswith(f"error: {len(names)} of {of} runs failed:")
    for name in names:
        assert REASONS[name] in at_the_end


@pytest.mark.parametrize(
    ("name", "further"),
    [("Nothing", []), ("Breaks", ["--match-size", "fixed:max_nws=200"]), ("Breaks", ["--executor", "local:1"])],
)
def test_the_others_are_compared(places, name, further):
    done = ask(places, "compare", "ast", name, "fixed", further=further)
    told_at_the_end(done, name, of=3)
    assert "1 other run failed and is not compared" in " ".join(done.out.split())


def test_the_others_are_evaluated_and_json_has_the_reason(places):
    """Under `left_out`, as where a chunker does not know a language."""
    done = ask(places, "eval", "Nothing", "ast", "Breaks", "fixed", further=["--json"])
    told_at_the_end(done, "Nothing", "Breaks", of=4)
    *rows, nothing, breaks = json.loads(done.out)
    assert [row["chunker"].partition(":")[0] for row in rows] == ["ast", "fixed"]
    assert (nothing["protocol"], breaks["protocol"]) == ("body", "body")
    assert REASONS["Nothing"] in nothing["left_out"]
    assert REASONS["Breaks"] in breaks["left_out"]
    said = [line for line in done.err.splitlines() if line.startswith("left out: ")]
    assert len(said) == 2


@pytest.mark.parametrize("command", ["compare", "sweep", "run", "recommend", "lab sensitivity"])
def test_whatever_a_chunker_raises_ends_its_own_run_alone(places, tmp_path, command):
    """And whenever it does: while it cuts, with chunks that are none, or at the end."""
    kinds = KINDS if command == "compare" else ["Leaves"]
    program = shlex.join([sys.executable, str(places["pack"].parent / "twice.py")])
    specs = [f"exec:{program}" if kind == "twice" else f"py:{places['module']}:{kind}" for kind in kinds]
    out, source = ("--out", tmp_path / "out"), ("--source", places["pack"])
    words = ["fixed:max_nws=300", *specs, "ast:max_nws=300"]
    chunkers = [word for name in words for word in ("-c", name)]
    bm25 = ("--retriever", "bm25", "--protocol", "body")
    if command == "run":
        (tmp_path / "bench.yaml").write_text(json.dumps({"chunkers": words, "protocol": "body", "retrievers": "bm25"}))
        asked = (tmp_path / "bench.yaml", *source, *out)
    elif command == "recommend":
        asked = (places["pack"], *chunkers, "--sizes", "200", *bm25, *out)
    elif command == "lab sensitivity":
        asked = (*chunkers, *source, *bm25)
    else:
        asked = (*chunkers, *source, *(("--sizes", "200") if command == "sweep" else ()), *bm25, *out)
    done = bench(*command.split(), *asked, home=places["home"])
    assert done.code == 1
    at_the_end = done.err[done.err.index(f"error: {len(specs)} ") :]
    assert all(KINDS[kind] in at_the_end for kind in kinds)
    assert done.out
    if command != "lab sensitivity":  # its cells are not runs
        made = [json.loads(path.read_text())["chunker"] for path in (tmp_path / "out").glob("*/metrics.json")]
        assert sorted(name.partition(":")[0] for name in made) == ["ast", "fixed"]


def test_a_generated_table_ends_the_run_of_who_cannot_read_it_alone(tmp_path):
    """A header of an initializer nested as deep as generators write them; chonkie recurses as deep."""
    pytest.importorskip("chonkie")
    code = write_code(tmp_path / "code", aside=False)
    depth = 3000
    table = "\n".join(["static const int table[] =", *["  { 1,"] * depth, *["  }"] * depth, ";"])
    (code / "table.h").write_text(f"{table}\n")
    asked = ("-c", "fixed", "-c", "chonkie", "-c", "ast", "--sizes", "200", "--protocol", "body", "--json")
    done = bench("recommend", code, *asked, "--retriever", "bm25", "--out", tmp_path / "out", home=tmp_path / "home")
    assert done.code == 1
    assert "code/table.h: chonkie failed with RecursionError" in done.err[done.err.index("error: 1 run failed") :]
    assert len(json.loads(done.out)["runs"]) == 2


def test_alone_it_is_the_error(places):
    assert REASONS["Breaks"] in one_sentence(ask(places, "eval", "Breaks"), 1)
    both = ask(places, "eval", "Breaks", "Nothing")
    assert both.code == 1
    assert both.err.startswith("error: 2 mistakes:")


def test_a_baseline_that_has_no_run_is_named_with_the_reason(places):
    """By any spelling of it; a stored run that has its name is not taken in its place."""
    baseline = f"py:{places['module']}:Nothing"
    done = ask(places, "compare", "ast", "Nothing", "fixed", further=["--baseline", baseline])
    assert done.code == 2
    assert f"error: --baseline {baseline} was left out: {baseline} gave no chunk" in done.err


def test_each_combination_of_a_file_names_its_own(places, tmp_path):
    """A protocol without a chunker has nothing that is left out, though one of the others has."""
    bench_file = tmp_path / "bench.yaml"
    bench_file.write_text(
        f"chunkers: [ast, 'py:{places['module']}:Nothing', fixed]\nprotocol: [body, context]\nretrievers: bm25\n"
        f"baseline: 'py:{places['module']}:Nothing'\n"
    )
    asked = ("run", bench_file, "--source", places["pack"], "--out", tmp_path / "out")
    done = bench(*asked, "--executor", "local:1", "--json", home=places["home"])
    assert done.code == 1
    assert "2 of 6 runs failed:" in done.err
    rows = json.loads(done.out)
    assert [list(row["left_out"]) for row in rows] == [[f"py:{places['module']}:Nothing"]] * 2
    assert [len(row["runs"]) for row in rows] == [2, 2]
    done = bench(*asked, home=places["home"])
    assert done.err.count("note: the baseline has no run here") == 2
    assert done.out.count("stored in ") == 2


@pytest.mark.parametrize(
    "further", [["--retriever", "dense", "--embedder", "hash"], ["--retriever", "bm25", "--executor", "local:1"]]
)
def test_a_recommendation_is_of_the_others(places, further):
    """At every size; what it could not cut is among what was left out, and the exit code is 1."""
    chunkers = [word for name in ("fixed", "ast") for word in ("-c", name)] + ["-c", f"py:{places['module']}:Breaks"]
    asked = ("--sizes", "200,400", "--protocol", "body", "--out", places["out"], "--json", *further)
    done = bench("recommend", places["pack"], *chunkers, *asked, home=places["home"])
    assert done.code == 1
    assert REASONS["Breaks"] in done.err[done.err.index("error: ") :]
    result = json.loads(done.out)
    assert {REASONS["Breaks"] in line for line in result["skipped"]} == {True}
    assert len(result["runs"]) == 4


def test_where_every_chunker_of_a_size_fails_each_is_told_with_its_reason(places):
    """As where some fail: what the other sizes have made is not lost."""
    chunkers = [word for name in REASONS for word in ("-c", f"py:{places['module']}:{name}")]
    asked = ("--sizes", "200", "--protocol", "body", "--out", places["out"], "--retriever", "bm25")
    done = bench("recommend", places["pack"], *chunkers, *asked, home=places["home"])
    assert done.code == 1
    told = done.err[done.err.index("error: 2 runs failed; skipped:") :]
    assert all(reason in told for reason in REASONS.values())


@pytest.mark.parametrize("names", [("ast", "Breaks", "fixed"), ("Breaks", "ast", "fixed")])
def test_a_grid_is_of_the_others(places, names):
    """Sizes are matched to the first that does not fail; what failed is counted, and the exit code is 1."""
    done = ask(places, "lab sensitivity", *names, further=["--json", "--match"])
    assert done.code == 1
    at_the_end = done.err[done.err.index("error: 1 ") :]
    assert REASONS["Breaks"] in at_the_end
    assert done.err.count("left out: py:") == 1
    assert "scored ast:" in done.err
    assert "scored py:" not in done.err
    cells = json.loads(done.out)
    assert {(cell["a"].partition(":")[0], cell["b"].partition(":")[0]) for cell in cells} == {("ast", "fixed")}
    assert {cell["sizes"].partition(":")[0] for cell in cells} == {"nominal", "matched to ast"}


def test_a_chunker_that_fails_at_other_sizes_alone_is_told(places):
    """It is compared as it is, and is missing among the matched ones with a reason."""
    done = ask(
        places, "lab sensitivity", "ast", f"py:{places['module']}:OneSize", "fixed", further=["--json", "--match"]
    )
    assert done.code == 0, done.err
    assert "OneSize:max_nws=40" in done.err
    assert "ValueError: no other size" in done.err
    results = [(row["sizes"].partition(":")[0], row["a"], row["b"]) for row in json.loads(done.out)]
    assert {sizes for sizes, *pair in results if "OneSize" in str(pair)} == {"nominal"}


def test_where_every_chunker_fails_nothing_is_recommended(places):
    """One sentence with the reason of each."""
    chunkers = [word for name in ("Speechless", "Recurses") for word in ("-c", f"py:{places['module']}:{name}")]
    asked = ("--sizes", "200,400", "--protocol", "body", "--retriever", "bm25", "--out", places["out"])
    done = bench("recommend", places["pack"], *chunkers, *asked, home=places["home"])
    assert (done.code, done.out) == (1, "")
    told = done.err[done.err.index("error: there is nothing to choose from: no chunker is left") :]
    assert KINDS["Speechless"] in told
    assert KINDS["Recurses"] in told
