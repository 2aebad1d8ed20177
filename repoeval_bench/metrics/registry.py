"""The table of measures. A new one is a file with a `DEFINITIONS` tuple, named here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from repoeval_bench.core.registry import Row
from repoeval_bench.metrics import definitions, diversity, graded, lines, ranked, sets, spans, subtopics, texts
from repoeval_bench.metrics.reading import BUDGETS

if TYPE_CHECKING:
    from repoeval_bench.metrics.definition import MeasureDefinition

FAMILIES = {
    "set": sets.DEFINITIONS,
    "rank": ranked.DEFINITIONS,
    "graded": graded.DEFINITIONS,
    "diversity": (*diversity.DEFINITIONS, *subtopics.DEFINITIONS),
    "lines": lines.DEFINITIONS,
    "definitions": definitions.DEFINITIONS,
    "spans": spans.DEFINITIONS,
    "completions": texts.DEFINITIONS,
}
"""family -> its measures, in the order they are listed."""

REGISTRY: Mapping[str, MeasureDefinition] = {d.name: d for family in FAMILIES.values() for d in family}
"""canonical name -> measure."""

MEASURES = tuple(
    Row(name=d.name, aliases=d.aliases, meaning=d.meaning, options=d.options, part=d) for d in REGISTRY.values()
)
"""The rows of `list measures`."""

_CUTOFFS = ("ndcg@5", "ndcg@10", "recall@5", "recall@10", "precision@5", "precision@10", "hit@5", "hit@10")
DEFAULT_MEASURES = (*_CUTOFFS, "mrr")
"""The default measures when only a ranking and its judgements are available."""

LINE_MEASURES = ("line_rprec", "line_recall_auc", *(f"line_recall@{budget}" for budget in BUDGETS))
"""The first measures of a comparison of chunkers: lines are the same documents for all of them."""

DEFINITION_MEASURES = ("definition_recall_auc", *(f"definition_recall@{budget}" for budget in BUDGETS))
"""Measures that come first where the gold is definitions."""

EVAL_MEASURES = (*LINE_MEASURES, *DEFAULT_MEASURES)
"""The default measures of an evaluation, which also has the files' lines."""
