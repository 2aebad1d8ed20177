"""What a board says beyond its ranking: sizes, whole lines of the same size, the frontier, other questions."""

import csv
import io
import json

import pytest

from repoeval_bench.analysis.comparison import compare
from repoeval_bench.chunkers.tools.sizes import chunker_name
from repoeval_bench.core.errors import UsageError
from repoeval_bench.metrics import BUDGETS
from repoeval_bench.plugins.lab.analysis import agreements, analyses
from repoeval_bench.plugins.lab.leaderboard import leaderboards, run_folders
from repoeval_bench.plugins.lab.report.analysis import analysis_csvs, analysis_record
from repoeval_bench.plugins.lab.stability import read_updates
from support.runs import write_run

SPREAD = (-0.5, 0.1, -0.1, 0.3, 0.2, -0.4, 0.6, -0.2)


def stored_run(results, spec, mean, nws, *, protocol="body", paths=("py",) * 8, **changed):
    """A run of eight queries in eight files; line recall grows with the budget, from `mean` on."""
    values = [mean * (1 + part) for part in SPREAD]
    recall = {f"line_recall@{b}": [min(1.0, v * (i + 1) / 2) for v in values] for i, b in enumerate(BUDGETS)}
    return write_run(
        results / f"{protocol}-{spec.replace(':', '-')}",
        {"line_rprec": values, "recall@5": values[::-1], **recall},
        files=[f"f{i}.{end}" for i, end in enumerate(paths)],
        chunker=spec,
        protocol=protocol,
        headline_measure="line_rprec",
        chunk_nws={"mean": float(nws), "median": nws, "p95": nws, "max": nws},
        **changed,
    )


def ast(size):
    return f"ast:max_nws={size},min_nws=50,overlap=0,language=auto"


SIZES = {"fixed:max_nws=500,offset=0": 440, "fixed:max_nws=1000,offset=0": 900, ast(700): 470, ast(1300): 880}


def made_all(results, *means, **changed):
    """`fixed` at two sizes, `ast` at both, a chunker of a size that `fixed` was not run at."""
    for (spec, nws), mean in zip((SIZES | {"file": 4000}).items(), means, strict=True):
        stored_run(results, spec, mean, nws, **changed)


@pytest.fixture
def results(tmp_path):
    made_all(tmp_path, 0.40, 0.30, 0.50, 0.35, 0.1)
    return tmp_path


def analysed(results, *updates):
    """What is said of each leaderboard of a folder."""
    return analyses(leaderboards(run_folders(results), apart=True).ranked, *updates)


def test_a_run_is_of_the_size_of_the_fixed_run_that_its_chunks_resemble(results):
    (result,) = analysed(results)
    labels = [result.sized_runs[entry.run_id].label for entry in result.leaderboard.entries]
    assert labels == ["ast at 500", "fixed at 500", "ast at 1,000", "fixed at 1,000", "file"]


def test_each_chunker_is_compared_with_fixed_of_its_size(results):
    """The comparison is `compare`'s; runs of no size are in none."""
    (result,) = analysed(results)
    by_label = {result.sized_runs[run.run_id].label: run for run in result.leaderboard.runs}
    assert {result.sized_runs[run_id].label for run_id in result.against} == {"ast at 500", "ast at 1,000"}
    for size in ("500", "1,000"):
        said = compare([by_label[f"ast at {size}"]], by_label[f"fixed at {size}"], measures=["line_rprec", "recall@5"])
        assert result.against[by_label[f"ast at {size}"].run_id] == tuple(said)
        assert [note.measure for note in said] == ["line_rprec", "recall@5"]


def test_one_fixed_run_of_a_size_is_the_baseline(results):
    """A second one, matched to another chunker's size, takes no part in comparisons, whichever scores higher."""
    (before,) = analysed(results)
    stored_run(results, "fixed:max_nws=983,offset=0", 0.29, 890)
    stored_run(results, "fixed:max_nws=1013,offset=0", 0.31, 910)
    (result,) = analysed(results)
    sizes = {place.label: place.size for place in result.sized_runs.values() if place.name == "fixed"}
    matched = dict.fromkeys(("fixed:max_nws=983", "fixed:max_nws=1013"))
    assert sizes == {"fixed at 500": 500, "fixed at 1,000": 1000} | matched
    assert result.against == before.against
    assert result.sizes == before.sizes


