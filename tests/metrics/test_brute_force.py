"""Equal to the formulas written out a second time, literally, in tests/support/brute_metrics.py."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from repoeval_bench.metrics import BUDGETS, Context, score_ceilings, score_run
from support import brute_metrics as brute
from support.random_runs import in_rank_order, plain, random_lines, tied_run

RANKED = {
    "err": lambda ids, g: brute.err(ids, g),
    "err@5": lambda ids, g: brute.err(ids, g, 5),
    "nerr": lambda ids, g: brute.nerr(ids, g),
    "nerr@5": lambda ids, g: brute.nerr(ids, g, 5),
    "rbp": lambda ids, g: brute.rbp(ids, g, 0.8),
    "rbp(p=0.95)@7": lambda ids, g: brute.rbp(ids, g, 0.95, 7),
    "ndcg(gain=exp)": lambda ids, g: brute.ndcg(ids, g, exponential=True),
    "ndcg(gain=exp)@5": lambda ids, g: brute.ndcg(ids, g, 5, exponential=True),
    "f1@5": lambda ids, g: brute.f1(ids, g, 5),
    "weighted_recall@5": lambda ids, g: brute.weighted_recall(ids, g, 5),
    "recall_auc@50": lambda ids, g: brute.recall_auc(ids, g, 50),
    "recall_auc@3": lambda ids, g: brute.recall_auc(ids, g, 3),
}


@pytest.mark.parametrize("real_gains", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_rank_measures_equal_the_formulas(seed, real_gains):
    run, qrels = tied_run(seed)
    if real_gains:
        rng = random.Random(seed)
        qrels = {q: {d: g and rng.random() for d, g in gains.items()} for q, gains in qrels.items()}
    ours = score_run(run, qrels, RANKED)
    ordered = in_rank_order(run)
    for name, formula in RANKED.items():
        for query, value in zip(ours.query_ids, ours.values[name], strict=True):
            ids = [d for d, _ in ordered.get(query, [])]
            assert value == pytest.approx(formula(ids, qrels[query]), abs=1e-12), (name, query)


@pytest.mark.parametrize("seed", range(10))
def test_line_measures_equal_the_formulas(seed):
    context, run = random_lines(seed)
    names = [f"{m}@{b}" for m in ("line_recall", "line_precision", "line_iou") for b in (*BUDGETS, 77, 50_000)]
    ours = score_run(run, {q: {} for q in run}, [*names, "line_rprec", "line_recall_auc"], context)
    for i, query in enumerate(ours.query_ids):
        chunks = [plain(context.places[c]) for c, _ in run[query]]
        gold = list(map(plain, context.gold[query]))
        for name in names:
            formula, budget = getattr(brute, name.partition("@")[0]), int(name.partition("@")[2])
            assert ours.values[name][i] == pytest.approx(formula(chunks, gold, context.line_nws, budget), abs=1e-12)
        for name in ("line_rprec", "line_recall_auc"):
            expected = getattr(brute, name)(chunks, gold, context.line_nws)
            assert ours.values[name][i] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_greedy_ceiling_of_lines_is_between_what_was_observed_and_what_is_possible(seed):
    """With six chunks, the ceiling reaches every observed score and never passes the best order of all."""
    context, run = random_lines(seed)
    few = {c: context.places[c] for c in sorted(context.places)[:6]}
    context = Context(places=few, gold=context.gold, line_nws=context.line_nws)
    run = {q: [(c, s) for c, s in ranking if c in few] for q, ranking in run.items()}
    qrels = {q: {} for q in run}
    names = ["line_recall@100", "line_recall@250"]
    observed = score_run(run, qrels, names, context)
    ceiling = score_ceilings(qrels, names, context, observed=observed)
    for name, budget in zip(names, (100, 250), strict=True):
        for i, query in enumerate(observed.query_ids):
            gold = list(map(plain, context.gold[query]))
            best = brute.best_line_recall([plain(p) for p in few.values()], gold, context.line_nws, budget)
            assert observed.values[name][i] <= ceiling.values[name][i] <= best + 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_iou_of_chunks_equals_the_formula_over_golds_in_several_files(seed):
    """best_iou and mean_iou are over the union of all lines, chunk's and gold's, whatever file they are in."""
    context, run = random_lines(seed)
    rng = random.Random(seed)
    qrels = {q: dict.fromkeys(rng.sample(sorted(context.places), 9), 1) for q in run}
    cutoffs = {"@10": 10, "": None, "@1": 1}
    ours = score_run(run, qrels, [f"{name}{at}" for at in cutoffs for name in ("best_iou", "mean_iou")], context).values
    for i, query in enumerate(run):
        gold = list(map(plain, context.gold[query]))
        for at, k in cutoffs.items():
            hits = [c for c, _ in run[query][:k] if c in qrels[query]]
            values = [brute.gain(plain(context.places[c])[:3], gold, context.line_nws, "graded:iou") for c in hits]
            assert ours[f"best_iou{at}"][i] == pytest.approx(max(values, default=0))
            assert ours[f"mean_iou{at}"][i] == pytest.approx(sum(values) / max(1, len(values)))


def definitions_read(context, run, query, budget):
    """Share of the query's definitions all of whose lines a plain walk collects."""
    parts = [
        {(place.file, line) for place in part for line in place.lines if context.line_nws[place.file][line]}
        for part in context.definitions[query]
    ]
    parts = [part for part in parts if part]
    collected, spent = set(), 0
    for chunk, _ in run[query]:
        place = context.places[chunk]
        steps = [(None, place.header_nws), *((line, context.line_nws[place.file][line]) for line in place.lines)]
        for line, cost in steps:
            if spent + cost > budget:
                return sum(part <= collected for part in parts) / len(parts) if parts else 0.0
            spent += cost
            collected.add((place.file, line))
    return sum(part <= collected for part in parts) / len(parts) if parts else 0.0


@pytest.mark.parametrize("seed", range(12))
def test_definitions_are_read_as_lines_are(seed):
    context, run = random_lines(seed)
    # Every place of a gold is a definition, and the whole is one more.
    definitions = {
        query: (*((place,) for place in gold), *([gold] if gold else [])) for query, gold in context.gold.items()
    }
    context = replace(context, definitions=definitions)
    budgets = (1, 100, 250, 700, 3000)
    names = [f"definition_recall@{budget}" for budget in budgets]
    result = score_run(run, {query: {} for query in run}, [*names, "definition_recall_auc"], context)
    for at, query in enumerate(result.query_ids):
        for budget, name in zip(budgets, names, strict=True):
            assert result.values[name][at] == pytest.approx(definitions_read(context, run, query, budget)), (
                query,
                budget,
            )
        points = [(0, 0.0), *((budget, definitions_read(context, run, query, budget)) for budget in BUDGETS)]
        area = sum((b - a) * (x + y) / 2 for (a, x), (b, y) in pairwise(points)) / BUDGETS[-1]
        assert result.values["definition_recall_auc"][at] == pytest.approx(area)
    ceilings = score_ceilings({query: {} for query in run}, [*names, "definition_recall_auc"], context, observed=result)
    for name, values in result.values.items():
        assert (values <= ceilings.values[name] + 1e-12).all()
