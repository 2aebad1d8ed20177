"""Definitions read whole, against reading line by line in plain Python."""

from dataclasses import replace
from itertools import pairwise

import pytest

from repoeval_bench.metrics import BUDGETS, score_ceilings, score_run
from support.random_runs import random_lines


def read(context, run, query, budget):
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
    found = score_run(run, {query: {} for query in run}, [*names, "definition_recall_auc"], context)
    for at, query in enumerate(found.query_ids):
        for budget, name in zip(budgets, names, strict=True):
            assert found.values[name][at] == pytest.approx(read(context, run, query, budget)), (query, budget)
        points = [(0, 0.0), *((budget, read(context, run, query, budget)) for budget in BUDGETS)]
        area = sum((b - a) * (x + y) / 2 for (a, x), (b, y) in pairwise(points)) / BUDGETS[-1]
        assert found.values["definition_recall_auc"][at] == pytest.approx(area)
    ceilings = score_ceilings({query: {} for query in run}, [*names, "definition_recall_auc"], context, observed=found)
    for name, values in found.values.items():
        assert (values <= ceilings.values[name] + 1e-12).all()
