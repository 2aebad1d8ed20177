"""What a person at a Python prompt or in a notebook meets."""

import pickle

import pytest

from repoeval_bench import Chunk, LineSpan, choose, compare, evaluate, load_benchmark, plot
from repoeval_bench.core.errors import UsageError


def halves(file):
    """Two halves of a file."""
    middle = file.n_lines // 2
    spans = LineSpan(0, middle), LineSpan(middle, file.n_lines)
    return [Chunk.cut(file, file.chars_of(span)) for span in spans if file.line_text(span).strip()]


class Unnamed:
    """A chunker without a spec."""

    def chunk(self, file):
        return halves(file)


@pytest.fixture(scope="module")
def stored_runs(benchmark, warm_home, tmp_path_factory):
    """A function's run and one of `ast`, and where they are stored."""
    out = tmp_path_factory.mktemp("python") / "results"
    options = {"retriever": "bm25", "out": out, "home": warm_home}
    return [evaluate(benchmark, chunker, **options) for chunker in (halves, "ast:max_nws=400")], out


def test_a_folder_is_a_benchmark(mirror, benchmark, tmp_path):
    """What `load_benchmark` makes of it, code without tasks too."""
    assert load_benchmark(mirror).fingerprint == benchmark.fingerprint
    (tmp_path / "mine.py").write_text("def add(a, b):\n    return a + b\n")
    code = load_benchmark(tmp_path)
    assert [file.path for files in code.files.values() for file in files] == ["mine.py"]
    with pytest.raises(UsageError, match=f"^{tmp_path.name} is a folder of code without tasks"):
        evaluate(code, "ast", retriever="bm25", out=tmp_path / "out")


def test_a_function_is_a_chunker(stored_runs, benchmark):
    """Its spec is where it is defined; it goes to other processes."""
    (own, _), _ = stored_runs
    assert own.metrics.chunker == f"py:{__name__}:halves"
    assert own.counts.chunks > 0
    assert pickle.loads(pickle.dumps(halves)) is halves


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (Unnamed(), "with a text `spec`"),
        (Unnamed, "is not a chunker; give a spec"),
        (lambda file: [], "a function at the top of a module"),
        (3, "3 is not a chunker"),
    ],
)
def test_what_is_not_a_chunker_is_one_sentence(benchmark, given, sentence, tmp_path):
    with pytest.raises(UsageError, match=sentence):
        evaluate(benchmark, given, retriever="bm25", out=tmp_path)


def test_runs_are_named_by_object_id_chunker_or_path(stored_runs):
    """All are the same comparison; a measure's name finds its own, under any of its names."""
    runs, out = stored_runs
    result = compare(runs)
    for names in ([f"py:{__name__}:halves", "ast"], [str(runs[0].folder), runs[1].run_id], [runs[0].folder, runs[1]]):
        assert compare(names, out=out) == result
    assert choose(["ast", runs[0].run_id], out=out) == choose([runs[1], runs[0]])
    assert result["nDCG@10"] == [next(row for row in result if row.measure == "ndcg@10")]
    assert [comparison.measure for comparison in result["lines found"]] == ["line_recall_auc"]
    assert result[0].primary
    with pytest.raises(UsageError, match="is not among the compared measures"):
        result["rbp"]
    with pytest.raises(UsageError, match="is one run; give a list"):
        compare("ast", out=out)
    with pytest.raises(UsageError, match="give its folder, its id or a RunView; got dict"):
        compare([runs[0], {"q": {"a": 1.0}}], out=out)


def test_what_is_shown_is_short(stored_runs, benchmark):
    runs, _ = stored_runs
    compared = compare(runs)
    for item in (benchmark, runs[0], compared[0], choose(runs)):
        assert len(repr(item)) < 300
        assert "\n" not in repr(item)
    assert "tasks" in repr(benchmark)
    assert compared[0].verdict.outcome in repr(compared[0])


def test_queries_are_rows_and_frames(stored_runs):
    """A dict for each query; the frame has the same columns and values; a library that is missing is one sentence."""
    rows = stored_runs[0][0].per_query()
    assert len(rows) == stored_runs[0][0].counts.queries
    assert {"query_id", "repo", "ndcg@10"} <= rows[0].keys()
    pytest.importorskip("pandas")
    frame = rows.to_pandas()
    assert list(frame.columns) == list(rows[0])
    assert list(frame["ndcg@10"]) == [row["ndcg@10"] for row in rows]


def test_a_plot_is_a_matplotlib_figure(stored_runs):
    """By its name; an unknown one is a sentence that offers the nearest."""
    from matplotlib.figure import Figure

    assert isinstance(plot(stored_runs[0]), Figure)
    assert isinstance(plot(stored_runs[0], "recall-over-k"), Figure)
    with pytest.raises(UsageError, match="unknown figure 'recall-over'; did you mean 'recall-over-k'"):
        plot(stored_runs[0], "recall-over")