def test_what_size_buys_is_the_paired_difference_of_the_largest_and_the_smallest(results):
    (result,) = analysed(results)
    by_name = {size.chunker: size for size in result.sizes}
    assert by_name.keys() == {"ast", "fixed"}
    assert dict(by_name["ast"].means) == pytest.approx({500: 0.5, 1000: 0.35})
    assert by_name["ast"].difference == pytest.approx(-0.15)
    low, high = by_name["ast"].ci
    assert low <= -0.15 <= high


def test_the_frontier_is_the_best_run_at_each_budget(results):
    """Its recall is the highest mean there, beside the best of `fixed`; without sources no tokens are known."""
    (result,) = analysed(results)
    assert [point.budget for point in result.frontier] == list(BUDGETS)
    for point in result.frontier:
        means = {run.run_id: run.metrics.micro[f"line_recall@{point.budget}"] for run in result.leaderboard.runs}
        assert point.recall == pytest.approx(max(means.values()))
        assert means[point.run_id] == pytest.approx(point.recall)
        assert point.fixed == pytest.approx(max(means[i] for i in means if result.sized_runs[i].name == "fixed"))
        assert point.tokens is None


def test_languages_are_ranked_by_themselves_where_there_are_several(tmp_path):
    """Twenty queries or more of each; the best may be another."""
    scores = {"fixed": [0.1, 0.9], "ast": [0.3, 0.2]}
    for name, (python, rust) in scores.items():
        write_run(
            tmp_path / name,
            {"line_rprec": [python] * 20 + [rust] * 20 + [0.5] * 3},
            files=[f"f{i}.{'py' if i < 20 else 'rs' if i < 40 else 'go'}" for i in range(43)],
            chunker=name,
            headline_measure="line_rprec",
        )
    (result,) = analysed(tmp_path)
    assert result.languages.keys() == {"python", "rust", "go"}
    assert result.languages["go"] is None
    best = {name: (board.best.run_id, board.best.mean) for name, board in result.languages.items() if board}
    assert best == {"python": ("ast", pytest.approx(0.3)), "rust": ("fixed", pytest.approx(0.9))}


def test_two_protocols_agree_as_far_as_their_order_and_their_verdicts_do(results):
    """Turned round, every pair of runs is ranked the other way."""
    made_all(results, 0.30, 0.40, 0.10, 0.35, 0.5, protocol="context")
    (result,) = agreements(analysed(results))
    assert (result.protocols, result.n_rows, result.n_compared) == (("body", "context"), 5, 2)
    assert result.tau == pytest.approx(-1.0)
    assert result.changed == {"ast at 500": ("better", "worse"), "ast at 1,000": ("better", "worse")}


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("ast:max_nws=700,min_nws=50,overlap=0,language=auto", "ast"),
        ("ast:max_nws=700,min_nws=0,overlap=0,language=auto", "ast:min_nws=0"),
        ("window:lines=20,step=10", "window"),
        ("chonkie:kind=recursive,chunk_size=900,language=auto", "chonkie:kind=recursive"),
        ("py:mine:Cutter:size=3", "py:mine:Cutter:size=3"),
    ],
)
def test_a_chunker_is_called_by_what_is_not_its_size(spec, name):
    assert chunker_name(spec) == name


