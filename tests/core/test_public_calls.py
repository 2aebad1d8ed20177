"""A wrong object in a public call is a user's mistake: one sentence with the way out, and none of Python's errors."""

import pytest

import repoeval_bench
from repoeval_bench import BenchError

MISTAKES = {
    "data by its name": (lambda: repoeval_bench.evaluate("packs/mine", "ast"), "give load_benchmark(SOURCE); got str"),
    "no data": (lambda: repoeval_bench.plan_run(None, "ast"), "give load_benchmark(SOURCE); got NoneType"),
    "a recommendation of a folder": (lambda: repoeval_bench.recommend("."), "give load_benchmark(SOURCE); got str"),
    "a chunker by a number": (lambda: repoeval_bench.make_chunker(800), "'ast:max_nws=800'; got int"),
    "texts as a list": (lambda: repoeval_bench.uses_of(["x = 1"], "a.py", (0, 1)), "a mapping of path to text"),
    "texts as bytes": (lambda: repoeval_bench.uses_of({"a.py": b"x = 1"}, "a.py", (0, 1)), "not paths or bytes"),
    "lines that end first": (lambda: repoeval_bench.uses_of({"a.py": "x = 1"}, "a.py", (1, 0)), "lines 1 to 0"),
}
NAMED = {
    "diff": lambda run, out: repoeval_bench.diff(run, run, out=out),
    "gate": lambda run, out: repoeval_bench.gate(run, out / "gates.yaml", out=out),
    "segment": lambda run, out: repoeval_bench.segment(run, out=out),
    "compare_segments": lambda run, out: repoeval_bench.compare_segments(run, run, out=out),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_object_is_one_sentence(name):
    call, said = MISTAKES[name]
    with pytest.raises(BenchError) as caught:
        call()
    assert said in str(caught.value)


@pytest.mark.parametrize("call", NAMED)
def test_runs_are_named_as_in_compare(call, tmp_path):
    (tmp_path / "gates.yaml").write_text("gates:\n  - {measure: mrr, at_least: 0.1}\n")
    with pytest.raises(BenchError, match="no run 'ast'"):
        NAMED[call]("ast", tmp_path)
    with pytest.raises(BenchError, match="a RunView; got int"):
        NAMED[call](3, tmp_path)
