"""A chunker that fails ends its own run: the others go on, it is counted, and the command ends with 1 and the reason."""

import json
import shlex
import sys

import pytest

from support.cases import cases
from support.command import json_of, one_sentence
from support.history import checkout

MODULE = "failing_chunkers"
CASES = cases(__file__)
KINDS = CASES["kinds"]


@pytest.fixture(scope="module", autouse=True)
def importable(tmp_path_factory):
    """The folder of the chunkers and of the program."""
    folder = tmp_path_factory.mktemp("failing")
    (folder / f"{MODULE}.py").write_text(CASES["chunkers"])
    (folder / "twice.py").write_text(CASES["twice"])
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder


def ours(name):
    return f"py:{MODULE}:{name}"


def test_the_others_are_compared_as_jobs_too(ask):
    done = ask("compare --executor local:1", "ast", ours("Breaks"), "fixed")
    assert done.code == 1
    at_the_end = done.err[done.err.index("error: ") :]
    assert at_the_end.startswith("error: 1 of 3 runs failed;")
    assert KINDS["Breaks"] in at_the_end
    assert "not compared, because they failed: 1 other run" in " ".join(done.out.split())


def test_whatever_a_chunker_raises_ends_its_own_run_alone(ask, importable, tmp_path):
    """And whenever it does: while it cuts, with chunks that are none, or at the end."""
    program = "exec:" + shlex.join([sys.executable, str(importable / "twice.py")])
    names = ["fixed:max_nws=300", *(program if kind == "twice" else ours(kind) for kind in KINDS), "ast:max_nws=300"]
    done = ask("compare", *names, out=tmp_path / "out")
    assert done.code == 1
    at_the_end = done.err[done.err.index(f"error: {len(KINDS)} ") :]
    assert all(message in at_the_end for message in KINDS.values())
    chunkers = [json.loads(path.read_text())["chunker"] for path in (tmp_path / "out").glob("*/metrics.json")]
    assert sorted(name.partition(":")[0] for name in chunkers) == ["ast", "fixed"]


def test_alone_it_is_the_error(ask):
    assert KINDS["Breaks"] in one_sentence(ask("eval", ours("Breaks")), 1)


def test_each_combination_of_a_file_names_its_own(ask, tmp_path):
    file = tmp_path / "bench.yaml"
    file.write_text(
        json.dumps(
            {"chunkers": ["ast", ours("Nothing"), "fixed"], "protocol": ["body", "context"], "retrievers": "bm25"}
        )
    )
    done = ask("run --json", further=[file], out=tmp_path / "out")
    assert done.code == 1
    assert "2 of 6 runs failed;" in done.err
    rows = json.loads(done.out)
    assert [(list(row["left_out"]), len(row["runs"])) for row in rows] == [([ours("Nothing")], 2)] * 2


def test_a_recommendation_is_of_the_others(ask):
    """At every size; the exit code is 1. Where every chunker fails, nothing is recommended."""
    done = ask("recommend --sizes 200,400 --json", "fixed", "ast", ours("Breaks"))
    assert done.code == 1
    result = json.loads(done.out)
    assert all(KINDS["Breaks"] in line for line in result["skipped"])
    assert len(result["runs"]) == 4
    none = ask("recommend --sizes 200,400", ours("Breaks"), ours("Recurses"))
    assert (none.code, none.out) == (1, "")
    assert "error: there is nothing to choose from: no chunker is left" in none.err


def test_a_library_that_refuses_a_file_is_left_out_of_a_recommendation(tmp_path):
    """There is nothing to repair, so the exit code is 0: as where it does not know a language. Its lines fail too."""
    pytest.importorskip("llama_index.core")
    code = checkout(tmp_path / "shop", 30)
    (code / "shop" / "refused.py").write_text(")\n" + (code / "shop" / "part0.py").read_text())
    options = ["--for", "search", "--retriever", "bm25", "--sizes", "200,400", "--out"]
    words = ["recommend", code, *options, tmp_path / "out"]
    chunkers = [word for name in ("fixed", "ast", "llama-index") for word in ("-c", name)]
    result = json_of(*words, *chunkers, home=tmp_path / "home")
    assert {one["name"].partition(" ")[0] for one in result["candidates"]} == {"fixed", "ast"}
    assert [line for line in result["skipped"] if "llama-index failed with ValueError: Could not parse" in line]
    assert {setup["framework"] for setup in result["setups"]} == {"repoeval-bench", "chonkie", "LangChain"}