def printed(*rows, language="python"):
    """Lines of `lab stability --json`: spec, pair of versions, nws, nws embedded again."""
    lines = [
        {"spec": spec, "nws": nws, "new_nws": again, "texts": 3}
        | {
            role: {"name": f"p-{pair}.{i}", "fingerprint": f"{pair}{i}", "language": language}
            for i, role in enumerate(("old", "new"))
        }
        for spec, pair, nws, again in rows
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_what_an_update_costs_is_that_of_the_chunker_at_about_its_size(results, tmp_path):
    """The mean over pairs of versions, in any order, beside `fixed` of the same pairs; of a pair the nearest size."""
    path = tmp_path / "updates.jsonl"
    path.write_text(
        printed(
            ("fixed:max_nws=500,offset=0", 1, 1000, 300),
            ("fixed:max_nws=500,offset=0", 2, 3000, 1500),
            (ast(690), 2, 3000, 700),
            (ast(680), 2, 3000, 3000),
            (ast(700), 1, 1000, 100),
            (ast(900), 1, 1000, 1000),
            ("file", 1, 500, 500),
        )
    )
    (result,) = analysed(results, read_updates(path))
    by_label = {result.sized_runs[run_id].label: update for run_id, update in result.updates.items()}
    assert {label: (row.share, row.n_pairs) for label, row in by_label.items()} == {
        "ast at 500": (pytest.approx((0.1 + 0.7 / 3) / 2), 2),
        "fixed at 500": (pytest.approx(0.4), 2),
        "file": (1.0, 1),
    }
    assert by_label["ast at 500"].to_fixed == (pytest.approx((0.1 - 0.3 + 0.7 / 3 - 0.5) / 2), None)
    assert by_label["fixed at 500"].to_fixed is by_label["file"].to_fixed is None
    # What updates of Go cost says nothing of Python.
    path.write_text(printed(("file", 1, 500, 500), language="go"))
    (result,) = analysed(results, read_updates(path))
    assert result.updates == {}


def test_updates_that_are_broken_are_refused(tmp_path):
    path = tmp_path / "updates.jsonl"
    path.write_text('{"spec": "ast", "nws": 9, "new_nws": 3}')
    with pytest.raises(UsageError, match=r"updates.jsonl:1 is broken \(old: it is missing"):
        read_updates(path)
    path.write_text("")
    with pytest.raises(UsageError, match="has no row"):
        read_updates(path)


def test_runs_of_no_common_size_are_told_apart_and_paired_by_their_specs(tmp_path):
    """Without `fixed` no size is known: three sizes of `ast` are three runs, here ranked the other way round."""
    for protocol, means in (("body", (0.2, 0.3, 0.4)), ("context", (0.4, 0.3, 0.2))):
        for size, mean in zip((300, 700, 2000), means, strict=True):
            stored_run(tmp_path, ast(size), mean, size, protocol=protocol)
    result = analysed(tmp_path)
    labels = [result[0].sized_runs[entry.run_id].label for entry in result[0].leaderboard.entries]
    assert labels == [f"ast:max_nws={size}" for size in (2000, 700, 300)]
    (agreed,) = agreements(result)
    assert (agreed.n_rows, agreed.tau) == (3, pytest.approx(-1.0))
    frontier = list(csv.DictReader(io.StringIO(analysis_csvs(map(analysis_record, result), [agreed])["frontier.csv"])))
    assert {row["run_id"] for row in frontier} <= {path.name for path in tmp_path.iterdir()}
    assert {row["chunker"] for row in frontier if row["protocol"] == "body"} == {"ast:max_nws=2000"}


def test_two_runs_at_one_size_keep_their_own_names(results):
    """Verdicts of both are compared with those of another question, where one is called by its size alone."""
    stored_run(results, ast(710), 0.2, 475)
    for size, mean, nws in ((500, 0.3, 440), (1000, 0.4, 900)):
        stored_run(results, f"fixed:max_nws={size},offset=0", mean, nws, protocol="context")
    stored_run(results, ast(700), 0.1, 470, protocol="context")
    body, context = analysed(results)
    labels = {place.label for place in body.sized_runs.values()}
    assert {"ast:max_nws=700", "ast:max_nws=710", "ast at 1,000"} < labels
    (agreed,) = agreements([body, context])
    assert (agreed.n_rows, agreed.n_compared) == (3, 1)
    assert agreed.changed == {"ast:max_nws=700": ("better", "worse")}


@pytest.mark.parametrize("spec", ["exec:node cut.js", "exec:node cut.js --size 900", "functions", "py:mine:halves"])
def test_a_chunker_without_a_size_is_called_by_its_name_alone(results, spec):
    """It is compared with the baseline of its mean size all the same."""
    stored_run(results, spec, 0.31, 450)
    (body,) = analysed(results)
    (place,) = [place for place in body.sized_runs.values() if place.spec == spec]
    assert (place.label, place.size) == (spec, 500)
    assert place.run_id in body.against
