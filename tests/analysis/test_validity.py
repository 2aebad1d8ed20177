"""How well measures predict completions: known answers, scipy's correlations, and what is refused."""

import numpy as np
import pytest
import scipy

from repoeval_bench.analysis.validity import validity
from repoeval_bench.core.errors import UsageError
from repoeval_bench.runs.records import MANIFEST
from support.runs import edit, write_run

DONE = {
    "base": "base",
    "model": "openai:m",
    "identity": {},
    "context": "retrieved",
    "budget": 2000,
    "fragments": 10,
    "layout": "1",
    "ending": "1",
    "measures": ["edit_similarity"],
    "cut_off": 0,
}


def made(folder, tables, *, clusters=None, **changed):
    """Completed runs; `tables` is measure -> values (n_runs, n_queries), queries in files of their own."""
    n_runs, n = np.shape(next(iter(tables.values())))
    runs = []
    for i in range(n_runs):
        values = {name: table[i] for name, table in tables.items()}
        files = [f"f{c}.py" for c in (clusters or range(n))]
        run = write_run(folder / f"run{i}", values, files=files, completion="m retrieved")
        runs.append(edit(run, MANIFEST, completion=DONE | changed))
    return runs


def predictor(found, measure):
    (target,) = found.targets
    return next(each for each in target.predictors if each.measure == measure)


def test_known_answers(tmp_path):
    """The target itself predicts perfectly, its opposite not at all, and what is constant says nothing."""
    target = np.array([[0.1, 0.5, 0.3] * 4, [0.2, 0.4, 0.6] * 4, [0.3, 0.6, 0.9] * 4])
    tables = {
        "ndcg@10": target,
        "recall@10": 1 - target,
        "mrr": np.full(target.shape, 0.5),
        "edit_similarity": target,
    }
    found = validity(made(tmp_path, tables))
    same, opposite, constant = (predictor(found, name) for name in ("ndcg@10", "recall@10", "mrr"))
    assert (same.within, same.within_ci, same.first_in, same.over) == (pytest.approx(1), (1, 1), 1, pytest.approx(1))
    assert opposite.within == pytest.approx(-1)
    assert opposite.over == pytest.approx(-1)
    assert (constant.within, constant.within_ci, constant.over, constant.over_ci) == (None, None, None, None)
    assert [each.measure for each in found.targets[0].predictors] == ["ndcg@10", "recall@10", "mrr"]


def test_correlations_are_scipys(tmp_path):
    """Without ties: the mean of each query's Spearman, and the Spearman of the runs' means."""
    rng = np.random.default_rng(7)
    target, measure = rng.random((5, 40)), rng.random((5, 40))
    measure[:, :20] += target[:, :20]
    one = predictor(validity(made(tmp_path, {"mrr": measure / 2, "edit_similarity": target})), "mrr")
    each = [scipy.stats.spearmanr(measure[:, q], target[:, q]).statistic for q in range(40)]
    assert one.within == pytest.approx(np.mean(each))
    assert one.over == pytest.approx(scipy.stats.spearmanr(measure.mean(axis=1), target.mean(axis=1)).statistic)
    assert one.within_ci[0] < one.within < one.within_ci[1]


def test_a_query_whose_completions_are_alike_counts_against_what_differs(tmp_path):
    """Half of the queries do not vary: they lower the correlation, and are counted."""
    target = np.array([[0.1] * 8 + [0.5] * 8, [0.2] * 8 + [0.5] * 8, [0.3] * 8 + [0.5] * 8])
    measure = np.tile([[0.1], [0.2], [0.3]], (1, 16))
    found = validity(made(tmp_path, {"mrr": measure, "edit_similarity": target}))
    assert found.targets[0].varying == 8
    assert predictor(found, "mrr").within == pytest.approx(np.sqrt(0.5))


def test_files_are_resampled(tmp_path):
    """Forty queries in eight files tell less than in forty; in five they bound nothing."""
    rng = np.random.default_rng(3)
    shared = np.repeat(rng.random((4, 8)), 5, axis=1)
    tables = {"mrr": shared, "edit_similarity": np.repeat(rng.random((4, 8)), 5, axis=1)}

    def width(name, clusters):
        low, high = predictor(validity(made(tmp_path / name, tables, clusters=clusters)), "mrr").within_ci
        return high - low

    by_file = [q // 5 for q in range(40)]
    assert width("files", by_file) > 1.5 * width("queries", None)
    few = predictor(validity(made(tmp_path / "few", tables, clusters=[q // 8 for q in range(40)])), "mrr")
    assert (few.within_ci, few.over_ci, few.first_in) == (None, None, None)


def test_what_answers_another_question_is_refused(tmp_path):
    """Too few runs, runs without completions, controls, other settings, and no measure of retrieval."""
    target = np.random.default_rng(1).random((3, 8))
    tables = {"mrr": target, "edit_similarity": target}
    runs = made(tmp_path / "a", tables)
    with pytest.raises(UsageError, match="2 completed runs tell nothing"):
        validity(runs[:2])
    bare = write_run(tmp_path / "bare", {"mrr": target[0]})
    with pytest.raises(UsageError, match="bare: not completed"):
        validity([*runs[:2], bare])
    with pytest.raises(UsageError, match="leave the controls out"):
        validity(made(tmp_path / "b", tables, context="none"))
    with pytest.raises(UsageError, match="another model and budget"):
        validity([*runs, *made(tmp_path / "c", tables, model="openai:n", budget=7)])
    with pytest.raises(UsageError, match="share no measure of retrieval"):
        validity(made(tmp_path / "d", {"edit_similarity": target}))
    assert len(validity(runs, measures="mrr").targets[0].predictors) == 1
