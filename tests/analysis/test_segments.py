"""Segments, their intervals and how differences vary; the knee of a curve."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.analysis.comparison import compare
from repoeval_bench.analysis.means import knee
from repoeval_bench.analysis.segments import (
    UNKNOWN,
    SegmentMean,
    compare_segments,
    find,
    furthest_apart,
    segment,
    segment_names,
    split,
)
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.plugins.lab.leaderboard import leaderboards
from repoeval_bench.report.diff import comparison_lines, few_note
from support.runs import query_scores, write_carried_pair, write_run, write_runs


def scored(values, facts=(), **fields):
    rows = [
        {"query_id": f"q{i}", "repo": "r", "path": f"f{i // 2}.py", "measures": {"mrr": v}}
        for i, v in enumerate(values)
    ]
    known = [{"facts": fact} for fact in facts] or [{}] * len(rows)
    return query_scores([row | fact | fields for row, fact in zip(rows, known, strict=True)])


@given(
    st.lists(
        st.one_of(st.none(), st.booleans(), st.text(max_size=3), st.integers(-50, 50), st.floats(0, 1)),
        min_size=1,
        max_size=40,
    )
)
def test_segments_partition_the_queries(column):
    """Whatever the facts: every query is in exactly one segment."""
    run = scored([0.5] * len(column), [{"x": fact} for fact in column])
    parts = split(run, "x")
    assert sorted(i for positions in parts.values() for i in positions.tolist()) == list(range(len(column)))


def test_numbers_are_cut_into_quarters_and_few_numbers_are_not():
    """Sorted by number; few different values are segments of their own; what is missing is unknown and last."""
    run = scored([0] * 40, [{"lines": i, "depth": i % 3, "hard": None if i == 7 else i % 2 == 0} for i in range(40)])
    assert [*split(run, "lines")] == ["0 to 9", "10 to 19", "20 to 29", "30 to 39"]
    assert [*split(run, "depth")] == ["0", "1", "2"]
    assert [*split(run, "hard")] == ["no", "yes", UNKNOWN]
    assert find(run, "depth", "1").tolist() == list(range(1, 40, 3))
    assert segment_names(run) == ["repo", "file", "lines", "depth", "hard"]
    with pytest.raises(UsageError, match="did you mean 'depth'"):
        split(run, "dept")


def test_means_of_segments_have_their_own_interval_and_counts(tmp_path):
    """Mean and clusters of the segment alone; fewer than six clusters have no interval."""
    files, facts = [f"f{i // 2}.py" for i in range(30)], [{"x": v} for v in "aabbab" * 5]
    run = write_run(tmp_path / "a", {"mrr": [1, 1, 0, 0, 0.5, 0.5] * 5}, files=files, facts=facts)
    a, b = segment(run, by=["x"]).segments
    assert (a.name, a.n_queries, a.n_clusters, a.mean) == ("a", 15, 10, pytest.approx(2.5 / 3))
    assert a.ci is not None
    assert a.ci[0] <= a.mean <= a.ci[1]
    assert [part.ci for part in segment(run, by=["file"]).segments] == [None] * 15
    assert b.mean == pytest.approx(0.5 / 3)


def test_the_fact_by_which_a_difference_varies_most(tmp_path):
    """Better overall, worse in the small segment: it is named with its intervals, which do not overlap."""
    facts = [{"hard": i >= 40, "even": i % 2 == 0} for i in range(60)]
    columns = {"base": {"mrr": [0.5] * 60}, "other": {"mrr": [0.8] * 40 + [0.3] * 20}}
    runs = write_runs(tmp_path, columns, files=[f"f{i // 2}.py" for i in range(60)], facts=facts)
    result = compare_segments(*runs, by=["hard", "even"])
    easy, hard, *even = result.segments
    assert (easy.against, hard.against) == (False, True)
    assert hard.difference == pytest.approx(-0.2)
    assert result.furthest == (hard, easy)
    line = comparison_lines(result)[0]
    ends = ("-0.2000 [-0.2000, -0.1383] at yes", "+0.3000 [+0.2495, +0.3000] at no")
    assert all(part in line for part in ("most by hard", *ends))
    assert furthest_apart(even) is None
    assert furthest_apart([replace(easy, ci=None), hard]) is None


def test_the_interval_of_a_segment_of_all_queries_is_that_of_the_comparison(tmp_path):
    """Two commands about the same runs give one answer; so do a gate and a leaderboard, which draw as often."""
    base, other = write_carried_pair(tmp_path)
    (whole,) = compare_segments(base, other, by=["repo"], measure="ndcg@10").segments
    (pair,) = compare([other], base, measures="ndcg@10")
    (entry,) = (one for one in leaderboards([base, other]).ranked[0].entries if one.to_first)
    assert whole.ci == pair.ci
    assert entry.to_first.ci == pytest.approx([-pair.ci[1], -pair.ci[0]])


@pytest.mark.parametrize(("over", "mean"), [("micro", 0.3 * 0.75), ("macro", 0.15)])
def test_segments_use_the_protocols_own_mean(tmp_path, over, mean):
    """Under a macro protocol a repository counts once in a segment too, however many queries it has there."""
    columns = {"base": {"mrr": [0.2] * 40}, "other": {"mrr": [0.3] * 30 + [0.0] * 10}}
    about = {"repos": ["big"] * 30 + ["small"] * 10, "facts": [{"x": i % 2 == 0} for i in range(40)]}
    base, other = write_runs(tmp_path, columns, files=[f"f{i}.py" for i in range(40)], **about, headline=over)
    assert [part.mean for part in segment(other, by=["x"]).segments] == pytest.approx([mean] * 2)
    for part in compare_segments(base, other, by=["x"]).segments:
        assert (part.baseline, part.difference) == (pytest.approx(0.2), pytest.approx(mean - 0.2))
        assert part.against is False


def test_intervals_over_few_clusters_are_named():
    """Which ones, not how many only; what has no interval is not among them."""
    result = [
        SegmentMean(by="by", name=name, n_queries=30, n_clusters=n, mean=0.5, ci=(0.4, 0.6) if n > 5 else None)
        for name, n in (("five", 5), ("few", 19), ("many", 20))
    ]
    note = few_note(result, "file")
    assert [name for name in ("five", "few", "many") if f"by = {name}" in note] == ["few"]
    assert few_note(result[::2], "file") == ""


def test_the_knee_is_where_a_curve_bends():
    """A flat curve has none."""
    assert knee((0.1, 0.5, 0.8, 0.82, 0.84, 0.86), range(1, 7)) == 3
    assert knee([1.0] * 10, range(1, 11)) is None
    assert knee(np.linspace(0, 1, 10), range(1, 11)) == 1
    assert knee((0.1, 0.5, 0.8, 0.85, 0.9, 0.95), (1, 3, 5, 10, 20, 50)) == 5


def test_the_language_of_a_query_is_that_of_its_gold(tmp_path):
    """By the names of the files, of runs that were stored without it too; one that the rows have is kept."""
    files = ["a.py", "b/c.TS", "d.zzz", "e.go"]
    facts = [{}, {}, {}, {"language": "mine"}]
    run = write_run(tmp_path / "a", {"ndcg@10": [0.5] * 4}, files=files, facts=facts)
    assert run.scores.facts["language"] == ["python", "typescript", None, "mine"]
    assert "language" in segment_names(run.scores)


def test_columns_refuse_what_cannot_be_paired():
    """Mixed clusters, a query twice, and a measure that some rows lack."""
    row = {"query_id": "a", "repo": "r", "path": "f", "measures": {"mrr": 1.0}}
    with pytest.raises(ResultError, match="scored twice"):
        query_scores([row, row])
    with pytest.raises(ResultError, match="clustered by"):
        query_scores([row, {**row, "query_id": "b", "path": None}])
    for lacking in ([row, {**row, "query_id": "b", "measures": {}}], [{**row, "query_id": "b", "measures": {}}, row]):
        with pytest.raises(ResultError, match="mrr is scored for 1 of 2 queries"):
            query_scores(lacking)


def test_measures_of_a_row_may_stand_in_any_order():
    """Columns go by name, not by place."""
    rows = [
        {"query_id": "a", "repo": "r", "path": "f", "measures": {"mrr": 1.0, "hit@5": 0.0}},
        {"query_id": "b", "repo": "r", "path": "f", "measures": {"hit@5": 0.25, "mrr": 0.5}},
    ]
    values = query_scores(rows).values
    assert {name: column.tolist() for name, column in values.items()} == {"mrr": [1.0, 0.5], "hit@5": [0.0, 0.25]}


def test_a_log_with_conversations_clusters_by_them(tmp_path):
    """A row without a file is clustered by the field it names."""
    run = query_scores(
        {"query_id": f"q{i}", "cluster": f"talk {i // 3}", "cluster_by": "conversation", "measures": {"mrr": 1.0}}
        for i in range(6)
    )
    assert (run.clustered_by, len(set(run.clusters))) == ("conversation", 2)
    assert [*split(run, "conversation")] == ["talk 0", "talk 1"]
    assert write_run(tmp_path / "a", {"mrr": [1.0, 0.0]}).scores.clustered_by == "query"
